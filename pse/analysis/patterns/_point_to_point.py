"""Wait states of messages: formulas over columns of times, a row for each message.

In the formulas E and X are when a call is entered and left; `send` is the call that starts sending, `recv`
the one that completes receiving, `sc` the one that completes sending, `rr` the one that posts the receive.
The formulas are those of SCALASCA 2 (F. Wolf, B. Mohr, Journal of Systems Architecture 49 (2003) 421-439;
its documentation of metrics), checked against its results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pse.analysis._replay import wrong_order
from pse.trace.format import Array

_RECEIVES_LATE = re.compile(r"MPI_(Send|Ssend|Wait|Waitany|Waitall)(_c)?")


def late_sender(send_enter: Array, receive_enter: Array, receive_leave: Array) -> Array:
    """How long a receiver waits for a message of which sending begins late.

    ``w = min(E_send, X_recv) - E_recv``; only ``w > 0`` counts.

    Parameters
    ----------
    send_enter : array of float64, shape (messages,)
        E_send, ns.
    receive_enter, receive_leave : array of float64, shape (messages,)
        E_recv and X_recv, ns.

    Returns
    -------
    array of float64, shape (messages,)
        Waiting times, ns.
    """
    waits: Array = np.maximum(np.minimum(send_enter, receive_leave) - receive_enter, 0.0)
    return waits


def late_receiver(post_enter: Array, complete_enter: Array, complete_leave: Array) -> Array:
    """How long a sender waits for a receive that is posted late.

    ``w = E_rr - E_sc`` if ``X_sc > E_rr``, else 0; only ``w > 0`` counts.

    Parameters
    ----------
    post_enter : array of float64, shape (messages,)
        E_rr, ns.
    complete_enter, complete_leave : array of float64, shape (messages,)
        E_sc and X_sc, ns.

    Returns
    -------
    array of float64, shape (messages,)
        Waiting times, ns.
    """
    return np.where(complete_leave > post_enter, np.maximum(post_enter - complete_enter, 0.0), 0.0)


def longest_of_calls(calls: Array, waits: Array) -> Array:
    """Keep of each call's messages the one that it waited for the longest: the others are within its time.

    Parameters
    ----------
    calls : array of uint32, shape (messages,)
        The call of each message; calls of one rank.
    waits : array of float64, shape (messages,)
        Waiting times, ns.

    Returns
    -------
    array of float64, shape (messages,)
        The waiting times of the messages that count, 0 for the others.
    """
    waiting = np.flatnonzero(waits > 0)
    if (calls[waiting][1:] > calls[waiting][:-1]).all():
        return waits
    calls = calls[waiting]
    if (calls[1:] < calls[:-1]).any():
        order = np.argsort(calls, kind="stable")
        waiting, calls = waiting[order], calls[order]
    starts, found = np.flatnonzero(_is_first(calls)), waits[waiting]
    longest = np.repeat(np.maximum.reduceat(found, starts), np.diff(np.append(starts, len(calls))))
    equal = np.flatnonzero(found == longest)
    chosen = waiting[equal[_is_first(calls[equal])]]
    kept = np.zeros(len(waits))
    kept[chosen] = waits[chosen]
    return kept


def _is_first(calls: Array) -> Array:
    """Whether another call than the one before is at a place."""
    found = np.ones(len(calls), bool)
    found[1:] = calls[1:] != calls[:-1]
    return found


def messages_in_wrong_order(send_enter: Array, waits: Array, senders: Array, calls: Array) -> Array:
    """Which late messages of one rank were received before messages that had been sent earlier.

    A late message is in wrong order if a message that was sent before it is received by a later call.  The
    last 100 late messages are looked at, and each counts once.

    Parameters
    ----------
    send_enter : array of float64, shape (messages,)
        E_send in the order of receiving, ns.
    waits : array of float64, shape (messages,)
        Waiting times of late senders, ns.
    senders : array of uint32, shape (messages,)
        Ranks of the job.
    calls : array of uint32, shape (messages,)
        The call of each message; of one call at most one message is waited for (`longest_of_calls`).

    Returns
    -------
    array of uint8, shape (messages,)
        `MessageOrder` of each.
    """
    order = np.zeros(len(waits), "u1")
    sent, sender, call = (np.ascontiguousarray(column) for column in (send_enter, senders, calls))
    wrong_order(sent, (waits > 0).astype("u1"), sender, call, order)
    return order


def is_test(routines: Sequence[str]) -> Array:
    """Which routines complete a receive without waiting for it: they don't wait for senders."""
    return np.array([name.startswith("MPI_Test") for name in routines], bool)


def waits_for_receiver(routines: Sequence[str]) -> Array:
    """Which routines complete a send and may wait for its receiver: of buffered and ready sends none does."""
    return np.array([bool(_RECEIVES_LATE.fullmatch(name)) for name in routines], bool)
