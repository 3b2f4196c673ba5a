"""Who ended each wait: the rank that handed over, took from a full queue, freed memory, came to its turn.

A wait for a tag or for messages among partitions ends with something that came, and that has a sender.  For
other reasons nothing says who it was; but it did something at that moment that is in the trace, and the last
one who did so is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pse.analysis._activity import Activity, BlockKind
from pse.analysis.waits._release_events import (
    ReleaseEvents,
    inbox_looks,
    iteration_ends,
    memory_frees,
    queue_takes,
    tag_releases,
    thread_calls,
)
from pse.analysis.waits._wake_candidates import CauseKind, wake_candidates
from pse.trace.format import NONE, Array, WaitReason

CAUSE_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # who ended it; NONE: nobody that the trace shows
        ("time", "<i8"),  # ns: when that rank did so; after the wait, if something else had woken the rank
        ("kind", "u1"),  # CauseKind: what it did
        ("message", "<i8"),  # row in the table of that kind; -1: it was no message
    ]
)


WAKE_WINDOW_NS = 100_000
"""ns: within them a rank awakes where its core is free; longer ago, somebody else is the likelier cause."""


def no_causes(count: int) -> Array:
    """Make so many causes of waits that nobody in the trace ended."""
    found = np.zeros(count, CAUSE_DTYPE)
    found["rank"], found["message"] = NONE, -1
    return found


def wait_causes(activity: Activity) -> Array:
    """Who ended each wait of a trace.

    Parameters
    ----------
    activity : Activity
        What the ranks did.

    Returns
    -------
    array of CAUSE_DTYPE, shape of `activity.blocks`
        ``rank`` (uint32) that ended it, ``time`` (int64, ns) when it did so, ``kind`` (uint8, `CauseKind`),
        and ``message`` (int64), the row in the table of that kind, or -1.  Module calls, calls of MPI, and
        waits that nobody in the trace ended have the rank `NONE`.

    Examples
    --------
    >>> activity = pse.analysis.rank_activity(trace)
    >>> causes = pse.analysis.wait_causes(activity)
    >>> is_wait = activity.blocks["kind"] == pse.analysis.BlockKind.WAIT
    >>> causes[is_wait][["rank", "time"]].tolist()
    [(1, 14000000), (1, 28000000), (0, 5000000), (0, 19000000)]
    """
    blocks, waits = activity.blocks, activity.waits
    found = no_causes(len(blocks))
    places = np.flatnonzero(blocks["kind"] == BlockKind.WAIT)
    rows = blocks["row"][places]
    came = wake_candidates(activity.messages, activity.partition_messages)
    if len(places) and len(came):
        _by_candidate(activity, came, found, blocks["kind"] == BlockKind.WAIT)
    taken = queue_takes(activity)
    by_reason: tuple[tuple[WaitReason, Callable[[Array], tuple[Array, ReleaseEvents]]], ...] = (
        (WaitReason.CREDIT, lambda chosen: (blocks["rank"][chosen], taken)),
        (WaitReason.ITERATION, lambda chosen: iteration_ends(activity, chosen)),
        (WaitReason.SPACE, lambda chosen: memory_frees(activity, chosen)),
        (WaitReason.EXCLUSIVE, lambda chosen: inbox_looks(activity, chosen)),
        (WaitReason.EXCLUSIVE, lambda chosen: tag_releases(activity, chosen)),
        (WaitReason.ORDER, lambda chosen: thread_calls(activity, chosen)),
    )
    for reason, find in by_reason:
        chosen = places[(waits["reason"][rows] == reason) & waits["complete"][rows]]
        if len(chosen):
            _by_release_event(activity, found, chosen, *find(chosen))
    _by_recent_event(activity, taken, found, places[waits["complete"][rows]])
    return found


def wakers(activity: Activity, ended: Array) -> Array:
    """Who had woken a rank from a wait, where what it waited for was sent only afterwards.

    Parameters
    ----------
    activity : Activity
        What the ranks did.
    ended : array of CAUSE_DTYPE
        What `wait_causes` gave.

    Returns
    -------
    array of CAUSE_DTYPE, shape of `ended`
        Nobody for all other blocks.
    """
    found = no_causes(len(ended))
    chosen = (ended["rank"] != NONE) & (ended["time"] > activity.blocks["end"])
    if chosen.any():
        came = wake_candidates(activity.messages, activity.partition_messages)
        _by_candidate(activity, came, found, chosen, until_end=True)
    return found


def _by_candidate(
    activity: Activity, messages: Array, found: Array, chosen: Array, *, until_end: bool = False
) -> None:
    """What came between a wait and the rank's next block: the last that this block needed.

    `chosen` says which waits are asked about; `until_end`: only what was sent before their end.
    """
    blocks, follows = activity.blocks, activity.next_begins()
    needs = _Needs(activity)
    by_receiver = np.argsort(messages["receiver"], kind="stable")
    receivers = messages["receiver"][by_receiver]
    for rank in np.unique(receivers):
        first, last = activity.bounds.get(int(rank), (0, 0))
        waits = first + np.flatnonzero(chosen[first:last])
        rows = by_receiver[slice(*np.searchsorted(receivers, [rank, rank + 1]))]
        if not len(waits):
            continue
        place = np.searchsorted(blocks["begin"][waits], messages["received"][rows], side="right") - 1
        wait = waits[place]
        came = (place >= 0) & (messages["received"][rows] <= follows[wait])
        if until_end:
            came &= messages["sent"][rows] <= blocks["end"][wait]
        rows, wait = rows[came], wait[came]
        latest = _last_needed(needs(rows, wait, messages), messages["sent"][rows], wait)
        target, picked = wait[latest], messages[rows[latest]]
        found["message"][target], found["kind"][target] = picked["row"], picked["kind"]
        found["rank"][target] = picked["sender"]
        found["time"][target] = picked["sent"]


def _last_needed(needed: Array, sent: Array, wait: Array) -> Array:
    """For each wait one of its messages: of the most needed ones the last sent, else the first of all."""
    order = np.lexsort((np.where(needed > 0, sent, -sent), needed, wait))
    is_last = np.ones(len(order), bool)
    is_last[:-1] = wait[order[1:]] != wait[order[:-1]]
    last: Array = order[is_last]
    return last


class _Needs:
    """Tells how much what came was needed: 2, the wait was for it; 1, the next call reads it; 0."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        definitions = activity.trace.definitions
        edges = definitions.edges if definitions else ()
        pairs = [(edge.id << 32) | site for edge in edges for site in edge.targets]
        self._reads = np.unique(np.array(pairs, "<u8"))

    def __call__(self, rows: Array, wait: Array, messages: Array) -> Array:
        blocks, waits = self._activity.blocks, self._activity.waits
        edges, after = messages["edge"][rows], np.minimum(wait + 1, len(blocks) - 1)
        read = np.isin(edges.astype("<u8") << np.uint64(32) | blocks["site"][after], self._reads)
        read &= blocks["tph"][after] == messages["tph"][rows]
        stuck = waits[blocks["row"][wait]]
        is_tag = messages["kind"][rows] == CauseKind.TAG
        exactly = np.where(is_tag, edges == stuck["edge"], stuck["reason"] == WaitReason.PARTITIONS)
        needed: Array = read + 2 * (exactly & (messages["tph"][rows] == stuck["tph"]))
        return needed


