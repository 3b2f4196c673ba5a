"""What to change in a program: the best assignment that its text can say and the checker lets pass."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pse.advise.model._errors import AdviceError
from pse.advise.model._movable_groups import MovableGroup
from pse.advise.model._program_subject import Subject, is_sound
from pse.advise.rewrite._rewriting import Change, rewrite
from pse.advise.search._model import Model
from pse.advise.search._partitioning import partition_changes
from pse.advise.search._search import Candidate, Study, search
from pse.advise.search._whatif import chosen_threads
from pse.advise.simulate._assignment import Assignment

LEAST_GAIN = 0.03
"""What brings less than this part of the run time isn't worth a change."""
FINER = 0.05
"""What calls of finer partitions may take more, as part of the run time: no such call was measured."""


@dataclass(frozen=True)
class Proposal:
    """An assignment, and how the program's text says it.

    Attributes
    ----------
    candidate : Candidate
        The assignment.
    change : Change
        Of the text; of size 0 to leave it as it is.
    study : Study
        In which the assignment was simulated.
    doubt : float
        What may be wrong with that, as part of the run time.
    """

    candidate: Candidate
    change: Change
    study: Study
    doubt: float = 0.0


def propose(model: Model, units: list[MovableGroup]) -> Proposal:
    """Find the best change of a program; the threads that the user chose, if so.

    Parameters
    ----------
    model : Model
        The program and its run.
    units : list of MovableGroup
        What can change threads.

    Raises
    ------
    AdviceError
        The program may not be changed as the user chose.
    """
    now = model.study.candidate(model.study.present)
    return _Proposing(model).given(now) if model.whatif.threads else _Proposing(model).found(now, units)


class _Proposing:
    def __init__(self, model: Model) -> None:
        self.model, self.subject, self.study = model, model.subject, model.study
        self.sound: dict[object, bool] = {}

    def given(self, now: Candidate) -> Proposal:
        """Take the threads that the user chose."""
        threads = {**now.assignment.threads, **chosen_threads(self.subject, self.model.whatif)}
        assignment = dataclasses.replace(now.assignment, threads=threads)
        if not self._is_legal(assignment):
            raise AdviceError(
                "--threads: the program does not pass `pse check` with these threads",
                help="choose other threads; `pse check` explains the rules that a program must obey",
            )
        return Proposal(self.study.candidate(assignment), self._change(assignment), self.study)

    def found(self, now: Candidate, units: list[MovableGroup]) -> Proposal:
        """Take the best there is, if it is better than the model is wrong."""
        best = search(self.study, units, self._is_legal, self._windows(now))
        proposal = Proposal(best, self._change(best.assignment), self.study)
        finer = self._finer(proposal)
        if finer and finer.candidate.seconds < best.seconds * (1 - LEAST_GAIN):
            proposal = finer
        least = max(LEAST_GAIN, abs(1 - self.model.ratio) / 2)
        if self.model.seconds(proposal.candidate) > self.model.seconds(now) * (1 - least):
            return Proposal(now, Change(), self.study)
        return proposal

    def _windows(self, now: Candidate) -> dict[int, int | None]:
        """Loops whose iterations might be in flight, and how many are now."""
        return {
            loop.step: now.assignment.inflight[loop.step]
            for loop in self.study.unrolled.loops()
            if loop.step in now.assignment.inflight and loop.total > 1
        }

    def _finer(self, best: Proposal) -> Proposal | None:
        """Try more partitions for each processor, where that only cuts the same work in finer pieces."""
        found = []
        for counts in partition_changes(self.subject):
            subject = self._rewritten(Change(partitions=counts))
            if subject is not None:
                study = self.model.study_of(subject)
                change = dataclasses.replace(best.change, partitions=counts)
                found.append(Proposal(study.candidate(best.candidate.assignment), change, study, FINER))
        return min(found, key=lambda proposal: proposal.candidate.seconds, default=None)

    # What may be written.

    def _is_legal(self, assignment: Assignment) -> bool:
        """Whether the program, changed so, passes the check with its calls on the threads that were meant."""
        change = self._change(assignment)
        key = (tuple(sorted(change.labels.items())), tuple(sorted(change.inflight.items())))
        if key not in self.sound:
            self.sound[key] = not (change.labels or change.inflight) or self._passes(change, assignment)
        return self.sound[key]

    def _passes(self, change: Change, assignment: Assignment) -> bool:
        subject = self._rewritten(change)
        return subject is not None and subject.threads() == dict(assignment.threads)

    def _rewritten(self, change: Change) -> Subject | None:
        """Give the program with a change, None if it would not pass the check."""
        text, path = rewrite(self.subject, change), self.subject.path
        program = is_sound(text, path, self.model.parameters, self.model.processors)
        return None if program is None else Subject(path, text, program)

    def _change(self, assignment: Assignment) -> Change:
        """Say what has to be written for an assignment."""
        now = self.model.present
        windows = {
            step: window
            for step, window in assignment.inflight.items()
            if window is not None and window != now.inflight[step]
        }
        depth = assignment.depth if assignment.depth != now.depth else None
        return Change(self._labels(assignment), windows, depth)

    def _labels(self, assignment: Assignment) -> dict[tuple[int, int], str]:
        """Give the labels to write: of calls that move, and of those that follow the first thread."""
        now, sites = self.model.present.threads, self.subject.walk.sites
        changes = any(assignment.threads[site.id] != now[site.id] for site in sites if site.parallel)
        labels = {}
        for site in sites:
            place, label = (site.span.line, site.span.column), assignment.threads[site.id]
            follows = changes and site.moved and site.thread is None
            if place in self.subject.calls and (follows or label != now[site.id]):
                labels[place] = label
        return labels
