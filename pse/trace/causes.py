"""Who ended each wait: the rank that handed over, took from a full queue, freed memory, came to its turn.

A wait for a tag or for messages among partitions ends with something that came, and that has a sender.  For
other reasons nothing says who it was; but it did something at that moment that is in the trace, and the last
one who did so is taken.

May touch: nothing.  Next rooms: ``why.py`` follows the causes from rank to rank, ``critical.py`` from the end
of the run to its begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.trace.activity import Activity, Kind
from pse.trace.arrivals import Deed, arrivals
from pse.trace.events import NONE, EventType, WaitReason
from pse.trace.files import Array
from pse.trace.reader import Trace
from pse.trace.tables import MESSAGE_DTYPE, high, low, match_messages, message_ends

CAUSE_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # who ended it; NONE: nobody that the trace shows
        ("time", "<i8"),  # ns: when that rank did so; after the wait, if something else had woken the rank
        ("deed", "u1"),  # Deed: what it did
        ("message", "<i8"),  # row in the table of that deed; -1: it was no message
    ]
)


JUST = 100_000
"""ns: within them a rank awakes where its core is free; longer ago, somebody else is the likelier cause."""


@dataclass(frozen=True)
class Doings:
    """Moments at which ranks did something that others may have waited for.

    Parameters
    ----------
    key : array, shape (n,)
        For whom or for what, as a wait has it in the column that it is looked up by.
    rank : array, shape (n,)
        Who did it.
    time : array of int64, shape (n,)
        When, ns.
    """

    key: Array
    rank: Array
    time: Array

    def last_before(self, keys: Array, times: Array) -> Array:
        """For each key and time the index of the last doing of this key until then; -1: there is none."""
        asked = np.repeat([False, True], [len(self.time), len(times)])
        every_key = np.concatenate([self.key.astype("<u8"), keys.astype("<u8")])
        order = np.lexsort((asked, np.concatenate([self.time, times]), every_key))
        seen = np.maximum.accumulate(np.where(asked[order], -1, np.arange(len(order))))
        doing = np.where(seen >= 0, order[seen], -1)
        doing[every_key[doing] != every_key[order]] = -1
        found = np.empty(len(times), "<i8")
        found[order[asked[order]] - len(self.time)] = doing[asked[order]]
        return found


def all_messages(trace: Trace) -> Array:
    """The messages of a trace, those too whose sender's events are missing: `sent` is when they came then."""
    found = match_messages(*message_ends(trace))
    halves = np.zeros(len(found.receives), MESSAGE_DTYPE)
    halves["sender"], halves["receiver"] = low(found.receives["b"]), found.receives["rank"]
    halves["edge"], halves["sequence"] = high(found.receives["b"]), found.receives["c"]
    for name, column in (("bytes", "a"), ("flags", "flags"), ("site", "site"), ("tph", "tph")):
        halves[name] = found.receives[column]
    halves["sent"] = halves["received"] = found.receives["time"]
    return np.concatenate([found.matched, halves])


