"""The critical path: what the end of the run waited for, back to its begin.

From the last thing that happened the path goes backwards in time on one rank: through its calls and the
engine's time between them, until a wait that another rank ended.  There it goes on with that rank, at the
moment when it did so.  So the path is one piece of time from the begin of the run to its end, and shortening
what lies on it is the only way to shorten the run.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pse.analysis._activity import Activity, Kind, activity
from pse.analysis._mpi_wait_causes import mpi_causes
from pse.analysis._wait_causes import causes, wakers
from pse.analysis._wake_candidates import Deed
from pse.trace.format import NONE, Array
from pse.trace.query import Names, Trace, all_messages


class Step(enum.IntEnum):
    """What a piece of the path is."""

    CALL = 0  # a module call
    WAIT = 1  # a wait that nobody in the trace ended
    ROUTINE = 2  # a call of MPI in which nobody came late
    HANDOVER = 3  # from the moment when a rank handed over until the one that waited went on
    ENGINE = 4  # between blocks: the engine, or the program where only MPI was recorded
    START = 5  # before the first block
    END = 6  # after the last one


HANDOVERS: dict[int, str] = {
    Deed.SENT: "message",
    Deed.TOOK: "late receiver",
    Deed.CAME: "collective",
}
"""What ended the wait, where it was no tag."""
LATEST = 2**62
"""ns: later times are damaged."""
STEP_DTYPE = np.dtype(
    [
        ("kind", "u1"),  # Step
        ("rank", "<u4"),  # of a hand-over the one that waited
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("site", "<u4"),  # call site of a call
        ("tph", "<u8"),
        ("block", "<i8"),  # in `activity.blocks`; -1: none
        ("sender", "<u4"),  # of a hand-over
        ("edge", "<u4"),  # of a hand-over; NONE: it was no tag
        ("deed", "u1"),  # Deed: of a hand-over, what ended the wait
    ]
)


@dataclass(frozen=True)
class CriticalPath:
    """The critical path of a run.

    Parameters
    ----------
    steps : array of STEP_DTYPE, shape (n,)
        Its pieces in the order of time; each begins where the one before it ends.
    activity : Activity
        What the ranks did.
    """

    steps: Array
    activity: Activity


def critical_path(trace: Trace) -> CriticalPath:
    """Find the critical path of a run."""
    did = activity(trace)
    messages = all_messages(trace)
    among = trace.partition_messages()
    ended = causes(did, messages, among)
    woke = wakers(did, messages, among, ended)
    _with_mpi(did, ended)
    if not len(did.blocks):
        return CriticalPath(np.empty(0, STEP_DTYPE), did)
    return CriticalPath(_steps(did, (ended, woke), messages, min(trace.span, LATEST)), did)


def _with_mpi(did: Activity, ended: Array) -> None:
    """Who ended the waiting in calls of MPI, where these are the blocks."""
    places = np.flatnonzero(did.blocks["kind"] == Kind.ROUTINE)
    if len(places):
        ended[places] = mpi_causes(did)[did.blocks["row"][places]]


def _walk(did: Activity, ended_by: Sequence[Array]) -> list[tuple[int, int, int]]:
    """Blocks from the end of the run to its begin: index, when the path leaves it, by which cause; -1: none.

    Plain Python on lists: one step needs the one before it, and takes less than a microsecond.
    """
    begins, ends = did.blocks["begin"].tolist(), did.blocks["end"].tolist()
    ranks, times = did.blocks["rank"].tolist(), [cause["time"].tolist() for cause in ended_by]
    before = [_before(did, cause) for cause in ended_by]
    place = _last(did)
    now, path = ends[place], []
    while place >= 0:
        by = 0 if before[0][place] >= 0 and times[0][place] < now else 1
        if before[by][place] >= 0 and times[by][place] < now:
            path.append((place, now, by))
            now, place = times[by][place], before[by][place]
        else:
            path.append((place, now, -1))
            now = min(now, begins[place])
            place = place - 1 if place and ranks[place - 1] == ranks[place] else -1
    return path


def _last(did: Activity) -> int:
    """The block that ended last, waits left out if there is anything else."""
    worked = np.flatnonzero(did.blocks["kind"] != Kind.WAIT)
    places = worked if len(worked) else np.arange(len(did.blocks))
    return int(places[np.argmax(did.blocks["end"][places])])


def _before(did: Activity, ended: Array) -> list[int]:
    """For each block that another rank ended, that rank's block at the time, else -1."""
    asked = np.flatnonzero(ended["rank"] != NONE)
    asked = asked[np.argsort(ended["rank"][asked], kind="stable")]
    ranks, first = np.unique(ended["rank"][asked], return_index=True)
    found = np.full(len(did.blocks), -1)
    for rank, places in zip(ranks.tolist(), np.split(asked, first[1:]), strict=True) if len(asked) else ():
        begin, _ = did.bounds.get(rank, (0, 0))
        last = np.searchsorted(did.of(rank)["begin"], ended["time"][places], side="right") - 1
        found[places] = np.where(last >= 0, last + begin, -1)
    before: list[int] = found.tolist()
    return before


