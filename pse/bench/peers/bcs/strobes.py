"""Strobes, and what is noted of them: ``strobes BARRIERS OPERATIONS STEPS SWEEPS``; prints one JSON object.

``late``: percent of the slices that begin more than a tenth of a slice late, in the benchmark of barriers,
and ``jitter``, µs, p99; ``timer late``, ``timer jitter``: the same of a process that only sleeps from slice
to slice while the ranks compute. ``blocked``: slices that an 8-byte allreduce waits that is posted at any
time of a slice. ``emds``: percent by which steps of SAGE take longer if slices are noted; ``emds on``,
``emds off``: their ms. ``emds share``, ``mmds share``: percent of a run of SAGE that notes take, of slices
and of calls: what one takes in a loop of nothing else, times how many there are. ``unaccounted``: percent of
that run that is neither computation nor communication by the monitor of the process.
"""

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse import bcs
from pse.bench.peers.bcs._proxy import communicator
from pse.bench.peers.bcs.barriers import EVERY, SLICE, jitter, synchronize
from pse.bench.peers.bcs.sage import Sage

_LATE = 0.1
"""Part of a slice after which it counts as late."""
_KEPT = 10_000
"""Slices that are noted, as many as in the paper."""
_WARM_UP = 4


def strobes(comm: Any, barriers: int) -> dict[str, float]:
    """Watch slices while the ranks compute, and a timer while they do."""
    synchronize(comm, barriers)
    rows = comm.slices()
    found = _lateness("", rows["late"][rows["timed"] > 0] / 1e9, jitter(rows, SLICE) / 1e9)
    if comm.rank:
        synchronize(comm, barriers)
        return found
    ticks = int(barriers * EVERY / SLICE)
    command = [sys.executable, "-m", "pse.bench.peers.bcs.timer", str(SLICE), str(ticks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as timer:
        synchronize(comm, barriers)
        late = np.array(json.loads(timer.communicate()[0]))
    return found | _lateness("timer ", late, np.abs(np.diff(late)))


def _lateness(prefix: str, late: NDArray[Any], jitter: NDArray[Any]) -> dict[str, float]:
    return {
        f"{prefix}late": 100 * float((late > _LATE * SLICE).mean()),
        f"{prefix}jitter": 1e6 * float(np.percentile(jitter, 99)),
    }


def blocked(comm: Any, operations: int) -> float:
    """Mean slices that an allreduce of 8 bytes waits, posted by all at the same random time of a slice.

    Slices may have become longer, as they do where the machine can't keep them.
    """
    mine, total, waited = np.ones(1), np.zeros(1), 0.0
    comm.Barrier()
    for part in np.random.default_rng(1).random(operations):
        length = comm.totals()["length"] / 1e9
        until = time.perf_counter() + part * length
        while time.perf_counter() < until:
            pass
        begin = time.perf_counter()
        comm.Allreduce(mine, total)
        waited += (time.perf_counter() - begin) / length
    return waited / operations


def emds(off: Any, on: Any, steps: int, sweeps: int) -> dict[str, float]:
    """Compare pairs of steps, one without notes of slices and one with them, each first half of the time."""
    sage, times = Sage(off.rank, sweeps), np.zeros((steps + _WARM_UP, 2))
    for step in range(len(times)):
        for which in (0, 1) if step % 2 else (1, 0):
            begin = time.perf_counter()
            sage.advance((off, on)[which], 1)
            times[step, which] = time.perf_counter() - begin
    times = times[_WARM_UP:]
    without = float(np.median(times[:, 0]))
    more = float(np.median(times[:, 1] - times[:, 0]))
    return {"emds": 100 * more / without, "emds on": 1e3 * (without + more), "emds off": 1e3 * without}


def counted(comm: Any, steps: int, sweeps: int) -> dict[str, float]:
    """Count what monitoring notes in steps of SAGE, by a clock of its own.

    The clock is read before a report at either end of the run, so what a report takes to be made is part of
    the run, and of what the next one knows.
    """
    begin, before = time.perf_counter_ns(), comm.report()
    Sage(comm.rank, sweeps).advance(comm, steps)
    end, report = time.perf_counter_ns(), comm.report()
    run, slices, known = end - begin, comm.totals()["slices"], _known(report) - _known(before)
    calls = sum(one.count for one in report.latencies.values())
    slice, call = bcs.monitoring_costs()
    return {
        "emds share": 100e9 * slice * slices / run,
        "mmds share": 100e9 * call * calls / run,
        "unaccounted": 100 * abs(known - run) / run,
    }


def _known(report: bcs.Report) -> int:
    """Nanoseconds that are computation or communication."""
    return report.computation.total + report.communication.total


def main() -> None:
    """Measure each."""
    barriers, operations, steps, sweeps = map(int, sys.argv[1:])
    with communicator("bcs-strict", SLICE, emds=_KEPT) as comm:
        found = strobes(comm, barriers) | {"blocked": blocked(comm, operations)}
    with communicator("bcs", 2 * SLICE) as off, communicator("bcs", 2 * SLICE, emds=_KEPT) as on:
        found |= emds(off, on, steps, sweeps)
    with communicator("bcs", 2 * SLICE, mmds=True) as comm:
        found |= counted(comm, steps, sweeps)
        if comm.rank == 0:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
