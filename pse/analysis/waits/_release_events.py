"""What ranks did that others may have waited for: they took from queues, freed memory, came to their turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.analysis._activity import Activity
from pse.trace.format import Array, EventType


@dataclass(frozen=True)
class ReleaseEvents:
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
        """For each key and time the index of the last event of this key until then; -1: there is none."""
        asked = np.repeat([False, True], [len(self.time), len(times)])
        every_key = np.concatenate([self.key.astype("<u8"), keys.astype("<u8")])
        order = np.lexsort((asked, np.concatenate([self.time, times]), every_key))
        seen = np.maximum.accumulate(np.where(asked[order], -1, np.arange(len(order))))
        event = np.where(seen >= 0, order[seen], -1)
        event[every_key[event] != every_key[order]] = -1
        found = np.empty(len(times), "<i8")
        found[order[asked[order]] - len(self.time)] = event[asked[order]]
        return found


def queue_takes(activity: Activity) -> ReleaseEvents:
    """Each time that a rank took something out of a queue, for the rank that had sent it."""
    samples = activity.trace.queue_depths()
    samples = samples[np.lexsort((samples["sender"], samples["edge"], samples["rank"]))]
    fewer = np.zeros(len(samples), bool)
    fewer[1:] = samples["depth"][1:] < samples["depth"][:-1]
    for name in ("sender", "edge", "rank"):
        fewer[1:] &= samples[name][1:] == samples[name][:-1]
    taken = samples[fewer]
    return ReleaseEvents(taken["sender"], taken["rank"], taken["time"])


def iteration_ends(activity: Activity, places: Array) -> tuple[Array, ReleaseEvents]:
    """Each time that a rank completed an iteration."""
    rank, time = _events(activity, EventType.CONTEXT_END)
    return np.zeros(len(places), "<u8"), ReleaseEvents(np.zeros(len(time), "<u8"), rank, time)


def memory_frees(activity: Activity, places: Array) -> tuple[Array, ReleaseEvents]:
    """Each time that a rank on the same host freed memory."""
    rank, time = _events(activity, EventType.FREE)
    hosts = sorted({file.host for file in activity.trace.files.values()})
    number = np.zeros(max(activity.trace.ranks) + 1, "<u8")
    for each, file in activity.trace.files.items():
        number[each] = hosts.index(file.host)
    return number[activity.blocks["rank"][places]], ReleaseEvents(number[rank], rank, time)


def tag_releases(activity: Activity, places: Array) -> tuple[Array, ReleaseEvents]:
    """Each time that a rank was done with the tag that the waiting one wants for itself.

    It ended a call in the same TPH; or it took the tag out of its inbox, and may not have needed it.
    """
    calls, took = activity.calls, _taking(activity, places)
    done = ReleaseEvents(
        np.concatenate([calls["tph"], took["tph"]]),
        np.concatenate([calls["rank"], took["receiver"]]),
        np.concatenate([calls["leave"], took["received"]]),
    )
    return activity.blocks["tph"][places], done


def inbox_looks(activity: Activity, places: Array) -> tuple[Array, ReleaseEvents]:
    """Each time that a reader of the tag looked into its inbox: it may have given up what it had kept."""
    readers = np.unique(_taking(activity, places)["receiver"])
    looked = activity.messages[np.isin(activity.messages["receiver"], readers)]
    return activity.blocks["tph"][places], ReleaseEvents(
        looked["tph"], looked["receiver"], looked["received"]
    )


def _taking(activity: Activity, places: Array) -> Array:
    """The messages that bring what the waiting call sites read."""
    definitions = activity.trace.definitions
    sites = set(np.unique(activity.blocks["site"][places]).tolist())
    edges = [edge.id for edge in (definitions.edges if definitions else ()) if sites & set(edge.targets)]
    taking: Array = activity.messages[np.isin(activity.messages["edge"], edges)]
    return taking


def thread_calls(activity: Activity, places: Array) -> tuple[Array, ReleaseEvents]:
    """Each time that a rank of the same thread ended a call, and so could come to the one in turn."""
    calls, definitions = activity.calls, activity.trace.definitions
    thread = np.zeros(max(activity.trace.ranks) + 1, "<u8")
    labels = [(rank.region, rank.thread) for rank in definitions.ranks] if definitions else []
    for rank in activity.trace.ranks:
        thread[rank] = labels.index(labels[rank]) if rank < len(labels) else 0
    return thread[activity.blocks["rank"][places]], ReleaseEvents(
        thread[calls["rank"]], calls["rank"], calls["leave"]
    )


def _events(activity: Activity, kind: EventType) -> tuple[Array, Array]:
    """Ranks and times of all events of a type."""
    trace = activity.trace
    chosen = {rank: trace.select(rank, kind)["time"] for rank in trace.ranks}
    ranks = np.repeat(np.array(list(chosen), "<u4"), [len(times) for times in chosen.values()])
    return ranks, np.concatenate([trace.run_times(rank, times) for rank, times in chosen.items()])
