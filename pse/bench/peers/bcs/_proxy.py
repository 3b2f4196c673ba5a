"""What the proxies share: the communicator, the amount of work, times, and the comparison of results."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import SHORTEST_SLICE

COMMUNICATORS = ("mpi", "bcs", "bcs-strict")
_TRIES, _MEASUREMENTS = 3, 200

Array = NDArray[np.float64]


class Proxy(Protocol):
    """One rank's part of an application that takes steps."""

    def advance(self, comm: Any, steps: int) -> None:
        """Compute and communicate for so many steps."""

    def results(self) -> Sequence[Array]:
        """Give the arrays that the steps compute."""


@dataclass(frozen=True)
class Timed:
    """Seconds of a step of the slowest rank, and one number that stands for all results of all ranks."""

    seconds: float
    digest: str


def at_least(least: float, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """Read a number of the command line that has a least value."""

    def number(text: str) -> float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least:g}")
        return value

    return number


def arguments(description: str, steps: int, compute: float) -> argparse.ArgumentParser:
    """Read what all proxies are told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--comm", choices=COMMUNICATORS, default="mpi", help="who communicates")
    parser.add_argument(
        "--slice",
        type=at_least(SHORTEST_SLICE / 1e3, float),
        default=500.0,
        metavar="µs",
        help="length of a time slice",
    )
    parser.add_argument("--steps", type=at_least(1), default=steps)
    parser.add_argument(
        "--compute", type=at_least(0.01, float), default=compute, metavar="ms", help="computing of a step"
    )
    parser.add_argument(
        "--sweeps", type=at_least(1), help="computing of a step as an amount, instead of --compute"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


@contextlib.contextmanager
def communicator(name: str, slice: float, **options: Any) -> Iterator[Any]:
    """Open the communicator of a name for all ranks; a slice is in seconds."""
    from mpi4py import MPI

    if name == "mpi":
        yield MPI.COMM_WORLD
        return
    from pse import bcs

    mode: Literal["early", "strict"] = "strict" if name == "bcs-strict" else "early"
    with bcs.Comm(MPI.COMM_WORLD, slice=slice, adapt=False, mode=mode, **options) as comm:
        yield comm


def sweeps_in(seconds: float, sweep: Callable[[int], None]) -> int:
    """Find how many sweeps a core does in some time: of CPU time, so that others on it don't count.

    Virtual cores are slower for some milliseconds now and then: the least of many measurements counts.
    """
    sweeps, fastest = 1, 0.0
    while fastest < seconds / 4:
        sweeps *= 2
        fastest = min(_cpu_time(sweep, sweeps) for _ in range(_TRIES))
    fastest = min(_cpu_time(sweep, sweeps) for _ in range(_MEASUREMENTS))
    return max(round(seconds / fastest * sweeps), 1)


def _cpu_time(sweep: Callable[[int], None], sweeps: int) -> float:
    begin = time.thread_time()
    sweep(sweeps)
    return time.thread_time() - begin


def agree(comm: Any, own: Callable[[], int]) -> int:
    """Let rank 0 decide on a number for all ranks."""
    number = np.array([own() if comm.rank == 0 else 0], np.int64)
    comm.Bcast(number)
    return int(number[0])


def timed(comm: Any, proxy: Proxy, steps: int) -> Timed:
    """Take the steps on all ranks together."""
    from mpi4py import MPI

    comm.Barrier()
    begin = time.perf_counter()
    proxy.advance(comm, steps)
    own, slowest = np.array([time.perf_counter() - begin]), np.zeros(1)
    comm.Allreduce(own, slowest, op=MPI.MAX)
    digests = np.zeros((comm.size, hashlib.sha256().digest_size), np.uint8)
    comm.Allgather(_digest(proxy.results()), digests)
    return Timed(float(slowest[0]) / steps, _joined(digests))


def serial_digest(proxies: Sequence[Proxy]) -> str:
    """Give the digest that `timed` gives of ranks with these results."""
    return _joined(np.array([_digest(one.results()) for one in proxies]))


def _digest(arrays: Sequence[Array]) -> NDArray[np.uint8]:
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes())
    return np.frombuffer(found.digest(), np.uint8)


def _joined(digests: NDArray[np.uint8]) -> str:
    return hashlib.sha256(digests.tobytes()).hexdigest()[:16]


def report(name: str, given: argparse.Namespace, ranks: int, found: Timed, expected: str) -> None:
    """Print what rank 0 says at the end.

    Raises
    ------
    SystemExit
        The results are not those of the serial program.
    """
    if given.json:
        print(json.dumps({"seconds": found.seconds, "digest": found.digest}))
    else:
        of = f"{ranks} rank" + "s" * (ranks > 1)
        print(f"{name}, {of}, {given.comm}: {1e3 * found.seconds:.3f} ms per step of {given.steps}")
    if found.digest != expected:
        raise SystemExit(
            f"error: the results differ from the serial program's ({found.digest}, not {expected})"
        )
    if not given.json:
        print(f"the results are the serial program's, bit by bit: {found.digest}")
