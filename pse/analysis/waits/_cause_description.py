"""How a wait ended: by a tag, a message among partitions or of MPI, or a collective operation."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pse.analysis._activity import Activity
from pse.analysis.waits._wait_chain import LastArrival, Message, WaitEnd
from pse.analysis.waits._wake_candidates import CauseKind
from pse.trace.format import NONE, Array, MessageFlag
from pse.trace.query import Names, mpi_messages, transfer_way


class CauseDescriber:
    """Tells how waits ended.

    Parameters
    ----------
    activity : Activity
        What the ranks of a run did.
    """

    def __init__(self, activity: Activity) -> None:
        self._trace, self._names = activity.trace, Names(activity.trace)
        self._tags, self._among = activity.messages, activity.partition_messages

    @functools.cached_property
    def _collectives(self) -> Array:
        return self._trace.partition_collectives()

    @functools.cached_property
    def _mpi(self) -> Array:
        return mpi_messages(self._trace)

    def of_wait(self, cause: Any) -> WaitEnd:
        """How a wait ended, from a row of `wait_causes`."""
        rank, time = int(cause["rank"]), int(cause["time"])
        if cause["message"] < 0:
            return WaitEnd(rank, time)
        if cause["kind"] != CauseKind.TAG:
            message = self._among[cause["message"]]
            return WaitEnd(
                rank,
                time,
                bytes=int(message["bytes"]),
                way=transfer_way(int(message["flags"])),
                message=self._message(message),
                was_late_receiver=bool(cause["kind"] == CauseKind.LATE_RECEIVER),
            )
        tag = self._tags[cause["message"]]
        return WaitEnd(
            rank, time, self._names.tag(int(tag["edge"])), int(tag["bytes"]), transfer_way(int(tag["flags"]))
        )

    def of_routine(self, cause: Any) -> WaitEnd:
        """How the waiting within a call of MPI ended, from a row of `mpi_wait_causes`."""
        rank, time = int(cause["rank"]), int(cause["time"])
        if cause["message"] < 0:
            return WaitEnd(rank, time)
        message = self._mpi[cause["message"]]
        return WaitEnd(
            rank,
            time,
            bytes=int(message["bytes"]),
            message=Message(tag=int(message["tag"])),
            was_late_receiver=bool(cause["kind"] == CauseKind.LATE_RECEIVER),
        )

    def expected_waker(self, rank: int, wait: Any) -> int | None:
        """Of a wait for messages among partitions that never ended: the rank that should have ended it."""
        mine = self._among[self._among["sender"] == rank]
        kept = (mine["flags"] & MessageFlag.RENDEZVOUS != 0) & (mine["done"] < 0)
        if kept.any():
            return int(mine["receiver"][kept][-1])
        missing = self._absent_rank(rank)
        if missing is not None:
            return missing
        to_me = self._among[(self._among["receiver"] == rank) & (self._among["sender"] != rank)]
        last = to_me[to_me["site"] == wait["site"]] if (to_me["site"] == wait["site"]).any() else to_me
        return int(last["sender"][np.argmax(last["received"])]) if len(last) else None

    def _absent_rank(self, rank: int) -> int | None:
        """A rank whose partition has not come to a collective operation in which this one waits."""
        rows = self._collectives
        open_ = rows[(rows["rank"] == rank) & (rows["end"] < 0)]
        if not len(open_):
            return None
        here, scope = open_["instance"][0], rows[rows["scope"] == open_["scope"][0]]
        came = scope["partition"][scope["instance"] == here]
        others = scope[~np.isin(scope["partition"], came)]
        return int(others["rank"][-1]) if len(others) else None

    def _message(self, message: Any) -> Message:
        source, target = int(message["source"]), int(message["target"])
        if not message["collective"]:
            return Message(int(message["tag"]), source, target)
        operation = self._operation(message)
        if operation is None:
            return Message(None, source, target, "collective operation")
        name = self._names.operation(int(operation["operation"]))
        return Message(None, source, target, name, self._last(operation))

    def _operation(self, message: Any) -> Any:
        """What a message is a part of: the collective operation that its receiver, or its sender, was in."""
        rows = self._collectives
        alike = rows[(rows["tph"] == message["tph"]) & (rows["number"] == message["tag"])]
        for partition, rank, time in (("target", "receiver", "received"), ("source", "sender", "sent")):
            mine = (alike["partition"] == message[partition]) & (alike["rank"] == message[rank])
            mine &= (alike["begin"] <= message[time]) & ((alike["end"] >= message[time]) | (alike["end"] < 0))
            if mine.any():
                return alike[mine][-1]
        return None

    def _last(self, operation: Any) -> LastArrival:
        """The partition that came last to a collective operation."""
        together = self._collectives[self._collectives["instance"] == operation["instance"]]
        last = together[np.argmax(together["begin"])]
        root = None if operation["root"] == NONE else int(operation["root"])
        return LastArrival(int(last["partition"]), int(last["rank"]), int(last["begin"]), root)