def _steps(did: Activity, ended_by: tuple[Array, Array], messages: Array, span: int) -> Array:
    """The pieces of the path, in the order of time."""
    walked = np.array(_walk(did, ended_by)[::-1], "<i8")
    place, now, jumps = walked[:, 0], walked[:, 1], walked[:, 2] >= 0
    ended, woke = ended_by
    blocks, cause = did.blocks[place], np.where(walked[:, 2] == 1, woke[place], ended[place])
    ends = np.minimum(blocks["end"], now)
    ends = np.where(jumps, np.maximum(ends, cause["time"]), ends)  # What it waited for came after the wait.
    inside = np.zeros(len(place), STEP_DTYPE)
    inside["kind"] = np.where(jumps, Step.HANDOVER, blocks["kind"])
    inside["begin"] = np.where(jumps, cause["time"], np.minimum(blocks["begin"], ends))
    inside["end"] = ends
    inside["sender"], inside["edge"] = np.where(jumps, cause["rank"], NONE), NONE
    inside["deed"] = np.where(jumps, cause["deed"], Deed.OTHER)
    tagged = np.flatnonzero(jumps & (cause["deed"] == Deed.TAG))
    inside["edge"][tagged] = messages["edge"][cause["message"][tagged]]
    after = np.zeros(len(place), STEP_DTYPE)
    after["kind"], after["begin"], after["end"] = Step.ENGINE, ends, now
    after["sender"] = after["edge"] = NONE
    for part in (inside, after):
        part["rank"], part["block"] = blocks["rank"], place
        part["site"], part["tph"] = blocks["site"], blocks["tph"]
    after["block"], after["site"] = -1, NONE
    steps = np.stack([inside, after], axis=1).reshape(-1)
    ends_of_run = np.repeat(after[[0, -1]], 1)
    ends_of_run["kind"] = [Step.START, Step.END]
    ends_of_run["begin"], ends_of_run["end"] = [0, now[-1]], [inside["begin"][0], span]
    steps = np.concatenate([ends_of_run[:1], steps, ends_of_run[1:]])
    kept: Array = steps[steps["end"] > steps["begin"]]
    return kept


def shares(trace: Trace, path: CriticalPath, steps: Array | None = None) -> list[tuple[str, str, int, int]]:
    """Where the time of the path went: name, kind, ns and number of pieces, the most first.

    The name is that of a call site and its thread; the kind its module, or what else the piece is.  `steps`
    may be a part of the path's.
    """
    steps = path.steps if steps is None else steps
    names = Names(trace)
    found: dict[tuple[str, str], tuple[int, int]] = {}
    is_call = steps["kind"] == Step.CALL
    threads = np.where(is_call, _thread_ranks(trace, names)[steps["rank"]], 0)
    what = np.where(is_call, steps["site"], _routines(path, steps))
    what = np.where(steps["kind"] == Step.HANDOVER, steps["deed"], what)
    numbers, number = np.unique(what, return_inverse=True)
    keys = (steps["kind"].astype("<i8") * len(numbers) + number) * (max(trace.ranks) + 1) + threads
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    times = np.bincount(index, steps["end"] - steps["begin"]).astype("<i8").tolist()
    counts = np.bincount(index).tolist()
    for row, time, count in zip(first.tolist(), times, counts, strict=True):
        step, site = Step(steps["kind"][row]), int(numbers[number[row]])
        name = _named(trace, path, names, step, site, int(threads[row]))
        before = found.get(name, (0, 0))
        found[name] = (before[0] + time, before[1] + count)
    ordered = sorted(found.items(), key=lambda item: -item[1][0])
    return [(label, kind, *numbers) for (label, kind), numbers in ordered]


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
    chosen = np.flatnonzero(steps["kind"] == Step.ROUTINE)
    blocks = path.activity.blocks[steps["block"][chosen]]
    found[chosen] = path.activity.routines["routine"][blocks["row"]]
    return found


def _named(
    trace: Trace, path: CriticalPath, names: Names, step: Step, number: int, rank: int
) -> tuple[str, str]:
    if step == Step.CALL:
        module = names.module(number) or names.site(number)[1]
        return f"{names.spoken_site(number)} · {names.thread(rank)}", module
    if step == Step.ROUTINE:
        return (path.activity.routine_names[number],) * 2
    if step == Step.ENGINE and trace.definitions is None:
        return ("program",) * 2
    if step == Step.HANDOVER:
        return HANDOVERS.get(number, "hand-over"), "hand-over"
    word = "waits" if step == Step.WAIT else step.name.lower()
    return word, word
