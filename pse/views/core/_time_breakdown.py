"""How much of a run's time went where: numbers for the bar charts, NumPy alone.

Every moment of a rank belongs to one kind: a module call, a wait by reason, or the engine, whose time is
charged to what it did at the end of it: handed over, took, allocated.  Of a trace of MPI alone, regions take
the place of modules, and routines of MPI that of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pse.trace import EventType, Selection, Trace, WaitReason
from pse.trace.format import Array
from pse.trace.query import ENDS, Names, program_span
from pse.views.core._colours import (
    Style,
    module_styles,
    routine_family,
    routine_styles,
    wait_colours,
    wait_text,
)
from pse.views.core._rows import rows

HAND_OVER = (
    *(EventType.SEND, EventType.RECEIVE, EventType.PARTITION_SEND, EventType.PARTITION_RECEIVE),
    *(EventType.QUEUE_DEPTH, EventType.PARTITION_TAKE, EventType.PARTITION_SEND_COMPLETE),
    *(EventType.PARTITION_COLLECTIVE_BEGIN, EventType.PARTITION_COLLECTIVE_END),
)
COUNTED = 4
"""So many of the first types are counted."""
MEMORY = (EventType.ALLOCATE, EventType.FREE)
LATEST = 2**53
"""ns: later times are damaged, and sums of them would not fit."""
ENGINE_PARTS = ("hand-over", "memory")
"""What the engine does that `engine_parts` tells."""
START_AND_END = "start and end"
"""What the time outside of the program is called."""
ENGINE_STYLES = {
    "hand-over": Style("#8A929C", "...."),  # No colour of a module: they share a bar.
    "memory": Style("#C4CAD2", "xxxx"),
    START_AND_END: Style("#BBBBBB", "////"),
    "rest of the engine": Style("#666666"),
}


@dataclass(frozen=True)
class Share:
    """The time of one kind, per rank.

    Parameters
    ----------
    label : str
        Name of the module, reason, routine.
    style : Style
        How it is filled.
    times : array of int64, shape (rows,)
        ns in each row.
    count : int
        How often it happened; 0: it isn't counted.
    """

    label: str
    style: Style
    times: Array
    count: int = 0

    @property
    def total(self) -> int:
        """Time in all rows, ns."""
        return int(self.times.sum())


@dataclass(frozen=True)
class Bars:
    """Shares of the rows' times.

    Parameters
    ----------
    groups : list of str
        Names of the rows: processors, or ranks where none are known.
    shares : list of Share
        What their time went to.
    mpi : bool
        Whether these are regions or routines of a trace of MPI alone.
    """

    groups: list[str]
    shares: list[Share]
    mpi: bool = False

    @property
    def row(self) -> str:
        """What a row is: ``processor`` or ``rank``."""
        return "processor" if re.fullmatch(r"root|p\d+", self.groups[0]) else "rank"

    def shown(self) -> list[Share]:
        """Shares that have any time."""
        return [share for share in self.shares if share.total > 0]


def module_bars(trace: Trace, selection: Selection, by: str = "processor") -> Bars:
    """Time in each module, by processor or rank; without module calls, in each region that isn't MPI's."""
    groups, place = _places(trace, selection, by)
    calls = selection.of(trace, trace.module_calls())
    if not len(calls):
        return Bars(groups, list(_regions(trace, selection, groups, place)), mpi=True)
    names, styles = Names(trace), module_styles(trace)
    sites, index = np.unique(calls["site"], return_inverse=True)
    modules = [names.module(site) or names.site(site)[1] for site in sites]
    known = list(dict.fromkeys([*styles, *modules]))
    column = np.array([known.index(module) for module in modules])[index]
    times = selection.limits.lengths(calls["enter"], calls["leave"])
    sums = _sums(place[calls["rank"]], column, times, groups, known)
    counts = np.bincount(column, minlength=len(known))
    shares = [
        Share(name, styles.get(name, Style("#999999")), sums[:, i], int(counts[i]))
        for i, name in enumerate(known)
    ]
    return Bars(groups, shares)


def _regions(trace: Trace, selection: Selection, groups: list[str], place: Array) -> Iterator[Share]:
    calls, names = trace.routine_calls()
    calls = selection.of(trace, calls)
    styles = routine_styles(names)
    times = _exclusive(calls)
    own = np.array([not name.startswith("MPI_") for name in names], bool)[calls["routine"]]
    sums = _sums(place[calls["rank"][own]], calls["routine"][own], times[own], groups, names)
    counts = np.bincount(calls["routine"][own], minlength=len(names))
    for number, name in enumerate(names):
        if counts[number]:
            yield Share(name, styles[name], sums[:, number], int(counts[number]))


def event_bars(trace: Trace, selection: Selection, by: str = "processor") -> Bars:
    """Time outside of modules, by kind and processor or rank; without them, in MPI by family of routines."""
    groups, place = _places(trace, selection, by)
    shown = selection.ranks_of(trace)
    waits = selection.of(trace, trace.waits())
    engine = list(_engine(trace, selection, shown, groups, place)) if _has_engine(trace) else []
    if not engine:
        return Bars(groups, list(_families(trace, selection, groups, place)), mpi=True)
    return Bars(groups, [*_reasons(waits, selection, groups, place), *engine])


def _has_engine(trace: Trace) -> bool:
    kinds = (EventType.MODULE_ENTER, EventType.WAIT_BEGIN)
    return any(len(trace.select(rank, *kinds)) for rank in trace.ranks)


def _reasons(waits: Array, selection: Selection, groups: list[str], place: Array) -> Iterator[Share]:
    colours = wait_colours()
    times = selection.limits.lengths(waits["begin"], waits["end"])
    for reason in WaitReason:
        chosen = waits["reason"] == reason
        name = reason.name.lower()
        sums = np.bincount(place[waits["rank"][chosen]], times[chosen], len(groups))
        yield Share(wait_text(name), Style(colours[name]), sums.astype("<i8"), int(chosen.sum()))


def _engine(
    trace: Trace, selection: Selection, shown: tuple[int, ...], groups: list[str], place: Array
) -> Iterator[Share]:
    """What the engine did, by the event at the end of each piece of its time."""
    sums = {name: np.zeros(len(groups), "<i8") for name in ENGINE_STYLES}
    counts = dict.fromkeys(ENGINE_STYLES, 0)
    for rank in shown:
        kind, begins, ends = _pieces(trace, rank, selection)
        spent = ends - begins
        for name, kinds in (("hand-over", HAND_OVER), ("memory", MEMORY), (START_AND_END, ENDS)):
            chosen = np.isin(kind, kinds)
            sums[name][place[rank]] += spent[chosen].sum()
            counts[name] += int(np.isin(kind, kinds[:COUNTED]).sum()) if name != START_AND_END else 0
            spent = np.where(chosen, 0, spent)
        sums["rest of the engine"][place[rank]] += spent.sum()
    for name, style in ENGINE_STYLES.items():
        yield Share(name, style, sums[name], counts[name])


def engine_parts(trace: Trace, rank: int, selection: Selection) -> tuple[Array, Array, Array]:
    """When a rank's engine handed over, and found or freed memory: which of `ENGINE_PARTS`, begins, ends."""
    kind, begins, ends = _pieces(trace, rank, selection)
    chosen = np.isin(kind, (*HAND_OVER, *MEMORY)) & (ends > begins)
    return np.isin(kind[chosen], MEMORY).astype("<i8"), begins[chosen], ends[chosen]


