"""How long a run is going to take, and how sure that is."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

from pse.advise.model._operations import Operation, Unrolled
from pse.advise.search._model import Model
from pse.advise.search._search import Candidate, Study
from pse.advise.simulate._simulation import Simulation
from pse.text import time_text

DOUBTFUL = 0.1
"""Part of a run time that a simulation may miss without a word on it."""
RESAMPLES = 12
MARGIN = 0.03
"""Part of a prediction by which the model itself may be wrong, calibrated."""


@dataclass(frozen=True)
class Prediction:
    """A run time in seconds, and the interval in which it is expected.

    Parameters
    ----------
    seconds : float
        The run time, s.
    low, high : float
        Ends of the interval, s.

    Examples
    --------
    >>> str(Prediction(0.0125, 0.011, 0.014))
    '12.5 ms (11.0 ms to 14.0 ms)'
    """

    seconds: float
    low: float
    high: float

    def __str__(self) -> str:
        seconds, low, high = (time_text(1e9 * value) for value in (self.seconds, self.low, self.high))
        return f"{seconds} ({low} to {high})"


def doubts(simulated: float, measured: float, effect: str) -> list[str]:
    """Say that the model misses much of the run as it was (times in s), and what that means, if it does."""
    if abs(1 - simulated / measured) <= DOUBTFUL:
        return []
    times = f"{time_text(1e9 * simulated)}, not {time_text(1e9 * measured)}"
    return [f"simulating the run as it was gives {times}: the model misses something; {effect}"]


def predict(model: Model, study: Study, candidate: Candidate, more: float = 0.0) -> Prediction:
    """Give a run time, as the calibrated model has it, with what may be wrong with it.

    Parameters
    ----------
    model : Model
        Where the run time comes from.
    study : Study
        In which the assignment was simulated.
    candidate : Candidate
        The assignment.
    more : float
        What else may be wrong, in parts of the run time.
    """
    spread = _spread(study, candidate)
    part = MARGIN + abs(1 - model.ratio) / 2 + 2 * spread + more + _doubt(model)
    seconds = model.seconds(candidate)
    return Prediction(seconds, seconds * max(0.0, 1 - part), seconds * (1 + part))


def _doubt(model: Model) -> float:
    """What else makes a prediction less certain: it is about another machine, or calls were not alone.

    Nor is it known whether a slow spell comes again.
    """
    slow = max((spell.lost for spell in model.spells), default=0.0) / model.measured.run_time
    crowded = 0.04 if model.measured.threads > 1 else 0.0
    other_links = model.whatif.link or model.whatif.network
    return slow + crowded + (0.1 if model.whatif.processors else 0.0) + (0.03 if other_links else 0.0)


def _spread(study: Study, candidate: Candidate) -> float:
    """Simulate with durations drawn anew from those like them at their site: a smoothed bootstrap."""
    source = random.Random(0)
    alike = _alike(study.unrolled)
    times = []
    for _ in range(RESAMPLES):
        drawn = [source.choice(durations) for durations in alike]
        times.append(Simulation(study.unrolled, candidate.assignment, study.machine, drawn).run().seconds)
    return statistics.stdev(times) / max(statistics.mean(times), 1e-12)


def _alike(unrolled: Unrolled) -> list[list[tuple[float, float]]]:
    """Give for every operation the durations next to its own among those of its site, in order of length."""
    by_site: dict[int, list[Operation]] = {}
    for operation in unrolled.operations:
        by_site.setdefault(operation.site, []).append(operation)
    found: list[list[tuple[float, float]]] = [[] for _ in unrolled.operations]
    for operations in by_site.values():
        ordered = sorted(operations, key=lambda op: op.cpu + op.rest)
        reach = max(1, len(ordered) // 20)
        for index, operation in enumerate(ordered):
            near = ordered[max(0, index - reach) : index + reach + 1]
            found[operation.number] = [(other.cpu, other.rest) for other in near]
    return found
