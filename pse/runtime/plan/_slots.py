"""The slots of a rank's plan: where the value of each tag is."""

from __future__ import annotations

from pse.runtime.plan._expression_lowering import Constant, Extent, Operand, Slot
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._ragged_tags import read_extent

HIDDEN = "%"
"""What names of hidden slots begin with; no tag begins with it."""


def live_slot(parameter: str) -> str:
    """Name the hidden slot of a parameter that may change while the program runs."""
    return f"{HIDDEN}live.{parameter}"


class Slots:
    """The slots of a plan: for each tag this rank meets, one, or one for each of its partitions.

    A plan for other placements gives the same names other numbers: `numbers` tells them.
    """

    def __init__(self, position: Position) -> None:
        self.job, self._is_apart = position.job, position.is_apart
        self.environment, self.tags = self.job.environment, self.job.program.tags
        self.numbers: dict[tuple[str, int | None], int] = {}

    def of(self, tag: str, partition: int | None) -> int:
        """Give the slot of a tag; of the partition at hand where each has a value of its own."""
        if not tag.startswith(HIDDEN):
            if not self._is_apart(self.tags[tag].type):
                partition = None
            else:
                assert partition is not None, f"each partition has a value of {tag} of its own"
        return self.numbers.setdefault((tag, partition), len(self.numbers))

    def operand(self, name: str, partition: int | None) -> Operand:
        """Say where an expression finds the value of a name."""
        if (extent := read_extent(name)) is not None:
            return Extent(self.of(extent[0], partition), extent[1])
        if partition is not None and (position := self.job.position(name, partition)) is not None:
            return Constant(position)
        if name in self.job.live:
            return Slot(self.of(live_slot(name), None))
        if name not in self.environment:
            return Slot(self.of(name, partition))
        return Constant(self.environment[name])
