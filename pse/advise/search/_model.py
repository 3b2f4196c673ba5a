"""The model of a traced run: the run simulated, calibrated by what it took, and the same in other settings.

Which bytes move on while a rank is in a call is not in a trace: some ways are tried, and the one that fits is
taken.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._errors import AdviceError
from pse.advise.model._executions import Setting
from pse.advise.model._operations import Kind, Unrolled
from pse.advise.model._program_subject import Subject, bind
from pse.advise.model._slow_spells import slow_spells
from pse.advise.model._trace_cursor import observe
from pse.advise.model._transfer_sizes import number
from pse.advise.model._unrolling import Unrolling
from pse.advise.search._search import Candidate, Study
from pse.advise.search._whatif import WhatIf, factors, supposed_machine
from pse.advise.simulate._assignment import Assignment, Machine
from pse.advise.simulate._simulation import Simulation, SimulationDeadlock
from pse.language.check import For
from pse.trace.query import Names

LATE = ((0.0, False), (64e3, False), (256e3, False))
EAGER = tuple((slack, True) for slack in (256e3, 1e6, 1.5e6, 2e6, 3e6, 4e6, 6e6, 16e6, float("inf")))
"""Bytes that the system moves while ranks are in calls, from the beginning or not: the best fit is taken."""
ALIKE = 0.05
"""Fits that differ by less than this part of the run time are equally good: one run is not more exact."""


class Model:
    """A traced run, and the same program in what is supposed.

    Parameters
    ----------
    measured : Measured
        The run.
    subject : Subject
        Its program.
    whatif : WhatIf
        What is supposed to be otherwise.

    Attributes
    ----------
    present : Assignment
        What the program's text says.
    machine : Machine
        What the run was on.
    simulated : float
        Seconds that the run takes when it is simulated.
    ratio : float
        What it took, in parts of that.
    study : Study
        The program as it is, in what is supposed.
    spells : list of SlowSpell
        When the machine was slower than before and after.

    Raises
    ------
    AdviceError
        The run can't be followed, or the program can't run in what is supposed.
    """

    def __init__(self, measured: MeasuredCosts, subject: Subject, whatif: WhatIf) -> None:
        self.measured, self.subject, self.whatif = measured, subject, whatif
        self.spells = slow_spells(measured)
        self.parameters = measured.definitions.parameters
        self.processors = whatif.processors or measured.processors
        self.present = _present(measured, subject)
        self._observed = observe(subject, measured)
        self.machine, self.simulated = self._calibrated()
        self.ratio = measured.run_time / self.simulated
        present = self.present
        if whatif.depth:
            present = dataclasses.replace(present, depth=whatif.depth, depths={})
        machine = supposed_machine(measured, self.machine, whatif)
        self.study = Study(self._supposed(subject), machine, present)

    def study_of(self, subject: Subject) -> Study:
        """Suppose the same of another text of the program."""
        return dataclasses.replace(self.study, unrolled=self._supposed(subject), known={})

    def seconds(self, candidate: Candidate) -> float:
        """Give a run time, calibrated.

        What the simulation misses in the traced run it misses in others.  Where it takes too long, it makes
        transfers wait for calls that they did not quite wait for: others have fewer of these.
        """
        as_it_is = candidate.assignment == self.study.present
        return float(candidate.seconds * (self.ratio if as_it_is else max(self.ratio, 1.0)))

    def _supposed(self, subject: Subject) -> Unrolled:
        environment = bind(subject.program, self.parameters, self.processors)
        setting = Setting(environment, self.processors, factors(subject, self.whatif))
        return Unrolling(subject, self._observed, setting).run()

    def _calibrated(self) -> tuple[Machine, float]:
        """Simulate the run that was traced, with the machine that brings it nearest to what it took."""
        found = list(self._fits())
        if not found or min(seconds for seconds, _ in found) <= 0:
            raise AdviceError(
                "the trace doesn't match the program: its calls are not those that the program's text makes",
                help="record a run of the program as it is now",
            )
        misses = [abs(seconds / self.measured.run_time - 1) for seconds, _ in found]
        good = [(m, fit) for m, fit in zip(misses, found, strict=True) if m <= min(misses) + ALIKE]
        _, (seconds, machine) = min(good, key=lambda miss: (not miss[1][1].eager, miss[0]))
        return machine, float(seconds)

    def _fits(self) -> Iterator[tuple[float, Machine]]:
        processors = self.measured.processors
        environment = bind(self.subject.program, self.parameters, processors)
        unrolled = Unrolling(self.subject, self._observed, Setting(environment, processors)).run()
        _check_whole(unrolled, self.measured)
        machine = _machine(self.measured)
        for slack, eager in (*LATE, *EAGER) if len(self.measured.remote) else LATE[:1]:
            fit = dataclasses.replace(machine, slack=slack, eager=eager)
            try:
                yield Simulation(unrolled, self.present, fit).run().seconds, fit
            except SimulationDeadlock:
                continue


def _check_whole(unrolled: Unrolled, measured: MeasuredCosts) -> None:
    """Refuse a run that lacks what the program executes: it didn't begin at the program's beginning."""
    executed = {op.site for op in unrolled.operations if op.kind is Kind.CALL}
    missing = executed.difference(measured.calls["site"].tolist())
    if missing:
        site = Names(measured.trace).spoken_site(min(missing))
        raise AdviceError(
            f"this run never executed {site}: it was resumed from a checkpoint",
            help="record a run from the program's beginning",
        )


def _present(measured: MeasuredCosts, subject: Subject) -> Assignment:
    """Read what a program's text decides."""
    options = {o.name: o.value for o in subject.program.options if o.thread is None}
    depths = {o.thread: int(str(o.value)) for o in subject.program.options if o.thread}
    values = {name: value for name, value in measured.definitions.parameters.items() if value is not None}
    windows = {
        step.id: number(step.statement.inflight, values)
        for step in subject.walk.steps
        if isinstance(step.statement, For)
    }
    return Assignment(subject.threads(), windows, int(str(options.get("queue_depth", 2))), depths)


def _machine(measured: MeasuredCosts) -> Machine:
    places: list[int | None] = [None, *range(measured.processors)]
    return Machine(
        {place: measured.host(place) for place in places},
        {place: measured.cores(place) for place in places},
        measured.link,
        measured.hop,
        bool(measured.definitions.options.get("shared_memory", True)),
    )
