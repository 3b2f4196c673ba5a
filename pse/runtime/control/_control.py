"""One rank's part in the control of its run: what all ranks do together where they meet.

They meet at some pauses, about ten times a second while somebody asks for something, so that no rank gets
much further ahead of the others than that.  At each meeting the first rank says what the next one is
(`_word_ahead`): mostly nothing is to be done there, and nobody waits.  If an order has come (`_hub`), all
wait for each other there, and carry out what the first one tells.  A run that is held goes on with its
meeting.  Ranks that wait here sleep, and serve what others still need of them.  Rejected: to hold each rank
at its next pause only when an order comes; a root that needs nothing of its partitions has passed all pauses
by then.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pse.errors import PseError, UsageError
from pse.language.types import Element, Type
from pse.runtime.checkpoint._values import cells_of, live_at, writes
from pse.runtime.control import _frames as frames
from pse.runtime.control._hub import Answer, Controlled, Hub
from pse.runtime.control._word_ahead import WordAhead
from pse.runtime.distribution._strided_copies import extents
from pse.runtime.pause._changes import LiveValues
from pse.runtime.pause._checkpoint import place_text
from pse.runtime.pause._pause_collectives import MpiPeers
from pse.runtime.plan._projection import Incarnation
from pse.runtime.plan._shapes import Shapes
from pse.runtime.plan._slots import live_slot
from pse.runtime.request._watchable import watchable_tags

if TYPE_CHECKING:
    from pse.runtime.pause._checkpoint import Checkpoints

_LONGEST = 20e-3
"""Seconds that a rank which is held sleeps between two looks, at most."""
_INTERVAL, _ALONE = 0.1, 0.25
"""Seconds between two meetings, about, and where nobody has asked for anything of late."""
_TOGETHER = b"{}"
"""The word of a meeting where all wait for each other; that of others has the pause of the next one."""
_FARTHEST = 1000
"""Pauses between two meetings, at most: rounds may suddenly take longer."""
_WORK = struct.Struct("<d")
"""How long the processor of a rank has worked on its part of a frame."""
_OVER = "the run has passed its last pause: it comes to its end"

Piece = tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.float64]]


class Control:
    """One rank's part.

    Parameters
    ----------
    about : Controlled
    live : LiveValues
        Of this rank.

    Attributes
    ----------
    due : int
        The pause at which all meet next.
    """

    def __init__(self, about: Controlled, live: LiveValues) -> None:
        self.due = 1
        self._about, self._live, self._pace = about, live, _Pace()
        self._hub: Hub | None = None
        self._asked: Future[Answer] | None = None

    def begin(self, now: Incarnation, peers: MpiPeers, *, resumed: bool) -> None:
        """Let users find the run; where it is resumed, its slots have what they had."""
        self._peers = MpiPeers(peers.comm, peers.board, peers.transport, _LONGEST)
        self._ahead = WordAhead(self._peers, _TOGETHER)
        self.due = now.sequencer.rounds + 1
        if peers.comm.Get_rank() == 0:
            self._hub = Hub(self._about, lambda: peers.board.ring(0))
            self._hub.values |= live_now(now) if resumed else {}

    def pause(self, now: Incarnation, checkpoints: Checkpoints | None, figures: Mapping[str, float]) -> None:
        """Meet with all ranks if this is the pause for it, and carry out what users ask for."""
        if now.sequencer.rounds + 1 < self.due:
            return
        meeting = _Meeting(now, self._peers, checkpoints, figures)
        word = json.loads(self._ahead.come())
        if self._hub:
            self._hub.pause, self._hub.place, self._hub.values = meeting.number, meeting.place, live_now(now)
        self.due = word.get("due") or self._together(meeting)
        if self._hub:
            is_busy = self._hub.has_order or self._hub.target == self.due
            self._ahead.say(_TOGETHER if is_busy else self._due(meeting, self.due))

    def _together(self, meeting: _Meeting) -> int:
        """Carry out what users ask for, until the run goes on; gives the pause of the next meeting."""
        word = json.loads(self._peers.told(lambda: self._word(meeting)))
        while "due" not in word:
            self._done(meeting, word)
            word = json.loads(self._peers.tell(self._word(meeting)))
        return int(word["due"])

    def _word(self, meeting: _Meeting) -> bytes:
        """Give the first rank's next order, or when all meet next if the run goes on; of others, nothing."""
        if self._hub is None:
            return b""
        self._asked = None
        order = self._next(self._hub, meeting)
        return json.dumps(order).encode() if order else self._due(meeting, meeting.number)

    def _due(self, meeting: _Meeting, number: int) -> bytes:
        """Say how far behind a pause the next meeting is, by the pace up to this one; a step ends at one."""
        assert self._hub
        due = number + self._pace.stride(meeting.number, _INTERVAL if self._hub.is_used else _ALONE)
        target = self._hub.target
        return json.dumps({"due": due if target is None else min(due, target)}).encode()

    def _next(self, hub: Hub, meeting: _Meeting) -> dict[str, Any]:
        stops = meeting.checkpoints
        if meeting.number == hub.target:
            return {"do": "pause"}
        self._peers.wait(lambda: hub.has_order or not hub.held or (stops is not None and stops.stopping))
        if not hub.has_order:
            hub.held = False
            return {}
        order, asked = hub.next_order()
        if order["do"] == "resume":
            hub.held = False
            hub.end_step(meeting.number)
            asked.set_result((hub.status(), b""))
            return {}
        if order["do"] == "step":
            hub.step_to(meeting.number + order["rounds"], asked)
            return {}
        self._asked = asked
        return order

    def _done(self, meeting: _Meeting, order: dict[str, Any]) -> None:
        """Carry out an order with all ranks, and answer it on the first one."""
        asked = self._asked
        try:
            answer = self._carried_out(meeting, order)
        except PseError as error:
            if asked:
                asked.set_exception(error)
            return
        if asked and self._hub:
            asked.set_result((self._hub.status() | answer[0] | {"pause": meeting.number}, answer[1]))

    def _carried_out(self, meeting: _Meeting, order: dict[str, Any]) -> Answer:
        match order["do"]:
            case "pause":
                if self._hub:
                    self._hub.held = True
                    self._hub.end_step(meeting.number)
            case "set":
                self._live.change(meeting.now, order["values"])
                if self._hub:
                    self._hub.values |= live_now(meeting.now)
            case "checkpoint":
                meeting.save()
            case "read":
                return self._read(meeting, order)
            case "stop":
                self._close()
                os.kill(os.getpid(), signal.SIGTERM)
        return {}, b""

    def _read(self, meeting: _Meeting, order: dict[str, Any]) -> Answer:
        answer = meeting.read(order["tag"], order["cells"], order["points"])
        if self._hub:
            self._hub.spent(order["tag"], meeting.work, meeting.seconds)
        return answer

    def end_of_pauses(self) -> None:
        """There are no more pauses on this rank, and so on none."""
        if self._hub:
            self._hub.end(_OVER)

    def finish(self) -> None:
        """The run is over, on all ranks."""
        self._ahead.finish()
        self._close()

    def _close(self) -> None:
        if self._hub:
            self._hub.close()


