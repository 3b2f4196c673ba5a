"""The messages of a rank as rows that its partners need: their ends."""

from __future__ import annotations

import numpy as np

from pse.analysis.replay._columns import Columns
from pse.analysis.replay._communicators import Communicators
from pse.analysis.replay._rank_calls import RankCalls
from pse.trace import NONE, EventType
from pse.trace.format import Array, SendMode, high32, low32
from pse.trace.query import unsent_messages

END_DTYPE = np.dtype(
    [
        ("communicator", "<u4"),  # this process's number for it
        ("sender", "<u4"),  # rank of the job
        ("receiver", "<u4"),  # rank of the job
        ("tag", "<u4"),  # above all tags in the highest bit: the message is partitioned
        ("channel", "<u4"),  # of partitioned messages: which of those that were made for this kind; else 0
        ("order", "<u8"),  # the operation with which it takes its place among messages of its kind
        ("call", "<u4"),  # the call that completes it; NONE: not in the trace
        ("path", "<u4"),  # call path of that call
        ("start_enter", "<f8"),  # ns: when the call that sends or posts was entered; nan: not in the trace
        ("enter", "<f8"),  # ns: when the call that completes it was entered
        ("leave", "<f8"),  # ns: when that call was left
        ("partner", "<f8"),  # ns: `start_enter` of the other end; nan: not in the trace
        ("is_synchronous", "?"),  # a send that is complete only after its receive was posted
    ]
)
"""An end of a message."""


def message_ends(
    calls: RankCalls, paths: Array, known: Communicators, sends: Columns, receives: Columns
) -> int:
    """Write the sends and the receives of a rank, in the order of the operations that show them.

    `paths` has the call path of each call, and one behind; sends and receives have END_DTYPE's fields, and
    room for all.  Gives how many sends were cancelled: these have no communicator.
    """
    types, request = calls.types, calls.requests
    out, back = (np.flatnonzero(types == kind) for kind in (EventType.MPI_SEND, EventType.MPI_RECEIVE))
    completions = _partners(types, request, out, EventType.MPI_SEND_COMPLETE)
    posts = _partners(types, request, back, EventType.MPI_RECEIVE_POST)
    _write_ends(sends, calls, known, out, is_send=True)
    _write_ends(receives, calls, known, back, is_send=False)
    sends["order"], receives["order"] = out, np.where(posts >= 0, posts, back)
    _time(sends, calls, paths, out, completions)
    _time(receives, calls, paths, posts, back)
    sends["is_synchronous"] = calls.operations["flags"][out] == SendMode.SYNCHRONOUS
    receives["is_synchronous"] = False
    for ends, rows in ((sends, out), (receives, back)):
        ends["channel"] = _channels(calls, rows)
    of_sends = np.isin(types, (EventType.MPI_SEND, EventType.MPI_REQUEST_CANCEL))
    blocking = request[out] == 0
    left_out = unsent_messages(calls.operations[of_sends]) & (blocking | (completions < 0))
    sends["communicator"][left_out] = NONE
    return int(left_out.sum())


def open_receives(calls: RankCalls) -> int:
    """How many receives of a rank were posted, and neither ended nor were cancelled."""
    posted, *others = (
        calls.requests[calls.types == kind]
        for kind in (EventType.MPI_RECEIVE_POST, EventType.MPI_RECEIVE, EventType.MPI_REQUEST_CANCEL)
    )
    return int((~np.isin(posted, np.concatenate(others))).sum())


def _channels(calls: RankCalls, rows: Array) -> Array | int:
    """The channel of the message of each operation."""
    if not (calls.types == EventType.MPI_CHANNEL).any():
        return 0
    named = _partners(calls.types, calls.requests, rows, EventType.MPI_CHANNEL)
    has_name = (named >= 0) & (calls.requests[rows] > 0)
    found: Array = np.where(has_name, calls.operations["a"][named], 0)
    return found


def _time(ends: Columns, calls: RankCalls, paths: Array, starts: Array, completions: Array) -> None:
    """Say when the calls of operations were entered and left; operation -1 is not in the trace."""
    enter, leave = calls.ends
    start, complete = (calls_of(calls, operations) for operations in (starts, completions))
    ends["call"] = complete
    ends["start_enter"] = enter[start]
    ends["path"], ends["enter"], ends["leave"] = paths[complete], enter[complete], leave[complete]


def calls_of(calls: RankCalls, operations: Array) -> Array:
    """The calls of operations, -1 for none."""
    if not len(operations):
        return operations
    found = calls.operations["call"][operations].astype("<i8")
    found[(operations < 0) | (found == NONE)] = -1
    return found


def _partners(types: Array, request: Array, rows: Array, kind: EventType) -> Array:
    """For operations the one of a kind with the same request, themselves for blocking ones, -1 for none."""
    others = np.flatnonzero(types == kind)
    numbers = request[others]
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        others, numbers = others[order], numbers[order]
    own = request[rows]
    found = rows.copy()
    started = np.flatnonzero(own)
    if len(numbers):
        place = np.minimum(np.searchsorted(numbers, own[started]), len(numbers) - 1)
        found[started] = np.where(numbers[place] == own[started], others[place], -1)
    else:
        found[started] = -1
    return found


def _write_ends(ends: Columns, calls: RankCalls, known: Communicators, rows: Array, *, is_send: bool) -> None:
    """Write ends with the other rank as the operation has it: its rank in the communicator."""
    b = calls.operations["b"][rows]
    ends["communicator"] = known.number(calls.rank, low32(calls.on[rows]))
    own, other = ("sender", "receiver") if is_send else ("receiver", "sender")
    ends[own], ends[other] = calls.rank, low32(b)
    partitioned = calls.operations["flags"][rows] == SendMode.PARTITIONED
    ends["tag"], ends["partner"] = high32(b) | partitioned.astype("<u4") << np.uint32(31), np.nan


def move_to_probes(calls: RankCalls, paths: Array, receives: Columns) -> None:
    """Let receives of a rank that have a probe be completed by the first one that found their message.

    A probe finds the first message of its kind that no receive takes that was posted before; so that one is
    received by the next receive of this kind that is posted.
    """
    probes = np.flatnonzero(calls.types == EventType.MPI_PROBE)
    if not len(probes):
        return
    rows = np.concatenate([probes, np.flatnonzero(calls.types == EventType.MPI_RECEIVE)])
    position = np.concatenate([probes, receives["order"]])
    communicator, kind = low32(calls.on[rows]), calls.operations["b"][rows]
    communicator[calls.operations["flags"][rows] == SendMode.PARTITIONED] = NONE  # No probe finds these.
    order = np.lexsort((position, kind, communicator))
    is_probe = order < len(probes)
    is_new = np.ones(len(order), bool)  # The first of its kind, or after a receive.
    is_new[1:] = ~is_probe[:-1] | (communicator[order[1:]] != communicator[order[:-1]])
    is_new[1:] |= kind[order[1:]] != kind[order[:-1]]
    first = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
    found = np.flatnonzero(~is_probe & (first < len(probes)))
    chosen, call = order[found] - len(probes), calls_of(calls, probes[first[found]])
    inside = call >= 0
    chosen, call = chosen[inside], call[inside]
    receives["call"][chosen], receives["path"][chosen] = call, paths[call]
    receives["enter"][chosen], receives["leave"][chosen] = calls.enter[call], calls.leave[call]
