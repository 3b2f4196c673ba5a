"""From the end of a run back to its begin: along a rank, and from each wait to the rank that ended it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.analysis._activity import Activity, BlockKind
from pse.analysis.waits._wait_causes import wait_causes, wakers
from pse.analysis.waits._wake_candidates import CauseKind
from pse.trace import EventType, TextKind
from pse.trace.format import NONE, Array, high32, low32
from pse.trace.query import Trace

SPAN_DTYPE = np.dtype(
    [("rank", "<u4"), ("begin", "<f8"), ("finalize", "<f8"), ("end", "<f8"), ("has_calls", "?")]
)
"""When a rank's events begin, when it entered MPI_Finalize or did its last work, when that ended, ns, and
whether it called modules."""

STAY_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("thread", "<u4"),  # of the rank
        ("begin", "<f8"),  # ns
        ("late", "<u4", 2),  # the ranks that may have ended it, the likelier first; NONE: nobody
        ("late_thread", "<u4", 2),  # of these
        ("time", "<f8", 2),  # ns: when they did so
        ("kind", "u1", 2),  # CauseKind: what they did
        ("edge", "<u4", 2),  # of a tag, else NONE
    ]
)
"""What a thread of a rank was in, a wait or a call, from which the path may go on with another rank."""

RUN_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("thread", "<u4"),  # of the rank
        ("begin", "<f8"),  # ns
        ("end", "<f8"),  # ns
        ("sender", "<u4"),  # the rank with which the path goes on before; NONE: none, it is the first run
        ("kind", "u1"),  # CauseKind: what that rank did
        ("edge", "<u4"),  # of a tag, else NONE
    ]
)
"""A piece of the path on one thread of a rank."""

_LAST = 1000
"""Among so many events at a rank's end is MPI_Finalize, where it has been called."""


def work_span(trace: Trace, rank: int) -> tuple[float, float, float, bool]:
    """Give what SPAN_DTYPE has of a rank.

    Work ends with the last module call; where there is none, or it did not end, with the last event.
    """
    first, last = trace.files[rank].times
    calls = trace.select(rank, EventType.MODULE_ENTER, EventType.MODULE_LEAVE)
    if len(calls) and calls["type"][-1] == EventType.MODULE_LEAVE:
        last = int(calls["time"][-1])
    finalize = min([last, *_finalize_begins(trace, rank)])
    times = trace.run_times(rank, np.array([first, finalize, last], "<u8")).astype("<f8").tolist()
    return times[0], times[1], max(times[0], times[2]), bool(len(calls))  # Damaged times may go back.


def _finalize_begins(trace: Trace, rank: int) -> list[int]:
    """When a rank entered MPI_Finalize, ns of its clock: it is among its last events."""
    names, last = trace.texts(rank), trace.files[rank].events[-_LAST:]
    entered = last[last["type"] == EventType.REGION_ENTER]
    routines = [names.get((TextKind.REGION, number)) for number in entered["a"].tolist()]
    return [int(entered["time"][place]) for place, name in enumerate(routines) if name == "MPI_Finalize"]


def runtime_stays(did: Activity) -> Array:
    """Module calls and waits between them, with who ended these: array of STAY_DTYPE."""
    own = did.blocks["kind"] != BlockKind.ROUTINE
    ended = wait_causes(did)
    causes = np.stack([ended, wakers(did, ended)], axis=1)[own]
    found = np.zeros(len(causes), STAY_DTYPE)
    found["rank"], found["begin"] = did.blocks["rank"][own], did.blocks["begin"][own]
    found["late"], found["time"], found["kind"] = (causes[name] for name in ("rank", "time", "kind"))
    found["edge"] = NONE
    tagged = causes["kind"] == CauseKind.TAG
    tagged &= causes["rank"] != NONE
    found["edge"][tagged] = did.messages["edge"][causes["message"][tagged]]
    return found


def stays_in_mpi(
    ranks: Array, begins: Array, late: Array | int, times: Array | int, kinds: Array | int
) -> Array:
    """Waits in MPI, each for one rank that came late: array of STAY_DTYPE."""
    found = np.zeros(len(ranks), STAY_DTYPE)
    found["late"] = found["edge"] = NONE
    found["rank"], found["begin"] = ranks, begins
    found["late"][:, 0], found["time"][:, 0], found["kind"][:, 0] = late, times, kinds
    return found


