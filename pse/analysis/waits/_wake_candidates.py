"""What came to a rank and may have ended its wait: tags, messages among partitions, acknowledgements."""

from __future__ import annotations

import enum

import numpy as np

from pse.trace.format import NONE, Array, MessageFlag


class CauseKind(enum.IntEnum):
    """What a rank did that ended another's wait; `message` of a cause is a row in the kind's own table.

    See Also
    --------
    wait_causes

    Examples
    --------
    >>> activity = pse.analysis.rank_activity(trace)
    >>> [pse.analysis.CauseKind(kind).name for kind in pse.analysis.wait_causes(activity)["kind"][:3]]
    ['OTHER', 'TAG', 'OTHER']
    """

    OTHER = 0  # freed memory, took from a queue, came to its turn …
    TAG = 1  # handed over a tag: `all_messages`
    MESSAGE = 2  # sent a message among partitions or of MPI: `partition_messages`, `mpi_messages`
    LATE_RECEIVER = 3  # took such a message, or posted the receive for it, whose sender waited for that
    COLLECTIVE = 4  # came last to a collective operation of MPI
    THREAD = 5  # a thread of the same rank ended, which another one waited for, or started that one


WAKE_CANDIDATE_DTYPE = np.dtype(
    [
        ("receiver", "<u4"),
        ("received", "<i8"),  # ns
        ("sender", "<u4"),
        ("sent", "<i8"),  # ns
        ("tph", "<u8"),
        ("edge", "<u4"),  # of a tag, else NONE
        ("kind", "u1"),  # CauseKind
        ("row", "<i8"),  # in the table of the kind
    ]
)


def wake_candidates(messages: Array, partition_messages: Array) -> Array:
    """All that came to ranks from others.

    Parameters
    ----------
    messages : array of MESSAGE_DTYPE
        Tags.
    partition_messages : array of PARTITION_MESSAGE_DTYPE
        Messages among partitions.

    Returns
    -------
    array of WAKE_CANDIDATE_DTYPE
        In no order.
    """
    found = np.concatenate(
        [_of_tags(messages), _of_partitions(partition_messages), _of_taken(partition_messages)]
    )
    others: Array = found[found["sender"] != found["receiver"]]
    return others


def _of_tags(messages: Array) -> Array:
    made = np.zeros(len(messages), WAKE_CANDIDATE_DTYPE)
    for name in ("receiver", "received", "sender", "sent", "tph", "edge"):
        made[name] = messages[name]
    made["kind"], made["row"] = CauseKind.TAG, np.arange(len(messages))
    return made


def _of_partitions(messages: Array) -> Array:
    rows = np.flatnonzero(messages["received"] >= 0)
    there = messages[rows]
    made = np.zeros(len(rows), WAKE_CANDIDATE_DTYPE)
    for name in ("receiver", "received", "sender", "tph"):
        made[name] = there[name]
    made["sent"] = np.where(there["sent"] >= 0, there["sent"], there["received"])
    made["edge"], made["kind"], made["row"] = NONE, CauseKind.MESSAGE, rows
    return made


def _of_taken(messages: Array) -> Array:
    """Word for a sender that the receiver has its message.

    On a node the receiver took it; between nodes its rank did, which may have been busy before.
    """
    rows = np.flatnonzero(messages["done"] >= 0)
    there = messages[rows]
    made = np.zeros(len(rows), WAKE_CANDIDATE_DTYPE)
    made["receiver"], made["sender"] = there["sender"], there["receiver"]
    made["received"], made["tph"] = there["done"], there["tph"]
    far = there["flags"] & MessageFlag.REMOTE != 0
    took = np.where(far, there["received"], there["taken"])
    made["sent"] = np.where(took >= 0, np.minimum(took, there["done"]), there["done"])
    made["edge"], made["kind"], made["row"] = NONE, CauseKind.LATE_RECEIVER, rows
    return made
