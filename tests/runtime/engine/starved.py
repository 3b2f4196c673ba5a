"""Runs a program again and again, another allocation of the engine failing each time (`fail_allocation.c`).

Prints a JSON list: how many allocations a whole run makes, and what each of the starved runs ended with.
"""

import ctypes
import json
import sys
from pathlib import Path

from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError
from pse.runtime import _sequencer

PROGRAMS = Path(__file__).parents[2] / "messaging" / "programs"
PROGRAM = """coven 1
import "messages.c" as c
import "messages.py" as py
param i64 N = 30000
param i64 seed = 1
partition P = 6
program starved {
  thread_A py.make(seed, N) -> x
  thread_A scatter(x) -> xs @ block(0)
  for k in 0 .. 4 { PARALLEL over P { thread_B c.later(k, xs) } }
  for i in 0 .. 6 inflight 3 {
    thread_A py.make(i, N) -> y
    for j in 0 .. 2 inflight 2 { thread_A replicate(y) -> z  PARALLEL { thread_C py.keep("z", z) } }
  }
  PARALLEL over P { thread_B c.ring(xs) -> ys  thread_B py.early(seed, 0, xs)  thread_B py.late(seed, 0, xs) }
  thread_A gather(ys) -> whole @ root
  thread_A py.keep("y", whole)
}
"""
NODES = {"one": {}, "two": {"nodes": lambda rank: rank % 2}}


def extent(library: str) -> tuple[int, int]:
    """Find where a library's code lies in this process."""
    rows = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if library in line]
    places = [int(end, 16) for row in rows if "x" in row[1] for end in row[0].split("-")]
    return min(places), max(places)


def main(place: str, most: int) -> None:
    allocator = ctypes.CDLL(None)
    allocator.fail_count.restype = ctypes.c_int64
    allocator.fail_watch(*(ctypes.c_size_t(end) for end in extent(_sequencer.__file__)))
    program = compile_program(PROGRAM, PROGRAMS / "starved.coven")
    job = make_job(program, 2, **NODES[place])
    allocator.fail_at(ctypes.c_int64(0))
    run(job)
    count = allocator.fail_count()
    ends = []
    for n in range(1, count + 1, max(count // most, 1)):
        allocator.fail_at(ctypes.c_int64(n))
        try:
            run(job, timeout=30)
            ends.append("done")
        except (PseError, MemoryError) as error:
            ends.append(f"{type(error).__name__}: {error}")
    print(json.dumps([count, ends]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
