"""Differences of two programs' runs: what took longer, by call site, wait and routine of MPI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pse._student import student_quantile
from pse.text import time_text
from pse.trace import Definitions, Selection, Trace
from pse.trace.format import Array
from pse.trace.query import Names, outermost_calls

LEAST_RUNS = 3
"""Runs of each kind from which on differences have intervals."""
_Sums = dict[tuple[str, str], tuple[float, float]]
"""How often and how long, ns, by kind and name."""


@dataclass(frozen=True)
class RunDifference:
    """What one thing took in two runs, of all ranks together.

    Parameters
    ----------
    kind : str
        ``run`` (from begin to end), ``call``, ``wait`` or ``routine``.
    name : str
        Label of the call site, reason to wait, name of the routine; "" of the run.
    counts : tuple of float
        How often, in the first run and in the second; means where there are several of each.
    times : tuple of float
        How long, ns.
    interval : tuple of float, optional
        Of 95 %, of the gain, ns; None with fewer than three runs of each.

    Examples
    --------
    >>> one = RunDifference("call", "rows", (4, 4), (8e6, 5e6))
    >>> one.gain / 1e6
    3.0
    """

    kind: str
    name: str
    counts: tuple[float, float]
    times: tuple[float, float]
    interval: tuple[float, float] | None = None

    @property
    def gain(self) -> float:
        """How much less time it takes in the second run, ns."""
        return self.times[0] - self.times[1]

    def to_json(self) -> dict[str, Any]:
        """Give all as JSON."""
        return {"kind": self.kind, "name": self.name, "counts": self.counts, "times": self.times,
                "gain": self.gain, "interval": self.interval}  # fmt: skip


def run_differences(
    first: Sequence[Trace], second: Sequence[Trace], selection: Selection | None = None
) -> list[RunDifference]:
    """Compare runs: the greatest gain first, the greatest loss last; the run itself before all.

    Parameters
    ----------
    first, second : sequence of Trace
        Runs of each of two kinds, one or more.
    selection : Selection, optional
        What of them; all by default.  Blocks are cut where a window of time ends.

    Returns
    -------
    list of RunDifference
        One for the run, then one for each call site, reason to wait and routine of MPI that any of them has.

    Examples
    --------
    >>> trace = pse.trace.open("run1")
    >>> [one.gain for one in run_differences([trace], [trace])]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    sums = [[_sums(trace, selection or Selection()) for trace in traces] for traces in (first, second)]
    keys = dict.fromkeys(key for runs in sums for run in runs for key in run)
    found = [_difference(key, sums[0], sums[1]) for key in keys]
    return sorted(found, key=lambda one: (one.kind != "run", -one.gain))


def call_site_names(definitions: Definitions | None) -> dict[int, str]:
    """Give call sites names that are the same in runs of other versions of a program.

    Parameters
    ----------
    definitions : Definitions or None
        Of a trace.

    Returns
    -------
    dict of int to str
        Names by numbers of call sites: the label; the second call of a label has the name ``label (2)``.

    Examples
    --------
    >>> call_site_names(trace.definitions)
    {0: 'load', 1: 'rows', 2: 'total'}
    """
    seen: Counter[str] = Counter()
    names = {}
    for site in definitions.sites if definitions else ():
        seen[site.label] += 1
        names[site.id] = site.label if seen[site.label] == 1 else f"{site.label} ({seen[site.label]})"
    return names


