"""Both ends of messages: the nth send of a kind belongs to the nth receive of this kind that was posted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.analysis.replay._columns import Columns
from pse.analysis.replay._communicators import UNKNOWN, Communicators
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._stream_placement import Streams
from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import match_keys, pack_keys

KIND = ("communicator", "sender", "receiver", "tag", "channel")
SEND_DTYPE = np.dtype(
    [
        ("identity", "<u8"),  # of the communicator
        ("sender", "<u4"),  # rank of the job
        ("receiver", "<u4"),  # rank of the job
        ("tag", "<u4"),
        ("channel", "<u4"),
        ("start_enter", "<f8"),  # ns: when the call that sends was entered
    ]
)
"""What the process that has a message's receive needs to know of its send."""


@dataclass(frozen=True)
class Matched:
    """The messages that are received by ranks of this process.

    Parameters
    ----------
    sends : Columns of SEND_DTYPE
        Their sends.
    received : array of int64, shape (messages,)
        Rows of their receives.
    unmatched : int
        How many sends came here without a receive.
    """

    sends: Columns
    received: Array
    unmatched: int


def exchange_ends(
    sends: Columns, receives: Columns, known: Communicators, streams: Streams, peers: Peers
) -> Matched:
    """Tell each end of a message when the other one was started; collective.

    Sends travel to the processes that have their receives; when these were posted travels back.
    """
    names = ("sender", "receiver", "tag", "channel", "start_enter")
    identity = np.append(known.identities, np.uint64(UNKNOWN))[
        np.minimum(sends["communicator"], len(known.identities))
    ]
    rows = Columns({"identity": identity, **{name: sends[name] for name in names}})
    delivery = peers.deliver(rows, SEND_DTYPE, streams.owners(sends["receiver"], peers.rank))
    came = delivery.rows
    sent, received = match_ends(came, receives, known.known(came["identity"]))
    receives["partner"][received] = came["start_enter"][sent]
    posted = np.full(len(came), np.nan)
    posted[sent] = receives["start_enter"][received]
    sends["partner"] = delivery.reply(posted)
    return Matched(came.take(sent), received, len(came) - len(sent))


def match_ends(sends: Columns, receives: Columns, communicators: Array) -> tuple[Array, Array]:
    """Rows of sends and of the receives that they belong to.

    Parameters
    ----------
    sends : Columns of SEND_DTYPE
        From any ranks; those of one rank are in the order of its operations.
    receives : Columns of END_DTYPE
        Of any ranks; those of one rank are in the order of its operations.
    communicators : array of uint32, shape (sends,)
        This process's numbers of the communicators of sends.

    Returns
    -------
    sent, received : arrays of int64, shape (messages,)
        Rows; of ends that are left out the partner is not among the rows.
    """
    columns = [[sends[name] for name in KIND[1:]], [receives[name] for name in KIND[1:]]]
    columns[0].insert(0, communicators)
    columns[1].insert(0, receives["communicator"])
    keys, _ = pack_keys(columns[0], columns[1], (len(sends), len(receives)))
    rows, ordered = [], []
    for kind, key, order in zip(columns, keys, (None, receives["order"]), strict=True):
        kept = np.flatnonzero((kind[0] != NONE) & (kind[1] != NONE) & (kind[2] != NONE))
        own = kept[_in_order(key[kept], None if order is None else order[kept])]
        rows.append(own)
        ordered.append(key[own])
    if np.array_equal(ordered[0], ordered[1]):
        return rows[0], rows[1]
    left, right = match_keys(*((key, _ordinals(key)) for key in ordered))
    return rows[0][left], rows[1][right]


def _in_order(key: Array, order: Array | None) -> Array:
    """Rows by kind, then in the order in which they are started; a kind has one sender and one receiver."""
    if order is None or not (order[1:] < order[:-1]).any():
        return np.argsort(key, kind="stable")
    by_start = np.argsort(order, kind="stable")
    found: Array = by_start[np.argsort(key[by_start], kind="stable")]
    return found


def _ordinals(ordered: Array) -> Array:
    found: Array = (np.arange(len(ordered)) - np.searchsorted(ordered, ordered)).astype("<u8")
    return found
