"""What a run says while it runs on a terminal: live lines for each call site, or of everything (``--live``).

Apart from `progress` because rich takes a while to load, which ranks and pipes need not wait for.
`drawn` also serves the notebook, which has no terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pse.runtime._channel import Board
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._overview import Line, LoopLine, Overview, QueueLine, ThreadLine
from pse.runtime.status._progress import Progress, busiest, hidden_text, loop_text
from pse.text import count_text, duration_text, share_text, size_text

LIVE_INTERVAL = 0.25
"""Seconds between two updates of live lines."""

_BAR = 24
_HEAD = 2  # lines above the rows of a table
_LEAST = 3  # rows that there is always room for


class LiveProgress(Progress):
    """A live line per call site, on a terminal."""

    interval = LIVE_INTERVAL

    def __init__(
        self, board: Board, prepared: Prepared, out: TextIO = sys.stderr, *, everything: bool = False
    ) -> None:
        super().__init__(board, prepared, out, everything=everything)
        self._console = Console(file=out)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def start(self) -> None:
        """Say what is going to run, and take the lower lines of the terminal."""
        super().start()
        self._live.start()

    def update(self) -> None:
        """Draw the lines anew."""
        self._live.update(self.draw(self.observer.observe()), refresh=True)

    def draw(self, overview: Overview) -> RenderableType:
        """Draw the lines."""
        hidden = _hidden(overview)
        room = self._console.size.height - _HEAD - len(hidden)
        return Group(*_fitted_sites(overview.sites, room), *hidden)

    def stop(self) -> None:
        """Take the lines away; the report comes in their place."""
        self._live.stop()

    def message(self, text: str) -> None:
        """Write above the lines."""
        self._console.print(Text(text.rstrip("\n")), soft_wrap=True)

    def printed(self, data: bytes, *, error: bool) -> None:
        """Pass on what ranks printed: above the lines, unless it goes elsewhere."""
        if error or sys.stdout.isatty() or self.prepared.request.report == "json":
            self._console.print(Text.from_ansi(data.decode(errors="replace").rstrip("\n")), soft_wrap=True)
        else:
            super().printed(data, error=error)


class Dashboard(LiveProgress):
    """Everything that can be seen of a run, on a terminal."""

    def start(self) -> None:
        """Take the lower lines of the terminal; what runs stands in the first of them."""
        self._live.start()

    def draw(self, overview: Overview) -> RenderableType:
        """Draw loops, call sites, threads, queues and memory."""
        return draw_overview(overview, self._console.size.height)


class DashboardOfRank(Dashboard):
    """The same, drawn by a rank on mpiexec's terminal; the rank may be killed, so the cursor stays."""

    def start(self) -> None:
        """Take the lower lines of the terminal."""
        self._console.size = os.get_terminal_size(self.out.fileno())
        super().start()
        self._console.show_cursor(True)


