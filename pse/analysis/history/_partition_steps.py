"""What partitions of a TPH sent to each other, and the collective operations that they had together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.trace.query import Names, Trace, transfer_way


@dataclass(frozen=True)
class MessageStep:
    """A message from a partition to another; times in ns, None: not in the trace.

    Parameters
    ----------
    time : int
        When it was sent.
    sender : int
        Rank that sent it.
    receiver : int
        Rank that received it.
    source : int
        Partition that sent it.
    target : int
        Partition that received it.
    tag : int
        Its message tag.
    label : str
        Call site that sent it.
    bytes : int
        Its size.
    way : str
        How it travelled.
    arrived : int or None
        When it came to the receiver; None: not in the trace.
    taken : int or None
        When the receiving partition had it; None: not in the trace.
    kind : str, optional
        ``message``.

    See Also
    --------
    tph_history
    """

    time: int
    sender: int
    receiver: int
    source: int  # partition
    target: int  # partition
    tag: int
    label: str  # what sent it
    bytes: int
    way: str
    arrived: int | None
    taken: int | None  # where it lay with the sender until then
    kind: str = "message"


@dataclass(frozen=True)
class CollectiveStep:
    """A collective operation of partitions, from the first to come to the last to be done; times in ns.

    Parameters
    ----------
    time : int
        When the first partition came.
    rank : int
        Rank of that partition.
    operation : str
        Name of the operation.
    label : str
        Call site.
    partitions : int
        How many take part.
    last : int
        Partition that came last.
    last_rank : int
        Its rank.
    last_came : int
        When it came.
    done : int or None
        When the last partition was done; None: not in the trace.
    kind : str, optional
        ``collective``.

    See Also
    --------
    tph_history
    """

    time: int
    rank: int  # of the partition that came first
    operation: str
    label: str  # what the first one called it in
    partitions: int
    last: int  # the partition that came last
    last_rank: int
    last_came: int
    done: int | None  # None: the trace ends before
    kind: str = "collective"


class PartitionExchanges:
    """Messages and collective operations of one TPH.

    Parameters
    ----------
    trace : Trace
        The run.
    tph : int
        Its number.
    names : Names
        Names of what is in the run.

    Attributes
    ----------
    sent, begun : array of int64
        When each message was sent, and when the first partition came to each collective operation, ns.
    """

    def __init__(self, trace: Trace, tph: int, names: Names) -> None:
        self._names = names
        messages, rows = trace.partition_messages(), trace.partition_collectives()
        messages = messages[(messages["tph"] == tph) & ~messages["collective"] & (messages["sent"] >= 0)]
        self._messages = messages[np.argsort(messages["sent"], kind="stable")]
        rows = rows[rows["tph"] == tph]
        self._rows = rows[np.lexsort((rows["begin"], rows["instance"]))]
        self._bounds = np.append(np.unique(self._rows["instance"], return_index=True)[1], len(rows))
        self.sent = self._messages["sent"]
        self.begun = self._rows["begin"][self._bounds[:-1]]

    def message(self, row: int) -> MessageStep:
        """One of the messages."""
        message = self._messages[row]
        arrived, taken = (int(message[name]) for name in ("received", "taken"))
        return MessageStep(
            time=int(message["sent"]),
            sender=int(message["sender"]),
            receiver=int(message["receiver"]),
            source=int(message["source"]),
            target=int(message["target"]),
            tag=int(message["tag"]),
            label=self._names.spoken_site(int(message["site"])),
            bytes=int(message["bytes"]),
            way=transfer_way(int(message["flags"])),
            arrived=arrived if arrived >= 0 else None,
            taken=taken if taken >= 0 else None,
        )

    def collective(self, row: int) -> CollectiveStep:
        """One of the collective operations."""
        own = self._rows[self._bounds[row] : self._bounds[row + 1]]
        first, last = own[0], own[-1]
        return CollectiveStep(
            time=int(first["begin"]),
            rank=int(first["rank"]),
            operation=self._names.operation(int(first["operation"])),
            label=self._names.spoken_site(int(first["site"])),
            partitions=len(own),
            last=int(last["partition"]),
            last_rank=int(last["rank"]),
            last_came=int(last["begin"]),
            done=int(own["end"].max()) if (own["end"] >= 0).all() else None,
        )
