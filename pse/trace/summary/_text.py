"""A summary as text: the same columns everywhere, in colour on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pse.text import (
    count_text,
    cpu_share_text,
    printable_text,
    share_text,
    short_text,
    site_lines,
    size_text,
    time_text,
)
from pse.trace.summary._rows import (
    CallRow,
    CommunicatorRow,
    PartitionRow,
    QueueRow,
    RankRow,
    RoutineRow,
    SliceRow,
    Summary,
    TrafficRow,
    WaitRow,
)

_SiteRow = CallRow | WaitRow | TrafficRow | PartitionRow
_Line = Callable[[_SiteRow], str]

PLAIN_WIDTH = 160  # Where no terminal sets the width: lines that programs read shouldn't be cut.


def print_summary(summary: Summary, console: Console | None = None) -> None:
    """Print a summary: as wide as the terminal, or plain lines where there is none.

    Parameters
    ----------
    summary : Summary
        From `summarize`.
    console : Console, optional
        Where to; stdout if not given.

    Examples
    --------
    >>> from pse.trace import summarize
    >>> print_summary(summarize(trace))
    pipeline.coven · 2 ranks on 1 host · 30.0 ms · 44 events
    <BLANKLINE>
    Module calls
    call site  line  thread    calls    total     mean      max    CPU
    rows       6     thread_B      2  18.0 ms  9.00 ms  9.00 ms  100 %
    load       5     thread_A      2  8.00 ms  4.00 ms  4.00 ms      –
    total      7     thread_A      2  2.00 ms  1.00 ms  1.00 ms      –
    <BLANKLINE>
    Waits
    call site  line  thread    for    count    total  longest
    total      7     thread_A  input      2  18.0 ms  9.00 ms
    rows       6     thread_B  input      2  8.00 ms  4.00 ms
    <BLANKLINE>
    Tags by the call site that defines them
    call site  line  thread    way       tags  by descriptor  copied  remote
    load       5     thread_A  sent         2       8.00 KiB     0 B     0 B
    load       5     thread_B  received     2       8.00 KiB     0 B     0 B
    rows       6     thread_A  received     2       8.00 KiB     0 B     0 B
    rows       6     thread_B  sent         2       8.00 KiB     0 B     0 B
    <BLANKLINE>
    Ranks
    host   rank  thread    proc.     time  busy  waits  engine  peak memory  events
    node0  0     thread_A  root   30.0 ms  33 %   60 %     7 %          0 B      24
    node0  1     thread_B  root   30.0 ms  60 %   27 %    13 %          0 B      20
    """
    console = console or Console()
    if console.is_terminal:
        console.print(render(summary))
        return
    plain = Console(width=PLAIN_WIDTH, color_system=None, force_jupyter=False)
    with plain.capture() as captured:
        plain.print(render(summary))
    for line in captured.get().splitlines():
        print(line.rstrip(), file=console.file)


def render(summary: Summary) -> RenderableType:
    """Everything there is to show, the empty tables left out."""
    line = _line([*summary.calls, *summary.waits, *summary.traffic, *summary.partitions])
    tables = (
        _calls(summary.calls, line),
        _waits(summary.waits, line),
        _traffic(summary.traffic, line),
        _partitions(summary.partitions, line),
        _queues(summary.queues),
        _routines(summary.routines),
        _communicators(summary.communicators),
        _slices(summary.slices),
        _ranks(summary.ranks, mpi_only=bool(summary.routines and not summary.calls and not summary.waits)),
    )
    shown = [Padding(table, (1, 0, 0, 0)) for table in tables if table.row_count]
    return Group(_head(summary), *shown, *(Text(note, style="yellow") for note in _notes(summary)))


def _head(summary: Summary) -> Text:
    hosts = len({row.host for row in summary.ranks})
    parts = [
        printable_text(summary.program or summary.path),
        f"{count_text(len(summary.ranks), 'rank')} on {count_text(hosts, 'host')}",
        time_text(summary.span),
        f"{count_text(summary.events, 'event')}",
        *(
            f"peak shared memory {size_text(peak)}"
            for peak in [max(summary.arena_peak.values(), default=0)]
            if peak
        ),
    ]
    return Text(" · ".join(parts), style="bold")


def _notes(summary: Summary) -> list[str]:
    notes = []
    if summary.unmatched_sends:
        count = summary.unmatched_sends
        notes.append(f"note: {count_text(count, 'sent tag')} never arrived in this trace")
    if summary.unmatched_receives:
        count = summary.unmatched_receives
        notes.append(f"note: {count_text(count, 'received tag')} came from a rank whose events are missing")
    return notes


def _calls(rows: Sequence[CallRow], line: _Line) -> Table:
    table = _table("Module calls", "call site", ["line", "thread"], ["calls", "total", "mean", "max", "CPU"])
    for row in sorted(rows, key=lambda row: -row.total):
        times = (
            time_text(row.total),
            time_text(row.mean),
            time_text(row.max),
            cpu_share_text(row.cpu_share, row.total, row.calls),
        )
        _add(table, row.label + _marks(row), line(row), row.thread, f"{row.calls:,}", *times)
    return table


def _marks(row: CallRow) -> str:
    marks = [f"{row.failed:,} failed"] * (row.failed > 0) + [f"{row.unfinished:,} unfinished"] * (
        row.unfinished > 0
    )
    return f" ({', '.join(marks)})" if marks else ""


def _line(rows: Iterable[_SiteRow]) -> _Line:
    """Give what tells the line of a row's call site: the heading names the program."""
    lines = site_lines((row.label, row.place) for row in rows)
    return lambda row: lines[row.label, row.place] or row.place


