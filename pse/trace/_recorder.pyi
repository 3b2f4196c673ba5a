import os
from types import TracebackType

class Recorder:
    """Writes the events of one rank to ``DIRECTORY/rank-RRRRR.events``."""

    rank: int
    def __init__(self, directory: str | os.PathLike[str], rank: int) -> None: ...
    def record(
        self,
        type: int,
        site: int = ...,
        tph: int = ...,
        a: int = ...,
        b: int = ...,
        c: int = ...,
        flags: int = ...,
    ) -> None: ...
    def record_at(
        self,
        time: int,
        type: int,
        site: int = ...,
        tph: int = ...,
        a: int = ...,
        b: int = ...,
        c: int = ...,
        flags: int = ...,
    ) -> None: ...
    def text(self, kind: int, number: int, name: str) -> None: ...
    def close(self) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def error(self) -> int: ...
    def __enter__(self) -> Recorder: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def clock() -> int: ...
def pair(low: int, high: int) -> int: ...
