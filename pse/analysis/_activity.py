"""What every rank did, block after block: module calls and waits as one table, in the order of time.

A rank that is woken for something else goes on waiting: waits for the same thing, with nothing but the engine
between them, are blocks of one run.
Where a rank has neither (a trace of MPI alone), its blocks are the outermost calls of MPI routines.  Between
two blocks is the engine's time, or the program's where nothing but MPI was recorded.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass, replace

import numpy as np

from pse.trace.format import NONE, Array
from pse.trace.query import Trace, all_messages, routine_threads


class BlockKind(enum.IntEnum):
    """What a block is; `row` of a block is its row in the table of its kind.

    See Also
    --------
    rank_activity

    Examples
    --------
    >>> activity = pse.analysis.rank_activity(trace)
    >>> int((activity.blocks["kind"] == BlockKind.WAIT).sum())
    4
    """

    CALL = 0
    WAIT = 1
    ROUTINE = 2


WAITS_FOR = ("rank", "reason", "site", "tph", "edge", "peer")


BLOCK_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("thread", "<u4"),  # of the rank, where threads are told apart (`thread_activity`); else 0
        ("kind", "u1"),  # BlockKind
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("site", "<u4"),
        ("tph", "<u8"),
        ("row", "<i8"),
        ("since", "<i8"),  # ns: begin of the first wait of its run; of other blocks their own
        ("last", "<i8"),  # index of the last wait of its run; of other blocks their own
    ]
)


@dataclass(frozen=True)
class Activity:
    """What the ranks of a trace did, and the tables that tell why they waited.

    Parameters
    ----------
    trace : Trace
        Where it is from.
    blocks : array of BLOCK_DTYPE, shape (n,)
        All blocks, by rank, then by their begin.
    calls, waits, routines : structured arrays
        The tables that `row` of a block points into.
    routine_names : list of str
        Names of the routines.
    bounds : dict of int to (int, int)
        For each rank where its blocks begin and end in `blocks`.

    See Also
    --------
    rank_activity

    Examples
    --------
    >>> activity = pse.analysis.rank_activity(trace)
    >>> len(activity.blocks), len(activity.messages), int(activity.of(1)["begin"][0])
    (10, 4, 1000000)
    """

    trace: Trace
    blocks: Array
    calls: Array
    waits: Array
    routines: Array
    routine_names: list[str]
    bounds: dict[int, tuple[int, int]]

    @functools.cached_property
    def messages(self) -> Array:
        """Hand-overs of tags: array of `MESSAGE_DTYPE` (`all_messages`)."""
        return all_messages(self.trace)

    @functools.cached_property
    def partition_messages(self) -> Array:
        """Messages among partitions (`Trace.partition_messages`)."""
        return self.trace.partition_messages()

    def of(self, rank: int) -> Array:
        """The blocks of a rank, a view."""
        begin, end = self.bounds.get(rank, (0, 0))
        return self.blocks[begin:end]

    def begun(self, rank: int, time: int) -> int:
        """Index of the last block that a rank had begun at a time; -1: it had begun none."""
        first, _ = self.bounds.get(rank, (0, 0))
        found = first + int(np.searchsorted(self.of(rank)["begin"], time, side="right")) - 1
        return found if found >= first else -1

    def at(self, rank: int, time: int) -> int:
        """Index of the block that a rank was in at a time, of a run of waits the last; -1: it was in none."""
        found = self.begun(rank, time)
        last = int(self.blocks["last"][found]) if found >= 0 else -1
        return last if found >= 0 and time < self.blocks["end"][last] else -1

    def next_begins(self) -> Array:
        """For each block when the rank's next one begins, or a time after all others, shape (n,)."""
        follows = np.full(len(self.blocks), np.iinfo("<i8").max)
        same = self.blocks["rank"][1:] == self.blocks["rank"][:-1]
        follows[:-1][same] = self.blocks["begin"][1:][same]
        return follows


def rank_activity(trace: Trace) -> Activity:
    """Gather what the ranks of a trace did.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    Activity
        Its `blocks` are all module calls and waits, by rank, then by their begin; of ranks that have neither
        the outermost calls of MPI.

    Examples
    --------
    >>> activity = pse.analysis.rank_activity(trace)
    >>> [(pse.analysis.BlockKind(block["kind"]).name, int(block["begin"])) for block in activity.of(1)]
    [('WAIT', 1000000), ('CALL', 5000000), ('WAIT', 15000000), ('CALL', 19000000)]
    """
    calls, waits = trace.module_calls(), trace.waits()
    routines, names = trace.routine_calls()
    parts = [_blocks(calls, BlockKind.CALL, "enter", "leave"), _blocks(waits, BlockKind.WAIT, "begin", "end")]
    bare = ~np.isin(routines["rank"], np.concatenate([calls["rank"], waits["rank"]]))
    if bare.any():
        parts.append(_blocks_of_routines(routines, bare & _is_mpi(routines, names)))
    blocks = _in_order(np.concatenate(parts))
    _find_runs(blocks, waits)
    return Activity(trace, blocks, calls, waits, routines, names, _bounds(trace, blocks))