class _Pace:
    """How many pauses on all meet again, by how long the program's rounds take."""

    def __init__(self) -> None:
        self._stride, self._met = 1, (0, 0.0)

    def stride(self, number: int, interval: float) -> int:
        """Give how many pauses take some seconds, at the end of a meeting."""
        (before, at), now = self._met, time.monotonic()
        if number > before:
            self._met = number, now
            pace = max((now - at) / (number - before), 1e-9)
            self._stride = max(1, min(int(interval / pace), 2 * self._stride, _FARTHEST))
        return self._stride


def live_now(now: Incarnation) -> dict[str, Any]:
    """Give the values of live parameters, where the rank stands at a pause."""
    slots = now.projection.slots
    values = {name: now.sequencer.slot_value(slots[live_slot(name), None]) for name in now.job.live}
    return {name: type(now.job.live[name])(value) for name, value in values.items()}  # type: ignore[arg-type]


class _Meeting:
    """All ranks at one pause, as one of them sees it."""

    def __init__(
        self,
        now: Incarnation,
        peers: MpiPeers,
        checkpoints: Checkpoints | None,
        figures: Mapping[str, float],
    ) -> None:
        self.now, self.peers, self.checkpoints, self.figures = now, peers, checkpoints, figures
        self.number = now.sequencer.rounds + 1
        self.rank = peers.comm.Get_rank()
        self.work = 0.0
        self._came, self._worked = time.monotonic(), time.thread_time()

    @property
    def seconds(self) -> float:
        """How long ago this rank came."""
        return time.monotonic() - self._came

    def _lap(self) -> float:
        """Give the processor's seconds of this rank since it came, or since the last lap."""
        before, self._worked = self._worked, time.thread_time()
        return self._worked - before

    @property
    def place(self) -> str:
        """Where the program is, for people."""
        return place_text(self.now.job, self.now.projection, self.now.sequencer)

    def save(self) -> None:
        """Write a checkpoint."""
        assert self.checkpoints is not None
        self.checkpoints.save(self.now.projection, self.now.sequencer, self.peers, self.figures)

    def read(self, tag: str, cells: int, points: int) -> Answer:
        """Put a frame together on the first rank: block means, or each so-manieth row of points.

        Raises
        ------
        UsageError
            If the tag has no value here; on the first rank.
        """
        shapes, array = Shapes(self.now.job), self.now.job.program.tags[tag].type
        shape = self._shape(shapes, array)
        detail = frames.Detail.of(shape, cells, points)
        part = frames.packed(self._pieces(tag, shapes, array, detail))
        parts = self.peers.gather(_WORK.pack(self._lap()) + part)
        values = detail.values(part[_WORK.size :] for part in parts) if parts else np.zeros(())
        self.work = self._lap() + max((_WORK.unpack_from(part)[0] for part in parts), default=0.0)
        if values is None:
            names = self._readable(shapes)
            help = f"these have: {', '.join(names)}" if names else None
            raise UsageError(f"{tag} has no value at {self.place}: nothing reads it from there on", help=help)
        element = array.element.label if isinstance(array.element, Element) else "f64"
        head = {"tag": tag, "element": element, "place": self.place, "cells": values.shape}
        head |= asdict(detail)
        return head, values.astype("<f8").tobytes()

    def _readable(self, shapes: Shapes) -> list[str]:
        """Give the tags that have a value here which can be looked at."""
        job, point = self.now.job, self.now.sequencer.point
        live = frozenset[str]().union(
            *(live_at(job.liveness, key, point) for key in job.liveness.placement.keys)
        )
        known, types = watchable_tags(job.program), job.program.tags
        return sorted(name for name in live & known.keys() if not shapes.is_dynamic(types[name].type))

    def _shape(self, shapes: Shapes, array: Type) -> tuple[int, ...]:
        """Give the shape of a tag; of a number that each partition has for itself, how many there are."""
        if array.scalar:
            return (self.now.job.pieces(array),) if array.distribution.distributed else ()
        if shapes.is_dynamic(array):
            raise UsageError(
                "modules decide how many rows this array has: it can't be looked at while the program runs",
                help="look at an array of a known shape, or save this one in the program",
            )
        return tuple(extents(shapes.whole(array)))

    def _pieces(self, tag: str, shapes: Shapes, array: Type, detail: frames.Detail) -> Iterator[Piece]:
        """Add up what this rank has of a tag, halos apart."""
        job, point = self.now.job, self.now.sequencer.point
        for (name, partition), slot in self.now.projection.slots.items():
            if name != tag or not writes(job, self.rank, name, partition, point):
                continue
            value = self.now.sequencer.slot_value(slot)
            pieces = enumerate(value) if isinstance(value, list) else [(partition or 0, value)]
            for index, piece in pieces:
                if piece is None:
                    continue
                if array.scalar:
                    places = [np.array([index])] if array.distribution.distributed else []
                    yield detail.piece(np.full([1] * len(places), piece), places)
                    continue
                cells = [cells_of(axis) for axis in shapes.piece(array, index)]
                if np.shape(piece) == tuple(places.size for places, _ in cells):  # It may be another's.
                    own = np.asarray(piece)[tuple(inner for _, inner in cells)]
                    yield detail.piece(own, [places[inner] for places, inner in cells])
