"""Types of the C++ face of simulated ranks (cext/coschedule/simulation/_simulation.cpp)."""

from collections.abc import Callable, Sequence

class Costs:
    def __init__(
        self,
        *,
        alpha: float,
        beta: float,
        first: float,
        level: float,
        fan: int,
        message: float,
        packet: float,
        copy: float,
        descriptor: float,
        match: float,
        slice: float,
        wake: float,
    ) -> None: ...

EVERY_NODE: int

class SliceTree:
    def __init__(self, node: int, nodes: int, post: Callable[[int, int, bytes], None]) -> None: ...
    def begin(self, packets: Sequence[tuple[int, bytes]]) -> None: ...
    def message(self, node: int, kind: int, said: bytes) -> None: ...
    def is_called(self) -> bool: ...
    def is_begun(self) -> bool: ...
    def is_over(self) -> bool: ...
    def end(self) -> tuple[int, list[tuple[int, int, bytes]]]: ...

def simulate(
    *,
    ranks: int,
    table: int,
    strict: bool,
    slice: int,
    chunk: int,
    adapted: bool,
    kept: int,
    costs: Costs,
    per_node: int,
    acts: bytes,
    begins: bytes,
) -> tuple[int | None, bytes, bytes, int]: ...
def measured() -> tuple[float, float, float, float, float, float, float]: ...
def noted_slice() -> float: ...
def noted_call() -> float: ...
