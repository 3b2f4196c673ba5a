"""The child process of a run: `pse run`, which starts mpiexec.

It tells by a pipe how the run stands and what modules print; its standard output is the report, its
standard error its own words.  An interrupt, or a time limit, ends the job first, and the child dies with this
process.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.text import Text

from pse.notebook._display import Quiet, Screen
from pse.notebook._errors import Interrupted, NotebookError, RunFailed, as_asked
from pse.runtime.status import WATCHER_VARIABLE, Overview

STOP_PATIENCE = 5.0
"""Seconds that a run which is stopped gets to end; the product promises two."""

_CHILD = """
from pse.runtime.supervise._processes import die_with_parent
die_with_parent()
from pse.cli import main
main()
"""
COMMAND = (sys.executable, "-P", "-c", _CHILD, "run")


class Child:
    """The process, and what it says: the report, its own words (errors), what modules printed.

    Parameters
    ----------
    command : sequence of str
        What to start.
    environment : mapping of str to str
        Its variables.
    shown : Screen
        Where its progress, and what modules print, goes.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], shown: Screen) -> None:
        self._shown = shown
        self.report, self.words = bytearray(), bytearray()
        self._printed: list[str] = []
        self._tail = b""
        self.code, self.late = 0, False
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                env={**environment, WATCHER_VARIABLE: str(writing)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(writing,),
                start_new_session=True,  # An interrupt of the kernel is for this process, which passes it on.
            )
        except OSError as error:
            os.close(reading)
            raise NotebookError(
                f"{command[0]} can't be started: {error.strerror}",
                help="run `pse doctor` in a terminal: it looks for what is missing here",
            ) from None
        finally:
            os.close(writing)
        self._told = reading

    def watch(self, timeout: float | None = None) -> None:
        """Read what comes until all is said; an interrupt, or so many seconds, end the run first."""
        try:
            with self._process, contextlib.closing(selectors.DefaultSelector()) as selector:
                self._register(selector)
                try:
                    self.late = not self._read(selector, timeout)
                except BaseException as error:
                    self._stop(selector)
                    if isinstance(error, KeyboardInterrupt):
                        raise Interrupted from None
                    raise
                if self.late:
                    self._stop(selector)
        finally:
            os.close(self._told)
        self.code = self._process.returncode

    def _register(self, selector: selectors.BaseSelector) -> None:
        for stream, take in self._streams():
            os.set_blocking(stream, False)
            selector.register(stream, selectors.EVENT_READ, take)

    def _streams(self) -> Iterator[tuple[int, Callable[[bytes], None]]]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        yield self._told, self._take
        yield self._process.stdout.fileno(), self.report.extend
        yield self._process.stderr.fileno(), self.words.extend

    def _read(self, selector: selectors.BaseSelector, timeout: float | None) -> bool:
        """Read until all streams have ended; False if that takes longer than so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while selector.get_map():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fd)
        return True

    def _take(self, data: bytes) -> None:
        """Understand what `ProgressStream` writes: a JSON object on each line."""
        *lines, self._tail = (self._tail + data).split(b"\n")
        drawing = None
        for line in lines:
            for kind, content in json.loads(line).items():
                if kind == "overview":
                    drawing = content
                elif kind == "note":
                    self._shown.show(Text(content))
                else:
                    self._printed.append(content)
                    self._shown.write(content, error=kind == "stderr")
        if drawing:
            self._shown.follow(Overview.from_json(drawing))

    @property
    def printed(self) -> str:
        """What modules have printed."""
        return "".join(self._printed)

    def interrupt(self) -> None:
        """End the run, from another thread than the one that watches it; that one sees its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        killing = threading.Timer(STOP_PATIENCE, self._process.kill)  # The kernel ends the ranks with it.
        killing.daemon = True
        killing.start()

    def _stop(self, selector: selectors.BaseSelector) -> None:
        """End the run.  It is read from meanwhile: who has much to say would wait for that, and not end."""
        self._shown = Quiet()
        self._process.terminate()
        try:
            ended = self._read(selector, STOP_PATIENCE)
        except BaseException:
            ended = False  # Interrupted once more.
        if not ended:
            self._process.kill()  # The kernel ends the ranks with it.

    def failure(self, trace: str | None) -> RunFailed:
        """Make an exception of what `pse run` said: its error, and its help."""
        if self.code < 0:
            how = f"the run was killed by {signal.Signals(-self.code).name}"
            advice = "SIGKILL often means that memory ran out: make its arrays smaller"
            return RunFailed(how, 128 - self.code, self.printed, trace, help=advice)
        words = self.words.decode(errors="replace").strip()
        _, error, message = f"\n{words}".partition("\nerror: ")
        if not error:
            message = words or f"the run ended with code {self.code} and didn't say why"
        message, _, help_text = message.partition("\nhelp: ")
        help = as_asked(help_text.strip()) or None
        return RunFailed(as_asked(message.strip()), self.code, self.printed, trace, help=help)
