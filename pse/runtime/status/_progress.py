"""What a run says while it runs: lines, on a terminal those of `_terminal_progress`, or JSON for a process.

Reads the board, which ranks write as they go; nothing is sent for it.  The launcher owns the terminal:
what ranks print passes through here too, so that it doesn't tear the live lines.  Writes to standard
error.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from pse.runtime._channel import Board
from pse.runtime.distribution._partition_placement import partition_counts
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._overview import Line, LoopLine, Observer, Overview
from pse.text import count_text, share_text, size_text

PLAIN_INTERVAL = 5.0
"""Seconds between two rounds of plain lines."""

MOST_LINES = 24
"""Call sites that a round of plain lines tells of."""

FEW = 6
"""Threads that are named one by one."""

_LAST_TURN = 1.0
"""Seconds that what is being said in the background may take to its end."""

WATCHER_VARIABLE = "PSE_WATCHER"
"""Environment variable by which a process that starts `pse run` names the descriptor it wants told."""

WATCHER_INTERVAL = 0.25
"""Seconds between two overviews that it is told."""


class Progress:
    """Plain lines: what changed, every few seconds.

    Parameters
    ----------
    everything : bool
        Whether to tell of loops, threads, queues and memory as well as of call sites.
    """

    interval = PLAIN_INTERVAL

    def __init__(
        self, board: Board, prepared: Prepared, out: TextIO = sys.stderr, *, everything: bool = False
    ) -> None:
        self.observer = Observer(board, prepared, memory=everything)
        self.prepared, self.out = prepared, out
        self._everything = everything
        self._said: dict[int, Line] = {}

    def start(self) -> None:
        """Say what is going to run."""
        self.observer.observe()  # Shares are of the time since the last look.
        keys = self.prepared.placement.keys
        root = _some([key.label for key in keys if key.region == "root"])
        inner = _some([key.label for key in keys if key.region != "root"])
        where = f"root {root}" if root else ""
        where += ("; " if root and inner else "") + (f"each processor {inner}" if inner else "")
        count = self.prepared.processors
        processors = count_text(count, "processor")
        program, ranks = self.prepared.request.program, self.prepared.ranks
        self.message(f"running {program} on {processors}: {count_text(ranks, 'rank')} ({where})\n")

    def update(self) -> None:
        """Say what is new since the last time; never nothing."""
        overview = self.observer.observe()
        lines = self._news(overview)
        if self._everything:
            lines = [*loop_lines(overview), *lines, *other_lines(overview)]
        if overview.hidden and (lines or overview.hidden == overview.ranks):
            lines = [*lines, hidden_text(overview)]
        for line in lines or [f"nothing new: {waiting_text(overview)}"]:
            self.message(f"{_stamp(overview.seconds)} {line}\n")

    def _news(self, overview: Overview) -> list[str]:
        new = [
            line
            for number, line in enumerate(overview.sites)
            if line.calls + line.seconds > 0 and self._said.get(number) != line
        ]
        self._said = dict(enumerate(overview.sites))
        shown = busiest(new, MOST_LINES)
        more = (
            [f"… and {count_text(len(new) - len(shown), 'call site')} with less to do"]
            if len(shown) < len(new)
            else []
        )
        return [*map(str, shown), *more]

    def stop(self) -> None:
        """End what is shown."""

    def message(self, text: str) -> None:
        """Write to standard error."""
        self.out.write(text)
        self.out.flush()

    def printed(self, data: bytes, *, error: bool) -> None:
        """Pass on what ranks printed; where the report is JSON, standard output has nothing beside it."""
        stream = sys.stderr if error or self.prepared.request.report == "json" else sys.stdout
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()


class NoProgress(Progress):
    """Nothing but what ranks print."""

    def start(self) -> None:
        """Say nothing."""

    def update(self) -> None:
        """Say nothing."""


class ProgressStream(Progress):
    """JSON lines for the process that started this one: overviews, and what ranks print.

    Each line is an object with one of the keys ``note`` (a text, while nothing runs yet), ``overview``,
    ``stdout`` and ``stderr``.
    """

    interval = WATCHER_INTERVAL

    def __init__(self, board: Board, prepared: Prepared, descriptor: int) -> None:
        super().__init__(board, prepared, everything=True)
        self._descriptor = descriptor

    def start(self) -> None:
        """Tell how things stand before anything has begun."""
        self.update()

    def update(self) -> None:
        """Tell how things stand."""
        self._tell("overview", self.observer.observe().to_json())

    def stop(self) -> None:
        """Tell how things stood at the end."""
        self.update()

    def printed(self, data: bytes, *, error: bool) -> None:
        """Tell what ranks printed."""
        self._tell("stderr" if error else "stdout", data.decode(errors="replace"))

    def _tell(self, kind: str, content: Any) -> None:
        _tell(self._descriptor, kind, content)


def loop_lines(overview: Overview) -> list[str]:
    """Write how far every loop is."""
    return [f"loop {loop.name}  {loop_text(loop)}" for loop in overview.loops]


def loop_text(loop: LoopLine) -> str:
    """Write how far a loop is.

    Examples
    --------
    >>> loop_text(LoopLine("k", 12, 48, False)), loop_text(LoopLine("while", 7, 100, True))
    ('12 of 48 (25 %)', '7 of at most 100')
    """
    if loop.total is None:
        return f"{loop.done}"
    if loop.bound:
        return f"{loop.done} of at most {loop.total}"
    return f"{loop.done} of {loop.total} ({100 * loop.done // loop.total if loop.total else 100} %)"


def other_lines(overview: Overview) -> list[str]:
    """Write what threads, queues and memory are like."""
    lines = [
        f"{line.thread}  {share_text(line.busy)} in modules  {share_text(line.cpu)} CPU  {line.state}"
        for line in overview.threads
    ]
    lines += [
        f"queue {queue.tag} of {queue.thread}  {queue.now} waiting  at most {queue.longest}"
        + (f" of {queue.limit}" if queue.limit else "")
        for queue in overview.queues
    ]
    lines += [f"memory of {line.node}  {memory_text(line.in_use, line.peak)}" for line in overview.memory]
    return lines


def memory_text(in_use: int, peak: int) -> str:
    """Write what an arena holds."""
    return f"{size_text(in_use)} now  {size_text(peak)} at most"


def hidden_text(overview: Overview) -> str:
    """Say that ranks are out of sight, and what numbers mean then."""
    hidden, seen = overview.hidden, overview.ranks - overview.hidden
    if not seen:
        return "no rank can be seen from here: all are on other machines, or have not begun"
    what = f"{count_text(hidden, 'rank')} on other machines can't be seen from here"
    return f"{what}; numbers are those of the other{f' {seen}' * (seen != 1)}"


def waiting_text(overview: Overview) -> str:
    """Say what every thread is waiting for; of many, those alike together."""
    states = [(line.thread, line.state or "out of sight") for line in overview.threads]
    if len(states) <= FEW:
        return "; ".join(f"{thread} {state}" for thread, state in states)
    alike: dict[str, list[str]] = {}
    for thread, state in states:
        alike.setdefault(state, []).append(thread)
    return "; ".join(f"{_some(threads)} {state}" for state, threads in alike.items())


def busiest(sites: Sequence[Line], count: int) -> Sequence[Line]:
    """Keep the call sites on which most time went, in the program's order."""
    kept = sorted(range(len(sites)), key=lambda number: -sites[number].seconds)[:count]
    return [sites[number] for number in sorted(kept)]


