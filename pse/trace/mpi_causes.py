"""Who kept a call of MPI waiting: the sender that came late, or the last one to enter a collective operation.

May touch: nothing.  Next rooms: ``why.py`` and ``critical.py``.
"""

from __future__ import annotations

import numpy as np

from pse.trace.activity import Activity
from pse.trace.causes import CAUSE_DTYPE
from pse.trace.events import NONE
from pse.trace.files import Array
from pse.trace.mpi_messages import collectives, mpi_messages


def mpi_causes(activity: Activity) -> Array:
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
    found = np.zeros(len(activity.routines), CAUSE_DTYPE)
    found["rank"], found["message"] = NONE, -1
    if len(found):
        within = _Within(activity)
        _late_senders(mpi_messages(activity.trace), within, found)
        _last_to_enter(collectives(activity.trace), within, found)
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


def _late_senders(messages: Array, within: _Within, found: Array) -> None:
    """Of the messages that came within a call the last sent, if it was sent after the call began."""
    ends = np.flatnonzero((messages["sent"] >= 0) & (messages["received"] >= 0))
    rows = within(messages["receiver"][ends], messages["received"][ends])
    late = (rows >= 0) & (messages["sent"][ends] > within.entered(rows))
    ends, rows = ends[late], rows[late]
    by_sent = np.argsort(messages["sent"][ends], kind="stable")
    ends, rows = ends[by_sent], rows[by_sent]
    found["rank"][rows], found["time"][rows] = messages["sender"][ends], messages["sent"][ends]
    found["message"][rows] = ends


def _last_to_enter(operations: Array, within: _Within, found: Array) -> None:
    """The last rank that came to a collective operation, if it came after the call began."""
    operations = operations[operations["communicator"] != NONE]
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
    found["message"][rows[late]] = -1
