"""Advice: what to change in a program, why, and what it is going to bring.

`advise` puts the room together: `measured` costs, `unrolling` the run, `simulation` of the traced assignment
as a check of itself, `search`, `reasons`, `rewriting`.  The same is ``pse advise`` on the command line.
"""

from __future__ import annotations

import dataclasses
import os
import random
import statistics
from dataclasses import dataclass
from typing import Any

from pse.advise import reasons as why
from pse.advise.assignment import Assignment, Machine
from pse.advise.errors import AdviceError
from pse.advise.executions import Setting
from pse.advise.measured import Measured
from pse.advise.observed import observe
from pse.advise.operations import Operation, Unrolled
from pse.advise.partitioning import partition_changes
from pse.advise.rewriting import Change, diff, rewrite, write
from pse.advise.search import Candidate, Study, search
from pse.advise.simulation import Stuck, simulate
from pse.advise.sizes import number
from pse.advise.texts import Subject, bind, is_sound, read_subject
from pse.advise.units import units
from pse.advise.unrolling import unroll
from pse.advise.whatif import WhatIf, chosen_threads, factors, supposed_machine
from pse.language.expressions import Value
from pse.language.resolved import For
from pse.trace import Trace
from pse.trace import open as open_trace

LATE = ((0.0, False), (64e3, False), (256e3, False))
EAGER = tuple((slack, True) for slack in (256e3, 1e6, 1.5e6, 2e6, 3e6, 4e6, 6e6, 16e6, float("inf")))
"""Bytes that the system moves while ranks are in calls, from the beginning or not: the best fit is taken."""
ALIKE = 0.05
"""Fits that differ by less than this part of the run time are equally good: one run is no more exact."""
RESAMPLES = 12
LEAST_GAIN = 0.03
"""What brings less than this part of the run time isn't worth a change."""
MARGIN = 0.03
"""Part of a prediction by which the model itself may be wrong, calibrated."""


@dataclass(frozen=True)
class Prediction:
    """A run time in seconds, and the interval in which it is expected."""

    seconds: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Edit:
    """One thing that is proposed: what, where in the program, what it is, what it should be."""

    what: str
    line: int
    before: str
    after: str


