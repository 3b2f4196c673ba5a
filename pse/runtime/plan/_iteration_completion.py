"""How ranks know how many iterations in flight are complete everywhere (``pse_counting`` in plan.def).

On a node they see each other's counts on the board. Of other nodes they need the least only: a node tells it
whenever it grows, to all others as long as there are few; else up a tree, whose top sends what is complete
everywhere down again. Without shared memory each rank is told by each.
"""

from __future__ import annotations

from collections.abc import Sequence

from pse.records import dataclass
from pse.runtime.distribution import _trees as trees


@dataclass(frozen=True)
class IterationCompletion:
    """What one rank needs for it: ranks whose counts it watches, ..., as in plan.def."""

    watched: Sequence[int] = ()
    counted: Sequence[int] = ()
    told: Sequence[int] = ()
    relayed: Sequence[int] = ()
    speaker: int = 0
    top: int = 0


def completion_of(ranks: Sequence[int], nodes: Sequence[int] | None, rank: int) -> IterationCompletion:
    """Say how a rank learns how far all that run a loop are, and lets others know.

    Parameters
    ----------
    ranks : sequence of int
        All that run it.
    nodes : sequence of int, optional
        The node of every rank; None without shared memory.
    rank : int
        One of `ranks`.
    """
    tree = trees.NodeTree.over(ranks, range(max(ranks) + 1) if nodes is None else nodes)
    home, top = tree.home(rank), tree.nodes[0][0]
    mine, speaker = tree.nodes[home], tree.nodes[home][0]
    if nodes is None or len(tree.nodes) <= trees.NODES + 1:
        others = [node[0] for node in tree.nodes if node is not mine]
        return IterationCompletion([*mine, *others], mine, others, (), speaker, speaker)
    if home == 0:
        return IterationCompletion(tree.near(0), tree.near(0), tree.speakers(0), (), speaker, speaker)
    return IterationCompletion([top], tree.near(home), [tree.above(home)], tree.speakers(home), speaker, top)
