"""Traces for the tests of pictures: written by the real recorder, with numbers that are known."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from pse import trace
from pse.trace import NONE, EventType, ModuleFlag, Phase, WaitReason, pair
from pse.trace.format._events import HEADER_DTYPE

Row = dict[str, int]
MODULES = ("load", "rows", "save")


def call(site: int, begin: int, end: int, tph: int = 1, flags: int = 0) -> list[Row]:
    """Enter and leave a module."""
    head = {"site": site, "tph": tph}
    return [
        {"time": begin, "type": EventType.MODULE_ENTER, "a": NONE, **head},
        {"time": end, "type": EventType.MODULE_LEAVE, "a": end - begin, "b": begin, "c": pair(0, NONE),
         "flags": flags, **head},
    ]  # fmt: skip


def wait(begin: int, end: int, reason: int = WaitReason.INPUT, tph: int = 1) -> list[Row]:
    """Wait for rank 0."""
    head = {"tph": tph, "flags": reason, "a": pair(0, 0)}
    return [
        {"time": begin, "type": EventType.WAIT_BEGIN, **head},
        {"time": end, "type": EventType.WAIT_END, "b": begin, **head},
    ]


def region(number: int, begin: int, end: int, inner: Iterable[Row] = ()) -> list[Row]:
    """Enter a routine, do what is in it, leave it."""
    return [
        {"time": begin, "type": EventType.REGION_ENTER, "a": number},
        *inner,
        {"time": end, "type": EventType.REGION_LEAVE, "a": number, "b": begin},
    ]


def text(number: int, name: str, kind: int = trace.TextKind.REGION) -> list[Row]:
    """Name something, at time 0."""
    parts = [name.encode()[at : at + 16].ljust(16, b"\0") for at in range(0, len(name), 16)]
    words = [tuple(int.from_bytes(part[at : at + 8], "little") for at in (0, 8)) for part in parts]
    return [
        {"time": 0, "type": EventType.TEXT, "flags": kind, "a": pair(number, part), "b": b, "c": c}
        for part, (b, c) in enumerate(words)
    ]


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
    return SimpleNamespace(call=call, wait=wait, region=region, text=text, definitions=definitions)


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
        directory = tmp_path / name
        trace.create(directory)
        if known is not None:
            trace.write_definitions(directory, known)
        for rank, rows in enumerate(ranks):
            with trace.Recorder(directory, rank) as recorder:
                names = [row for number, name in enumerate(routines) for row in text(number, name)]
                for row in [*names, *rows]:
                    recorder.record_at(**row)
        for rank, host in enumerate(hosts):
            with (directory / f"rank-{rank:05}.events").open("r+b") as file:
                file.seek(HEADER_DTYPE.fields["host"][1])
                file.write(host.encode().ljust(256, b"\0"))
        if known is None:
            for path in directory.glob("rank-*.events"):  # As the tool `trace` names them.
                path.rename(path.with_suffix(".mpi.events"))
        return trace.open(directory)

    return write


@pytest.fixture
def small_trace(write_trace: WriteTrace) -> trace.Trace:
    """Three ranks: the root loads two frames, thread_B works on them, thread_C never gets anything."""
    root = [
        {"time": 0, "type": EventType.PHASE, "a": Phase.START},
        {"time": 0, "type": EventType.CONTEXT_BEGIN, "tph": 7, "b": 0, "c": pair(0, NONE), "a": 1},
        {"time": 0, "type": EventType.CONTEXT_BEGIN, "tph": 8, "b": 1, "c": pair(0, NONE), "a": 1},
        *call(0, 100_000, 400_000, 7),
        {"time": 400_000, "type": EventType.SEND, "site": 0, "tph": 7, "a": 64, "b": pair(1, 0), "c": 1},
        *call(0, 400_000, 500_000, 8),
        {"time": 500_000, "type": EventType.SEND, "site": 0, "tph": 8, "a": 64, "b": pair(1, 0), "c": 2},
        *call(2, 900_000, 950_000, 7, ModuleFlag.FAILED),
        {"time": 1_000_000, "type": EventType.PHASE, "a": Phase.END},
    ]
    worker = [
        *wait(0, 410_000),
        {"time": 410_000, "type": EventType.RECEIVE, "site": 0, "tph": 7, "a": 64, "b": pair(0, 0), "c": 1},
        {"time": 410_000, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 1, "c": 2},
        *call(1, 420_000, 700_000, 7),
        {"time": 700_000, "type": EventType.RECEIVE, "site": 0, "tph": 8, "a": 64, "b": pair(0, 0), "c": 2},
        *call(1, 710_000, 990_000, 8)[:1],
        {"time": 990_000, "type": EventType.ALLOCATE, "site": 1, "tph": 8, "a": 4096, "b": 64},
    ]  # fmt: skip
    return write_trace([root, worker, wait(0, 1_000_000, WaitReason.CREDIT)[:1]], definitions())
