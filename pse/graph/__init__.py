"""The program graph: thread placement, liveness of tags, the graph itself, and its pictures.

Everything here is a pure function of a `pse.language.resolved.ResolvedProgram`; nothing is run.
`placement` says which ranks there are, `walk` numbers the statements, `liveness` says who reads what and
until when, `exits` what can wait until a loop ends: these are what every rank imports.  What only
``pse graph`` needs (networkx, and matplotlib for pictures) is imported on first use.  The room below is
``language``; ``runtime`` above projects a program onto its ranks by what is said here.
"""

from typing import TYPE_CHECKING, Any

from pse.graph.exits import Exit, analyse_run, exit_sites
from pse.graph.liveness import Liveness, analyse
from pse.graph.placement import Placement, Seat, ThreadKey, place
from pse.graph.walk import Block, Event, Mark, Role, Step, Walk, number

if TYPE_CHECKING:
    from pse.graph.network import ProgramGraph, build

__all__ = [
    "Block",
    "Event",
    "Exit",
    "Liveness",
    "Mark",
    "Placement",
    "ProgramGraph",
    "Role",
    "Seat",
    "Step",
    "ThreadKey",
    "Walk",
    "analyse",
    "analyse_run",
    "build",
    "exit_sites",
    "number",
    "place",
]


def __getattr__(name: str) -> Any:
    """Import the network on first use: networkx costs more time to import than all the rest."""
    if name in ("ProgramGraph", "build"):
        from pse.graph import network

        return getattr(network, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
