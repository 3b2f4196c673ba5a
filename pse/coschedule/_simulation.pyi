"""Types of the C++ face of simulated ranks (cext/coschedule/simulation/_simulation.cpp)."""

class Costs:
    def __init__(
        self,
        *,
        alpha: float,
        beta: float,
        first: float,
        level: float,
        copy: float,
        descriptor: float,
        match: float,
        slice: float,
        wake: float,
        fan: int,
    ) -> None: ...

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
) -> tuple[int | None, bytes, bytes]: ...
def measured() -> tuple[float, float, float, float, float]: ...
def noted_slice() -> float: ...
def noted_call() -> float: ...