def causes(activity: Activity, messages: Array, partition_messages: Array) -> Array:
    """Who ended each wait of a trace.

    Parameters
    ----------
    activity : Activity
        What the ranks did.
    messages : array of MESSAGE_DTYPE
        The messages of the same trace.
    partition_messages : array of PARTITION_MESSAGE_DTYPE
        Those among partitions.

    Returns
    -------
    array of CAUSE_DTYPE, shape of `activity.blocks`
        Of module calls and of calls of MPI nobody.
    """
    blocks, waits = activity.blocks, activity.waits
    found = np.zeros(len(blocks), CAUSE_DTYPE)
    found["rank"], found["message"] = NONE, -1
    places = np.flatnonzero(blocks["kind"] == Kind.WAIT)
    rows = blocks["row"][places]
    came = arrivals(messages, partition_messages)
    if len(places) and len(came):
        _by_arrival(activity, came, found, blocks["kind"] == Kind.WAIT)
    taken = _taken(activity)
    by_reason: tuple[tuple[WaitReason, Callable[[Array], tuple[Array, Doings]]], ...] = (
        (WaitReason.CREDIT, lambda chosen: (blocks["rank"][chosen], taken)),
        (WaitReason.ITERATION, lambda chosen: _ended_iterations(activity, chosen)),
        (WaitReason.SPACE, lambda chosen: _freed(activity, chosen)),
        (WaitReason.EXCLUSIVE, lambda chosen: _looked(activity, chosen, messages)),
        (WaitReason.EXCLUSIVE, lambda chosen: _read(activity, chosen, messages)),
        (WaitReason.ORDER, lambda chosen: _called(activity, chosen)),
    )
    for reason, doings in by_reason:
        chosen = places[(waits["reason"][rows] == reason) & waits["complete"][rows]]
        if len(chosen):
            _by_doing(activity, found, chosen, *doings(chosen))
    _by_chance(activity, taken, found, places[waits["complete"][rows]])
    return found


def wakers(activity: Activity, messages: Array, partition_messages: Array, ended: Array) -> Array:
    """Who had woken a rank from a wait, where what it waited for was sent only afterwards.

    Parameters
    ----------
    activity, messages, partition_messages
        As for `causes`.
    ended : array of CAUSE_DTYPE
        What `causes` gave.

    Returns
    -------
    array of CAUSE_DTYPE, shape of `ended`
        Nobody for all other blocks.
    """
    found = np.zeros(len(ended), CAUSE_DTYPE)
    found["rank"], found["message"] = NONE, -1
    chosen = (ended["rank"] != NONE) & (ended["time"] > activity.blocks["end"])
    if chosen.any():
        _by_arrival(activity, arrivals(messages, partition_messages), found, chosen, until_end=True)
    return found


