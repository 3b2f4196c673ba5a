"""Phase two: cycles of computing and communicating at a load, whose times were predicted before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import StepKind
from pse.emulate.configuration._configuration import Application, Configuration, Setting
from pse.emulate.configuration._steps import predict_pattern, variants_of
from pse.emulate.job._team import Team
from pse.emulate.patterns._cycle import Step
from pse.emulate.results._results import CYCLE

if TYPE_CHECKING:
    from pse.emulate.model._model import Model

TRIAL = 0.5
"""Seconds that the exchanges may take, by which a pattern's cost is measured."""
_WARM_UP = 5
_FEWEST, _MOST = 20, 10_000
_TRIALS = (0.2, 0.2, 1.0)  # Shares of that time: the first ones find about how long a cycle computes.
_BATCHES = 10


def compute_time(communication: float, load: float) -> float:
    """Give the compute time of a cycle that communicates for so many percent of its time.

    Examples
    --------
    >>> compute_time(1.0, 25), compute_time(1.0, 100)
    (3.0, 0.0)
    """
    return communication * (100 / load - 1)


def measure_communication(team: Team, variants: list[list[Step]], cycles: int, load: float = 100.0) -> float:
    """Measure an application's own exchanges at a load: the mean of cycles and ranks, in s a cycle.

    Exchanges after a pause take longer than back to back: others use the caches meanwhile.  So the measured
    cycles compute, too, for as long as the trial before says.
    """
    team.align()
    found = team.greatest(float(team.run(variants, _WARM_UP)["communication"][-1]))
    for share in _TRIALS if load < 100 else _TRIALS[-1:]:
        gap = compute_time(found, load)
        possible = share * TRIAL / max(found + gap, 1e-9)
        count = int(min(max(possible, _FEWEST), _MOST, max(cycles, _FEWEST)))
        times = team.run(with_computing(variants, gap), count)["communication"]
        found = team.mean(_mean_without_bursts(times))
    return found


def _mean_without_bursts(times: NDArray[np.float64]) -> float:
    """Give the median of batches' means: as a run time is a sum, its cycles count by their mean."""
    return float(np.median([batch.mean() for batch in np.array_split(times, _BATCHES)]))


def with_computing(variants: list[list[Step]], seconds: float) -> list[list[Step]]:
    """Let each variant of a cycle begin with computing."""
    compute = [Step(StepKind.COMPUTE, seconds=seconds)] if seconds else []
    return [compute + steps for steps in variants]


class Emulation:
    """One application on its ranks.

    Parameters
    ----------
    application : Application
        What it does.
    team : Team
        Its ranks.
    configuration : Configuration
        What is measured.
    model : Model, optional
        What messages cost, if the configuration predicts from that.
    """

    def __init__(
        self, application: Application, team: Team, configuration: Configuration, model: Model | None
    ) -> None:
        self.application, self.team = application, team
        self._configuration, self._model = configuration, model

    def predict(self, size: int, load: float) -> float:
        """Give the communication time of a cycle, s, on which all ranks agree."""
        seed = self._configuration.seed
        if self._model is not None:
            cost: Callable[[int], float] = self._model.seconds
            return predict_pattern(self.application, size, seed, cost)
        at = load if self._configuration.prediction == "load" else 100.0
        return measure_communication(self.team, self._variants(size), self.application.cycles, at)

    def _variants(self, size: int) -> list[list[Step]]:
        return variants_of(self.application, self.team.rank, size, self._configuration.seed)

    def run(self, size: int, load: float, communication: float) -> NDArray[np.void]:
        """Execute the cycles at a load.

        Returns
        -------
        numpy.ndarray
            The cycles of this rank, CYCLE\\[n].
        """
        calculated = compute_time(communication, load)
        variants = with_computing(self._variants(size), calculated)
        own = np.array([sum(step.seconds for step in steps) for steps in variants])
        if self.application.start:
            time.sleep(self.application.start)
        self.team.align()
        times = self.team.run(variants, self.application.cycles, synchronous=self.application.synchronous)
        rows = np.zeros(len(times), CYCLE)
        rows["rank"], rows["size"], rows["load"] = self.team.rank, size, load
        rows["cycle"] = np.arange(len(rows))
        rows["calculated"] = own[rows["cycle"] % len(own)]
        rows["predicted"] = rows["calculated"] + communication
        for name in ("start", "compute", "communication", "barrier"):
            rows[name] = times[name]
        return rows


def run_setting(
    setting: Setting, mine: int | None, emulation: Emulation | None, world: Team
) -> NDArray[np.void]:
    """Run the applications of a setting at once; none begins before all know what to compute.

    Returns
    -------
    numpy.ndarray
        The cycles of this rank, CYCLE\\[n]; none if it belongs to no application of the setting.
    """
    part = next((part for part in setting.parts if part[0] == mine), None)
    communication = emulation.predict(*part[1:]) if emulation and part else 0.0
    world.meet()
    rows = emulation.run(*part[1:], communication) if emulation and part else np.zeros(0, CYCLE)
    world.meet()
    return rows
