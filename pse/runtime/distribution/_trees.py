"""Trees along which scalars go up into reductions, and values and counts from node to node.

Places are numbered as in a heap of which each has up to eight below it: its shape depends on nothing but how
many places there are, so what is combined along it has the same bits wherever partitions live. Up to eight
places below the top, it is what one would do without a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pse.records import dataclass

ARITY = 8
"""How many each place has below it, at most."""


NODES = 8
"""To how many nodes one node passes something on, at most."""


def below(place: int, places: int, arity: int = ARITY) -> range:
    """List the places below one.

    Examples
    --------
    >>> below(0, 5), below(1, 12), below(2, 12)
    (range(1, 5), range(9, 12), range(12, 12))
    """
    first = min(place * arity + 1, places)
    return range(first, min(first + arity, places))


def above(place: int) -> tuple[int, int]:
    """Give the place above one, and its number among those below that, from 1.

    Examples
    --------
    >>> above(1), above(8), above(9)
    ((0, 1), (0, 8), (1, 1))
    """
    return (place - 1) // ARITY, (place - 1) % ARITY + 1


@dataclass(frozen=True)
class NodeTree:
    """Ranks by node, and a tree over the nodes; the first rank of a node speaks for it.

    Examples
    --------
    >>> tree = NodeTree.over([0, 1, 2, 5, 3, 4], nodes=[0, 0, 1, 2, 2, 1])
    >>> tree.nodes, tree.below(0), tree.below(2), tree.below(5)
    (((0, 1), (2, 5), (3, 4)), [1, 2, 3], [5], [])
    """

    nodes: tuple[tuple[int, ...], ...]

    @classmethod
    def over(cls, ranks: Iterable[int], nodes: Sequence[int]) -> NodeTree:
        """Arrange ranks, in their order, by the node of each; the first one's node is at the top."""
        found: dict[int, list[int]] = {}
        for rank in ranks:
            found.setdefault(nodes[rank], []).append(rank)
        return cls(tuple(map(tuple, found.values())))

    def home(self, rank: int) -> int:
        """Give the place of a rank's node; raises StopIteration if the rank isn't here."""
        return next(place for place, ranks in enumerate(self.nodes) if rank in ranks)

    def above(self, home: int) -> int:
        """Give who speaks for the node above one."""
        return self.nodes[(home - 1) // NODES][0]

    def speakers(self, home: int) -> list[int]:
        """List who speak for the nodes below one."""
        return [self.nodes[place][0] for place in below(home, len(self.nodes), NODES)]

    def near(self, home: int) -> list[int]:
        """List the ranks of a node, and who speak for the nodes below it."""
        return [*self.nodes[home], *self.speakers(home)]

    def ask_upwards(self, rank: int, ask: Callable[[int], object], answer: Callable[[int], object]) -> None:
        """Let who speaks for a node ask the one above, then answer those below; others do nothing."""
        home = self.home(rank)
        if rank != self.nodes[home][0]:
            return
        if home:
            ask(self.above(home))
        for other in self.speakers(home):
            answer(other)

    def below(self, rank: int) -> list[int]:
        """List the ranks to which one passes on what comes from the top's first rank."""
        home = self.home(rank)
        return self.near(home)[1:] if rank == self.nodes[home][0] else []

    def through(self, rank: int) -> list[int]:
        """List the ranks that what passes one gets to, itself included."""
        return [rank, *(further for other in self.below(rank) for further in self.through(other))]