def _pieces(trace: Trace, rank: int, selection: Selection) -> tuple[Array, Array, Array]:
    """Types of a rank's events, and from when to when the engine did what each ends, ns."""
    kind = trace.files[rank].events["type"]
    times = np.clip(trace.run_times(rank, trace.files[rank].events["time"]), 0, LATEST)
    inside = np.cumsum(np.isin(kind, _OPEN).astype("i1") - np.isin(kind, _CLOSE), dtype="i4") > 0
    begins, ends = selection.limits.clip(times[:-1], times[1:])
    ends = np.where(inside[:-1], begins, np.maximum(begins, ends))
    return _with_ends(trace, rank, kind)[1:], begins, ends


def _with_ends(trace: Trace, rank: int, kind: Array) -> Array:
    """Types of events, with all that happened outside of the program taken for its start and end."""
    span = program_span(trace, rank, kind)
    if span is None:
        return kind
    first, last = span
    kind = kind.copy()
    kind[: first + 1] = EventType.PHASE
    if last is not None:
        kind[last + 1 :] = EventType.PHASE
    return kind


_OPEN = (EventType.MODULE_ENTER, EventType.WAIT_BEGIN)
_CLOSE = (EventType.MODULE_LEAVE, EventType.WAIT_END)


def _families(trace: Trace, selection: Selection, groups: list[str], place: Array) -> Iterator[Share]:
    calls, names = trace.routine_calls()
    calls = selection.of(trace, calls)
    is_mpi = np.array([name.startswith("MPI_") for name in names], bool)
    families = [routine_family(name) if mpi else "" for name, mpi in zip(names, is_mpi, strict=True)]
    styles = routine_styles(names)
    known = list(dict.fromkeys(family for family in families if family))
    times = _exclusive(calls)
    for family in known:
        members = np.array([one == family for one in families])[calls["routine"]]
        sums = np.bincount(place[calls["rank"][members]], times[members], len(groups)).astype("<i8")
        style = styles[names[families.index(family)]]
        yield Share(f"MPI: {family}", style, sums, int(members.sum()))


def _places(trace: Trace, selection: Selection, by: str) -> tuple[list[str], Array]:
    """Names of the processors or ranks in order, and for each rank the index of its."""
    shown = rows(trace, selection)
    names = [row.label if by == "rank" else row.group or row.label for row in shown]
    groups = list(dict.fromkeys(names))
    place = np.zeros(max(trace.ranks) + 1, "<i8")
    place[[row.rank for row in shown]] = [groups.index(name) for name in names]
    return groups, place


def _exclusive(calls: Array) -> Array:
    """Time of each call of a routine without those that it called, ns."""
    times = (calls["leave"] - calls["enter"]).astype("<i8")
    order = np.lexsort((-calls["leave"], calls["enter"], calls["rank"]))
    own: Array = times.copy()
    stack: list[int] = []
    ranks, enters, leaves = (calls[name].tolist() for name in ("rank", "enter", "leave"))
    for row in order.tolist():
        while stack and (ranks[stack[-1]] != ranks[row] or leaves[stack[-1]] <= enters[row]):
            stack.pop()
        if stack:
            own[stack[-1]] -= leaves[row] - enters[row]
        stack.append(row)
    return own


def _sums(group: Array, column: Array, times: Array, groups: list[str], known: list[str]) -> Array:
    """Sums of times by group and column, shape (groups, columns)."""
    width = max(1, len(known))
    sums = np.bincount(group * width + column, times, len(groups) * width)
    table: Array = sums.astype("<i8").reshape(len(groups), width)
    return table
