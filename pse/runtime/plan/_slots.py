"""The slots of a rank's plan: where the value of each tag is."""

from __future__ import annotations

from pse.errors import ProgramError
from pse.runtime.plan._position import Here
from pse.runtime.plan._ragged_tags import read_extent
from pse.runtime.plan._tables import EXTENT

_CONSTANT, _SLOT = 0, 2


class Slots:
    """The slots of a plan: for each tag this rank meets, one, or one for each of its partitions.

    Names of hidden slots begin with a sign that no tag begins with.  A plan for other placements gives the
    same names other numbers: `numbers` tells them.
    """

    def __init__(self, here: Here) -> None:
        self.here = here
        self.environment, self.tags = here.job.environment, here.job.program.tags
        self.numbers: dict[tuple[str, int | None], int] = {}

    def of(self, tag: str) -> int:
        """Give the slot of a tag."""
        return self.numbers.setdefault((tag, self._lane(tag)), len(self.numbers))

    def _lane(self, tag: str) -> int | None:
        """Whose slot it is: a partition's (None: all have one)."""
        if tag.startswith("%"):
            return self.here.partition
        if not self.here.is_apart(self.tags[tag].type):
            return None
        assert self.here.partition is not None, f"{tag} is each partition's own"
        return self.here.partition

    def load(self, name: str) -> tuple[int, int, int | float]:
        """Tell how an expression gets the value of a name: (term kind, slot, constant or axis)."""
        if (extent := read_extent(name)) is not None:
            return EXTENT, self.of(extent[0]), extent[1]
        if name not in self.environment:
            return _SLOT, self.of(name), 0
        value = self.environment[name]
        if isinstance(value, bool | int | float):
            return _CONSTANT, 0, value
        raise ProgramError(f"{name} is a {type(value).__name__} and can't be calculated with")