def _by_arrival(
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
        found["message"][target], found["deed"][target] = picked["row"], picked["deed"]
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
        is_tag = messages["deed"][rows] == Deed.TAG
        exactly = np.where(is_tag, edges == stuck["edge"], stuck["reason"] == WaitReason.PARTITIONS)
        needed: Array = read + 2 * (exactly & (messages["tph"][rows] == stuck["tph"]))
        return needed


def _by_doing(activity: Activity, found: Array, places: Array, keys: Array, doings: Doings) -> None:
    blocks = activity.blocks[places]
    last = doings.last_before(keys, blocks["end"])
    there = last >= 0
    there[there] = doings.time[last[there]] > blocks["since"][there]
    there[there] = doings.rank[last[there]] != blocks["rank"][there]
    before = found[places]
    just = (
        (before["rank"] != NONE) & (before["deed"] == Deed.OTHER) & (blocks["end"] - before["time"] <= JUST)
    )
    there[there] &= ~just[there] | (blocks["end"][there] - doings.time[last[there]] <= JUST)
    found["rank"][places[there]] = doings.rank[last[there]]
    found["time"][places[there]] = doings.time[last[there]]
    found["deed"][places[there]] = Deed.OTHER
    found["message"][places[there]] = -1


def _by_chance(activity: Activity, taken: Doings, found: Array, places: Array) -> None:
    """Of waits that nothing else ended, what happened just before their end.

    A place in a queue got free, and let a younger TPH or another partition go on; or the same call site's
    call on another rank was over, which had posted a message among partitions (old traces don't have these).
    A rank that goes on with a call had what that needed from then on, however late it awoke.
    """
    blocks, calls = activity.blocks, activity.calls
    posted = Doings(calls["site"], calls["rank"], calls["leave"])
    for key, doings in (("rank", taken), ("site", posted)):
        rest = places[found["rank"][places] == NONE]
        _by_doing(activity, found, rest, blocks[key][rest], doings)
        late = rest[blocks["end"][rest] - found["time"][rest] > JUST]
        if doings is taken:
            late = late[blocks["kind"][np.minimum(late + 1, len(blocks) - 1)] == Kind.WAIT]
        found["rank"][late], found["time"][late] = NONE, 0


def _taken(activity: Activity) -> Doings:
    """Whoever took something out of a queue, for the rank that had sent it."""
    samples = activity.trace.queue_depths()
    samples = samples[np.lexsort((samples["sender"], samples["edge"], samples["rank"]))]
    fewer = np.zeros(len(samples), bool)
    fewer[1:] = samples["depth"][1:] < samples["depth"][:-1]
    for name in ("sender", "edge", "rank"):
        fewer[1:] &= samples[name][1:] == samples[name][:-1]
    taken = samples[fewer]
    return Doings(taken["sender"], taken["rank"], taken["time"])


def _ended_iterations(activity: Activity, places: Array) -> tuple[Array, Doings]:
    """Whoever completed an iteration."""
    rank, time = _events(activity, EventType.CONTEXT_END)
    return np.zeros(len(places), "<u8"), Doings(np.zeros(len(time), "<u8"), rank, time)


def _freed(activity: Activity, places: Array) -> tuple[Array, Doings]:
    """Whoever freed memory on the same host."""
    rank, time = _events(activity, EventType.FREE)
    hosts = sorted({file.host for file in activity.trace.files.values()})
    number = np.zeros(max(activity.trace.ranks) + 1, "<u8")
    for each, file in activity.trace.files.items():
        number[each] = hosts.index(file.host)
    return number[activity.blocks["rank"][places]], Doings(number[rank], rank, time)


def _read(activity: Activity, places: Array, messages: Array) -> tuple[Array, Doings]:
    """Whoever was done with the tag that the waiting rank wants for itself.

    It ended a call in the same TPH; or it took the tag out of its inbox, and may not have needed it.
    """
    calls, took = activity.calls, _taking(activity, places, messages)
    done = Doings(
        np.concatenate([calls["tph"], took["tph"]]),
        np.concatenate([calls["rank"], took["receiver"]]),
        np.concatenate([calls["leave"], took["received"]]),
    )
    return activity.blocks["tph"][places], done


def _looked(activity: Activity, places: Array, messages: Array) -> tuple[Array, Doings]:
    """Whoever gets the tag and looked into its inbox: it may have given up what it had kept until then."""
    readers = np.unique(_taking(activity, places, messages)["receiver"])
    looked = messages[np.isin(messages["receiver"], readers)]
    return activity.blocks["tph"][places], Doings(looked["tph"], looked["receiver"], looked["received"])


def _taking(activity: Activity, places: Array, messages: Array) -> Array:
    """The messages that bring what the waiting call sites read."""
    definitions = activity.trace.definitions
    sites = set(np.unique(activity.blocks["site"][places]).tolist())
    edges = [edge.id for edge in (definitions.edges if definitions else ()) if sites & set(edge.targets)]
    taking: Array = messages[np.isin(messages["edge"], edges)]
    return taking


def _called(activity: Activity, places: Array) -> tuple[Array, Doings]:
    """Whoever of the same thread ended a call, and so could come to the one in turn."""
    calls, definitions = activity.calls, activity.trace.definitions
    thread = np.zeros(max(activity.trace.ranks) + 1, "<u8")
    labels = [(rank.region, rank.thread) for rank in definitions.ranks] if definitions else []
    for rank in activity.trace.ranks:
        thread[rank] = labels.index(labels[rank]) if rank < len(labels) else 0
    return thread[activity.blocks["rank"][places]], Doings(
        thread[calls["rank"]], calls["rank"], calls["leave"]
    )


def _events(activity: Activity, kind: EventType) -> tuple[Array, Array]:
    """Ranks and times of all events of a type."""
    trace = activity.trace
    chosen = {rank: trace.select(rank, kind)["time"] for rank in trace.ranks}
    ranks = np.repeat(np.array(list(chosen), "<u4"), [len(times) for times in chosen.values()])
    return ranks, np.concatenate([trace.run_times(rank, times) for rank, times in chosen.items()])
