"""``pse trace export`` and ``pse trace import``: traces to and from other tools' formats."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

from pse import trace
from pse.cli import _selection
from pse.cli.completion import directories
from pse.trace.interchange import Progress, export_chrome, export_otf2, import_otf2

WRITERS: dict[str, Callable[[trace.Trace, Path, trace.Selection, Progress], list[str]]] = {
    "otf2": export_otf2,
    "chrome": export_chrome,
}


@click.command("export")
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
@_selection.options
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


@click.command("import")
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