def path_runs(spans: Array, stays: Array) -> Array:
    """The critical path, the latest run first.

    Parameters
    ----------
    spans : array of SPAN_DTYPE
        Of all ranks.
    stays : array of STAY_DTYPE
        Of all ranks, in any order.

    Returns
    -------
    array of RUN_DTYPE
        Each begins where the next one ends, on that rank or on the one that it waited for.
    """
    keys, spans, stays = _with_numbers(spans, stays)
    first = stays_in_mpi(spans["rank"], spans["begin"], NONE, 0, 0)
    stays = np.concatenate([first, stays])
    goes_on = stays["time"][:, 0] > stays["begin"]  # The start of a thread comes before what begins with it.
    stays = stays[np.lexsort((goes_on, stays["begin"], np.arange(len(stays)) >= len(first), stays["rank"]))]
    # In MPI_Finalize ranks wait for each other, which no event tells: the last to enter it was the latest.
    last = spans[np.lexsort((spans["rank"], -spans["end"], -spans["finalize"], ~spans["has_calls"]))[0]]
    place = stays["rank"], stays["begin"]
    columns = [(stays["late"][:, way], stays["time"][:, way]) for way in range(2)]
    causes = [(time, last_begun(*place, late, time)) for late, time in columns]
    begun = last_begun(*place, *(np.array([last[name]]) for name in ("rank", "end")))
    walked = walk_back(*place, causes, int(begun[0]), float(last["end"]))
    places, nows, by = (np.array(column) for column in zip(*walked, strict=True))
    jumps = np.flatnonzero(by >= 0)
    runs = np.zeros(len(jumps) + 1, RUN_DTYPE)
    runs["rank"], runs["end"] = (column[np.append(0, jumps + 1)] for column in (stays["rank"][places], nows))
    runs["begin"] = np.append(nows[jumps + 1], min(stays["begin"][places[-1]], nows[-1]))
    runs["sender"] = runs["edge"] = NONE
    for name, field in (("sender", "late"), ("kind", "kind"), ("edge", "edge")):
        runs[name][:-1] = stays[field][places[jumps], by[jumps]]
    own = keys[runs["rank"]]
    runs["rank"], runs["thread"] = high32(own), low32(own)
    runs["sender"][:-1] = high32(keys[runs["sender"][:-1]])
    return runs


def _with_numbers(spans: Array, stays: Array) -> tuple[Array, Array, Array]:
    """Numbers of threads in place of ranks; and for each the rank, and below it the thread."""
    spans, stays = spans.copy(), stays.copy()
    is_known = stays["late"] != NONE
    first, own, late = (
        ranks.astype("<u8") << np.uint64(32) | threads
        for ranks, threads in (
            (spans["rank"], np.zeros(len(spans), "<u4")),
            (stays["rank"], stays["thread"]),
            (stays["late"][is_known], stays["late_thread"][is_known]),
        )
    )
    keys = np.unique(np.concatenate([first, own, late]))
    spans["rank"], stays["rank"] = np.searchsorted(keys, first), np.searchsorted(keys, own)
    stays["late"][is_known] = np.searchsorted(keys, late)
    return keys, spans, stays


def last_begun(block_ranks: Array, begins: Array, ranks: Array, times: Array) -> Array:
    """For ranks and times the last block that each had begun; -1: none, or no rank is asked for (NONE).

    Parameters
    ----------
    block_ranks, begins : array, shape (blocks,)
        Blocks by rank, then by their begin, ns.
    ranks, times : array, shape (asked,)
        What is asked, ns.

    Returns
    -------
    array of int64, shape (asked,)
        Indices of blocks.
    """
    asked = np.flatnonzero(ranks != NONE)
    asked = asked[np.argsort(ranks[asked], kind="stable")]
    several, first = np.unique(ranks[asked], return_index=True)
    found = np.full(len(ranks), -1)
    for rank, places in zip(several.tolist(), np.split(asked, first[1:]), strict=True) if len(asked) else ():
        begin, end = np.searchsorted(block_ranks, [rank, rank + 1])
        last = np.searchsorted(begins[begin:end], times[places], side="right") - 1
        found[places] = np.where(last >= 0, last + begin, -1)
    return found


def walk_back(
    ranks: Array, begins: Array, causes: Sequence[tuple[Array, Array]], place: int, now: float
) -> list[tuple[int, float, int]]:
    """Blocks from the end of the run to its begin.

    Plain Python: one step needs the one before it, and takes about a microsecond.  Few blocks are on the
    path, so they are looked at where they are: as Python's numbers all would take more memory than the trace.

    Parameters
    ----------
    ranks, begins : array, shape (blocks,)
        Blocks by rank, then by their begin, ns.
    causes : sequence of (array, array)
        When another rank ended each block, ns, and which block that rank was in, -1: none did; where the
        first cause is of no use the next one counts.
    place : int
        The block with which it begins.
    now : float
        When the path leaves that, ns.

    Returns
    -------
    list of (int, float, int)
        Index of a block, when the path leaves it, and by which cause it goes on; -1: by none.
    """
    rank_of, begin_of = _numbers_of(ranks), _numbers_of(begins)
    times, before = ([_numbers_of(column) for column in columns] for columns in zip(*causes, strict=True))
    path: list[tuple[int, float, int]] = []
    left: set[int] = set()  # Blocks that it left now: no circle without time.
    after: float
    while place >= 0:
        latest = now if place not in left else np.nextafter(now, -np.inf)
        usable = (n for n in range(len(causes)) if before[n][place] >= 0 and times[n][place] <= latest)
        by = next(usable, -1)
        path.append((place, now, by))
        left.add(place)
        if by >= 0:
            after, place = times[by][place], before[by][place]
        else:
            after = min(now, begin_of[place])
            place = place - 1 if place and rank_of[place - 1] == rank_of[place] else -1
        left = left if after == now else set()
        now = after
    return path


def _numbers_of(column: Array) -> memoryview:
    """A column, of which an item is a number of Python's."""
    return np.ascontiguousarray(column).data
