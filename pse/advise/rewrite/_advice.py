"""Advice: what to change in a program, why, and what it is going to bring.

`advise` puts the room together: measured costs, the model of the run as a check of itself, a proposal with
its reasons, a prediction, the changed text.  The same is ``pse advise`` on the command line.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._movable_groups import movable_groups
from pse.advise.model._program_subject import Subject, read_subject
from pse.advise.rewrite import _explanation as why
from pse.advise.rewrite._edits import Edit, edits
from pse.advise.rewrite._proposal import Proposal, propose
from pse.advise.rewrite._rewriting import diff, rewrite, write
from pse.advise.search._model import Model
from pse.advise.search._prediction import Prediction, doubts, predict
from pse.advise.search._search import Candidate
from pse.advise.search._whatif import WhatIf
from pse.emulate import Model as Network
from pse.trace import Trace, open as open_trace


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
    subject : Subject, optional
        The trace and the program that the advice is about.

    See Also
    --------
    advise

    Examples
    --------
    >>> advice = pse.advise.advise("run1")
    >>> round(advice.gain, 2), len(advice.reasons), advice.diff.splitlines()[0]
    (0.07, 1, '--- pipeline.coven')
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
    trace: Trace | str | os.PathLike[str],
    *,
    program: str | None = None,
    whatif: WhatIf | None = None,
    network: Network | None = None,
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
    network : pse.ace.Model, optional
        What messages between nodes are supposed to cost, as ACE measured it; by default what they cost in the
        run, which the trace tells.

    Returns
    -------
    Advice
        The proposal, its reasons, and run times in seconds as they are and as predicted.

    Raises
    ------
    AdviceError
        There is nothing to advise on; the message says why and what to do.
    TraceError
        The trace can't be opened.

    Examples
    --------
    >>> advice = pse.advise.advise("run1")
    >>> advice.measured, str(advice.present), str(advice.prediction)
    (0.028, '28.0 ms (25.1 ms to 30.9 ms)', '26.0 ms (23.3 ms to 28.7 ms)')
    >>> [(edit.what, edit.line, edit.after) for edit in advice.proposal]
    [('thread of total', 7, 'thread_B')]
    """
    opened = trace if isinstance(trace, Trace) else open_trace(trace)
    measured = MeasuredCosts(opened)
    subject = read_subject(opened, measured.definitions, program)
    supposed = whatif or WhatIf()
    if network is not None:
        supposed = dataclasses.replace(supposed, network=network)
    return _advice(Model(measured, subject, supposed))


def run_time(trace: Trace | str | os.PathLike[str]) -> float:
    """Give the seconds that predictions are about: from the first statement to the end of the last call.

    Parameters
    ----------
    trace : Trace or path
        A run, from its beginning to its end.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    AdviceError
        The trace is not one of a program from its beginning to its end.

    Examples
    --------
    >>> pse.advise.run_time("run1")
    0.028
    """
    return MeasuredCosts(trace if isinstance(trace, Trace) else open_trace(trace)).run_time


def _advice(model: Model) -> Advice:
    """Find a proposal, and say everything about it."""
    measured, subject, study = model.measured, model.subject, model.study
    parts = movable_groups(subject, measured)
    now, found = study.candidate(study.present), propose(model, parts)
    changed = found.change.size > 0
    text = rewrite(subject, found.change) if changed else subject.text
    told = why.AdviceBasis(measured, subject, study, model.machine, parts, 1 - model.ratio)
    return Advice(
        program=subject.path,
        measured=measured.run_time,
        simulated=model.simulated,
        supposed=model.whatif.words,
        present=predict(model, study, now),
        prediction=predict(model, found.study, found.candidate, found.doubt),
        proposal=tuple(edits(subject, found.change)),
        reasons=tuple(_reasons(told, now, found)),
        notes=tuple(_notes(model)),
        diff=diff(subject, text),
        text=text,
        sha256=measured.definitions.text_sha256,
        subject=subject,
    )


def _reasons(told: why.AdviceBasis, now: Candidate, found: Proposal) -> Iterator[str]:
    if not found.change.size:
        yield from why.explain_no_change(told, now)
        return
    if found.candidate.assignment != now.assignment:
        yield from why.explain_change(told, now, found.candidate)
    yield from why.explain_partitions(told.subject, found.change.partitions)


def _notes(model: Model) -> Iterator[str]:
    measured, subject = model.measured, model.subject
    yield from map(str, measured.trace.problems)
    if subject.changed:
        yield f"{subject.path} was changed since this run; the advice is for what ran, --apply leaves it"
    if measured.threads > 1:
        yield (
            "the run had several threads: calls shared cores, so what each costs alone is less certain;"
            " a run with one label tells more"
        )
    yield from map(str, model.spells)
    yield from doubts(model.simulated, measured.run_time, "the interval is wide for that")
    if (model.whatif.link or model.whatif.network) and not len(measured.remote):
        yield "no message went from node to node in this run: the effect of a link can't be predicted from it"
