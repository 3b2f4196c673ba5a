"""Types of the C++ face of the core primitives (cext/coschedule/primitives/_node_memory.cpp)."""

from collections.abc import Sequence
from typing import Any

class NodeMemory:
    def __init__(self, nodes: int, bytes: int, events: int, /) -> None: ...
    @staticmethod
    def open(process: int, file: int, /) -> NodeMemory: ...
    def file(self) -> int: ...
    def put(
        self,
        data: Any,
        offset: int,
        nodes: Sequence[int],
        origin: int,
        local: int | None,
        remote: int | None,
        /,
    ) -> None: ...
    def compare_and_write(
        self,
        offset: int,
        comparison: int,
        value: int,
        nodes: Sequence[int],
        write: tuple[int, int] | None,
        /,
    ) -> bool: ...
    def read(self, node: int, offset: int, bytes: int, /) -> bytes: ...
    def test(self, node: int, event: int, timeout: int, /) -> bool | None: ...
    def copy(self, node: int, /) -> memoryview: ...
    def recovered(self) -> tuple[int, int]: ...
