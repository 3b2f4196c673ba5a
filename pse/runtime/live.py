"""What a run says while it runs on a terminal: a live line for each call site.

Apart from `progress` because rich takes a while to load, which ranks and pipes need not wait for.
"""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pse.runtime._channel import Board
from pse.runtime.progress import Progress, look
from pse.runtime.request import Prepared

LIVE_INTERVAL = 0.25
"""Seconds between two updates of live lines."""


class LiveProgress(Progress):
    """A live line per call site, on a terminal."""

    interval = LIVE_INTERVAL

    def __init__(self, board: Board, prepared: Prepared, out: TextIO = sys.stderr) -> None:
        super().__init__(board, prepared, out)
        self._console = Console(file=out)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def start(self) -> None:
        """Say what is going to run, and take the lower lines of the terminal."""
        super().start()
        self._live.start()

    def update(self) -> None:
        """Draw the lines anew."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("call site", no_wrap=True)
        table.add_column("thread", no_wrap=True)
        for name in ("calls", "seconds", "CPU"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for line in look(self.board, self.prepared):
            numbers = (str(line.calls), f"{line.seconds:.1f}", f"{100 * line.share:.0f} %")
            style = "bold" if line.state.startswith("running") else "dim"
            table.add_row(Text(line.name), Text(line.thread), *numbers, Text(line.state), style=style)
        self._live.update(table, refresh=True)

    def stop(self) -> None:
        """Take the lines away; the report comes in their place."""
        self._live.stop()

    def message(self, text: str) -> None:
        """Write above the lines."""
        self._console.print(Text(text.rstrip("\n")), soft_wrap=True)

    def printed(self, data: bytes, *, error: bool) -> None:
        """Pass on what ranks printed: above the lines, unless it goes elsewhere."""
        if error or sys.stdout.isatty():
            self._console.print(Text.from_ansi(data.decode(errors="replace").rstrip("\n")), soft_wrap=True)
        else:
            super().printed(data, error=error)
