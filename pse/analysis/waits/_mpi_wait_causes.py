"""Who kept a call of MPI waiting: a late sender, a late receiver, or the last one to enter a collective.

A send waits for its receive if MPI doesn't keep the message meanwhile.  No event says so, and MPI libraries
differ; but a message that was complete before its receive was posted was kept, and so are smaller ones.
"""

from __future__ import annotations

import numpy as np

from pse.analysis._activity import Activity
from pse.analysis.waits._wait_causes import CAUSE_DTYPE, WAKE_WINDOW_NS, no_causes
from pse.analysis.waits._wake_candidates import CauseKind
from pse.trace import Collective
from pse.trace.format import NONE, Array, SendMode
from pse.trace.query import mpi_collectives, mpi_messages

WAITING = (SendMode.STANDARD, SendMode.SYNCHRONOUS, SendMode.PARTITIONED)
"""Modes in which a send may wait for its receive."""
_AMONG_NEIGHBORS = [kind for kind in Collective if kind.name.startswith("NEIGHBOR_")]


def mpi_wait_causes(activity: Activity) -> Array:
    """Who ended the waiting within each call of an MPI routine.

    Parameters
    ----------
    activity : Activity
        What the ranks did.

    Returns
    -------
    array of CAUSE_DTYPE, shape of `activity.routines`
        `message` is a row of `mpi_messages`; -1: it was a collective operation, or nobody.
    """
    found = no_causes(len(activity.routines))
    if len(found):
        within, messages = _Within(activity), mpi_messages(activity.trace)
        late = np.concatenate([_late_senders(messages, within), _late_receivers(activity, messages, within)])
        late = late[np.argsort(late["time"], kind="stable")]  # The last one counts.
        for name in CAUSE_DTYPE.names or ():
            found[name][late["row"]] = late[name]
        _last_to_enter(mpi_collectives(activity.trace), within, found)
    return found


class _Within:
    """Finds the call of an MPI routine that a rank was in at a time."""

    def __init__(self, activity: Activity) -> None:
        routines, names = activity.routines, activity.routine_names
        is_mpi = np.array([name.startswith("MPI_") for name in names])[routines["routine"]]
        rows = np.flatnonzero(is_mpi)
        self._rows = rows[np.lexsort((routines["enter"][rows], routines["rank"][rows]))]
        self._routines = routines

    def __call__(self, ranks: Array, times: Array) -> Array:
        """For each rank and time the row of the call, -1 for none."""
        asked = np.repeat([False, True], [len(self._rows), len(times)])
        every_rank = np.concatenate([self._routines["rank"][self._rows], ranks])
        every_time = np.concatenate([self._routines["enter"][self._rows], times])
        order = np.lexsort((asked, every_time, every_rank))
        last = np.maximum.accumulate(np.where(asked[order], -1, np.arange(len(order))))
        rows = np.append(self._rows, -1)[np.where(last >= 0, order[last], -1)]
        inside = (rows >= 0) & (self._routines["rank"][rows] == every_rank[order])
        inside &= every_time[order] <= self._routines["leave"][rows]
        found = np.empty(len(times), "<i8")
        found[order[asked[order]] - len(self._rows)] = np.where(inside, rows, -1)[asked[order]]
        return found

    def entered(self, rows: Array) -> Array:
        """When these calls began."""
        times: Array = self._routines["enter"][rows]
        return times

    def left(self, rows: Array) -> Array:
        """When these calls ended."""
        times: Array = self._routines["leave"][rows]
        return times


def _late_senders(messages: Array, within: _Within) -> Array:
    """Messages that came within a call and were sent after it began."""
    ends = np.flatnonzero((messages["sent"] >= 0) & (messages["received"] >= 0))
    rows = within(messages["receiver"][ends], messages["received"][ends])
    late = (rows >= 0) & (messages["sent"][ends] > within.entered(rows))
    return _late(ends[late], rows[late], messages["sender"], messages["sent"], CauseKind.MESSAGE)


def _late_receivers(activity: Activity, messages: Array, within: _Within) -> Array:
    """Messages that MPI didn't keep, of which the receive was posted while a call waited to send them."""
    ends = np.flatnonzero((messages["sent"] >= 0) & (messages["received"] >= 0))
    ends = ends[np.isin(messages["mode"][ends], WAITING)]
    own = messages[ends]
    asked = within(own["receiver"], own["received"])
    posted = np.where(own["posted"] >= 0, own["posted"], np.where(asked >= 0, within.entered(asked), -1))
    rows = within(own["sender"], np.where(own["complete"] >= 0, own["complete"], own["sent"]))
    done = np.where(own["complete"] >= 0, own["complete"], within.left(rows))
    late = (rows >= 0) & (posted > within.entered(rows)) & (posted < within.left(rows))
    late &= ~_kept(activity, own, (rows >= 0) & (done + WAKE_WINDOW_NS < posted))
    times = np.full(len(messages), -1)
    times[ends] = posted
    return _late(ends[late], rows[late], messages["receiver"], times, CauseKind.LATE_RECEIVER)


def _kept(activity: Activity, messages: Array, early: Array) -> Array:
    """Which messages MPI kept for their receivers, as it did with some (`early`) of their size or more.

    On a node it may keep larger ones than between nodes.
    """
    hosts = [activity.trace.files[rank].host for rank in activity.trace.ranks]
    number = np.zeros(max(activity.trace.ranks) + 1, "<i8")
    number[list(activity.trace.ranks)] = [hosts.index(host) for host in hosts]
    near = number[messages["sender"]] == number[messages["receiver"]]
    standard = messages["mode"] == SendMode.STANDARD
    kept = np.zeros(len(messages), bool)
    for alike in (near & standard, ~near & standard):
        kept |= alike & (messages["bytes"] <= messages["bytes"][alike & early].max(initial=0))
    return kept


def _late(ends: Array, rows: Array, ranks: Array, times: Array, kind: CauseKind) -> Array:
    """Causes, with the row of the call of each."""
    made = np.zeros(len(ends), [*CAUSE_DTYPE.descr, ("row", "<i8")])
    made["rank"], made["time"], made["message"], made["row"] = ranks[ends], times[ends], ends, rows
    made["kind"] = kind
    return made


def _last_to_enter(operations: Array, within: _Within, found: Array) -> None:
    """The last rank that came to a collective operation of all, if it came after the call began."""
    of_all = (operations["communicator"] != NONE) & ~np.isin(operations["operation"], _AMONG_NEIGHBORS)
    operations = operations[of_all]
    order = np.lexsort((operations["begin"], operations["ordinal"], operations["communicator"]))
    operations = operations[order]
    is_last = np.ones(len(operations), bool)
    is_last[:-1] = (operations["communicator"][1:] != operations["communicator"][:-1]) | (
        operations["ordinal"][1:] != operations["ordinal"][:-1]
    )
    ends = np.flatnonzero(is_last)
    last = operations[ends[np.searchsorted(ends, np.arange(len(operations)))]]
    rows = within(operations["rank"], operations["begin"])
    late = (rows >= 0) & (last["begin"] > within.entered(rows)) & (last["begin"] < within.left(rows))
    late &= last["rank"] != operations["rank"]
    found["rank"][rows[late]], found["time"][rows[late]] = last["rank"][late], last["begin"][late]
    found["message"][rows[late]], found["kind"][rows[late]] = -1, CauseKind.COLLECTIVE