def differences_text(found: Sequence[RunDifference], top: int = 12) -> Iterator[str]:
    """Give the lines of a table of differences.

    Parameters
    ----------
    found : sequence of RunDifference
        From `run_differences`.
    top : int
        How many of them; those with the greatest gains and losses.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> one = RunDifference("call", "rows", (4, 4), (8e6, 5e6))
    >>> print(*differences_text([one]), sep="\\n")
                     first     second       gain
    call rows      8.00 ms    5.00 ms    3.00 ms
    """
    shown = set(sorted(range(len(found)), key=lambda place: -abs(found[place].gain))[:top])
    chosen = [one for place, one in enumerate(found) if place in shown or one.kind == "run"]
    names = [f"{one.kind} {one.name}".strip() for one in chosen]
    width = max(12, *map(len, names)) if names else 12
    yield f"{'':{width}}{'first':>10}{'second':>11}{'gain':>11}"
    for name, one in zip(names, chosen, strict=True):
        gain = f"{'−' if one.gain < 0 else ''}{time_text(abs(one.gain))}"
        reach = "" if one.interval is None else f"  95 %: {_reach(one.interval)}"
        yield f"{name:{width}}{time_text(one.times[0]):>10}{time_text(one.times[1]):>11}{gain:>11}{reach}"
    if len(found) > len(chosen):
        yield f"and {len(found) - len(chosen)} more that differ less"


def _reach(interval: tuple[float, float]) -> str:
    return " to ".join(f"{'−' if end < 0 else ''}{time_text(abs(end))}" for end in interval)


def _sums(trace: Trace, selection: Selection) -> _Sums:
    """How often and how long each thing was, of all ranks together."""
    window, names = selection.window(trace), Names(trace)
    found: _Sums = {("run", ""): (1.0, float(window.end - window.begin))}
    calls, waits = selection.of(trace, trace.module_calls()), selection.of(trace, trace.waits())
    sites = call_site_names(trace.definitions)
    lengths = window.lengths(calls["enter"], calls["leave"])
    _add(
        found,
        "call",
        calls["site"],
        lengths,
        sites | _unnamed(names, calls),
    )
    reasons = {int(reason): names.reason(int(reason)) for reason in np.unique(waits["reason"])}
    _add(found, "wait", waits["reason"], window.lengths(waits["begin"], waits["end"]), reasons)
    if not len(calls):
        found |= _routine_sums(trace, selection)
    return found


def _routine_sums(trace: Trace, selection: Selection) -> _Sums:
    """Those of routines: each call counts, and of one within another of its routine no time."""
    table, routines = trace.routine_calls()
    sums: list[_Sums] = []
    for calls in (table, outermost_calls(trace, table)):
        own = selection.of(trace, calls)
        lengths = selection.window(trace).lengths(own["enter"], own["leave"])
        sums.append({})
        _add(sums[-1], "routine", own["routine"], lengths, dict(enumerate(routines)))
    every, outermost = sums
    return {key: (count, outermost[key][1]) for key, (count, _) in every.items()}


def _unnamed(names: Names, calls: Array) -> dict[int, str]:
    """Names of call sites that the definitions lack."""
    return {int(site): names.site(site)[1] for site in np.unique(calls["site"]) if not names.module(site)}


def _add(
    found: _Sums,
    kind: str,
    numbers: Array,
    lengths: Array,
    names: Mapping[int, str],
) -> None:
    known, place = np.unique(numbers, return_inverse=True)
    counts, times = np.bincount(place, minlength=len(known)), np.bincount(place, lengths, len(known))
    for number, count, time in zip(known.tolist(), counts.tolist(), times.tolist(), strict=True):
        found[kind, names[number]] = (float(count), float(time))


def _difference(
    key: tuple[str, str],
    first: Sequence[_Sums],
    second: Sequence[_Sums],
) -> RunDifference:
    values = [np.array([run.get(key, (0.0, 0.0)) for run in runs]) for runs in (first, second)]
    (count1, time1), (count2, time2) = (each.mean(axis=0).tolist() for each in values)
    return RunDifference(*key, (count1, count2), (time1, time2), _interval(*(each[:, 1] for each in values)))


def _interval(first: Array, second: Array) -> tuple[float, float] | None:
    """Welch's interval of the difference of two means, with the degrees of freedom of the smaller sample."""
    least = min(len(first), len(second))
    if least < LEAST_RUNS:
        return None
    error = float(np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)))
    reach = student_quantile(0.975, least - 1) * error
    gain = float(first.mean() - second.mean())
    return gain - reach, gain + reach
