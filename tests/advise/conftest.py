"""Traces with times that are known to the nanosecond, and programs that they are of."""

import struct
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from pse import trace
from pse.language import bind_parameters, check_program
from pse.modules import Finder
from pse.program import number_statements, place_threads
from pse.trace import NONE, EventType, Phase, RankDefinition, SiteDefinition, TextKind, pair
from pse.trace.format import CORES, CPU_SHARE

SECOND = 1_000_000_000
BEGIN = 5 * SECOND

STAGES = '''\
"""Modules of the tests; what they take, traces say."""


#@ coven module compute(in i64 k, out f64 x[4])
def compute(k, x):
    x[...] = k


#@ coven module transfer(in f64 x[4], out f64 y[4])
def transfer(x, y):
    y[...] = x


#@ coven module change(inout f64 x[n])
def change(x):
    x += 1


#@ coven module fill(out f64 x[n])
def fill(x):
    x[...] = 1


#@ coven module look(in f64 x[n], out f64 size)
def look(x):
    return float(abs(x).max())


#@ coven module burn(in i64 k, out f64 y)
def burn(k):
    return float(k)
'''

PIPELINE = """\
coven 1
import "stages.py" { compute, transfer }
param i64 units = 8
program pipeline {
  for k in 0 .. units {
    thread_A compute(k) -> x   // takes the CPU
    // and this waits:
    thread_A transfer(x) -> y
  }
}
"""

Call = tuple[int, float, float]
"""A call site, CPU seconds, other seconds."""


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Path]:
    """Write a program, and a trace in which each rank makes some calls one after the other.

    Each call is ready to run without a core for `preempted` seconds.
    """

    def write(
        text: str,
        calls: Iterable[Call],
        *,
        processors: int = 1,
        cores: int = 1,
        share: float = 1.0,
        phases: tuple[Phase, ...] = (Phase.READY, Phase.DONE),
        partitions: int | None = None,
        parameters: dict[str, int] | None = None,
        preempted: float = 0.0,
    ) -> Path:
        (tmp_path / "stages.py").write_text(STAGES)
        path = tmp_path / "program.coven"
        path.write_text(text)
        result = check_program(text, str(path), modules=Finder())
        assert result.program is not None, [d.message for d in result.diagnostics]
        sites, placement = number_statements(result.program).sites, place_threads(result.program)
        environment, wrong = bind_parameters(result.program, parameters or {}, processors)
        assert not wrong
        seats = [placement.seat(rank) for rank in range(placement.ranks(processors))]
        directory = tmp_path / "trace"
        trace.create(directory)
        trace.write_definitions(
            directory,
            trace.Definitions(
                program=str(path),
                text_sha256=sha256(text.encode()).hexdigest(),
                parameters=environment,
                options={"shared_memory": True},
                sites=tuple(
                    SiteDefinition(
                        s.id, s.label, s.module.name, str(s.span), placement.thread_of(s).label, s.parallel
                    )
                    for s in sites
                ),
                edges=(),
                ranks=tuple(
                    RankDefinition(rank, seat.key.region, seat.key.label, seat.processor, "here")
                    for rank, seat in enumerate(seats)
                ),
                environment={},
                started="2026-01-01T12:00:00+00:00",
            ),
        )
        calls = list(calls)
        for rank, seat in enumerate(seats):
            mine = [
                (call, partition)
                for call in calls
                if placement.thread_of(sites[call[0]]) == seat.key
                for partition in (
                    _partitions(seat.processor, processors, partitions)
                    if seat.processor is not None
                    else (NONE,)
                )
            ]
            _write_rank(directory, rank, mine, cores, share, phases, preempted)
        return directory

    return write


def _partitions(processor: int, processors: int, partitions: int | None) -> list[int]:
    count = partitions or processors
    return [p for p in range(count) if p * processors // count == processor]


def _write_rank(
    directory: Path,
    rank: int,
    calls: list[tuple[Call, int]],
    cores: int,
    share: float,
    phases: tuple[Phase, ...],
    preempted: float,
) -> None:
    now = BEGIN
    with trace.Recorder(directory, rank) as recorder:
        recorder.text(TextKind.COUNTER, 2, CPU_SHARE)
        recorder.text(TextKind.COUNTER, 3, CORES)
        bits = struct.unpack("<Q", struct.pack("<d", min(share * cores, float(cores))))[0]
        recorder.record_at(now, EventType.COUNTER, a=2, b=bits, flags=2)
        recorder.record_at(now, EventType.COUNTER, a=3, b=(1 << cores) - 1)
        if Phase.READY in phases:
            recorder.record_at(now, EventType.PHASE, a=Phase.READY)
        for (site, cpu, rest), partition in calls:
            enter, now = now, now + round((cpu / share + rest + preempted) * SECOND)
            recorder.record_at(enter, EventType.MODULE_ENTER, site=site, tph=1, a=partition)
            if preempted:
                delay = round(preempted * SECOND)
                recorder.record_at(now, EventType.MODULE_PREEMPTED, site=site, tph=1, a=delay, b=enter)
            recorder.record_at(
                now,
                EventType.MODULE_LEAVE,
                site=site,
                tph=1,
                a=round(cpu * SECOND),
                b=enter,
                c=pair(0, partition),
            )
        if Phase.DONE in phases:
            recorder.record_at(now, EventType.PHASE, a=Phase.DONE)


@pytest.fixture
def pipeline(recorded: Callable[..., Path]) -> Path:
    """Eight units of 0.25 s of computing and 0.25 s of waiting, one after the other on one core."""
    return recorded(PIPELINE, [(0, 0.25, 0.0), (1, 0.0, 0.25)] * 8)
