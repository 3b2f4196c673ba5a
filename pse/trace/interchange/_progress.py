"""Progress of a long export or import, told to whoever shows it."""

from __future__ import annotations


class Progress:
    """Is told how far an export or import is; this one keeps silent."""

    def begin(self, events: int) -> None:
        """So many events there are."""

    def advance(self, events: int) -> None:
        """So many more are done."""
