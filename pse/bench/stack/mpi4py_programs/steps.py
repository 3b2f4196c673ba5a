"""Times of a program's steps: the median of batches, and what processors worked for all of them."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from mpi4py import MPI


def measure(step: Callable[[], float], batches: int, steps: int) -> None:
    """Take all steps after two that warm up.

    Rank 0 prints µs of a step, CPU µs of all ranks for it, the seconds of all steps, and the result.
    """
    world = MPI.COMM_WORLD
    took, first = [], time.perf_counter()
    step(), step()
    world.Barrier()
    worked = time.process_time_ns()
    for _ in range(batches):
        begin = time.perf_counter_ns()
        for _ in range(steps):
            result = step()
        took.append((time.perf_counter_ns() - begin) / steps / 1e3)
    cpu = world.reduce((time.process_time_ns() - worked) / (batches * steps) / 1e3)
    if world.rank == 0:
        found = {"wall": statistics.median(took), "cpu": cpu, "all": time.perf_counter() - first}
        print(json.dumps({**found, "result": result}))
