from ._labels import heading as heading, shown as shown, shown_all as shown_all, tag_text as tag_text
from ._liveness import Exit as Exit, Liveness as Liveness
from ._liveness_solver import analyse as analyse
from ._loop_exits import Names as Names, analyse_run as analyse_run, exit_sites as exit_sites
from ._network import ProgramGraph as ProgramGraph, build as build, node_of as node_of
from ._placement import Placement as Placement, Seat as Seat, ThreadKey as ThreadKey, place as place
from ._walk import (
    Block as Block,
    Event as Event,
    Mark as Mark,
    Role as Role,
    Step as Step,
    Walk as Walk,
    condition_names as condition_names,
    defined as defined,
    entry_names as entry_names,
    inouts_of as inouts_of,
    number as number,
    outputs_of as outputs_of,
    read_names as read_names,
)
