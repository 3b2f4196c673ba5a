"""The first rank's end of a run's control: it takes orders from users, whenever they come.

A thread waits for users and one for each of them for what they ask; all of them sleep until something comes.
An order waits until the rank meets the others (`Control`), which carry it out together.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from pse.errors import PseError, RunError, UsageError
from pse.language.check import ResolvedProgram
from pse.language.types import Value
from pse.records import dataclass
from pse.runtime.control import _wire as wire
from pse.runtime.control._address import address, listen
from pse.runtime.request._changes import new_values
from pse.runtime.request._watchable import require_watchable, watchable_tags
from pse.text import exception_text

Answer = tuple[dict[str, Any], bytes]

_NOT_HELD = "the run is not held"
_TOO_LATE = "ask earlier: between its last pause and its end nothing can be done with a run but `stop`"

SHARE = 0.005
"""The most of a run's time that reading frames may take."""
LONGEST_REST = 2.0
"""Seconds by which a frame is put off, at most, because ranks have waited for each other."""
OF_LATE = 5.0
"""Seconds for which whoever has asked for something may ask for more."""


@dataclass(frozen=True)
class Controlled:
    """What is known of the run.

    Attributes
    ----------
    name : str
        By which users find it.
    program : ResolvedProgram
    parameters : mapping
        The values that the program's parameters begin with.
    processors : int
    checkpoint : str or None
        The directory of its checkpoints.
    launcher : int
        Process number of its launcher; 0 without one.
    """

    name: str
    program: ResolvedProgram
    parameters: Mapping[str, Value]
    processors: int
    checkpoint: str | None
    launcher: int

    @property
    def watchable(self) -> dict[str, str]:
        """The tags that can be watched, and their types."""
        return watchable_tags(self.program)


