"""How much a program's run time varies with the network: Monte Carlo over the simulated run.

Traces of MPI programs are replayed (`_mpi_sensitivity`).  Of a Coven program every draw simulates the traced
run with the times of messages between nodes drawn from what ACE measured: a factor for the whole run, as
launches differ, and one for each message.  What a call site's messages carry of the variance is told by
linear regression of the run time on the extra seconds of each site's messages.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._errors import AdviceError, nothing_between_nodes
from pse.advise.model._operations import Kind
from pse.advise.model._program_subject import read_subject
from pse.advise.search._model import Model
from pse.advise.search._mpi_sensitivity import mpi_sensitivity
from pse.advise.search._prediction import doubts
from pse.advise.search._variation import Sensitivity, SiteVariation, attributed, varied
from pse.advise.search._whatif import WhatIf
from pse.advise.simulate._simulation import Simulation
from pse.emulate import Dispersion, Model as Network
from pse.text import count_text, share_text, time_text
from pse.trace import Trace, open as open_trace
from pse.trace.query import Names

DRAWS, LEAST_DRAWS = 200, 40
PATIENCE = 60.0
"""Seconds after which no more runs are drawn."""
LEAST_REST = 0.02
"""Parts of the variance that are worth a line although nothing carries them by itself."""


def sensitivity(
    trace: Trace | str | os.PathLike[str],
    network: Network,
    *,
    program: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Sensitivity:
    """Say how much the run time of a traced program varies with the network, and which call sites carry it.

    Parameters
    ----------
    trace : Trace or path
        A run of a program on several nodes, or of any MPI program under the tool `trace`.  Messages between
        nodes vary; those of an MPI program that ran on a single node do, too.
    network : pse.ace.Model
        What messages cost there and how much that varies, from `pse.ace.fit`.
    program : str, optional
        Where the program is, if it isn't where it ran.
    draws : int, default 200
        How many runs are simulated; after a minute no more are begun, but 40 at least.
    seed : int
        Of the draws.

    Returns
    -------
    Sensitivity
        The distribution of the run time, and the shares of call sites.

    Raises
    ------
    AdviceError
        The model says nothing of dispersion, no message goes from node to node, or the trace can't be
        followed.
    TraceError
        The trace can't be opened.

    Examples
    --------
    >>> network = pse.ace.fit(pse.ace.Results.load("run.ace").exchanges)  # doctest: +SKIP
    >>> pse.advise.sensitivity("trace", network).sigma  # doctest: +SKIP
    0.0123
    """
    if network.dispersion is None:
        raise AdviceError(
            "the model says nothing of how much messages vary: its parameters were given, not measured",
            help="measure the network: pse ace run, then pse ace fit RESULTS.ace -o MODEL.json",
        )
    opened = trace if isinstance(trace, Trace) else open_trace(trace)
    if opened.definitions is None:
        if program is not None:
            raise AdviceError(
                f"the trace {opened.path} is of calls of MPI: it has no program to look at",
                help="leave out --program",
            )
        return mpi_sensitivity(opened, network, network.dispersion, max(draws, 2), seed)
    measured = MeasuredCosts(opened, network)
    model = Model(measured, read_subject(opened, measured.definitions, program), WhatIf())
    steady = _Draw(network, None)
    seconds = _simulate(model, steady)
    if not steady.messages:
        raise nothing_between_nodes()
    drawn = list(_draws(model, network, network.dispersion, max(draws, 2), seed))
    found, draws_of = np.array([time for time, _ in drawn]), [draw for _, draw in drawn]
    known = list(steady.messages)
    columns = np.array([[draw.whole, *(draw.extra[site] for site in known)] for draw in draws_of])
    times, shares = attributed(found, columns, _rounds_of_each(model))
    names = Names(opened)
    sites = [
        SiteVariation(names.spoken_site(site), steady.messages[site], steady.seconds[site], share)
        for site, share in zip(known, shares[1:], strict=True)
    ]
    return varied(
        times,
        program=model.subject.path,
        measured=measured.run_time,
        simulated=model.simulated,
        steady=seconds,
        launches=shares[0],
        sites=sites,
        notes=opened.problems,
    )


class _Draw:
    """The factors of one simulated run, and what they did to the messages of each call site."""

    def __init__(self, network: Network, dispersion: Dispersion | None, seed: int = 0) -> None:
        self._network, self._dispersion = network, dispersion
        self._source = np.random.default_rng(seed)
        self.whole = 1.0 if dispersion is None else float(self._source.choice(dispersion.launches))
        self.messages: dict[int, int] = defaultdict(int)
        self.seconds: dict[int, float] = defaultdict(float)
        self.extra: dict[int, float] = defaultdict(float)

    def __call__(self, site: int, size: float) -> float:
        own, usual = self._message(size), self._network.seconds(size)
        self.messages[site] += 1
        self.seconds[site] += usual
        self.extra[site] += (own - 1) * usual
        return self.whole * own

    def _message(self, size: float) -> float:
        if self._dispersion is None:
            return 1.0
        factors = self._dispersion.quantiles(size)
        return float(np.interp(self._source.random() * (len(factors) - 1), range(len(factors)), factors))


def _draws(
    model: Model, network: Network, dispersion: Dispersion, draws: int, seed: int
) -> Iterator[tuple[float, _Draw]]:
    begin = time.monotonic()
    for number in range(draws):
        if number >= LEAST_DRAWS and time.monotonic() - begin > PATIENCE:
            return
        draw = _Draw(network, dispersion, seed * 1_000_003 + number)
        yield _simulate(model, draw), draw


def _simulate(model: Model, draw: _Draw) -> float:
    """Give the seconds of a run, calibrated by the traced one."""
    study = model.study
    run = Simulation(study.unrolled, study.present, study.machine, factors=draw).run()
    return float(run.seconds * model.ratio)


def _rounds_of_each(model: Model) -> float:
    """Say how many rounds of its loops each simulated round stands for, if they are too many to simulate.

    The pace of the later half of the simulated rounds is taken for the others.
    """
    simulated = sum(1 for op in model.study.unrolled.operations if op.kind is Kind.CALL)
    part = len(model.measured.calls) / max(simulated, 1)
    return 2 * part if part > 1 else 1.0


def sensitivity_text(found: Sensitivity) -> Iterator[str]:
    """Give the lines of a report.

    Parameters
    ----------
    found : Sensitivity
        What `sensitivity` gave.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> print(*sensitivity_text(found), sep="\\n")  # doctest: +SKIP
    heat.coven: 1.21 s with a steady network; with one that varies 1.24 s, 95 % of runs from 1.20 s to 1.35 s
    """
    steady, median, low, high, sigma = (
        time_text(1e9 * value) for value in (found.steady, found.median, found.low, found.high, found.sigma)
    )
    yield (
        f"{found.program}: {steady} with a steady network; with one that varies {median}, 95 % of runs from"
        f" {low} to {high}"
    )
    share = share_text(found.sigma / found.median, 1)
    yield f"standard deviation {sigma} ({share}), from {count_text(found.draws, 'simulated run')}"
    yield from (f"note: {note}" for note in found.notes)
    yield from (
        f"note: {doubt}" for doubt in doubts(found.simulated, found.measured, "shares are less certain")
    )
    yield ""
    yield "of the variance carry"
    yield f"{share_text(found.launches):>5}  launches in which all messages are slower or faster"
    for one in found.sites:
        count = count_text(one.messages, one.noun)
        yield f"{share_text(one.share):>5}  {one.site}: {count}, {time_text(1e9 * one.seconds)}"
    rest = 1 - found.launches - sum(one.share for one in found.sites)
    if rest >= LEAST_REST:
        yield f"{share_text(rest):>5}  what none of these carries by itself"