def draw_overview(overview: Overview, height: int | None = None) -> RenderableType:
    """Draw everything that is known of a run.

    Parameters
    ----------
    overview : Overview
        How it stands.
    height : int, optional
        Lines that there are; call sites, threads and queues that have the least to tell are left out to fit.

    Returns
    -------
    rich renderable
        What a rich console or a notebook shows.

    Examples
    --------
    >>> from rich.console import Console
    >>> overview = Overview("heat.coven", 2, 5, 3.2, (), (), (), (), ())
    >>> Console(width=80).print(draw_overview(overview))
    heat.coven  2 processors, 5 ranks, 3 s
    <BLANKLINE>
    call site  thread  calls  seconds  CPU  state
    <BLANKLINE>
    thread  ranks  in modules    CPU  state
    """
    queues = _fullest(overview.queues, height // 4) if height else overview.queues
    notes = [*_memory(overview), *_hidden(overview)]
    heights = [_HEAD + len(rows) for rows in (overview.loops, queues) if rows]
    taken = 1 + sum(heights) + (1 + len(notes) if notes else 0) + 2 * _HEAD + 2
    for_sites, for_threads = _rooms(overview, height - taken) if height else (None, None)
    parts: list[RenderableType] = [_head(overview)]
    parts += ["", _loops(overview.loops)] if overview.loops else []
    parts += ["", *_fitted_sites(overview.sites, for_sites)]
    parts += ["", *_fitted_threads(overview.threads, for_threads)]
    parts += ["", _queues(queues)] if queues else []
    parts += ["", *notes] if notes else []
    return Group(*parts)


def _rooms(overview: Overview, room: int) -> tuple[int, int]:
    """Share the lines of a terminal among call sites and threads; what one of them leaves is the other's."""
    threads = min(len(overview.threads), max(room // 2, room - len(overview.sites), _LEAST))
    return max(room - threads, _LEAST), threads


def _head(overview: Overview) -> Text:
    count = count_text(overview.processors, "processor")
    ranks = count_text(overview.ranks, "rank")
    return Text.assemble((overview.program, "bold"), f"  {count}, {ranks}, {duration_text(overview.seconds)}")


def _table(*columns: str, numbers: Collection[str] = ()) -> Table:
    """Make a table; the last column gives way where there is little room."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, expand=True)
    for name in columns[:-1]:
        table.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    table.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    return table


def _loops(loops: Sequence[LoopLine]) -> Table:
    table = _table("loop", "iterations complete", "")
    for loop in loops:
        known = loop.total is not None and not loop.bound
        bar = share_bar(loop.done / loop.total if loop.total else 1.0, _BAR) if known else ""
        table.add_row(Text(loop.name), Text(loop_text(loop)), bar)
    return table


def _fullest(queues: Sequence[QueueLine], count: int) -> Sequence[QueueLine]:
    """Keep the queues that became longest."""
    return sorted(queues, key=lambda queue: -queue.longest)[: max(_LEAST, count)]


def _fitted_sites(sites: Sequence[Line], count: int | None) -> list[RenderableType]:
    """Draw the busiest call sites in so many lines, one of which says how many are left out."""
    if count is None or len(sites) <= count:
        return [_sites(sites)]
    kept = busiest(sites, max(count - 1, 1))
    return [
        _sites(kept),
        Text(f"… and {count_text(len(sites) - len(kept), 'call site')} with less to do", "dim"),
    ]


def _fitted_threads(threads: Sequence[ThreadLine], count: int | None) -> list[RenderableType]:
    """Draw the threads that are in modules most, likewise."""
    if count is None or len(threads) <= count:
        return [_threads(threads)]
    order = sorted(range(len(threads)), key=lambda number: -threads[number].busy)[: max(count - 1, 1)]
    more = Text(f"… and {count_text(len(threads) - len(order), 'thread')} with less to do", "dim")
    return [_threads([threads[number] for number in sorted(order)]), more]


def _sites(sites: Sequence[Line]) -> Table:
    table = _table(
        "call site", "thread", "calls", "seconds", "CPU", "state", numbers=("calls", "seconds", "CPU")
    )
    for line in sites:
        numbers = (str(line.calls), f"{line.seconds:.1f}", line.cpu)
        style = "bold" if line.state.startswith("running") else "dim"
        table.add_row(Text(line.name), Text(line.thread), *numbers, Text(line.state), style=style)
    return table


def _threads(threads: Sequence[ThreadLine]) -> Table:
    table = _table(
        "thread", "ranks", "in modules", "", "CPU", "state", numbers=("ranks", "in modules", "CPU")
    )
    for line in threads:
        shares = (share_text(line.busy), share_bar(line.busy, 10), share_text(line.cpu))
        table.add_row(Text(line.thread), str(line.ranks), *shares, Text(line.state or "out of sight"))
    return table


def _queues(queues: Sequence[QueueLine]) -> Table:
    table = _table(
        "queue", "thread", "waiting", "longest", "limit", "", numbers=("waiting", "longest", "limit")
    )
    for queue in queues:
        style = "yellow" if queue.limit and queue.now >= queue.limit else ""
        numbers = (str(queue.now), str(queue.longest), str(queue.limit or "none"))
        table.add_row(Text(queue.tag), Text(queue.thread), *numbers, style=style)
    return table


def _hidden(overview: Overview) -> list[Text]:
    return [Text(hidden_text(overview), "yellow")] if overview.hidden else []


def _memory(overview: Overview) -> list[Text]:
    several = len(overview.memory) > 1
    return [
        Text.assemble(
            ("shared memory", "dim"),
            f" {line.node}" * several,
            f"  {size_text(line.in_use)} now, {size_text(line.peak)} at most",
            (f", room for {size_text(line.capacity)}", "dim"),
        )
        for line in overview.memory
    ]


def share_bar(share: float, width: int) -> Text:
    """Draw a share as a bar that can be read without colours, on dark and on light ground.

    Parameters
    ----------
    share : float
        From 0 to 1; what is beyond counts as the nearer one.
    width : int
        Characters.

    Returns
    -------
    rich.text.Text
        The bar.

    Examples
    --------
    >>> share_bar(0.5, 4).plain
    '━━╌╌'
    """
    filled = round(min(1.0, max(0.0, share)) * width)
    return Text.assemble(("━" * filled, "cyan"), ("╌" * (width - filled), "dim"))