@dataclass(frozen=True)
class Advice:
    """What `advise` found.

    Attributes
    ----------
    program : str
        Path of the program.
    measured : float
        Seconds that the traced run took, from its first statement to the end of its last call.
    simulated : float
        Seconds that the simulation of the same run takes: a check of the model.
    supposed : str
        What is supposed to be otherwise than in the run; empty for nothing.
    present : Prediction
        The program as it is, in what is supposed.
    prediction : Prediction
        With the proposal.
    proposal : tuple of Edit
        What to change; empty to leave it as it is.
    reasons : tuple of str
        Why, in sentences.
    notes : tuple of str
        What to know about this advice.
    diff : str
        The change of the program's text.
    text : str
        The program's text with the proposal.
    sha256 : str
        Of the program that ran.
    """

    program: str
    measured: float
    simulated: float
    supposed: str
    present: Prediction
    prediction: Prediction
    proposal: tuple[Edit, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    diff: str
    text: str
    sha256: str
    subject: Subject = dataclasses.field(repr=False, compare=False)

    @property
    def gain(self) -> float:
        """Part of the run time that the proposal saves."""
        return 1 - self.prediction.seconds / self.present.seconds

    def apply(self) -> None:
        """Write the proposal into the program.

        Raises
        ------
        AdviceError
            The program is not the one that ran any more, or it can't be written.
        """
        if self.proposal:
            write(self.subject, self.text, self.sha256)

    def to_json(self) -> dict[str, Any]:
        """Give what JSON can say."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("subject", "text", "present", "prediction", "proposal")
        }
        predictions = {name: dataclasses.asdict(getattr(self, name)) for name in ("present", "prediction")}
        proposal = [dataclasses.asdict(edit) for edit in self.proposal]
        return {**values, **predictions, "proposal": proposal, "gain": self.gain}


def advise(
    trace: Trace | str | os.PathLike[str], *, program: str | None = None, whatif: WhatIf | None = None
) -> Advice:
    """Say how the threads of a program should be assigned, from a trace of one run of it.

    Parameters
    ----------
    trace : Trace or path
        Best of a run on one thread: calls that were alone on their core tell what they cost.
    program : str, optional
        Where the program is, if it isn't where it ran.
    whatif : WhatIf, optional
        What is supposed to be otherwise than in the run.

    Raises
    ------
    AdviceError
        There is nothing to advise on; the message says why and what to do.
    TraceError
        The trace can't be opened.
    """
    opened = trace if isinstance(trace, Trace) else open_trace(trace)
    measured = Measured(opened)
    subject = read_subject(opened, measured.definitions, program)
    return _Advising(measured, subject, whatif or WhatIf()).run()


def run_time(trace: Trace | str | os.PathLike[str]) -> float:
    """Give the seconds that predictions are about: from the first statement to the end of the last call.

    Raises
    ------
    AdviceError
        The trace is not one of a program from its beginning to its end.
    """
    return Measured(trace if isinstance(trace, Trace) else open_trace(trace)).run_time


class _Advising:
    def __init__(self, measured: Measured, subject: Subject, whatif: WhatIf) -> None:
        self.measured, self.subject, self.whatif = measured, subject, whatif
        self.parameters = measured.definitions.parameters
        self.processors = whatif.processors or measured.processors
        self.units = units(subject, measured)
        self.observed = observe(subject, measured)
        self.machine, self.simulated = self._calibrated()
        self.ratio = measured.run_time / self.simulated
        self.study = self._study()
        self.sound: dict[object, bool] = {}
        self.partitioned, self.wide = self.study, 0.0

    def run(self) -> Advice:
        """Find a proposal, and say everything about it."""
        now = self.study.candidate(self.study.present)
        chosen, change = self._given(now) if self.whatif.threads else self._found(now)
        text = rewrite(self.subject, change) if change.size else self.subject.text
        told = why.Told(self.measured, self.subject, self.study, self.machine, self.units, 1 - self.ratio)
        sentences = why.for_change(told, now, chosen) if change.size else why.for_none(told, now)
        study = self.partitioned if change.partitions else self.study
        return Advice(
            self.subject.path,
            self.measured.run_time,
            self.simulated,
            self.whatif.words,
            self._prediction(self.study, now),
            self._prediction(study, chosen, self.wide if change.partitions else 0.0),
            tuple(_edits(self.subject, change)),
            tuple(sentences),
            tuple(self._notes()),
            diff(self.subject, text),
            text,
            self.measured.definitions.text_sha256,
            self.subject,
        )

    # The model.

    def _present(self) -> Assignment:
        options = {o.name: o.value for o in self.subject.program.options if o.thread is None}
        depths = {o.thread: int(str(o.value)) for o in self.subject.program.options if o.thread}
        depth = options.get("queue_depth", 2)
        return Assignment(self.subject.threads(), self._windows(), int(str(depth)), depths)

    def _windows(self) -> dict[int, int | None]:
        """Loops of the program, and how many of their iterations may be under way now."""
        return {
            step.id: number(step.statement.inflight, self._values())
            for step in self.subject.walk.steps
            if isinstance(step.statement, For)
        }

    def _values(self) -> dict[str, Value]:
        return {name: value for name, value in self.parameters.items() if value is not None}

    def _machine(self) -> Machine:
        measured = self.measured
        places: list[int | None] = [None, *range(measured.processors)]
        return Machine(
            {place: measured.host(place) for place in places},
            {place: measured.cores(place) for place in places},
            measured.link,
            measured.hop,
            bool(measured.definitions.options.get("shared_memory", True)),
        )

    def _unrolled(self, processors: int, subject: Subject) -> Unrolled:
        environment = bind(subject.program, self.parameters, processors)
        setting = Setting(environment, processors, factors(subject, self.whatif))
        return unroll(subject, self.observed, setting)

    def _calibrated(self) -> tuple[Machine, float]:
        """Simulate the run that was traced, with the machine that brings it nearest to what it took."""
        processors = self.measured.processors
        setting = Setting(bind(self.subject.program, self.parameters, processors), processors)
        unrolled = unroll(self.subject, self.observed, setting)
        found = []
        for slack, eager in (*LATE, *EAGER) if len(self.measured.remote) else LATE[:1]:
            machine = dataclasses.replace(self._machine(), slack=slack, eager=eager)
            try:
                found.append((simulate(unrolled, self._present(), machine).seconds, machine))
            except Stuck:
                continue
        if not found or min(seconds for seconds, _ in found) <= 0:
            raise AdviceError(
                "this run can't be followed: its calls don't fit the program's text",
                help="record a run of the program as it is now",
            )
        misses = [abs(seconds / self.measured.run_time - 1) for seconds, _ in found]
        good = [(m, pair) for m, pair in zip(misses, found, strict=True) if m <= min(misses) + ALIKE]
        _, (seconds, machine) = min(good, key=lambda fit: (not fit[1][1].eager, fit[0]))
        return machine, float(seconds)

    def _study(self) -> Study:
        machine = supposed_machine(self.measured, self.machine, self.whatif)
        present = self._present()
        if self.whatif.depth:
            present = dataclasses.replace(present, depth=self.whatif.depth, depths={})
        return Study(self._unrolled(self.processors, self.subject), machine, present)

    # The proposal.

    def _given(self, now: Candidate) -> tuple[Candidate, Change]:
        """Take the threads that the user chose."""
        threads = {**now.assignment.threads, **chosen_threads(self.subject, self.whatif)}
        assignment = dataclasses.replace(now.assignment, threads=threads)
        if not self._is_legal(assignment):
            raise AdviceError("the program does not pass `pse check` with these threads")
        return self.study.candidate(assignment), self._change(assignment)

    def _found(self, now: Candidate) -> tuple[Candidate, Change]:
        windows = {
            loop.step: now.assignment.inflight[loop.step]
            for loop in self.study.unrolled.loops()
            if loop.step in now.assignment.inflight and loop.total > 1
        }
        best = search(self.study, self.units, self._is_legal, windows)
        change = self._change(best.assignment)
        finer = self._finer(best)
        if finer and finer[0].seconds < best.seconds * (1 - LEAST_GAIN):
            best, change = finer[0], dataclasses.replace(change, partitions=finer[1])
        least = max(LEAST_GAIN, abs(1 - self.ratio) / 2)
        if self._seconds(best) > self._seconds(now) * (1 - least):
            return now, Change()
        return best, change

    def _finer(self, best: Candidate) -> tuple[Candidate, dict[str, str]] | None:
        """Try more partitions for each processor, where that only cuts the same work in finer pieces."""
        found = []
        for counts in partition_changes(self.subject):
            text = rewrite(self.subject, Change(partitions=counts))
            program = is_sound(text, self.subject.path, self.parameters, self.processors)
            if program is not None:
                subject = Subject(self.subject.path, text, program)
                study = Study(
                    self._unrolled(self.processors, subject), self.study.machine, self.study.present
                )
                found.append((study.candidate(best.assignment), counts, study))
        if not found:
            return None
        candidate, counts, self.partitioned = min(found, key=lambda item: item[0].seconds)
        self.wide = 0.05
        return candidate, counts

    def _is_legal(self, assignment: Assignment) -> bool:
        """Whether the program, changed so, passes the check with its calls on the threads that were meant."""
        change = self._change(assignment)
        key = (tuple(sorted(change.labels.items())), tuple(sorted(change.inflight.items())))
        if key not in self.sound:
            self.sound[key] = not (change.labels or change.inflight) or self._passes(change, assignment)
        return self.sound[key]

    def _passes(self, change: Change, assignment: Assignment) -> bool:
        text = rewrite(self.subject, change)
        program = is_sound(text, self.subject.path, self.parameters, self.processors)
        if program is None:
            return False
        sites = Subject(self.subject.path, text, program).threads()
        return sites == dict(assignment.threads)

    def _change(self, assignment: Assignment) -> Change:
        """Say what has to be written for an assignment."""
        now, sites = self._present(), {site.id: site for site in self.subject.walk.sites}
        moved = {
            site.parallel for site in sites.values() if assignment.threads[site.id] != now.threads[site.id]
        }
        labels = {}
        for site in sites.values():
            place, label = (site.span.line, site.span.column), assignment.threads[site.id]
            bare = site.thread is None and site.parallel in moved
            if place in self.subject.calls and (bare or label != now.threads[site.id]):
                labels[place] = label
        windows = {
            step: window
            for step, window in assignment.inflight.items()
            if window is not None and window != now.inflight[step]
        }
        return Change(labels, windows, assignment.depth if assignment.depth != now.depth else None)

    # The interval.

    def _prediction(self, study: Study, candidate: Candidate, more: float = 0.0) -> Prediction:
        """A run time, as the calibrated model has it, with what may be wrong with it."""
        spread = self._spread(study, candidate)
        part = MARGIN + abs(1 - self.ratio) / 2 + 2 * spread + more + self._doubt()
        seconds = self._seconds(candidate)
        return Prediction(seconds, seconds * max(0.0, 1 - part), seconds * (1 + part))

    def _seconds(self, candidate: Candidate) -> float:
        """Give a run time, calibrated.

        What the simulation misses in the traced run it misses in others.  Where it takes too long, it makes
        transfers wait for calls that they did not quite wait for: others have fewer of these.
        """
        as_it_is = candidate.assignment == self.study.present
        return float(candidate.seconds * (self.ratio if as_it_is else max(self.ratio, 1.0)))

    def _doubt(self) -> float:
        """What else makes a prediction less certain: it is about another machine, or calls were not alone."""
        crowded = 0.04 if self.measured.threads > 1 else 0.0
        return crowded + (0.1 if self.whatif.processors else 0.0) + (0.03 if self.whatif.link else 0.0)

    def _spread(self, study: Study, candidate: Candidate) -> float:
        """Simulate with durations drawn anew from those like them at their site: a smoothed bootstrap."""
        source = random.Random(0)
        alike = _alike(study.unrolled)
        times = []
        for _ in range(RESAMPLES):
            drawn = [source.choice(durations) for durations in alike]
            times.append(simulate(study.unrolled, candidate.assignment, study.machine, drawn).seconds)
        return statistics.stdev(times) / max(statistics.mean(times), 1e-12)

    def _notes(self) -> list[str]:
        notes = [f"{problem}" for problem in self.measured.trace.problems]
        if self.subject.changed:
            notes.append(
                f"{self.subject.path} was changed since this run; the advice is for the text that ran"
            )
        if self.measured.threads > 1:
            notes.append(
                "the run had several threads: calls shared cores, so what each costs alone is less certain;"
                " a run with one label tells more"
            )
        if abs(1 - self.ratio) > 0.1:
            notes.append(
                f"simulating the run as it was gives {self.simulated:.3g} s, not"
                f" {self.measured.run_time:.3g} s: the model misses something, the interval is wide for that"
            )
        if self.whatif.link and not len(self.measured.remote):
            notes.append(
                "nothing went from node to node in this run: links make no difference that it could tell"
            )
        return notes


def _edits(subject: Subject, change: Change) -> list[Edit]:
    """List what is proposed, for people and JSON."""
    threads = {
        (s.span.line, s.span.column): (s, subject.placement.thread_of(s).label) for s in subject.walk.sites
    }
    found = []
    for location, label in sorted(change.labels.items()):
        site, before = threads[location]
        if before != label:
            found.append(Edit(f"thread of {site.label}", location[0], before, label))
    for step, window in change.inflight.items():
        loop = subject.walk.steps[step].statement
        assert isinstance(loop, For)
        before = str(number(loop.inflight, {}) or 1)
        found.append(Edit("iterations in flight", loop.span.line, before, str(window)))
    if change.depth is not None:
        found.append(Edit("queue depth", 1, "as it is", str(change.depth)))
    for declared in subject.program.partitions:
        if declared.name in change.partitions:
            found.append(
                Edit(
                    f"partition {declared.name}",
                    declared.span.line,
                    "as it is",
                    change.partitions[declared.name],
                )
            )
    return found


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
