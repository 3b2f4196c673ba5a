"""``pse trace``: look at what a run recorded."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

from pse import trace, views
from pse.analysis import (
    LEVELS,
    critical_path,
    critical_path_text,
    message_statistics,
    open_repaired,
    parse_time,
    statistics_text,
    tph_history,
    tph_history_text,
    wait_chain,
    wait_chain_text,
    wait_ends,
)
from pse.cli._options.group import Group
from pse.cli._options.selection import METAHOSTS, NO_REPAIR, options
from pse.cli.completion import directories
from pse.trace.interchange import Progress, export_chrome, export_otf2, import_otf2
from pse.trace.summary import print_summary
from pse.views.core import choose_format

FORM = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The form of what is printed.",
)

MOST_WAITS = 2_000_000
"""Waits, calls of MPI included, of which the causes are exported: to find them, all are read at once."""


def _chrome(opened: trace.Trace, out: Path, selection: trace.Selection, progress: Progress) -> list[str]:
    """Write JSON for Chrome, with what ended each wait."""
    kinds = (trace.EventType.WAIT_END, trace.EventType.REGION_LEAVE)
    few = sum(file.counts[kind] for file in opened.files.values() for kind in kinds) <= MOST_WAITS
    return export_chrome(opened, out, selection, progress, wait_ends(opened) if few else None)


WRITERS: dict[str, Callable[[trace.Trace, Path, trace.Selection, Progress], list[str]]] = {
    "otf2": export_otf2,
    "chrome": _chrome,
}


@click.group("trace", cls=Group)
def command() -> None:
    """Look at what a run recorded (pse run PROGRAM --trace DIR)."""


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@FORM
@options
def summary(directory: str, form: str, selection: trace.Selection) -> None:
    """Say where the time of a run went, what moved, and who waited for what."""
    counted = trace.summarize(trace.open(directory), selection)
    for problem in counted.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(counted.to_json(), indent=1, ensure_ascii=False))
    else:
        print_summary(counted)


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option("--rank", type=int, required=True, metavar="R", help="The rank.")
@click.option(
    "--at",
    "time",
    required=True,
    metavar="T",
    help="When: seconds since the run's first event, 250ms, 50% or end.",
)
@click.option(
    "--thread",
    type=click.IntRange(0),
    metavar="N",
    help="Of several threads in MPI; by default one that waits. 0: the one that started MPI.",
)
@FORM
def why(directory: str, rank: int, time: str, thread: int | None, form: str) -> None:
    """Say what a rank was waiting for at a moment, and for whom, along the chain."""
    opened = trace.open(directory)
    chain = wait_chain(opened, rank, parse_time(opened, time), thread)
    _print(opened, form, chain.to_json(), wait_chain_text(chain))


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option("--tph", required=True, metavar="K", help="Its number, or its loop's counter: k=2.")
@click.option("--from", "begin", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option("--until", "end", type=float, metavar="S", help="Seconds since the run's first event.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="How many steps are listed; 0: all.",
)
@FORM
def follow(directory: str, tph: str, begin: float | None, end: float | None, limit: int, form: str) -> None:
    """Tell the life of one TPH: its calls, waits and hand-overs on all ranks."""
    opened = trace.open(directory)
    history = tph_history(opened, tph, begin=begin, end=end, limit=limit)
    _print(opened, form, history.to_json(), tph_history_text(history))


@command.command()
@click.argument("directory", metavar="DIR", shell_complete=directories)
@FORM
def critical(directory: str, form: str) -> None:
    """Say what the end of a run waited for, back to its beginning, and where that time went."""
    opened = trace.open(directory)
    path = critical_path(opened)
    _print(opened, form, path.to_json(), critical_path_text(path))


@command.command()
@click.argument("source", metavar="DIR|traces.otf2", type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(LEVELS),
    help="What sends and receives; by default the first of these of which there are several.",
)
@METAHOSTS
@NO_REPAIR
@click.option(
    "--top",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    metavar="N",
    help="How many lines are printed.",
)
@click.option(
    "-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="Draw it, too: .png, .svg or .pdf."
)
@FORM
@options
def messages(
    source: Path,
    by: str | None,
    metahosts: Path | None,
    no_repair: bool,
    top: int,
    output: Path | None,
    form: str,
    selection: trace.Selection,
) -> None:
    """Say how much went from where to where, how fast at best, and how soon at best.

    Collective operations are not messages: pse analyze shows their time and bytes.
    """
    if output is not None:
        choose_format(output)
    with open_repaired(source, repair=not no_repair) as opened:
        selection.check(opened)
        found = message_statistics(opened, by, metahosts=metahosts, selection=selection)
        if output is not None:
            picture = views.draw(opened, "message-statistics", selection, by=found.by, metahosts=metahosts)
            views.save(picture, output)
        for problem in found.problems:
            click.echo(f"warning: {problem}", err=True)
        _print(opened, form, found.to_json(), statistics_text(found, top))


def _print(opened: trace.Trace, form: str, values: dict[str, Any], lines: Iterable[str]) -> None:
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "json":
        click.echo(json.dumps(values, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(lines))


@command.command("export")
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option("--to", "form", type=click.Choice(list(WRITERS)), required=True, help="For which tools.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="otf2: a new directory; chrome: a new file, compressed if its name ends with .gz.",
)
@options
def export_command(directory: str, form: str, output: Path, selection: trace.Selection) -> None:
    """Write a trace for other tools.

    otf2 is for Vampir, SCALASCA and all that read Score-P's traces (OUT/traces.otf2); chrome is JSON for
    ui.perfetto.dev and chrome://tracing.
    """
    opened = trace.open(directory)
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    with _shown("exporting") as progress:
        notes = WRITERS[form](opened, output, selection, progress)
    _tell(notes)


@command.command("import")
@click.argument("anchor", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A new directory."
)
def import_command(anchor: Path, output: Path) -> None:
    """Make a trace from an OTF2 archive, as Score-P writes it: FILE is its traces.otf2."""
    with _shown("importing") as progress:
        notes = import_otf2(anchor, output, progress)
    _tell(notes)


def _tell(notes: list[str]) -> None:
    for note in notes:
        click.echo(f"warning: {note}", err=True)


class _Shown(Progress):
    """Progress as a bar."""

    def __init__(self, bar: Bar, doing: str) -> None:
        self._bar, self._task = bar, bar.add_task(doing, total=None)

    def begin(self, events: int) -> None:
        """Show how many events there are."""
        self._bar.update(self._task, total=events)

    def advance(self, events: int) -> None:
        """Show that more are done."""
        self._bar.advance(self._task, events)


@contextlib.contextmanager
def _shown(doing: str) -> Iterator[Progress]:
    """Show a bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Bar(*columns, TextColumn("events"), console=console, disable=hidden, transient=True) as bar:
        yield _Shown(bar, doing)
