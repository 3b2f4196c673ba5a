"""Types of the Cython face of the level of detail (cext/kernels/_blocks.pyx)."""

from pse.trace.format import Array

class Collector:
    def __init__(
        self,
        edges: Array,
        narrow: int,
        site_categories: Array,
        other: int,
        tphs: Array | None,
        sample: int,
    ) -> None: ...
    def take(self, events: Array) -> None: ...
    def finish(self) -> None: ...
    @property
    def blocks(self) -> bytes: ...
    @property
    def shares(self) -> bytes: ...
    @property
    def picked(self) -> bytes: ...
    @property
    def counts(self) -> tuple[int, int, int, int]: ...