def thread_activity(did: Activity) -> Activity:
    """Tell the threads of ranks apart: blocks by rank, then by thread, then by their begin.

    Module calls, and waits between them, are of a rank's first thread; blocks of others are calls of MPI.
    """
    threads = routine_threads(did.trace)
    if not threads.any():
        return did
    parts = [did.blocks[did.blocks["kind"] != BlockKind.ROUTINE]]
    is_bare, is_mpi = (
        ~np.isin(did.routines["rank"], parts[0]["rank"]),
        _is_mpi(did.routines, did.routine_names),
    )
    for thread in np.unique(threads).tolist():
        own = _blocks_of_routines(did.routines, is_mpi & (threads == thread) & (is_bare | (thread > 0)))
        own["thread"] = thread
        parts.append(own)
    blocks = np.concatenate(parts)
    blocks = blocks[np.lexsort((blocks["begin"], blocks["thread"], blocks["rank"]))]
    _find_runs(blocks, did.waits)
    return replace(did, blocks=blocks, bounds=_bounds(did.trace, blocks))


def _is_mpi(routines: Array, names: list[str]) -> Array:
    found: Array = np.array([name.startswith("MPI_") for name in names], bool)[routines["routine"]]
    return found


def _blocks_of_routines(routines: Array, chosen: Array) -> Array:
    """Blocks of the outermost ones of the chosen routine calls."""
    outermost = _outermost(routines, chosen)
    found = _blocks(routines[outermost], BlockKind.ROUTINE, "enter", "leave")
    found["row"] = outermost
    return found


def _bounds(trace: Trace, blocks: Array) -> dict[int, tuple[int, int]]:
    """Where the blocks of each rank begin and end."""
    first, last = (np.searchsorted(blocks["rank"], trace.ranks, side).tolist() for side in ("left", "right"))
    return dict(zip(trace.ranks, zip(first, last, strict=True), strict=True))


def _blocks(table: Array, kind: BlockKind, begin: str, end: str) -> Array:
    blocks = np.zeros(len(table), BLOCK_DTYPE)
    blocks["rank"], blocks["kind"] = table["rank"], kind
    blocks["begin"], blocks["end"] = table[begin], np.maximum(table[end], table[begin])
    fields = table.dtype.names or ()
    blocks["site"] = table["site"] if "site" in fields else NONE
    blocks["tph"] = table["tph"] if "tph" in fields else 0
    blocks["row"] = np.arange(len(table))
    return blocks


def _in_order(blocks: Array) -> Array:
    """Blocks by rank, then by their begin.

    Calls and waits are so already, each for themselves: sorting such runs anew, rank by rank, is fast.
    """
    by_rank = np.argsort(blocks["rank"], kind="stable")
    ranks, first = np.unique(blocks["rank"][by_rank], return_index=True)
    bounds = [*first.tolist(), len(blocks)]
    order = [by_rank[bounds[i] : bounds[i + 1]] for i in range(len(ranks))]
    order = [rows[np.argsort(blocks["begin"][rows], kind="stable")] for rows in order]
    ordered: Array = blocks[np.concatenate([np.empty(0, "<i8"), *order])]
    return ordered


def _find_runs(blocks: Array, waits: Array) -> None:
    """Say of each wait when its run began, and which wait is the last of it."""
    is_wait = blocks["kind"] == BlockKind.WAIT
    same = is_wait[1:] & is_wait[:-1]
    places = np.flatnonzero(same)
    before, after = waits[blocks["row"][places]], waits[blocks["row"][places + 1]]
    same[places] = np.logical_and.reduce([before[name] == after[name] for name in WAITS_FOR])
    same[places] &= before["site"] != NONE  # Else it may be a loop that goes on, round by round.
    firsts = np.flatnonzero(np.append(True, ~same)[: len(blocks)])
    lasts = np.flatnonzero(np.append(~same, True)[: len(blocks)])
    blocks["since"] = np.repeat(blocks["begin"][firsts], lasts - firsts + 1)
    blocks["last"] = np.repeat(lasts, lasts - firsts + 1)


def _outermost(routines: Array, chosen: Array) -> Array:
    """Rows of the chosen routine calls that are within no other chosen one of their rank."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.lexsort((-routines["leave"][rows], routines["enter"][rows], routines["rank"][rows]))]
    ranks, leave = routines["rank"][rows], routines["leave"][rows]
    keep = np.ones(len(rows), bool)
    for rank in np.unique(ranks):
        own = np.flatnonzero(ranks == rank)
        latest = np.maximum.accumulate(leave[own])
        keep[own[1:]] = leave[own[1:]] > latest[:-1]
    kept: Array = rows[keep]
    return kept
