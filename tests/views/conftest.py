"""Traces for the tests of pictures: written by the real recorder, with numbers that are known."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from pse_testing.browser import browser
from pse_testing.traces import (
    Row,
    call_rows,
    region_rows,
    text_rows,
    wait_rows,
    write_trace as write_trace_files,
)

from pse import trace
from pse.trace import NONE, EventType, ModuleFlag, Phase, WaitReason, pair

__all__ = ["browser"]
MODULES = ("load", "rows", "save")


def wait(begin: int, end: int, reason: int = WaitReason.INPUT, tph: int = 1) -> list[Row]:
    """Wait for rank 0."""
    return wait_rows(begin, end, reason, tph, peer=0, edge=0)


def definitions(ranks: int = 3, modules: Iterable[str] = MODULES, hosts: int = 1) -> trace.Definitions:
    """Definitions of a program with one call site for each module; two threads on each processor."""
    return trace.Definitions(
        program="programs/small.coven",
        text_sha256="0" * 64,
        parameters={"N": 8},
        options={},
        sites=tuple(
            trace.SiteDefinition(number, f"lib.{name}", name, f"small.coven:{number + 1}:1", "thread_B")
            for number, name in enumerate(modules)
        ),
        edges=(trace.EdgeDefinition(0, "image", 0, (1,)),),
        ranks=tuple(
            trace.RankDefinition(rank, "parallel" if rank else "root", f"thread_{'CB'[rank % 2]}" if rank else
                                 "thread_A", (rank - 1) // 2 if rank else None, f"node{rank % hosts}")
            for rank in range(ranks)
        ),
        environment={},
        started="2025-01-31T12:00:00+01:00",
        loops=(trace.LoopDefinition(0, "k", "small.coven:2:1"),),
    )  # fmt: skip


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """What traces are made of: `call`, `wait`, `region`, `text` give rows, `definitions` what they mean."""
    return SimpleNamespace(
        call=call_rows, wait=wait, region=region_rows, text=text_rows, definitions=definitions
    )


WriteTrace = Callable[..., trace.Trace]


@pytest.fixture
def write_trace(tmp_path: Path) -> WriteTrace:
    """Write a trace and open it: rows of each rank, definitions or None, names of routines, hosts."""

    def write(
        ranks: Iterable[Iterable[Row]],
        known: trace.Definitions | None,
        routines: Iterable[str] = (),
        name: str = "trace",
        hosts: Sequence[str] = (),
    ) -> trace.Trace:
        return write_trace_files(tmp_path / name, ranks, known, tuple(routines), hosts)

    return write


@pytest.fixture
def small_trace(write_trace: WriteTrace) -> trace.Trace:
    """Three ranks: the root loads two frames, thread_B works on them, thread_C never gets anything."""
    root = [
        {"time": 0, "type": EventType.PHASE, "a": Phase.START},
        {"time": 0, "type": EventType.CONTEXT_BEGIN, "tph": 7, "b": 0, "c": pair(0, NONE), "a": 1},
        {"time": 0, "type": EventType.CONTEXT_BEGIN, "tph": 8, "b": 1, "c": pair(0, NONE), "a": 1},
        *call_rows(0, 100_000, 400_000, 7),
        {"time": 400_000, "type": EventType.SEND, "site": 0, "tph": 7, "a": 64, "b": pair(1, 0), "c": 1},
        *call_rows(0, 400_000, 500_000, 8),
        {"time": 500_000, "type": EventType.SEND, "site": 0, "tph": 8, "a": 64, "b": pair(1, 0), "c": 2},
        *call_rows(2, 900_000, 950_000, 7, ModuleFlag.FAILED),
        {"time": 1_000_000, "type": EventType.PHASE, "a": Phase.END},
    ]
    worker = [
        *wait(0, 410_000),
        {"time": 410_000, "type": EventType.RECEIVE, "site": 0, "tph": 7, "a": 64, "b": pair(0, 0), "c": 1},
        {"time": 410_000, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 1, "c": 2},
        *call_rows(1, 420_000, 700_000, 7),
        {"time": 700_000, "type": EventType.RECEIVE, "site": 0, "tph": 8, "a": 64, "b": pair(0, 0), "c": 2},
        *call_rows(1, 710_000, 990_000, 8)[:1],
        {"time": 990_000, "type": EventType.ALLOCATE, "site": 1, "tph": 8, "a": 4096, "b": 64},
    ]  # fmt: skip
    return write_trace([root, worker, wait(0, 1_000_000, WaitReason.CREDIT)[:1]], definitions())
