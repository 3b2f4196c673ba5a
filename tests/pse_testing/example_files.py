"""The files that examples in docstrings name: programs, traces with times that are known, measurements."""

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import pse
from pse import partition, trace
from pse.emulate import Results
from pse.language.io import check_file
from pse.modules import Finder
from pse.runtime.status import Report
from pse.runtime.status._report import SiteReport, ThreadReport
from pse.trace import (
    NONE,
    EdgeDefinition,
    EventType,
    LoopDefinition,
    Phase,
    RankDefinition,
    SiteDefinition,
    pair,
)
from pse_testing.planted_measurements import planted_cycles, planted_exchanges
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import Row, call_rows, phase_rows, receive_rows, send_rows, wait_rows, write_trace

PROGRAMS = Path(__file__).parents[2] / "programs"
MS = 1_000_000

WRONG = """\
coven 1
program wrong {
  let x = 1 + y
}
"""

STAGES = '''\
"""Modules of pipeline.coven."""


#@ coven module load(in i64 k, out f64 image[8])
def load(k, image):
    image[...] = k


#@ coven module rows(in f64 image[n], out f64 result[n])
def rows(image, result):
    result[...] = 2 * image


#@ coven module total(in f64 result[n], out f64 sum)
def total(result):
    return float(result.sum())
'''

PIPELINE = """\
coven 1
import "stages.py" { load, rows, total }
program pipeline {
  for k in 0 .. 2 {
    thread_A load(k) -> image
    thread_B rows(image) -> result
    thread_A total(result) -> sum
  }
}
"""


def write_example_files() -> dict[str, Any]:
    """Write them into the current directory; give the names that all examples find."""
    for name in ("heat.coven", "heat.c"):
        shutil.copy(PROGRAMS / name, name)
    for name, text in (("wrong.coven", WRONG), ("stages.py", STAGES), ("pipeline.coven", PIPELINE)):
        Path(name).write_text(text)
    _write_measurements()
    Path("report.json").write_text(_report().to_json())
    for name, wait in (("mpi1", 3000), ("mpi2", 1000)):
        planted = PlantedWaits(2, [[0, 1]])
        planted.late_sender(on=0, source=0, target=1, wait=wait, tag=1, wildcard=False)
        planted.write(Path(name))
    return {
        "cube": pse.analysis.analyze("mpi1"),
        "Path": Path,
        "np": np,
        "partition": partition,
        "pse": pse,
        "pipeline": check_file("pipeline.coven", Finder()).required(),
        "program": check_file("heat.coven", Finder()).required(),
        "wrong": check_file("wrong.coven", Finder()),
        "trace": write_trace(
            Path("run1"), [_loader_rows(), _transformer_rows()], _definitions(), hosts=["node0", "node0"]
        ),
    }


def _write_measurements() -> None:
    """Measure an application twice, the second time with a slow rank."""
    applications = {"applications": [{"name": "halo", "pattern": "pairwise", "ranks": 4}]}
    for name, factor in (("run.ace", 1.0), ("after.ace", 2.0)):
        cycles, exchanges = planted_cycles(launches=10, ranks=4, cycles=50), planted_exchanges(launches=10)
        cycles["communication"][cycles["rank"] == 3] *= factor
        Results(cycles, exchanges, applications).save(name)


def _report() -> Report:
    """A run of heat.coven as ``pse run --report json`` tells it."""
    site = SiteReport(2, "step", "heat.coven:17:16", "thread_B", 800, 1.6, 1.5, 0.94, 0.1, 6_400, 0, 0)
    thread = ThreadReport("thread_B", 2, 808, 1.7, 1.6, 0.9, 0.1)
    return Report("heat.coven", 2, 5, 1.0, 6_400, 0, 0, 1 << 24, {}, (site,), (thread,))


def _definitions() -> trace.Definitions:
    """What the numbers in the events of pipeline.coven stand for."""
    loop = LoopDefinition(0, "k", "pipeline.coven:4:3")
    calls = (("load", "5:14", "A"), ("rows", "6:14", "B"), ("total", "7:14", "A"))
    return trace.Definitions(
        program="pipeline.coven",
        text_sha256=sha256(PIPELINE.encode()).hexdigest(),
        parameters={},
        options={"shared_memory": True},
        sites=tuple(
            SiteDefinition(number, name, name, f"pipeline.coven:{place}", f"thread_{thread}", loops=(loop,))
            for number, (name, place, thread) in enumerate(calls)
        ),
        edges=(EdgeDefinition(0, "image", 0, (1,), "f64[8]"), EdgeDefinition(1, "result", 1, (2,), "f64[8]")),
        ranks=tuple(RankDefinition(rank, "root", f"thread_{'AB'[rank]}", None, "node0") for rank in range(2)),
        environment={},
        started="2026-01-31T12:00:00+01:00",
        loops=(loop,),
    )


def _loader_rows() -> list[Row]:
    """Rank 0: loads for 4 ms, waits while the other rank computes for 9 ms, adds up for 1 ms; twice."""
    rows = [*phase_rows(0, Phase.START), *phase_rows(MS, Phase.READY)]
    for tph, begin in ((1, 1), (2, 15)):
        load, done, end = (at * MS for at in (begin + 4, begin + 13, begin + 14))
        rows += [*_begin_rows(tph, begin * MS), *call_rows(0, begin * MS, load, tph, cpu=2 * MS),
                 *send_rows(load, 0, 0, 1, tph, tph), *wait_rows(load, done, tph=tph, site=2, edge=1, peer=1),
                 *receive_rows(done, 1, 1, 1, tph, tph), *call_rows(2, done, end, tph),
                 *_end_rows(tph, end)]  # fmt: skip
    return [*rows, *phase_rows(29 * MS, Phase.DONE), *phase_rows(30 * MS, Phase.END)]


def _transformer_rows() -> list[Row]:
    """Rank 1: waits for what is loaded, then computes."""
    rows = [*phase_rows(0, Phase.START), *phase_rows(MS, Phase.READY)]
    for tph, begin in ((1, 1), (2, 15)):
        load, done = (at * MS for at in (begin + 4, begin + 13))
        rows += [*_begin_rows(tph, begin * MS), *wait_rows(begin * MS, load, tph=tph, site=1, edge=0, peer=0),
                 *receive_rows(load, 0, 0, 0, tph, tph), *call_rows(1, load, done, tph),
                 *send_rows(done, 1, 1, 0, tph, tph), *_end_rows(tph, done)]  # fmt: skip
    return [*rows, *phase_rows(28 * MS, Phase.DONE), *phase_rows(30 * MS, Phase.END)]


def _begin_rows(tph: int, time: int) -> list[Row]:
    """An iteration begins: the counter k is one less than the TPH's number."""
    return [
        {"time": time, "type": EventType.CONTEXT_BEGIN, "tph": tph, "a": 0, "b": tph - 1, "c": pair(0, NONE)}
    ]


def _end_rows(tph: int, time: int) -> list[Row]:
    return [{"time": time, "type": EventType.CONTEXT_END, "tph": tph}]
