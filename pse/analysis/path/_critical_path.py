"""The critical path: what the end of the run waited for, back to its begin.

From the last thing that happened the path goes backwards in time on one rank: through its calls and the
engine's time between them, until a wait that another rank ended.  There it goes on with that rank, at the
moment when it did so.  So the path is one piece of time from the begin of the run to its end, and shortening
what lies on it is the only way to shorten the run.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pse.analysis._activity import Activity, BlockKind, rank_activity
from pse.analysis.path._backward_walk import last_begun, walk_back
from pse.analysis.waits._mpi_wait_causes import mpi_wait_causes
from pse.analysis.waits._wait_causes import wait_causes, wakers
from pse.analysis.waits._wake_candidates import CauseKind
from pse.text import count_text, share_text, time_text
from pse.trace.format import NONE, Array
from pse.trace.query import Names, Trace


class StepKind(enum.IntEnum):
    """What a piece of the path is."""

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
}
"""What ended the wait, where it was no tag."""
LATEST = 2**62
"""ns: later times are damaged."""
STEP_DTYPE = np.dtype(
    [
        ("kind", "u1"),  # StepKind
        ("rank", "<u4"),  # of a hand-over the one that waited
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
        ``rank`` (of a hand-over the one that waited), ``begin`` and ``end`` (ns), ``site`` (of a call),
        ``tph``, ``block`` (in `activity.blocks`, -1: none); of hand-overs ``sender``, ``edge`` (`NONE` where
        no tag was handed over) and ``cause`` (`CauseKind`, what ended the wait).
    activity : Activity
        What the ranks did.
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
    PathShare(name='fft.rows (line 16) · thread_B', kind='fft', time=231000000, count=8)
    """
    did = rank_activity(trace)
    ended = wait_causes(did)
    woke = wakers(did, ended)
    _with_mpi(did, ended)
    if not len(did.blocks):
        return CriticalPath(np.empty(0, STEP_DTYPE), did)
    return CriticalPath(_steps(did, (ended, woke), min(trace.span, LATEST)), did)


def _with_mpi(did: Activity, ended: Array) -> None:
    """Who ended the waiting in calls of MPI, where these are the blocks."""
    places = np.flatnonzero(did.blocks["kind"] == BlockKind.ROUTINE)
    if len(places):
        ended[places] = mpi_wait_causes(did)[did.blocks["row"][places]]


def _walk(did: Activity, ended_by: Sequence[Array]) -> list[tuple[int, float, int]]:
    """Blocks from the end to the begin: index, when the path leaves it, by which cause; -1: by none."""
    blocks = did.blocks
    causes = [
        (cause["time"], last_begun(blocks["rank"], blocks["begin"], cause["rank"], cause["time"]))
        for cause in ended_by
    ]
    place = _last(did)
    return walk_back(blocks["rank"], blocks["begin"], causes, place, int(blocks["end"][place]))


def _last(did: Activity) -> int:
    """The block that ended last, waits left out if there is anything else."""
    worked = np.flatnonzero(did.blocks["kind"] != BlockKind.WAIT)
    places = worked if len(worked) else np.arange(len(did.blocks))
    return int(places[np.argmax(did.blocks["end"][places])])


def _steps(did: Activity, ended_by: tuple[Array, Array], span: int) -> Array:
    """The pieces of the path, in the order of time."""
    walked = np.array(_walk(did, ended_by)[::-1], "<i8")
    place, now, jumps = walked[:, 0], walked[:, 1], walked[:, 2] >= 0
    ended, woke = ended_by
    blocks, cause = did.blocks[place], np.where(walked[:, 2] == 1, woke[place], ended[place])
    ends = np.minimum(blocks["end"], now)
    ends = np.where(jumps, np.maximum(ends, cause["time"]), ends)  # What it waited for came after the wait.
    inside = np.zeros(len(place), STEP_DTYPE)
    inside["kind"] = np.where(jumps, StepKind.HANDOVER, blocks["kind"])
    inside["begin"] = np.where(jumps, cause["time"], np.minimum(blocks["begin"], ends))
    inside["end"] = ends
    inside["sender"], inside["edge"] = np.where(jumps, cause["rank"], NONE), NONE
    inside["cause"] = np.where(jumps, cause["kind"], CauseKind.OTHER)
    tagged = np.flatnonzero(jumps & (cause["kind"] == CauseKind.TAG))
    inside["edge"][tagged] = did.messages["edge"][cause["message"][tagged]]
    after = np.zeros(len(place), STEP_DTYPE)
    after["kind"], after["begin"], after["end"] = StepKind.ENGINE, ends, now
    after["sender"] = after["edge"] = NONE
    for part in (inside, after):
        part["rank"], part["block"] = blocks["rank"], place
        part["site"], part["tph"] = blocks["site"], blocks["tph"]
    after["block"], after["site"] = -1, NONE
    steps = np.stack([inside, after], axis=1).reshape(-1)
    ends_of_run = np.repeat(after[[0, -1]], 1)
    ends_of_run["kind"] = [StepKind.START, StepKind.END]
    ends_of_run["begin"], ends_of_run["end"] = [0, now[-1]], [inside["begin"][0], span]
    steps = np.concatenate([ends_of_run[:1], steps, ends_of_run[1:]])
    kept: Array = steps[steps["end"] > steps["begin"]]
    return kept


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
    """
    if not len(path.steps):
        yield "the trace shows no module calls, waits or calls of MPI: there is no path to find"
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


def _shares(path: CriticalPath, steps: Array) -> list[PathShare]:
    trace = path.activity.trace
    names = Names(trace)
    found: dict[tuple[str, str], tuple[int, int]] = {}
    is_call = steps["kind"] == StepKind.CALL
    threads = np.where(is_call, _thread_ranks(trace, names)[steps["rank"]], 0)
    what = np.where(is_call, steps["site"], _routines(path, steps))
    what = np.where(steps["kind"] == StepKind.HANDOVER, steps["cause"], what)
    numbers, number = np.unique(what, return_inverse=True)
    keys = (steps["kind"].astype("<i8") * len(numbers) + number) * (max(trace.ranks) + 1) + threads
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
    if step == StepKind.ROUTINE:
        return (path.activity.routine_names[number],) * 2
    if step == StepKind.ENGINE and path.activity.trace.definitions is None:
        return ("program",) * 2
    if step == StepKind.HANDOVER:
        return HANDOVER_NAMES.get(number, "hand-over"), "hand-over"
    word = "waits" if step == StepKind.WAIT else step.name.lower()
    return word, word
