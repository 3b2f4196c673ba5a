"""Progress of a long export or import, told to whoever shows it."""

from __future__ import annotations


class Progress:
    """Is told how far an export or import is; this one keeps silent.

    Examples
    --------
    >>> class Dots(Progress):
    ...     def advance(self, events):
    ...         print(".", end="")
    >>> from pathlib import Path
    >>> from pse.trace.interchange import export_chrome
    >>> export_chrome(trace, Path("dots.json"), progress=Dots())
    ..[]
    """

    def begin(self, events: int) -> None:
        """So many events there are."""

    def advance(self, events: int) -> None:
        """So many more are done."""
