"""Blocks of a trace as the page holds them: lanes without overlaps, merged where there are too many.

A rank's calls and waits are a lane, what is nested in them lies in lanes below; so do routines of MPI, where
there are module calls.  Ranks are read one after the other, so a large trace never lies in memory whole.
Blocks that are merged give their number and time by kind: the sum of times is never changed.  A function that
calls itself has each moment once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pse.trace import NONE, EventType, Trace
from pse.trace.format import Array
from pse.trace.query import Selection
from pse.views.core._rows import Row
from pse.views.page._causes import Causes
from pse.views.page._kinds import Kinds

DEEPEST = 24
"""Lanes of a row; what is nested deeper is merged with the block of the last one that it lies in."""
BLOCK_DTYPE = np.dtype(
    [
        ("start", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("own", "<i8"),  # ns: in the last lane without what lies deeper
        ("once", "<i8"),  # ns that it adds to the time of its kind: none within another one of it
        ("kind", "<u4"),  # of `Kinds`
        ("tph", "<u8"),
        ("cpu", "<i8"),  # ns
        ("preempted", "<i8"),  # ns: ready to run without a core
        ("peer", "<u4"),  # rank waited for, plus 1; 0 for none
        ("partition", "<u4"),  # plus 1; 0 for none
        ("state", "<u4"),  # 1: failed, 2: not finished
        ("waits", "?"),  # a wait, or a routine of MPI
        ("since", "<i8"),  # ns: how long before its start the rank had begun to wait for the same
        ("until", "<i8"),  # ns: how long after its end the rank went on to wait for the same
        ("late", "<u4"),  # rank that ended the wait, plus 1; 0: nobody that the trace shows
        ("woken", "<i8"),  # ns: how long before its end that rank did so
        ("how", "<u4"),  # what that rank did, of `Causes.texts`, plus 1
    ]
)
CAUSES = ("since", "until", "late", "woken", "how")
"""What `Causes` fills."""


@dataclass(frozen=True)
class Lane:
    """Blocks that don't overlap, by time, some of them merged.

    Parameters
    ----------
    row : int
        Index of its row.
    nested : bool
        Whether it lies below another lane of its row.
    layer : str
        ``states``: wait states of MPI; "": calls, waits, routines.
    entries : array of `BLOCK_DTYPE`
        Blocks, and merged ones (without TPH, peer, partition).
    extra : array of int, shape (entries,)
        Pieces of each entry, less 1.
    kind, time, count : array of int, shape (pieces,)
        The pieces: what they are, how long together, how many.
    once : array of int, shape (pieces,)
        How long together, where what lies within a block of the same kind counts there only, ns.
    bin : int
        Blocks shorter than this may be merged, ns; 0: none is.
    run : int
        0: of the run that is shown; 1: of the one that it is compared with.
    """

    row: int
    nested: bool
    layer: str
    entries: Array
    extra: Array
    kind: Array
    time: Array
    count: Array
    once: Array
    bin: int
    run: int = 0

    @property
    def blocks(self) -> int:
        """How many blocks of the trace it stands for."""
        return int(self.count.sum())


_ENDS = (EventType.MODULE_LEAVE, EventType.WAIT_END, EventType.REGION_LEAVE)


def lanes(
    trace: Trace, selection: Selection, rows: Sequence[Row], kinds: Kinds, causes: Causes, limit: int
) -> Iterator[Lane]:
    """Give all lanes from top to bottom, of about `limit` entries in all.

    A rank may have as many entries as its share of all blocks.
    """
    there = [sum(trace.files[row.rank].counts[kind] for kind in _ENDS) for row in rows]
    for index, row in enumerate(rows):
        alone = dataclasses.replace(trace, files={row.rank: trace.files[row.rank]})
        room = max(400, limit * there[index] // max(1, sum(there)))
        work, routines = (make(trace, alone, selection, kinds) for make in (_work, _routines))
        for blocks in (work, routines):
            causes.fill(row.rank, blocks)
        found = [*_by_depth(work), *_by_depth(routines)]
        found = found or [np.empty(0, BLOCK_DTYPE)]
        layers = [""] * len(found)
        found += (deep := _by_depth(_states(trace, selection, kinds, causes, row.rank)))
        layers += ["states"] * len(deep)
        total = sum(map(len, found))
        for depth, (layer, blocks) in enumerate(zip(layers, found, strict=True)):
            yield _lane(index, depth > 0, layer, blocks, max(100, room * len(blocks) // max(1, total)))


def main_lanes(
    trace: Trace, selection: Selection, rows: Sequence[Row], kinds: Kinds, limit: int
) -> Iterator[Lane]:
    """Give the lane of each row that isn't nested, of about `limit` entries in all."""
    for index, row in enumerate(rows):
        alone = dataclasses.replace(trace, files={row.rank: trace.files[row.rank]})
        found = _by_depth(_work(trace, alone, selection, kinds)) or _by_depth(
            _routines(trace, alone, selection, kinds)
        )
        for blocks in found[:1]:
            yield _lane(index, False, "", blocks, max(400, limit // len(rows)))


def _work(trace: Trace, alone: Trace, selection: Selection, kinds: Kinds) -> Array:
    """Module calls and waits of one rank, by time."""
    calls, waits = selection.of(trace, alone.module_calls()), selection.of(trace, alone.waits())
    blocks = np.zeros(len(calls) + len(waits), BLOCK_DTYPE)
    called, waited = blocks[: len(calls)], blocks[len(calls) :]
    called["start"], called["end"], called["cpu"] = calls["enter"], calls["leave"], calls["cpu"]
    called["preempted"] = calls["preempted"]
    called["tph"], called["partition"] = calls["tph"], _plus_one(calls["partition"])
    called["state"] = np.where(calls["failed"], 1, np.where(calls["complete"], 0, 2))
    called["kind"] = kinds.calls(calls["site"])
    waited["start"], waited["end"], waited["tph"] = waits["begin"], waits["end"], waits["tph"]
    waited["peer"], waited["state"] = _plus_one(waits["peer"]), np.where(waits["complete"], 0, 2)
    waited["waits"] = True
    waited["kind"] = kinds.waits(waits["reason"], waits["site"], waits["edge"])
    return _by_time(blocks)


def _routines(trace: Trace, alone: Trace, selection: Selection, kinds: Kinds) -> Array:
    """Calls of routines of one rank, by time."""
    table, names = alone.routine_calls()
    calls = selection.of(trace, table)
    if selection.tphs is not None or selection.modules is not None:
        calls = calls[:0]  # Routines don't tell to whom they belong.
    blocks = np.zeros(len(calls), BLOCK_DTYPE)
    blocks["start"], blocks["end"] = calls["enter"], calls["leave"]
    if len(calls):
        blocks["kind"] = kinds.routines(names)[calls["routine"]]
        blocks["waits"] = np.array([name.startswith("MPI_") for name in names], bool)[calls["routine"]]
    return _by_time(blocks)


def _states(trace: Trace, selection: Selection, kinds: Kinds, causes: Causes, rank: int) -> Array:
    """Wait states of MPI of one rank, by time."""
    window = selection.window(trace)
    found = causes.states(rank, window.begin, window.end)
    if found is None or selection.tphs is not None or selection.modules is not None:
        return np.zeros(0, BLOCK_DTYPE)
    blocks = np.zeros(len(found), BLOCK_DTYPE)
    blocks["start"] = np.maximum(np.rint(found["begin"]), window.begin)
    blocks["end"] = np.minimum(np.rint(found["end"]), window.end)
    blocks["kind"] = kinds.states(found["metric"])
    return _by_time(blocks)


def _plus_one(numbers: Array) -> Array:
    return np.where(numbers == NONE, 0, numbers + np.uint32(1))


def _by_time(blocks: Array) -> Array:
    """Sort by start; of those that start together, the one that ends last, which comes last, is the first."""
    blocks["end"] = np.maximum(blocks["start"], blocks["end"])
    backwards = blocks[::-1]
    return backwards[np.argsort(backwards["start"], kind="stable")]


def _by_depth(blocks: Array) -> list[Array]:
    """Part blocks that contain each other: a block lies as deep as it is contained."""
    if not len(blocks):
        return []
    ended = np.searchsorted(np.sort(np.maximum(blocks["end"], blocks["start"] + 1)), blocks["start"], "right")
    depth = np.arange(len(blocks)) - ended
    length = blocks["end"] - blocks["start"]
    blocks["own"] = length - _deeper(length, depth)
    blocks["once"] = np.where(_in_their_own_kind(blocks), 0, length)
    depth = np.clip(depth, 0, DEEPEST - 1)
    return [blocks[depth == level] for level in range(depth.max() + 1)]


def _deeper(length: Array, depth: Array) -> Array:
    """How long other blocks of the last lane lie directly in each block."""
    inside = np.zeros(len(length), "<i8")
    around = np.flatnonzero(depth == DEEPEST - 1)
    for level in range(DEEPEST, int(depth.max()) + 1):
        blocks = np.flatnonzero(depth == level)
        np.add.at(inside, around[np.searchsorted(around, blocks) - 1], length[blocks])
        around = blocks
    return inside


def _in_their_own_kind(blocks: Array) -> Array:
    """Whether each block lies within another one of its kind: a function that calls itself."""
    order = np.argsort(blocks["kind"], kind="stable")
    _, ends = np.unique(blocks["end"][order], return_inverse=True)
    keys = blocks["kind"][order].astype("<i8") * len(blocks) + ends
    inside = np.zeros(len(blocks), bool)
    # Ends of lower kinds are always less: the latest end of those before is that of another one of the kind.
    inside[order[1:]] = np.maximum.accumulate(keys)[:-1] >= keys[1:]
    return inside


def _lane(row: int, nested: bool, layer: str, blocks: Array, room: int) -> Lane:
    """Make a lane of at most `room` entries."""
    tops = _tops(blocks)
    if len(tops) == len(blocks) <= room:
        ones = np.ones(len(blocks), "<i8")
        kind, own, once = (blocks[name] for name in ("kind", "own", "once"))
        return Lane(row, nested, layer, blocks, ones - 1, kind, own, ones, once, 0)
    span = int(blocks["end"].max() - blocks["start"][0])
    bin = max(1, span // (64 * room)) if len(tops) > room else 0
    while len(firsts := tops[_firsts(blocks[tops], bin)]) > room:
        bin *= 2
    return _merged(row, nested, layer, blocks, firsts, bin)


def _tops(blocks: Array) -> Array:
    """Where blocks are that lie in no other one of the lane."""
    ends = np.maximum.accumulate(np.maximum(blocks["end"], blocks["start"] + 1))
    return np.append(0, np.flatnonzero(blocks["start"][1:] >= ends[:-1]) + 1)[: len(blocks)]


def _firsts(blocks: Array, bin: int) -> Array:
    """Where entries begin if short blocks that start in the same bin are merged."""
    short = blocks["end"] - blocks["start"] < bin
    cell = blocks["start"] // max(1, bin)
    same = short[1:] & short[:-1] & (cell[1:] == cell[:-1])
    return np.append(0, np.flatnonzero(~same) + 1)


def _merged(row: int, nested: bool, layer: str, blocks: Array, firsts: Array, bin: int) -> Lane:
    sizes = np.diff(np.append(firsts, len(blocks)))
    entries = blocks[firsts]
    entries["end"] = np.maximum.reduceat(blocks["end"], firsts)
    for name in ("tph", "peer", "partition", *CAUSES):
        entries[name][sizes > 1] = 0
    entries["state"] = np.maximum.reduceat(blocks["state"], firsts)
    for name in ("cpu", "preempted"):
        entries[name] = np.add.reduceat(blocks[name], firsts)
    kinds = int(blocks["kind"].max()) + 1
    keys = np.repeat(np.arange(len(firsts)), sizes) * kinds + blocks["kind"]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
    time, once = (np.add.reduceat(blocks[name][order], begins) for name in ("own", "once"))
    pieces = np.bincount(keys[begins] // kinds, minlength=len(firsts))
    count = np.diff(np.append(begins, len(keys)))
    return Lane(row, nested, layer, entries, pieces - 1, keys[begins] % kinds, time, count, once, bin)
