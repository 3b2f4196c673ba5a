"""Phase two: cycles of computing and communicating at a load, whose times were predicted before."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse._abi.emulate import StepKind
from pse.emulate.configuration._configuration import Application, Configuration, Setting
from pse.emulate.configuration._steps import predict_pattern, variants_of
from pse.emulate.job._rank_group import RankGroup
from pse.emulate.patterns._cycle import Step
from pse.emulate.results._results import CYCLE
from pse.runtime.supervise import await_request

if TYPE_CHECKING:
    from pse.emulate.model._model import Model

TRIAL = 0.5
"""Seconds that the exchanges may take, by which a pattern's cost is measured."""
_WARM_UP = 5
_FEWEST, _MOST = 20, 10_000
_TRIALS = (0.2, 0.2, 1.0)  # Shares of that time and number: the first find about how long a cycle computes.
_BATCH = 0.02  # Seconds that an application in the background goes on before it looks whether others ended.


def compute_time(communication: float, load: float) -> float:
    """Give the compute time of a cycle that communicates for so many percent of its time.

    Examples
    --------
    >>> compute_time(1.0, 25), compute_time(1.0, 100)
    (3.0, 0.0)
    """
    return communication * (100 / load - 1)


def measure_communication(
    group: RankGroup, variants: list[list[Step]], cycles: int, load: float = 100.0
) -> float:
    """Measure an application's own exchanges at a load: the mean of cycles and ranks, in s a cycle.

    Exchanges after a pause take longer than back to back: others use the caches meanwhile.  So the measured
    cycles compute, too, for as long as the trial before says.  The mean counts, since loads and run times are
    about sums.
    """
    group.align()
    found = group.greatest(float(group.run(variants, _WARM_UP)["communication"][-1]))
    for share in _TRIALS if load < 100 else _TRIALS[-1:]:
        gap = compute_time(found, load)
        possible = share * TRIAL / max(found + gap, 1e-9)
        fewest = share * _FEWEST
        count = int(min(max(possible, fewest), _MOST, max(cycles, fewest)))
        found = group.mean(float(group.run(with_computing(variants, gap), count)["communication"].mean()))
    return found


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
    group : RankGroup
        Its ranks.
    configuration : Configuration
        What is measured.
    model : Model, optional
        What messages cost, if the configuration predicts from that.
    """

    def __init__(
        self, application: Application, group: RankGroup, configuration: Configuration, model: Model | None
    ) -> None:
        self.application, self.group = application, group
        self._configuration, self._model = configuration, model
        self._predicted: dict[tuple[int, float], float] = {}

    def predict(self, size: int, load: float) -> float:
        """Give the communication time of a cycle, s, on which all ranks agree; it is measured once."""
        if (size, load) not in self._predicted:
            self._predicted[size, load] = self._predict(size, load)
        return self._predicted[size, load]

    def _predict(self, size: int, load: float) -> float:
        seed = self._configuration.seed
        if self._model is not None:
            cost: Callable[[int], float] = self._model.seconds
            return predict_pattern(self.application, size, seed, cost)
        at = load if self._configuration.prediction == "load" else 100.0
        return measure_communication(self.group, self._variants(size), self.application.cycles, at)

    def _variants(self, size: int) -> list[list[Step]]:
        return variants_of(self.application, self.group.rank, size, self._configuration.seed)

    def run(self, size: int, load: float) -> NDArray[np.void]:
        """Execute the cycles at a load.

        Returns
        -------
        numpy.ndarray
            The cycles of this rank, CYCLE\\[n].
        """
        communication = self.predict(size, load)
        calculated = compute_time(communication, load)
        variants = with_computing(self._variants(size), calculated)
        own = np.array([sum(step.seconds for step in steps) for steps in variants])
        if self.application.start:
            time.sleep(self.application.start)
        self.group.align()
        times = self.group.run(variants, self.application.cycles, synchronous=self.application.synchronous)
        rows = np.zeros(len(times), CYCLE)
        rows["rank"], rows["size"], rows["load"] = self.group.rank, size, load
        rows["cycle"] = np.arange(len(rows))
        rows["calculated"] = own[rows["cycle"] % len(own)]
        rows["predicted"] = rows["calculated"] + communication
        for name in ("start", "compute", "communication", "barrier"):
            rows[name] = times[name]
        return rows

    def go_on(self, size: int, load: float, rows: NDArray[np.void], others: Others) -> None:
        """Execute further cycles like `rows`, of which nothing is kept, until the others have ended."""
        variants = with_computing(self._variants(size), compute_time(self.predict(size, load), load))
        cycle = float(sum(rows[name].mean() for name in ("compute", "communication", "barrier")))
        count = max(int(_BATCH / max(self.group.greatest(cycle), _BATCH / _MOST)), 1)
        while not self.group.greatest(float(self.group.rank == 0 and others.have_ended())):
            self.group.run(variants, count, synchronous=self.application.synchronous)


class Others:
    """The applications of a setting that are not in the background; their first ranks tell when they end.

    Parameters
    ----------
    world : RankGroup
        All ranks.
    ending, awaiting : sequence of int
        The first ranks of those, and of the applications in the background.
    """

    _TAG = 1

    def __init__(self, world: RankGroup, ending: Sequence[int], awaiting: Sequence[int]) -> None:
        self._comm, self._awaited, self._awaiting = world.comm, len(ending), awaiting
        self._word, self._sent = np.zeros(1, np.uint8), list[MPI.Request]()

    def end(self) -> None:
        """Tell the applications in the background that one has ended."""
        self._sent = [self._comm.Isend(self._word, rank, self._TAG) for rank in self._awaiting]

    def have_ended(self) -> bool:
        """Say whether all have ended."""
        while self._awaited and self._comm.Iprobe(MPI.ANY_SOURCE, self._TAG):
            self._comm.Recv(np.zeros(1, np.uint8), MPI.ANY_SOURCE, self._TAG)
            self._awaited -= 1
        return not self._awaited

    def close(self) -> None:
        """Complete what was told."""
        for request in self._sent:
            await_request(request)


def run_setting(
    setting: Setting,
    mine: int | None,
    emulation: Emulation | None,
    world: RankGroup,
    others: Others,
) -> NDArray[np.void]:
    """Run the applications of a setting at once; none begins before all know what to compute.

    What they exchange is measured one after the other, so that none disturbs another one's measurement.

    Returns
    -------
    numpy.ndarray
        The cycles of this rank, CYCLE\\[n]; none if it belongs to no application of the setting.
    """
    part = next((part for part in setting.parts if part[0] == mine), None)
    for number, size, load in setting.parts:
        if emulation and number == mine:
            emulation.predict(size, load)
        world.meet()
    rows = emulation.run(*part[1:]) if emulation and part else np.zeros(0, CYCLE)
    if emulation and part and not setting.alone:
        _end(emulation, part, rows, others)
    world.meet()
    others.close()
    return rows


def _end(emulation: Emulation, part: tuple[int, int, float], rows: NDArray[np.void], others: Others) -> None:
    """Go on as long as others do, or tell them that an application has ended."""
    if emulation.application.background:
        emulation.go_on(part[1], part[2], rows, others)
        return
    emulation.group.meet()
    if emulation.group.rank == 0:
        others.end()
