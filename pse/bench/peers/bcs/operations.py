"""Single operations of two ranks: ``operations COMM ROUNDS TRANSFERS IDLE``; prints one JSON object.

``hop``: µs of an 8-byte message, half a round trip, both ranks blocked.  ``overlap ...``: the percentage of
the time of a transfer of 16 MiB that passes while ranks compute, with who computes.  ``idle``: percent of a
core that a rank uses which waits IDLE seconds for a message.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pse.bench.peers.bcs._proxy import communicator

TRANSFER = 16 << 20
COMPUTING = {"sender": (0,), "receiver": (1,), "both": (0, 1)}
"""Which of the ranks compute while the transfer is under way: 0 sends."""
_LONGER = 2.0
"""How much longer a rank computes than the transfer takes alone."""
_WARM_UP = 10
_SLICE = 500e-6


def hop(comm: Any, rounds: int) -> float:
    """Median µs of half a round trip of 8 bytes."""
    token, times = np.zeros(1), []
    for _ in range(rounds + _WARM_UP):
        begin = time.perf_counter_ns()
        for sender in (0, 1):
            if comm.rank == sender:
                comm.Send(token, 1 - sender)
            else:
                comm.Recv(token, sender)
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times[_WARM_UP:])) / 2e3


def overlap(comm: Any, transfers: int, computing: tuple[int, ...]) -> float:
    """Percent of a transfer's time that passes while these ranks compute."""
    data = np.ones(TRANSFER, np.uint8)
    alone = _median(comm, transfers, lambda: _transfer(comm, data, 0))
    cells = int(2e6 * _LONGER * alone / _compute_time(2_000_000)) if comm.rank in computing else 0
    compute = _median(comm, transfers, lambda: _compute(cells))
    both = _median(comm, transfers, lambda: _transfer(comm, data, cells))
    return max(0.0, 100 * (alone + compute - both) / alone)


def _transfer(comm: Any, data: Any, cells: int) -> None:
    request = comm.Isend(data, 1) if comm.rank == 0 else comm.Irecv(data, 0)
    _compute(cells)
    request.Wait()


_CELLS = np.ones(20_000)


def _compute(cells: int) -> None:
    """Compute so many cells, of an array that stays in the core's own cache."""
    for begin in range(0, cells, len(_CELLS)):
        part = _CELLS[: min(len(_CELLS), cells - begin)]
        np.sqrt(part, out=part)


def _compute_time(cells: int) -> float:
    """Seconds of CPU that cells take."""
    begin = time.thread_time()
    _compute(cells)
    return time.thread_time() - begin


def _median(comm: Any, repeats: int, run: Callable[[], None]) -> float:
    """Median seconds from the begin on all ranks to the end on the last of them."""
    from mpi4py import MPI

    times, slowest = np.zeros(repeats), np.zeros(repeats)
    run()
    for turn in range(repeats):
        comm.Barrier()
        begin = time.perf_counter()
        run()
        times[turn] = time.perf_counter() - begin
    comm.Allreduce(times, slowest, op=MPI.MAX)
    return float(np.median(slowest))


def idle(comm: Any, seconds: float) -> float:
    """Percent of a core of the rank that waits for a message, or of the one that sleeps if that is more."""
    from mpi4py import MPI

    token, share, most = np.zeros(1), np.zeros(1), np.zeros(1)
    comm.Barrier()
    used, begin = time.process_time(), time.perf_counter()
    if comm.rank:
        time.sleep(seconds)
        comm.Send(token, 0)
    else:
        comm.Recv(token, 1)
    share[0] = 100 * (time.process_time() - used) / (time.perf_counter() - begin)
    comm.Allreduce(share, most, op=MPI.MAX)
    return float(most[0])


def main() -> None:
    """Measure each."""
    rounds, transfers, seconds = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    with communicator(sys.argv[1], _SLICE) as comm:
        found = {"hop": hop(comm, rounds), "idle": idle(comm, seconds)}
        found |= {f"overlap {key}": overlap(comm, transfers, who) for key, who in COMPUTING.items()}
        if comm.rank == 0:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
