"""Times of a program's steps, batch by batch, and what processors worked for them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mpi4py import MPI

world = MPI.COMM_WORLD
PIPES = os.environ.get("PSE_BENCH_TURNS")


def tell(found: dict[str, float]) -> None:
    """Say something to the process that gives turns, if there is one; else print it."""
    line = json.dumps(found)
    if PIPES:
        Path(PIPES, "said").write_text(f"{line}\n")
    else:
        print(line, flush=True)


def turns(batches: int) -> Iterator[int]:
    """Count the batches: all at once, or each when it is this job's turn.

    The variable PSE_BENCH_TURNS names a directory of pipes: a byte in `turn-RANK` is a turn, and what is said
    goes into `said`.
    """
    if not PIPES:
        yield from range(batches)
        return
    with open(f"{PIPES}/turn-{world.rank}", "rb", buffering=0) as pipe:
        if world.rank == 0:
            tell({})
        for number in range(batches):
            if not pipe.read(1):
                return
            yield number


def measure(step: Callable[[], float], batches: int, steps: int) -> None:
    """Take batches of steps, after two that warm up; before each batch, too, where other jobs had turns.

    Rank 0 says for each batch µs of a step, CPU µs of all ranks for it, and the result.
    """
    step(), step()
    for _ in turns(batches):
        if PIPES:
            step(), step()
        world.Barrier()
        begin, worked = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(steps):
            result = step()
        took = (time.perf_counter_ns() - begin) / steps / 1e3
        cpu = world.reduce((time.process_time_ns() - worked) / steps / 1e3)
        if world.rank == 0:
            tell({"wall": took, "cpu": cpu, "result": result})
