"""Single operations of two ranks: ``operations COMM SLICE ROUNDS OPERATIONS TRANSFERS IDLE``; prints one JSON object.

``hop``: µs of an 8-byte message, half a round trip, both ranks blocked.  ``blocked``: slices that an 8-byte allreduce
waits which is posted at any time of a slice.  ``overlap ...``: the share of the time of a transfer of 16 MiB that
passes while ranks compute, with who computes.  ``idle``: percent of a core of a rank that waits IDLE seconds for a
message.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pse.bench.peers._proxy import communicator

TRANSFER = 16 << 20
COMPUTING = {"sender": (0,), "receiver": (1,), "both": (0, 1)}
"""Which of the ranks compute while the transfer is under way: 0 sends."""
_LONGER = 1.5
"""How much longer a rank computes than the transfer takes alone."""
_WARM_UP = 10


def hop(comm: Any, rounds: int) -> float:
    """Median µs of half a round trip of 8 bytes."""
    token, times = np.zeros(1), []
    for _ in range(rounds + _WARM_UP):
        begin = time.perf_counter_ns()
        for sender in (0, 1):
            if comm.rank == sender:
                comm.Send(token, 1 - sender)
            else:
                comm.Recv(token, 1 - sender)
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times[_WARM_UP:])) / 2e3


def blocked(comm: Any, operations: int, slice: float) -> float:
    """Mean slices that an allreduce of 8 bytes waits, posted by all at the same random time of a slice."""
    delays = np.random.default_rng(1).random(operations) * slice
    mine, total, waited = np.ones(1), np.zeros(1), 0.0
    comm.Barrier()
    for delay in delays:
        until = time.perf_counter() + delay
        while time.perf_counter() < until:
            pass
        begin = time.perf_counter()
        comm.Allreduce(mine, total)
        waited += time.perf_counter() - begin
    return waited / operations / slice


def overlap(comm: Any, transfers: int, computing: tuple[int, ...]) -> float:
    """Share of a transfer's time that passes while these ranks compute, in percent; 0 if they don't compute less."""
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
    name, slice = sys.argv[1], float(sys.argv[2]) / 1e6
    rounds, operations, transfers, seconds = *map(int, sys.argv[3:6]), float(sys.argv[6])
    with communicator(name, slice) as comm:
        found = {}
        if name == "bcs-strict":
            found["blocked"] = blocked(comm, operations, slice)
        else:
            found["hop"] = hop(comm, rounds)
            found["idle"] = idle(comm, seconds)
            found |= {f"overlap {key}": overlap(comm, transfers, who) for key, who in COMPUTING.items()}
        if comm.rank == 0:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