def _some(names: Sequence[str]) -> str:
    """Name a few of many."""
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _stamp(seconds: float) -> str:
    return f"[{seconds:6.1f} s]"


def _tell(descriptor: int, kind: str, content: Any) -> None:
    line = (json.dumps({kind: content}) + "\n").encode()
    with contextlib.suppress(BrokenPipeError):  # Nobody wants to know any more; the run goes on.
        while line:
            line = line[os.write(descriptor, line) :]


@contextlib.contextmanager
def announce_preparation(prepared: Prepared) -> Iterator[None]:
    """Say, if it takes long, that a run is being made ready: plans of many partitions, modules to build."""
    if prepared.request.quiet:
        yield
        return
    count = sum(partition_counts(prepared.program, prepared.environment).values())
    ranks = count_text(prepared.ranks, "rank")
    words = f"preparing {prepared.request.program}: its modules, and plans for {ranks}"
    words += f" and {count:,} partitions" if count > prepared.processors else ""
    watcher, began = os.environ.get(WATCHER_VARIABLE, ""), time.monotonic()

    def say() -> None:
        line = f"{_stamp(time.monotonic() - began)} {words}"
        if watcher.isdecimal():
            _tell(int(watcher), "note", line)
        else:
            print(line, file=sys.stderr, flush=True)

    with every(PLAIN_INTERVAL, say):
        yield


@contextlib.contextmanager
def every(interval: float, do: Callable[[], None]) -> Iterator[None]:
    """Do something every so many seconds meanwhile, in a thread of its own."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(interval):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_LAST_TURN)


def can_draw(stream: TextIO) -> bool:
    """Say whether a stream is a terminal on which lines can be drawn anew.

    Parameters
    ----------
    stream : text file
        Where the lines would go.

    Returns
    -------
    bool
        False for files, pipes and dumb terminals.

    Examples
    --------
    >>> import io
    >>> can_draw(io.StringIO())
    False
    """
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