class Hub:
    """Takes orders, and gives them to the rank.

    Parameters
    ----------
    about : Controlled
    ring : callable
        Wake the rank, which may wait for an order.

    Attributes
    ----------
    held : bool
        Whether the run is held, or steps.
    pause : int
        The number of the pause where all ranks met last.
    place : str
        Where that is in the program.
    values : dict
        Of live parameters.
    target : int or None
        The pause at which a step ends that goes on.
    """

    def __init__(self, about: Controlled, ring: Callable[[], None]) -> None:
        self.about, self._ring = about, ring
        self.held, self.pause, self.place = False, 0, ""
        self.values = {p.name: about.parameters[p.name] for p in about.program.parameters if p.live}
        self._orders: deque[tuple[dict[str, Any], Future[Answer]]] = deque()
        self._turn = threading.Lock()
        self._over = ""
        self._free_at = self._asked_at = 0.0
        self.target: int | None = None
        self._stepping: Future[Answer] | None = None
        self._read: set[str] = set()
        self._listener = listen(about.name)
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def end(self, why: str) -> None:
        """Take no orders any more."""
        with self._turn:
            self._over = why
            waiting = [asked for _, asked in self._orders] + ([self._stepping] if self._stepping else [])
            self._orders.clear()
            for asked in waiting:
                asked.set_exception(RunError(why, help=_TOO_LATE))

    def close(self) -> None:
        """The run is over."""
        with contextlib.suppress(OSError):
            os.unlink(address(self.about.name))
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # It wakes who waits there.
        self._listener.close()

    # The rank.

    @property
    def has_order(self) -> bool:
        """Whether there is something to do at this pause."""
        return bool(self._orders)

    @property
    def is_used(self) -> bool:
        """Whether somebody has asked for something of late."""
        return time.monotonic() < self._asked_at + OF_LATE

    def step_to(self, target: int, asked: Future[Answer]) -> None:
        """Let the run go on to a pause; who asked for that gets the answer when the step ends."""
        self.held, self.target, self._stepping = False, target, asked

    def end_step(self, number: int) -> None:
        """Answer who waits for a step, if one goes on: it has come to a pause, its own or another."""
        asked, self.target, self._stepping = self._stepping, None, None
        if asked:
            asked.set_result((self.status() | {"pause": number}, b""))

    def next_order(self) -> tuple[dict[str, Any], Future[Answer]]:
        """Give the next order."""
        return self._orders.popleft()

    def spent(self, tag: str, work: float, seconds: float) -> None:
        """Note what a frame has cost: all further ones come so much later that the share is kept.

        Work of a processor counts in full; so does waiting for each other, but on a machine that has more to
        do than to run this program that may take any time, and what is asked for should come.  The first
        frame of a tag is free, and waits for no other: ranks wait in it for each other's start, and load
        what makes frames.
        """
        charged = max(work / SHARE, min(seconds / SHARE, LONGEST_REST)) if tag in self._read else 0.0
        self._read.add(tag)
        self._free_at = 0.0 if self.held else max(time.monotonic(), self._free_at) + charged

    def _await_turn(self, tag: str) -> None:
        """Sleep until a frame of a tag may be read."""
        if tag in self._read:
            time.sleep(max(0.0, self._free_at - time.monotonic()))

    # Users.

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="control", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Do what one user asks for, until that one leaves."""
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            while (asked := wire.receive(stream)) is not None:
                wire.send(connection, *self._answer(asked[0]))

    def _answer(self, order: dict[str, Any]) -> Answer:
        try:
            return self._do(order)
        except PseError as error:
            said = {"message": error.message, "help": error.help}
            return {"error": said, "over": isinstance(error, RunError)}, b""
        except Exception as error:
            return {"error": {"message": f"this can't be done: {exception_text(error)}", "help": None}}, b""

    def _do(self, order: dict[str, Any]) -> Answer:
        match order.get("do"):
            case "status":
                return self.status(), b""
            case "stop":
                self._stop()
                return self.status(), b""
            case "step" if not self.held:
                raise UsageError(_NOT_HELD, help=f"hold it first:  pse ctl {self.about.name} pause")
            case "resume" if not (self.held or self.target):
                raise UsageError(_NOT_HELD, help="it goes on by itself")
            case "checkpoint" if self.about.checkpoint is None:
                raise UsageError("the run writes no checkpoints", help="start it with --checkpoint DIR")
            case "set":
                order = {"do": "set", "values": self._checked(order.get("values"))}
            case "read":
                require_watchable(self.about.program, order.get("tag"))
                sizes = {"cells": _whole(order, "cells", 256, 1), "points": _whole(order, "points", 0, 0)}
                order = {**order, **sizes}
                self._await_turn(order["tag"])
            case "step":
                order = {**order, "rounds": _whole(order, "rounds", 1, 1, wire.MOST_ROUNDS)}
            case "pause" | "resume" | "checkpoint":
                pass
            case other:
                raise UsageError(f"nothing is called {other!r}", help="pause, resume, step, checkpoint, stop")
        return self._order(order)

    def _order(self, order: dict[str, Any]) -> Answer:
        """Have the ranks do something where they meet next; gives the rank's answer."""
        asked: Future[Answer] = Future()
        with self._turn:
            if self._over:
                raise RunError(self._over, help=_TOO_LATE)
            self._orders.append((order, asked))
            self._asked_at = time.monotonic()
        self._ring()
        return asked.result()

    def status(self) -> dict[str, Any]:
        """Say how the run stands."""
        return {
            "name": self.about.name,
            "program": self.about.program.path,
            "processors": self.about.processors,
            "state": "held" if self.held else "running",
            "place": self.place if self.held else None,
            "pause": self.pause if self.held else None,
            "pauses": max(0, self.pause - 1),
            "live": self.values,
            "tags": self.about.watchable,
            "checkpoint": self.about.checkpoint,
        }

    def _stop(self) -> None:
        if self.about.launcher:
            os.kill(self.about.launcher, signal.SIGTERM)
        else:
            self._order({"do": "stop"})

    def _checked(self, asked: object) -> dict[str, Value]:
        """Read new values of live parameters, as `-D` does."""
        if not isinstance(asked, dict) or not asked:
            raise UsageError("no parameter is given", help="for example:  dt=5e-4")
        values = {**self.about.parameters, **self.values}
        texts = {name: str(value) for name, value in asked.items()}
        return new_values(self.about.program, values, texts, self.about.processors)


def _whole(order: Mapping[str, Any], name: str, default: int, least: int, most: float = math.inf) -> int:
    """Give a whole number of an order: ranks would fail by another."""
    number = order.get(name, default)
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        bounds = f"from {least}" + (f" to {most:,}" if most < math.inf else "")
        help = f"leave it out to have {default}"
        raise UsageError(f"{name} is {number!r}: expected a whole number, {bounds}", help=help)
    return number
