"""Who kept a call of MPI waiting: a late sender, a late receiver, or the last one to enter a collective.

Late senders, and whom collective operations wait for, are those that the analysis finds (`late_stays`), so
that both name the same ranks.  Two things it does not tell.  Who gathers waits until the last one comes, not
only until the first.  And a send waits for its receive if MPI doesn't keep the message meanwhile: no event
says so, and MPI libraries differ; but a message that was complete before its receive was posted was kept, and
so are smaller ones.
"""

from __future__ import annotations

import numpy as np

from pse.analysis._activity import Activity
from pse.analysis.patterns._collective import N_TO_ONE
from pse.analysis.replay._analysis import late_stays
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
    array of CAUSE_DTYPE, shape (routines, 2)
        For each of `activity.routines` the first rank that came late, and the last one, in which the waiting
        ended.  They differ where a call gathers from several ranks.  `message` is a row of `mpi_messages`;
        -1: it was a collective operation, or nobody.
    """
    first, last = no_causes(len(activity.routines)), no_causes(len(activity.routines))
    if len(last):
        within, messages = _Within(activity), mpi_messages(activity.trace)
        found = _found_by_analysis(activity, messages, within)
        late = np.concatenate([_late_receivers(activity, messages, within), found])
        late = late[np.argsort(late["time"], kind="stable")]  # The last one counts.
        _set(last, late)
        gathers = _last_to_enter(mpi_collectives(activity.trace), within, last)
        first[:] = last
        of_collective = found[found["kind"] == CauseKind.COLLECTIVE]
        _set(first, of_collective)
        _set(last, of_collective[~gathers[of_collective["row"]]])
    return np.stack([first, last], axis=1)


def _set(causes: Array, late: Array) -> None:
    for name in CAUSE_DTYPE.names or ():
        causes[name][late["row"]] = late[name]


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


def _found_by_analysis(activity: Activity, messages: Array, within: _Within) -> Array:
    """Late senders and those that were late for collective operations, as the analysis tells them."""
    stays = late_stays(activity.trace)
    stays = stays[np.isin(stays["kind"][:, 0], (CauseKind.MESSAGE, CauseKind.COLLECTIVE))]
    begins = np.rint(stays["begin"]).astype("<i8")
    rows = within(stays["rank"], begins)
    known = (rows >= 0) & (within.entered(rows) == begins)
    stays, rows = stays[known], rows[known]
    made = np.zeros(len(stays), [*CAUSE_DTYPE.descr, ("row", "<i8")])
    made["rank"], made["kind"], made["row"] = stays["late"][:, 0], stays["kind"][:, 0], rows
    made["time"] = np.rint(stays["time"][:, 0])
    made["message"] = _messages_of(stays["rank"], made, messages)
    by_message = made["message"] >= 0
    made["time"][by_message] = messages["sent"][made["message"][by_message]]
    return made


def _messages_of(receivers: Array, late: Array, messages: Array) -> Array:
    """The first message that each late sender sent since it came, -1 for none."""
    found = np.full(len(late), -1)
    asked = np.flatnonzero(late["kind"] == CauseKind.MESSAGE)
    sent = np.flatnonzero((messages["sent"] >= 0) & (messages["received"] >= 0))
    own = _pairs(receivers[asked], late["rank"][asked])
    every = _pairs(messages["receiver"][sent], messages["sender"][sent])
    for rows, pairs, times in ((asked, own, late["time"]), (sent, every, messages["sent"])):
        order = np.lexsort((times[rows], pairs))
        rows[:], pairs[:] = rows[order], pairs[order]
    several, first = np.unique(own, return_index=True)
    begins, ends = (np.searchsorted(every, several, side) for side in ("left", "right"))
    for some, begin, end in zip(np.split(asked, first[1:]), begins, ends, strict=True) if len(own) else ():
        theirs = sent[begin:end]
        place = np.searchsorted(messages["sent"][theirs], late["time"][some])
        found[some] = np.append(theirs, -1)[place]
    return found


def _pairs(receivers: Array, senders: Array) -> Array:
    found: Array = receivers.astype("<u8") << np.uint64(32) | senders
    return found


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


def _last_to_enter(operations: Array, within: _Within, found: Array) -> Array:
    """The last rank that came to a collective operation of all, if it came after the call began.

    Gives for each call whether it gathers from several ranks, who may come one after the other.
    """
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
    gathers = np.zeros(len(found), bool)
    gathers[rows[late & np.isin(operations["operation"], N_TO_ONE)]] = True
    return gathers
