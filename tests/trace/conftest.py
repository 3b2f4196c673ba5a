"""Traces for the tests of this room: files written by the real recorder, and a run with known numbers."""

from pathlib import Path

import pytest
from abigen.model import Table, read
from pse_testing.traces import Row, small_definitions, write_trace

from pse.trace import NONE, EventType, MessageFlag, ModuleFlag, Phase, WaitReason, pair


@pytest.fixture(scope="session")
def table() -> Table:
    """The table of the trace format."""
    return read(Path(__file__).parents[2] / "cext" / "abi" / "events.def")


ROOT_ROWS = [
    {"time": 1000, "type": EventType.PHASE, "a": Phase.START},
    {"time": 1000, "type": EventType.MODULE_ENTER, "site": 0, "tph": 1, "a": NONE},
    {"time": 1400, "type": EventType.MODULE_LEAVE, "site": 0, "tph": 1, "a": 300, "b": 1000,
     "c": pair(0, NONE)},
    {"time": 1400, "type": EventType.ALLOCATE, "site": 0, "tph": 1, "a": 4096, "b": 64},
    {"time": 1450, "type": EventType.SEND, "site": 0, "tph": 1, "a": 2048, "b": pair(1, 0), "c": 1,
     "flags": MessageFlag.DESCRIPTOR},
    {"time": 1460, "type": EventType.SEND, "site": 0, "tph": 1, "a": 2048, "b": pair(2, 0), "c": 1,
     "flags": MessageFlag.COPIED | MessageFlag.REMOTE},
    {"time": 1500, "type": EventType.MODULE_ENTER, "site": 0, "tph": 2, "a": NONE},
    {"time": 1700, "type": EventType.MODULE_LEAVE, "site": 0, "tph": 2, "a": 200, "b": 1500,
     "c": pair(7, NONE), "flags": ModuleFlag.FAILED},
    {"time": 2000, "type": EventType.PHASE, "a": Phase.END},
]  # fmt: skip


def worker_rows(rank: int) -> list[Row]:
    """Rank 2 never gets its tag: it still waits when the trace ends."""
    begin = {"site": 1, "tph": 1, "a": pair(0, 0), "flags": WaitReason.INPUT}
    rows = [{"time": 1000, "type": EventType.WAIT_BEGIN, **begin}]
    if rank == 2:
        return [*rows, {"time": 1900, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 0, "c": 2}]
    return [
        *rows,
        {"time": 1500, "type": EventType.RECEIVE, "site": 0, "tph": 1, "a": 2048, "b": pair(0, 0), "c": 1,
         "flags": MessageFlag.DESCRIPTOR},
        {"time": 1500, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 1, "c": 2},
        {"time": 1600, "type": EventType.WAIT_END, "b": 1000, **begin},
        {"time": 1600, "type": EventType.MODULE_ENTER, "site": 1, "tph": 1, "a": 0},
        {"time": 1900, "type": EventType.FREE, "site": 1, "tph": 1, "a": 4096, "b": 64, "c": 0},
    ]  # fmt: skip


@pytest.fixture
def small_trace(tmp_path: Path) -> Path:
    """A run of three ranks; rank 1 is within a module call and rank 2 within a wait when it ends."""
    directory = tmp_path / "trace"
    write_trace(directory, [ROOT_ROWS, worker_rows(1), worker_rows(2)], small_definitions())
    return directory
