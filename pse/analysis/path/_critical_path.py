"""The critical path: what the end of the run waited for, back to its begin.

From the last thing that happened the path goes backwards in time on one rank: through its calls and the
engine's time between them, until a wait that another rank ended.  There it goes on with that rank, at the
moment when it did so.  So the path is one piece of time from the begin of the run to its end, and shortening
what lies on it is the only way to shorten the run.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pse.analysis._activity import Activity, rank_activity, thread_activity
from pse.analysis.replay._analysis import late_stays
from pse.analysis.waits._backward_walk import (
    SPAN_DTYPE,
    STAY_DTYPE,
    last_begun,
    path_runs,
    runtime_stays,
    work_span,
)
from pse.analysis.waits._wake_candidates import CauseKind
from pse.text import count_text, share_text, time_text
from pse.trace.format import NONE, Array
from pse.trace.query import Names, Trace


class StepKind(enum.IntEnum):
    """What a piece of the path is.

    See Also
    --------
    critical_path
    """

    CALL = 0  # a module call
    WAIT = 1  # a wait that nobody in the trace ended
    ROUTINE = 2  # a call of MPI in which nobody came late
    HANDOVER = 3  # from the moment when a rank handed over until the one that waited went on
    ENGINE = 4  # between blocks: the engine, or the program where only MPI was recorded
    START = 5  # before the first block
    END = 6  # after the last one


HANDOVER_NAMES: dict[int, str] = {
    CauseKind.MESSAGE: "message",
    CauseKind.LATE_RECEIVER: "late receiver",
    CauseKind.COLLECTIVE: "collective",
    CauseKind.THREAD: "thread",
}
"""What ended the wait, where it was no tag."""
LATEST = 2**62
"""ns: later times are damaged."""
STEP_DTYPE = np.dtype(
    [
        ("kind", "u1"),  # StepKind
        ("rank", "<u4"),  # of a hand-over the one that waited
        ("thread", "<u4"),  # of the rank
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("site", "<u4"),  # call site of a call
        ("tph", "<u8"),
        ("block", "<i8"),  # in `activity.blocks`; -1: none
        ("sender", "<u4"),  # of a hand-over
        ("edge", "<u4"),  # of a hand-over; NONE: it was no tag
        ("cause", "u1"),  # CauseKind: of a hand-over, what ended the wait
    ]
)


class PathShare(NamedTuple):
    """What pieces of the path of one kind add up to.

    Attributes
    ----------
    name : str
        A call site and its thread, a routine of MPI, or what else the pieces are.
    kind : str
        The module of a call site; else what the pieces are.
    time : int
        ns.
    count : int
        How many pieces there are.

    See Also
    --------
    critical_path

    Examples
    --------
    >>> [(share.kind, share.time) for share in pse.analysis.critical_path(trace).shares()][:2]
    [('rows', 18000000), ('load', 8000000)]
    """

    name: str
    kind: str
    time: int
    count: int  # type: ignore[assignment]  # In place of the method of tuples.


@dataclass(frozen=True)
class CriticalPath:
    """The critical path of a run.

    Parameters
    ----------
    steps : structured array, shape (n,)
        Its pieces in the order of time, each begins where the one before it ends: ``kind`` (`StepKind`),
        ``rank`` and its ``thread`` (of a hand-over those that waited), ``begin`` and ``end`` (ns),
        ``site`` (of a call), ``tph``, ``block`` (in `activity.blocks`, -1: none); of hand-overs ``sender``,
        ``edge`` (`NONE` where no tag was handed over) and ``cause`` (`CauseKind`, what ended the wait).
    activity : Activity
        What the threads of ranks did.

    See Also
    --------
    critical_path

    Examples
    --------
    >>> path = pse.analysis.critical_path(trace)
    >>> path.length / 1e6  # ms
    29.0
    >>> [pse.analysis.StepKind(kind).name for kind in path.steps["kind"][:3]]
    ['START', 'CALL', 'HANDOVER']
    """

    steps: Array
    activity: Activity

    @property
    def length(self) -> int:
        """How long it is, ns."""
        return int((self.steps["end"] - self.steps["begin"]).sum())

    def shares(self, steps: Array | None = None) -> list[PathShare]:
        """Tell where its time went, or that of some of its steps: the most first."""
        return _shares(self, self.steps if steps is None else steps)

    def to_json(self) -> dict[str, Any]:
        """Where its time went as JSON values, times in ns."""
        ranks = np.unique(self.steps["rank"]).tolist()
        shares = [share._asdict() for share in self.shares()]
        return {
            "path": str(self.activity.trace.path),
            "length": self.length,
            "ranks": ranks,
            "shares": shares,
        }


def critical_path(trace: Trace) -> CriticalPath:
    """Find the critical path of a run.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    CriticalPath
        Its steps cover the run without a gap; there are none if the trace shows no calls and no waits.

    Examples
    --------
    >>> path = critical_path(trace)
    >>> path.shares()[0]
    PathShare(name='rows (line 6) · thread_B', kind='rows', time=18000000, count=2)
    """
    did = thread_activity(rank_activity(trace))
    if not len(did.blocks) and not len(did.routines):
        return CriticalPath(np.empty(0, STEP_DTYPE), did)
    spans = np.array([(rank, *work_span(trace, rank)) for rank in trace.ranks], SPAN_DTYPE)
    if not len(did.blocks):
        return CriticalPath(_without_blocks(path_runs(spans, np.empty(0, STAY_DTYPE))), did)
    runs = path_runs(spans, np.concatenate([runtime_stays(did), late_stays(trace)]))[::-1]
    return CriticalPath(_steps(did, runs), did)


def _without_blocks(runs: Array) -> Array:
    """The whole time of a rank, of which the trace shows only functions of the program."""
    found = np.zeros(len(runs), STEP_DTYPE)
    for name in ("begin", "end"):
        found[name] = np.minimum(np.rint(runs[name]), LATEST)
    found["kind"], found["rank"], found["block"] = StepKind.ENGINE, runs["rank"], -1
    found["site"] = found["sender"] = found["edge"] = NONE
    steps: Array = found[found["end"] > found["begin"]]
    return steps


def _steps(did: Activity, runs: Array) -> Array:
    """The pieces of the path, in the order of time."""
    times = [np.minimum(np.rint(runs[name]), LATEST).astype("<i8") for name in ("begin", "end")]
    begin, end = times[0], np.maximum(*times)
    run, block = _blocks_of(did, runs, begin, end)
    inside = _made(did, runs, run, block)
    inside["end"] = np.clip(did.blocks["end"][block], begin[run], end[run])
    before = np.maximum.accumulate(np.append(begin[:1], inside["end"]))[:-1]  # What is before it has ended.
    before = np.maximum(before, begin[run])
    inside["begin"] = np.maximum(did.blocks["begin"][block], before)
    inside["end"] = np.maximum(inside["end"], inside["begin"])
    inside["kind"] = did.blocks["kind"][block]
    gaps = _made(did, runs, run, np.maximum(block - 1, 0))
    gaps["begin"], gaps["end"] = before, inside["begin"]
    rests = _made(did, runs, np.arange(len(runs)), _last_of(run, block, len(runs)))
    rests["begin"], rests["end"] = begin, end
    np.maximum.at(rests["begin"], run, inside["end"])
    for part in (gaps, rests):
        part["kind"], part["block"], part["site"] = StepKind.ENGINE, -1, NONE
        part["kind"][part["end"] == end[-1]] = StepKind.END
        part["kind"][part["begin"] == begin[0]] = StepKind.START
    parts = [inside, gaps, rests, _handovers(did, runs, run, inside, begin)]
    numbers = np.concatenate([run, run, np.arange(len(runs)), np.flatnonzero(runs["sender"] != NONE)])
    steps = np.concatenate(parts)
    order = np.lexsort((steps["end"], steps["begin"], numbers))
    kept = (steps["end"] > steps["begin"]) | (steps["kind"] == StepKind.HANDOVER)
    found: Array = steps[order][kept[order]]
    return found


def _made(did: Activity, runs: Array, run: Array, block: Array) -> Array:
    """Steps of runs in blocks, without kind and times."""
    found = np.zeros(len(run), STEP_DTYPE)
    found["rank"], found["thread"], found["block"] = runs["rank"][run], runs["thread"][run], block
    found["site"], found["tph"] = did.blocks["site"][block], did.blocks["tph"][block]
    found["sender"] = found["edge"] = NONE
    return found


def _blocks_of(did: Activity, runs: Array, begin: Array, end: Array) -> tuple[Array, Array]:
    """The blocks that runs go through: numbers of runs, and of their blocks."""
    own, asked = (rows["rank"].astype("<i8") << 32 | rows["thread"] for rows in (did.blocks, runs))
    begins = did.blocks["begin"]
    first = np.maximum(last_begun(own, begins, asked, begin), np.searchsorted(own, asked))
    counts = np.maximum(last_begun(own, begins, asked, end) + 1 - first, 0)
    run = np.repeat(np.arange(len(asked)), counts)
    return run, first[run] + np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)


def _last_of(run: Array, block: Array, count: int) -> Array:
    """The last block of each run, any where it has none."""
    found = np.zeros(count, "<i8")
    found[run] = block
    return found


def _handovers(did: Activity, runs: Array, run: Array, inside: Array, begin: Array) -> Array:
    """The hand-overs with which runs begin; what is left of the wait in `inside` becomes a part of them."""
    jumped = np.flatnonzero(runs["sender"] != NONE)
    found = _made(did, runs, jumped, np.zeros(len(jumped), "<i8"))
    found["kind"], found["block"] = StepKind.HANDOVER, -1
    found["site"], found["tph"] = NONE, 0
    for name in ("sender", "edge"):
        found[name] = runs[name][jumped]
    found["cause"] = runs["kind"][jumped]
    found["begin"] = found["end"] = begin[jumped]
    several, first = np.unique(run, return_index=True)
    of_jump = np.searchsorted(jumped, several)
    waited = np.isin(several, jumped) & (inside["kind"][first] != StepKind.CALL)
    waited &= (inside["begin"][first] == begin[several]) & (inside["end"][first] > begin[several])
    first, of_jump = first[waited], of_jump[waited]
    for name in ("site", "tph", "block", "end"):
        found[name][of_jump] = inside[name][first]
    inside["begin"][first] = inside["end"][first]
    return found


def critical_path_text(path: CriticalPath) -> Iterator[str]:
    """Tell where the time of a critical path went as `pse trace critical` prints it.

    Parameters
    ----------
    path : CriticalPath
        What `critical_path` found.

    Yields
    ------
    str
        The lines, the most time first.

    Examples
    --------
    >>> print(*pse.analysis.critical_path_text(pse.analysis.critical_path(trace)), sep="\\n")
    critical path of 29.0 ms: 4 hand-overs, 2 of 2 ranks
                                   time   share      times
    rows (line 6) · thread_B    18.0 ms    62 %          2
    load (line 5) · thread_A    8.00 ms    28 %          2
    total (line 7) · thread_A   2.00 ms     7 %          2
    start                       1.00 ms     3 %          1
    hand-over                      0 ns     0 %          4
    """
    if not len(path.steps):
        yield "the trace shows no calls and no waits: there is no path to find"
        return
    jumps = int((path.steps["kind"] == StepKind.HANDOVER).sum())
    ranks = len(np.unique(path.steps["rank"]))
    yield (
        f"critical path of {time_text(path.length)}: {count_text(jumps, 'hand-over')}, "
        f"{ranks:,} of {len(path.activity.trace.ranks):,} ranks"
    )
    shares = path.shares()
    width = max(len(share.name) for share in shares)
    yield f"{'':{width}}  {'time':>8}  {'share':>6}  {'times':>9}"
    for name, _, time, count in shares:
        yield f"{name:{width}}  {time_text(time):>8}  {share_text(time / path.length):>6}  {count:9,}"


_OF_THREADS = (StepKind.ROUTINE, StepKind.ENGINE)
"""Of these it is said which thread of the rank they are of, if it is not the first."""


def _shares(path: CriticalPath, steps: Array) -> list[PathShare]:
    trace = path.activity.trace
    names = Names(trace)
    found: dict[tuple[str, str], tuple[int, int]] = {}
    is_call = steps["kind"] == StepKind.CALL
    threads = np.where(is_call, _thread_ranks(trace, names)[steps["rank"]], 0)
    what = np.where(is_call, steps["site"], _routines(path, steps))
    what = np.where(steps["kind"] == StepKind.HANDOVER, steps["cause"], what)
    numbers, number = np.unique(what, return_inverse=True)
    threads = np.where(np.isin(steps["kind"], _OF_THREADS), steps["thread"], threads)
    keys = (steps["kind"].astype("<i8") * len(numbers) + number) << 32 | threads
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    times = np.bincount(index, steps["end"] - steps["begin"]).astype("<i8").tolist()
    counts = np.bincount(index).tolist()
    for row, time, count in zip(first.tolist(), times, counts, strict=True):
        step, site = StepKind(steps["kind"][row]), int(numbers[number[row]])
        name = _named(path, names, step, site, int(threads[row]))
        before = found.get(name, (0, 0))
        found[name] = (before[0] + time, before[1] + count)
    ordered = sorted(found.items(), key=lambda item: -item[1][0])
    return [PathShare(name, kind, *numbers) for (name, kind), numbers in ordered]


def _thread_ranks(trace: Trace, names: Names) -> Array:
    """For each rank the lowest one of the same thread."""
    lowest: dict[str, int] = {}
    ranks = np.zeros(max(trace.ranks) + 1, "<u4")
    for rank in trace.ranks:
        ranks[rank] = lowest.setdefault(names.thread(rank), rank)
    return ranks


def _routines(path: CriticalPath, steps: Array) -> Array:
    """Number of the routine of each step that is a call of MPI, else NONE."""
    found = np.full(len(steps), NONE, "<u4")
    chosen = np.flatnonzero(steps["kind"] == StepKind.ROUTINE)
    blocks = path.activity.blocks[steps["block"][chosen]]
    found[chosen] = path.activity.routines["routine"][blocks["row"]]
    return found


def _named(path: CriticalPath, names: Names, step: StepKind, number: int, rank: int) -> tuple[str, str]:
    if step == StepKind.CALL:
        module = names.module(number) or names.site(number)[1]
        return f"{names.spoken_site(number)} · {names.thread(rank)}", module
    thread = f" · thread {rank}" if step in _OF_THREADS and rank else ""
    if step == StepKind.ROUTINE:
        name = path.activity.routine_names[number]
        return f"{name}{thread}", name
    if step == StepKind.ENGINE and path.activity.trace.definitions is None:
        return f"program{thread}", "program"
    if step == StepKind.HANDOVER:
        return HANDOVER_NAMES.get(number, "hand-over"), "hand-over"
    word = "waits" if step == StepKind.WAIT else step.name.lower()
    return word, word
