"""Types of the Cython face of the analysis of traces (cext/replay/_replay.pyx)."""

from pse.trace.format import Array

class CallPathReader:
    def __init__(self, calls: Array, operations: Array) -> None: ...
    def take(self, records: Array, residuals: Array | None = None) -> None: ...
    def finish(self, last: int) -> None: ...
    @property
    def nodes(self) -> bytes: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int]: ...

def wrong_order(sent: Array, late: Array, sender: Array, call: Array, order: Array) -> None: ...
def logical_clock(
    time: Array,
    is_first: Array,
    before: Array,
    after: Array,
    latency: int,
    amortisation: int,
    corrected: Array,
    moved: Array,
) -> int: ...
