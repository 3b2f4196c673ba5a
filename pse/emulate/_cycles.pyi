"""Types of the Cython face of the timed loop (cext/emulate/_cycles.pyx)."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

def ticks() -> int: ...
def read_clocks() -> tuple[float, int]: ...
def routine_names() -> list[str]: ...

class Library:
    request_size: int
    def __init__(
        self, addresses: Sequence[int], byte: int, real: int, sum: int, bit_or: int, request_size: int
    ) -> None: ...

def run_cycles(
    library: Library,
    comms: Sequence[int],
    steps: NDArray[Any],
    begins: NDArray[Any],
    cycles: int,
    *,
    out: NDArray[Any],
    into: NDArray[Any],
    synchronous: bool,
    sleeps: bool,
    origin: int,
    rate: float,
) -> tuple[int, NDArray[Any]]: ...
