"""``pse bench synthetic``: compute and communicate, in turn on one thread, at once on two.

The experiment of the multithreading paper, on emulated nodes.  A unit is an amount of work, then an array
that goes to the neighbouring processor.  The two programs differ in one word, the label of the `shift`.  What
two threads can reach at best is the bound of a pipeline, U · max(Tc, Tm) + min(Tc, Tm): computing as the same
run measures it alone, communicating as the rate of the link allows, or alone too where there is none.  Beside
it: two ranks by hand, with MPI's own waits.  Next rooms: ``programs/synthetic_1.coven``,
``synthetic_2.coven``, ``peers/synthetic.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pse.bench._calibrate import steps_in
from pse.bench._environments import Place, nodes, said_of_processors, share_of
from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, run_peer, run_program, usable_cores


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: processors, units, and seconds of each half of a unit.

    `megabits` is what the link of a node with a whole core carries in a second.  Many nodes on few cores are
    slow computers; their links are slow in proportion, so that communication loads them all alike.
    """

    processors: tuple[int, ...] = (2, 4, 8, 16)
    units: int = 8
    seconds: float = 0.2
    megabits: float = 100.0
    by_hand: int = 4
    """The most processors on which it is measured by hand too."""
    emulated: bool = True

    def rate(self, number: int) -> float:
        """Megabits a second of each link where so many nodes share this machine."""
        return self.megabits * share_of(number)

    def numbers(self, number: int) -> int:
        """Numbers that a link of so many nodes carries in the time of half a unit."""
        return max(int(self.rate(number) * 1e6 * self.seconds / 64), 1)


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure one thread, two threads, and by hand, in turn; one number of processors after the other."""
    figures = []
    for number in sizes.processors:
        with nodes(number, f"{sizes.rate(number):.3f}mbit", emulated=sizes.emulated) as place:
            measurers: list[Callable[[], Mapping[str, float]]] = [
                functools.partial(_program, 1, place, sizes),
                functools.partial(_program, 2, place, sizes),
            ]
            if number <= sizes.by_hand:
                measurers.append(functools.partial(_by_hand, place, sizes))
            samples = in_turn(repeats, measurers, said_of_processors(say, number))
            figures += _figures(place, samples)
    return figures


def _program(threads: int, place: Place, sizes: Sizes) -> dict[str, float]:
    """Seconds of all units, and the least that they can take."""
    numbers = sizes.numbers(place.processors)
    times = run_program(
        f"synthetic_{threads}.coven",
        {"units": sizes.units, "steps": _steps(place, sizes), "numbers": numbers},
        options=place.options,
        processors=place.processors,
        place=place,
    )["t"].reshape(place.processors, 6)
    compute, communicate, _ = np.median(times[:, 1::2] - times[:, 0::2], axis=0).tolist()
    if place.cluster:  # Alone, it waits for cores too.
        communicate = sizes.units * numbers * 64e3 / sizes.rate(place.processors)
    return {
        f"{threads}": float(times[:, 5].max() - times[:, 4].min()) / 1e9,
        f"{threads} bound": bound(sizes.units, compute / 1e9, communicate / 1e9),
    }


def bound(units: int, compute: float, communicate: float) -> float:
    """Least time of a pipeline of two stages.

    Parameters
    ----------
    units : int
        How many units pass.
    compute, communicate : float
        What all units take in each stage alone.

    Examples
    --------
    >>> round(bound(8, 1.6, 0.8), 3)
    1.7
    """
    return max(compute, communicate) + min(compute, communicate) / units


def _by_hand(place: Place, sizes: Sizes) -> dict[str, float]:
    """Seconds of all units by hand, two ranks on each node."""
    steps, processors = _steps(place, sizes), place.processors
    arguments = (sizes.units, steps, sizes.numbers(processors), 2)
    return {"by hand": run_peer("synthetic", 2 * processors, *arguments, place=place, each=2)["seconds"]}


def _steps(place: Place, sizes: Sizes) -> int:
    """Work that a processor of this place does in a unit's time, calibrated now."""
    return steps_in(sizes.seconds * place.share, usable_cores()[-1])


def _figures(place: Place, samples: Samples) -> list[Figure]:
    one, two, least = samples["1"], samples["2"], samples["2 bound"]
    saved = tuple(100 * (1 - b / a) for a, b in zip(one, two, strict=True))
    reached = tuple(100 * a / b for a, b in zip(least, two, strict=True))
    single = Against("one thread", "s", tuple(one), tuple(two))
    pipeline = Against("the pipeline's bound", "s", tuple(least), tuple(two), bound=True)
    figures = [
        Figure(f"two threads: less time than one; {place.words}", "%", ">=", 30.0, saved, single),
        Figure(f"two threads: of the pipeline's bound; {place.words}", "%", ">=", 95.0, reached, pipeline),
    ]
    if "by hand" in samples:
        busy = tuple(100 * (1 - b / a) for a, b in zip(samples["by hand"], two, strict=True))
        by_hand = Against("two ranks by hand, MPI's own waits", "s", tuple(samples["by hand"]), tuple(two))
        name = f"two threads: less time than two ranks with MPI's own waits; {place.words}"
        figures.append(Figure(name, "%", ">=", -5.0, busy, by_hand))
    return figures
