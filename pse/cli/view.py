"""``pse view``: pictures of what a run recorded.  They are drawn in ``pse.views``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pse import trace, views
from pse.analysis import differences_text, run_differences
from pse.cli._options import selection
from pse.cli._options.group import FiniteRange
from pse.cli.completion import directories, files
from pse.errors import UsageError
from pse.text import nearest_word
from pse.trace import Selection, Trace
from pse.views import OVERLAYS, find_view
from pse.views.core import choose_format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = max(map(len, views.VIEWS)) + 2
_LIST = "\b\nViews:\n" + "\n".join(
    f"  {name:<{_WIDTH}}{view.description}" for name, view in views.VIEWS.items()
)


@click.command("view", epilog=_LIST)
@click.argument("directories", metavar="DIR [DIR]", nargs=-1, required=True, shell_complete=directories)
@click.option(
    "--view", "names", metavar="VIEW", multiple=True, help="What to draw; may be repeated.  [gantt]"
)
@click.option(
    "-o",
    "output",
    metavar="FILE",
    shell_complete=files,
    help="The file to draw into: .png, .svg, .pdf or .html.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Serve the page to a browser on this machine, in all detail; Ctrl-C ends it.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Where to serve it.  [a free one]",
)
@click.option(
    "--overlay",
    "overlays",
    type=click.Choice(list(OVERLAYS)),
    multiple=True,
    help="Draw this over the rows of gantt, too.",
)
@click.option(
    "--by",
    type=click.Choice(["processor", "rank"]),
    help="What has a bar in the view time.  [processor]",
)
@click.option(
    "--sort",
    type=click.Choice(["place", "busy", "waiting"]),
    help="The order of the bars of the view time: as placed, or the greatest share first.  [place]",
)
@click.option("--no-lines", is_flag=True, help="Draw no lines that follow TPHs in gantt.")
@click.option("--width", type=FiniteRange(2, 200), metavar="INCHES", help="Width of the picture.")
@click.option("--height", type=FiniteRange(1, 200), metavar="INCHES", help="Height of the picture.")
@click.option(
    "--like-first",
    multiple=True,
    metavar="DIR",
    help="A further run like the first; may be repeated.  With three of each, differences have intervals.",
)
@click.option("--like-second", multiple=True, metavar="DIR", help="Likewise, like the second.")
@selection.options
def command(
    directories: tuple[str, ...],
    names: tuple[str, ...],
    output: str | None,
    serve: bool,
    port: int,
    overlays: tuple[str, ...],
    by: str | None,
    sort: str | None,
    no_lines: bool,
    width: float | None,
    height: float | None,
    like_first: tuple[str, ...],
    like_second: tuple[str, ...],
    selection: Selection,
) -> None:
    """Draw pictures of what a run recorded (pse run PROGRAM --trace DIR).

    Several views become pages of a .pdf; in other formats each has a file of its own: with -o run.png, the
    view memory is run-memory.png; one that has nothing to show is left out.  A .html is a page to zoom and
    search in, with views of its own; of two runs it shows one below the other, and lists what took longer in
    which, as it is printed, too.
    """
    _refuse_views(directories, output)
    _check_output(output, serve)
    form = choose_format(output, more=["html"]) if output else "html"
    _check_pair(directories, like_first or like_second, form)
    chosen = list(dict.fromkeys(names or ("gantt",)))
    for name in chosen:
        find_view(name)
    if form == "html" and (names or overlays or by or sort or no_lines or width or height):
        message = "the options for views, overlays and sizes don't apply to a .html page, which has its own"
        raise UsageError(message, help="leave them out, or write a .png, .svg or .pdf file")
    if "gantt" not in chosen and (overlays or no_lines):
        message = "overlays and lines exist only in the view gantt, which is not among the chosen views"
        raise UsageError(message, help="add the view gantt, or leave these options out")
    if "time" not in chosen and (by or sort):
        message = "bars are chosen and sorted in the view time, which is not among the chosen views"
        raise UsageError(message, help="add --view time, or leave --by and --sort out")
    opened = _open(directories[0])
    if output is None:
        _serve(opened, directories, selection, port)
        return
    if form == "html":
        _write_page(opened, output, selection, (directories[1:], like_first, like_second))
        return
    sizes = {"width": width, "height": height}
    own: dict[str, dict[str, Any]] = {
        "gantt": {"overlays": overlays, "lines": not no_lines},
        "time": {"by": by or "processor", "sort": sort or "place"},
    }
    options = {name: sizes | own.get(name, {}) for name in chosen}
    figures = _draw(opened, options, selection)
    if form == "pdf" or len(chosen) == 1:
        views.save(list(figures.values()), output)
        return
    for name, figure in figures.items():
        views.save(figure, beside(output, name))


def _draw(opened: Trace, options: dict[str, dict[str, Any]], selection: Selection) -> dict[str, Figure]:
    """Draw views, each with its options; of several those that have something to show."""
    selection.check(opened)
    figures, empty = {}, []
    for name, own in options.items():
        try:
            figures[name] = views.draw(opened, name, selection, **own)
        except trace.TraceError as error:
            empty.append((name, error))
    if not figures:
        raise empty[0][1]
    for name, reason in empty:
        click.echo(f"warning: view {name} is left out: {reason.message}", err=True)
    return figures


def beside(output: str, name: str) -> Path:
    """Name the file of one view of several."""
    path = Path(output)
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _check_output(output: str | None, serve: bool) -> None:
    if output is None and not serve:
        context = click.get_current_context()
        needed = next(one for one in context.command.params if one.name == "output")
        raise click.MissingParameter(ctx=context, param=needed)
    if output is not None and serve:
        raise UsageError("a page is served, or written into a file", help="leave out either --serve or -o")


def _check_pair(runs: tuple[str, ...], alike: tuple[str, ...], form: str) -> None:
    if len(runs) > 2:
        raise UsageError(
            f"two runs can be compared, but {len(runs)} are given",
            help="further runs of the same kind: --like-first DIR, --like-second DIR",
        )
    if len(runs) == 2 and form != "html":
        raise UsageError(
            f"two runs are compared in a .html page, not in a .{form}", help="give one run, or -o FILE.html"
        )
    if len(runs) == 1 and alike:
        raise UsageError(
            "further runs are given, but no second run to compare with", help="name two runs: pse view A B"
        )


def _refuse_views(runs: tuple[str, ...], output: str | None) -> None:
    """Say where views are named, if one is behind the directory or in its place."""
    for word in runs[1:]:
        if not Path(word).exists() and (view := nearest_word(word, views.VIEWS)):
            message = f"{word} is one word too many: an option names the views"
            raise UsageError(message, help=_help_view(runs[0], view, output))
    if runs[0] in views.VIEWS and not Path(runs[0]).exists():
        message = f"{runs[0]} is a view, not a run: a run's directory comes first, an option names the views"
        raise UsageError(message, help=_help_view((*runs, "DIR")[1], runs[0], output))


def _help_view(run: str, view: str, output: str | None) -> str:
    return f"did you mean:  pse view {run} --view {view} -o {output or f'{view}.png'}"


def _open(directory: str) -> Trace:
    opened = trace.open(directory)
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    return opened


def _serve(opened: Trace, directories: tuple[str, ...], selection: Selection, port: int) -> None:
    from pse.views.page import serve_pages

    if len(directories) > 1:
        raise UsageError("one run can be served, not two", help="write the page of both: -o FILE.html")
    serve_pages(opened, selection, port=port, ready=lambda address: click.echo(address))


def _write_page(
    opened: Trace, output: str, selection: Selection, others: tuple[tuple[str, ...], ...]
) -> None:
    from pse.views.page import Pair, write_html

    second, like_first, like_second = ([_open(name) for name in names] for names in others)
    if not second:
        write_html(opened, Path(output), selection)
        return
    write_html(opened, Path(output), selection, pair=Pair(second[0], like_first, like_second))
    found = run_differences([opened, *like_first], [*second, *like_second], selection)
    click.echo("\n".join(differences_text(found)))
