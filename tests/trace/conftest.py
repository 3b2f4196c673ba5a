"""Traces for the tests of this room: files written by the real recorder, and a run with known numbers."""

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest

from pse import trace
from pse.trace import NONE, EventType, MessageFlag, ModuleFlag, Phase, WaitReason, pair

Row = dict[str, int]
WriteRank = Callable[..., Path]


@pytest.fixture(scope="session")
def generate() -> ModuleType:
    """The generator of everything that is made from the one table."""
    path = Path(__file__).parents[2] / "cext" / "recorder" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate_trace_schema", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def write_rank() -> WriteRank:
    """Write the file of one rank: rows are keyword arguments of `Recorder.record_at`."""

    def write(directory: Path, rank: int, rows: Iterable[Row]) -> Path:
        with trace.Recorder(directory, rank) as recorder:
            for row in rows:
                recorder.record_at(**row)
        return directory / f"rank-{rank:05}.events"

    return write


def make_definitions(processors: int = 2, **changes: object) -> trace.Definitions:
    """Definitions of a small program: two call sites, one edge, one root rank and `processors` others."""
    values = {
        "program": "programs/small.coven",
        "text_sha256": "0" * 64,
        "parameters": {"N": 8, "tol": 1e-6, "name": "ü"},
        "options": {"shared_memory": True},
        "sites": (
            trace.SiteDefinition(0, "load_frame", "load_frame", "programs/small.coven:9:14", "thread_A"),
            trace.SiteDefinition(1, "fft.rows", "rows", "programs/small.coven:12:16", "thread_B", True),
        ),
        "edges": (trace.EdgeDefinition(0, "image", 0, (1,), "c128[N, N] @ root"),),
        "ranks": tuple(
            trace.RankDefinition(rank, "parallel" if rank else "root", "thread_B" if rank else "thread_A",
                                 rank - 1 if rank else None, "node0")
            for rank in range(1 + processors)
        ),
        "environment": {"python": "3.11", "mpi": {"name": "MPICH", "version": [5, 0]}},
        "started": "2025-01-31T12:00:00+01:00",
        "loops": (trace.LoopDefinition(0, "k", "programs/small.coven:8:3"),),
    }  # fmt: skip
    return trace.Definitions(**(values | changes))


@pytest.fixture(scope="session")
def definitions() -> Callable[..., trace.Definitions]:
    return make_definitions


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
def small_trace(tmp_path: Path, write_rank: WriteRank) -> Path:
    """A run of three ranks; rank 1 is within a module call and rank 2 within a wait when it ends."""
    directory = tmp_path / "trace"
    trace.create(directory)
    trace.write_definitions(directory, make_definitions())
    write_rank(directory, 0, ROOT_ROWS)
    for rank in (1, 2):
        write_rank(directory, rank, worker_rows(rank))
    return directory