def _waits(rows: Sequence[WaitRow], line: _Line) -> Table:
    table = _table("Waits", "call site", ["line", "thread", "for"], ["count", "total", "longest"])
    for row in sorted(rows, key=lambda row: -row.total):
        times = (time_text(row.total), time_text(row.max))
        _add(table, row.label, line(row), row.thread, row.reason, f"{row.count:,}", *times)
    return table


def _traffic(rows: Sequence[TrafficRow], line: _Line) -> Table:
    names = ["line", "thread", "way"]
    table = _table("Tags by the call site that defines them", "call site", names,
                   ["tags", "by descriptor", "copied", "remote"])  # fmt: skip
    for row in rows:
        start = (row.label, line(row), row.thread)
        sent = (row.sent_descriptor, row.sent_copied, row.sent_remote)
        received = (row.received_descriptor, row.received_copied, row.received_remote)
        for way, count, sizes in (("sent", row.sent, sent), ("received", row.received, received)):
            if count:
                _add(table, *start, way, f"{count:,}", *map(size_text, sizes))
    return table


def _partitions(rows: Sequence[PartitionRow], line: _Line) -> Table:
    table = _table("Messages among partitions by the call site that sends them", "call site",
                   ["line", "thread", "for"], ["messages", "same rank", "same node", "remote"])  # fmt: skip
    for row in rows:
        start = (row.label, line(row), row.thread, row.what)
        _add(table, *start, f"{row.messages:,}", *map(size_text, (row.own, row.node, row.remote)))
    return table


def _queues(rows: Sequence[QueueRow]) -> Table:
    table = _table("Queues", "tag", ["thread"], ["peak depth", "limit"])
    peaks: dict[tuple[str, str, int], int] = {}
    for row in rows:  # A tag has an edge for each partition that reads it.
        alike = (row.tag, row.thread, row.limit)
        peaks[alike] = max(row.peak, peaks.get(alike, 0))
    for (tag, thread, limit), peak in peaks.items():
        _add(table, tag, thread, f"{peak:,}", f"{limit:,}" if limit else "none")
    return table


def _routines(rows: Sequence[RoutineRow]) -> Table:
    is_mpi = all(row.routine.startswith("MPI_") for row in rows)
    title = "MPI calls" if is_mpi else "Routines"
    table = _table(title, "routine", [], ["ranks", "calls", "total", "mean", "max"])
    for row in sorted(rows, key=lambda row: -row.total):
        times = (time_text(row.total), time_text(row.mean), time_text(row.max))
        _add(table, short_text(row.routine), f"{row.ranks:,}", f"{row.calls:,}", *times)
    return table


def _communicators(rows: Sequence[CommunicatorRow]) -> Table:
    numbers = ["size", "rank", "sent", "bytes", "received", "bytes", "collective", "sent", "received"]
    table = _table("MPI communicators", "communicator", [], numbers)
    for row in rows:
        ends = (
            f"{row.sent:,}",
            size_text(row.sent_bytes),
            f"{row.received:,}",
            size_text(row.received_bytes),
        )
        collective = (size_text(row.collective_sent_bytes), size_text(row.collective_received_bytes))
        head = (row.communicator, f"{row.size:,}", str(row.rank))
        _add(table, *head, *ends, f"{row.collectives:,}", *collective)
    return table


def _slices(rows: Sequence[SliceRow]) -> Table:
    numbers = ["rank", "slices run", "at their time", "exchange", "scheduling", "operations"]
    table = _table("Time slices", "communicator", [], [*numbers, "own matched", "until complete"])
    for row in rows:
        times = (time_text(row.exchange), time_text(row.scheduling))
        head = (row.communicator, str(row.rank), f"{row.slices:,}", f"{row.timed:,}", *times)
        _add(table, *head, f"{row.operations:,}", f"{row.matched:,}", time_text(row.moved))
    return table


def _ranks(rows: Sequence[RankRow], mpi_only: bool) -> Table:
    numbers = ["time", "busy", "waits", "engine", "peak memory", "events"]
    table = _table("Ranks", "host", ["rank", "thread", "proc."], numbers)
    for row in rows:
        engine = max(0.0, 1 - row.busy - row.waiting) if row.span else 0.0
        shares = (
            ("–",) * 3 if mpi_only else (share_text(row.busy), share_text(row.waiting), share_text(engine))
        )
        processor = str(row.processor) if row.processor is not None else "–" if mpi_only else "root"
        values = (time_text(row.span), *shares, size_text(row.peak_memory), f"{row.events:,}")
        _add(table, row.host, str(row.rank), row.thread, processor, *values)
    return table


def _table(title: str, first: str, names: Iterable[str], numbers: Iterable[str]) -> Table:
    """A table: a first column that a narrow terminal folds, names, and numbers at the right."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    table.add_column(first, overflow="fold", header_style="dim")
    for name in names:
        table.add_column(name, no_wrap=True, header_style="dim")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    return table


def _add(table: Table, *cells: str) -> None:
    """Add a row of plain text: a name may hold what rich would take for markup."""
    table.add_row(*map(Text, cells))
