"""``pse bench fft3``: 2-D FFTs on emulated nodes, beside FFTW's own MPI transform.

The experiment of the multithreading paper: one FFT on one thread, which should cost no more than FFTW's; then
three, transposing on a second thread, against three of FFTW's back to back and three jobs at once.
FFTW's MPI library is used where the variable `PSE_FFTW_MPI` names it (built for this MPI:
``examples/experiments/build_fftw_mpi.sh``), else the same calls by hand; the figures say which.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pse.bench._environments import Place, nodes, said_of_processors, share_of
from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, finish, in_turn, peer_command, run_peer, run_program, start, stop
from pse.errors import RunError

LIBRARY_VARIABLE = "PSE_FFTW_MPI"
THREE = 3


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: processors, and points of a side.

    `megabits` is what the link of one of two nodes with a whole core each carries in a second: so much that
    computing and communicating take about as long.  More nodes on as many cores are slower, and have more to
    send of what they hold: links go with both.

    Sides are a power of two, and four times a prime, so that there is arithmetic enough for each number that
    is sent: with a power of two a core of today computes for a tenth of the time that it communicates, and
    there is little to overlap.
    """

    processors: tuple[int, ...] = (2, 4)
    sides: tuple[int, ...] = (4096, 4084)
    megabits: float = 4000.0
    emulated: bool = True

    def rate(self, number: int) -> float:
        """Megabits a second of each link where so many nodes share this machine."""
        return self.megabits * share_of(number) * 2 * (number - 1) / number


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure ours, FFTW's, and three jobs of FFTW's, in turn; one number of processors after the other."""
    figures = []
    for number in sizes.processors:
        with nodes(number, f"{sizes.rate(number):.0f}mbit", emulated=sizes.emulated) as place:
            for n in sizes.sides:
                measurers: list[Callable[[], Mapping[str, float]]] = [
                    functools.partial(_program, 1, place, n),
                    functools.partial(_program, 2, place, n),
                    functools.partial(_by_hand, place, n),
                    functools.partial(_at_once, place, n),
                ]
                samples = in_turn(repeats, measurers, said_of_processors(say, number))
                figures += _figures(place, n, samples)
    return figures


def library() -> str:
    """Path of FFTW's MPI library; "-" for none.

    Raises
    ------
    RunError
        The variable names a file that isn't there.
    """
    path = os.environ.get(LIBRARY_VARIABLE, "-")
    if path != "-" and not os.path.isfile(path):
        raise RunError(
            f"{LIBRARY_VARIABLE} names {path}, which does not exist",
            help=f"unset {LIBRARY_VARIABLE}, or name a libfftw3_mpi.so that exists",
        )
    return path


def _program(threads: int, place: Place, n: int) -> dict[str, float]:
    """Seconds of one FFT, and of three, from when the first begins to be made to when the last is there."""
    number = place.processors
    times = run_program(
        f"fft3_{threads}.coven",
        {"N": n},
        options=place.options,
        processors=number,
        place=place,
    )["t"].reshape(number, -1, 3)
    _check(times[0, :, 2], n, number, (*range(THREE), 0, *range(THREE)))
    one, three = times[:, THREE], times[:, THREE + 1 :]
    return {
        f"one {threads}": float(one[:, 1].max() - one[:, 0].min()) / 1e9,
        f"three {threads}": float(three[..., 1].max() - three[..., 0].min()) / 1e9,
    }


def _by_hand(place: Place, n: int) -> dict[str, float]:
    """Seconds of one FFT by FFTW, and of three back to back."""
    found = run_peer("fft3", place.processors, n, library(), place=place)
    _check(found["first"], n, place.processors, (0, *range(THREE)))
    return {f"{name} fftw": found[name][1] - found[name][0] for name in ("one", "three")}


def _at_once(place: Place, n: int) -> dict[str, float]:
    """Seconds of three jobs of FFTW's that begin together, one FFT each."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        jobs = []
        try:
            for job in range(THREE):
                arguments = (n, library(), THREE, job)
                command = peer_command("fft3", place.processors, arguments, place.hosts(1))
                jobs.append(start(command, directory, place))
            times = [json.loads(finish("the peer fft3", job))["three"] for job in jobs]
        finally:
            for process in jobs:
                stop(process)
    return {"at once": max(end for _, end in times) - min(begin for begin, _ in times)}


def _check(firsts: object, n: int, processors: int, frames: tuple[int, ...]) -> None:
    """Make sure that spectra were made: the first number of each is the sum of its frame."""
    sums = [processors * _band_sum(n // processors * n, k) for k in frames]
    if not np.allclose(np.asarray(firsts, dtype=float), sums, rtol=1e-9):
        raise RunError(f"the spectra are wrong: {firsts} instead of {sums}")


@functools.cache
def _band_sum(cells: int, k: int) -> float:
    """Sum of the numbers of a band of the k-th frame (``programs/fft3.c``)."""
    numbers = np.arange(cells, dtype=np.uint64) * np.uint64(2654435761)
    return float(((numbers + np.uint64(k)) % np.uint64(1024)).sum()) / 1024


def _figures(place: Place, n: int, samples: Samples) -> list[Figure]:
    fftw = "the same calls by hand" if library() == "-" else "FFTW's own MPI transform"
    where = f"{n}², {place.words}"
    one, three = samples["one 1"], samples["three 2"]
    return [
        Figure(
            *(f"one FFT on one thread: longer than FFTW-MPI; {where}", "%", "<=", 1.0),
            tuple(100 * (a / b - 1) for a, b in zip(one, samples["one fftw"], strict=True)),
            Against(fftw, "s", tuple(samples["one fftw"]), tuple(one)),
        ),
        _saved(
            "three FFTs, two threads: less time than back to back",
            25.0,
            where,
            three,
            samples["three fftw"],
            fftw,
        ),
        _saved(
            "three FFTs in flight, two threads: less time than the same on one thread",
            0.0,
            where,
            three,
            samples["three 1"],
            "pse",
        ),
        _saved(
            "three FFTs, two threads: less time than three jobs at once",
            10.0,
            where,
            three,
            samples["at once"],
            fftw,
        ),
    ]


def _saved(name: str, target: float, where: str, ours: list[float], theirs: list[float], who: str) -> Figure:
    saved = tuple(100 * (1 - a / b) for a, b in zip(ours, theirs, strict=True))
    against = Against(f"{who}, {name.rpartition('than ')[2]}", "s", tuple(theirs), tuple(ours))
    return Figure(f"{name}; {where}", "%", ">=", target, saved, against)