def _by_release_event(
    activity: Activity, found: Array, places: Array, keys: Array, events: ReleaseEvents
) -> None:
    blocks = activity.blocks[places]
    last = events.last_before(keys, blocks["end"])
    there = last >= 0
    there[there] = events.time[last[there]] > blocks["since"][there]
    there[there] = events.rank[last[there]] != blocks["rank"][there]
    before = found[places]
    just = (before["rank"] != NONE) & (before["kind"] == CauseKind.OTHER)
    just &= blocks["end"] - before["time"] <= WAKE_WINDOW_NS
    there[there] &= ~just[there] | (blocks["end"][there] - events.time[last[there]] <= WAKE_WINDOW_NS)
    found["rank"][places[there]] = events.rank[last[there]]
    found["time"][places[there]] = events.time[last[there]]
    found["kind"][places[there]] = CauseKind.OTHER
    found["message"][places[there]] = -1


def _by_recent_event(activity: Activity, taken: ReleaseEvents, found: Array, places: Array) -> None:
    """Of waits that nothing else ended, what happened just before their end.

    A place in a queue got free, and let a younger TPH or another partition go on; the same call site's call
    on another rank was over, which had posted a message among partitions (old traces don't have these); or
    memory was freed, for which such a message had waited.  A rank that goes on with a call had what that
    needed from then on, however late it awoke.
    """
    blocks, calls = activity.blocks, activity.calls
    posted = ReleaseEvents(calls["site"], calls["rank"], calls["leave"])
    for key, events in (("rank", taken), ("site", posted)):
        rest = places[found["rank"][places] == NONE]
        _by_release_event(activity, found, rest, blocks[key][rest], events)
        late = rest[blocks["end"][rest] - found["time"][rest] > WAKE_WINDOW_NS]
        late = late[~_goes_on(blocks, late)] if events is taken else late
        found["rank"][late], found["time"][late] = NONE, 0
    rest = places[found["rank"][places] == NONE]
    rest = rest[activity.waits["reason"][blocks["row"][rest]] == WaitReason.PARTITIONS]
    if len(rest):
        _by_release_event(activity, found, rest, *memory_frees(activity, rest))


def _goes_on(blocks: Array, places: Array) -> Array:
    """Whether the rank's next block is a call."""
    after = np.minimum(places + 1, len(blocks) - 1)
    going: Array = (blocks["kind"][after] == BlockKind.CALL) & (
        blocks["rank"][after] == blocks["rank"][places]
    )
    return going
