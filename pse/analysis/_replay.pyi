"""Types of the Cython face of the analysis of traces (cext/replay/_replay.pyx)."""

from pse.trace.format import Array

class CallPathReader:
    def __init__(self, calls: Array, operations: Array, has_spans: bool = False) -> None: ...
    def take(self, records: Array, residuals: Array | None = None) -> None: ...
    def rest(self, now: int, residual: int = 0) -> None: ...
    def finish(self, last: int) -> None: ...
    @property
    def nodes(self) -> bytes: ...
    @property
    def spans(self) -> bytes: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int]: ...

def wrong_order(sent: Array, late: Array, sender: Array, call: Array, order: Array) -> None: ...
def logical_clock(
    time: Array,
    is_first: Array,
    before: Array,
    after: Array,
    latency: Array,
    amortisation: int,
    reach: int,
    corrected: Array,
    moved: Array,
) -> tuple[int, bytes]: ...
def time_profiles(
    begin: Array, end: Array, path: Array, paths: int, threads: Array, starts: Array, stops: Array
) -> bytes: ...
def propagate_waits(
    wait: Array,
    cost: Array,
    cause: Array,
    first: Array,
    last: Array,
    before: Array,
    order: Array,
    indirect: Array,
) -> None: ...
