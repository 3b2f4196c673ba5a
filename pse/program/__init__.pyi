from ._folding import fold_threads as fold_threads
from ._labels import (
    display_name as display_name,
    display_names as display_names,
    heading_text as heading_text,
    loop_name as loop_name,
    tag_text as tag_text,
)
from ._liveness import Liveness as Liveness, LoopExit as LoopExit
from ._liveness_solver import analyse_liveness as analyse_liveness
from ._loop_exits import (
    SwappedNames as SwappedNames,
    analyse_run_liveness as analyse_run_liveness,
    loop_exit_sites as loop_exit_sites,
)
from ._network import ProgramGraph as ProgramGraph, build_graph as build_graph, graph_node as graph_node
from ._placement import (
    Placement as Placement,
    Seat as Seat,
    ThreadKey as ThreadKey,
    place_threads as place_threads,
)
from ._walk import (
    Block as Block,
    Event as Event,
    Mark as Mark,
    Role as Role,
    Step as Step,
    Walk as Walk,
    condition_names as condition_names,
    defined_tags as defined_tags,
    entry_names as entry_names,
    exchanges as exchanges,
    inouts_of as inouts_of,
    number_statements as number_statements,
    outputs_of as outputs_of,
    read_names as read_names,
)
