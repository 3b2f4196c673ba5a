"""What a run says while it runs: plain lines, or on a terminal those of `live`.

Reads the board, which ranks write as they go; nothing is sent for it.  The launcher owns the terminal:
what ranks print passes through here too, so that it doesn't tear the live lines.  Writes to standard
error.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pse.runtime._channel import ABSENT, DONE, LEFT, STATES, Board
from pse.runtime.request import Prepared

if TYPE_CHECKING:
    from pse.runtime._channel import Slot

PLAIN_INTERVAL = 5.0
"""Seconds between two rounds of plain lines."""


@dataclass(frozen=True)
class Line:
    """One call site as it stands; `share` is its CPU time over its time so far."""

    thread: str
    name: str
    calls: int
    seconds: float
    share: float
    state: str

    def __str__(self) -> str:
        numbers = f"{self.calls} calls  {self.seconds:.1f} s  {100 * self.share:.0f} % CPU"
        return f"{self.thread}  {self.name}  {numbers}  {self.state}"


def look(board: Board, prepared: Prepared) -> list[Line]:
    """Read how every call site stands."""
    slots = [board.slot(rank) for rank in range(prepared.ranks)]
    keys = [prepared.placement.seat(rank).key for rank in range(prepared.ranks)]
    now = time.monotonic_ns()
    lines = []
    for site in prepared.sites:
        thread = prepared.placement.thread_of(site)
        ranks = [rank for rank, key in enumerate(keys) if key == thread]
        done = [board.statistics(rank, site.id) for rank in ranks]
        running = [slots[rank] for rank in ranks if slots[rank]["site"] == site.id]
        calls, cpu = sum(d["calls"] for d in done), sum(d["cpu"] for d in done)
        finished = sum(d["wall"] for d in done)
        seconds = (finished + sum(max(0, now - slot["since"]) for slot in running)) / 1e9
        state = _state(calls, len(running), [slots[rank] for rank in ranks])
        name = f"{site.label}:{site.span.line}"
        lines.append(Line(thread.label, name, calls, seconds, cpu / finished if finished else 0.0, state))
    return lines


def _state(calls: int, running: int, slots: Sequence[Slot]) -> str:
    if running:
        return f"running on {running} of {len(slots)}" if len(slots) > 1 else "running"
    states = {slot["state"] for slot in slots}
    if states <= {DONE, LEFT}:
        return "done"
    if calls == 0:
        return "starting" if states <= {ABSENT} else "to come"
    return STATES[states.pop()] if len(states) == 1 else "waiting"


class Progress:
    """Plain lines: what changed, every few seconds."""

    interval = PLAIN_INTERVAL

    def __init__(self, board: Board, prepared: Prepared, out: TextIO = sys.stderr) -> None:
        self.board, self.prepared, self.out = board, prepared, out
        self._began = time.monotonic()
        self._said: dict[int, Line] = {}

    def start(self) -> None:
        """Say what is going to run."""
        keys = self.prepared.placement.keys
        root = ", ".join(key.label for key in keys if key.region == "root")
        inner = ", ".join(key.label for key in keys if key.region != "root")
        where = f"root {root}" if root else ""
        where += ("; " if root and inner else "") + (f"each processor {inner}" if inner else "")
        count = self.prepared.processors
        processors = f"{count} processor{'s' * (count != 1)}"
        program, ranks = self.prepared.request.program, self.prepared.ranks
        self.message(f"running {program} on {processors}: {ranks} rank{'s' * (ranks != 1)} ({where})\n")

    def update(self) -> None:
        """Say what is new since the last time."""
        elapsed = time.monotonic() - self._began
        for number, line in enumerate(look(self.board, self.prepared)):
            if line.calls + line.seconds > 0 and self._said.get(number) != line:
                self.message(f"[{elapsed:6.1f} s] {line}\n")
            self._said[number] = line

    def stop(self) -> None:
        """End what is shown."""

    def message(self, text: str) -> None:
        """Write to standard error."""
        self.out.write(text)
        self.out.flush()

    def printed(self, data: bytes, *, error: bool) -> None:
        """Pass on what ranks printed."""
        stream = sys.stderr if error else sys.stdout
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()


@contextlib.contextmanager
def in_background(board: Board, prepared: Prepared) -> Iterator[None]:
    """Say in plain lines what happens meanwhile: for a run without a launcher, in one of its ranks."""
    lines, over = Progress(board, prepared), threading.Event()

    def say() -> None:
        while not over.wait(lines.interval):
            lines.update()

    thread = threading.Thread(target=say, daemon=True)
    lines.start()
    thread.start()
    try:
        yield
    finally:
        over.set()


def progress(board: Board, prepared: Prepared) -> Progress:
    """Choose the form that standard error can show."""
    if not sys.stderr.isatty():
        return Progress(board, prepared)
    from pse.runtime.live import LiveProgress

    return LiveProgress(board, prepared)
