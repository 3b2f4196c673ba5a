"""``pse view``: pictures of what a run recorded.  They are drawn in ``pse.views``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pse import trace, views
from pse.cli._group import FiniteRange
from pse.cli._options import selection
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


class _Command(click.Command):
    """A command that says where views are named, if one stands behind the directory."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            read, extra, _ = self.make_parser(ctx).parse_args(given)
            if view := nearest_word(extra[0], views.VIEWS) if extra else None:
                words = f"{read['directory']} --view {view} -o {read.get('output') or f'{view}.png'}"
                message = f"{extra[0]} is one word too many: an option names the views"
                raise UsageError(message, help=f"did you mean:  {ctx.command_path} {words}") from None
            raise


@click.command("view", cls=_Command, epilog=_LIST)
@click.argument("directory", metavar="DIR", shell_complete=directories)
@click.option(
    "--view", "names", metavar="VIEW", multiple=True, help="What to draw; may be repeated.  [gantt]"
)
@click.option(
    "-o",
    "output",
    metavar="FILE",
    shell_complete=files,
    required=True,
    help="The file to draw into: .png, .svg, .pdf or .html.",
)
@click.option(
    "--overlay",
    "overlays",
    type=click.Choice(list(OVERLAYS)),
    multiple=True,
    help="Draw this over the rows of gantt, too.",
)
@click.option("--no-lines", is_flag=True, help="Draw no lines that follow TPHs in gantt.")
@click.option("--width", type=FiniteRange(2, 200), metavar="INCHES", help="Width of the picture.")
@click.option("--height", type=FiniteRange(1, 200), metavar="INCHES", help="Height of the picture.")
@selection.options
def command(
    directory: str,
    names: tuple[str, ...],
    output: str,
    overlays: tuple[str, ...],
    no_lines: bool,
    width: float | None,
    height: float | None,
    selection: Selection,
) -> None:
    """Draw pictures of what a run recorded (pse run PROGRAM --trace DIR).

    Several views become pages of a .pdf; in other formats each has a file of its own: with -o run.png, the
    view memory is run-memory.png; one that has nothing to show is left out.  A .html is a page to zoom and
    search in, with views of its own.
    """
    form = choose_format(output, more=["html"])
    chosen = list(dict.fromkeys(names or ("gantt",)))
    for name in chosen:
        find_view(name)
    if form == "html" and (names or overlays or no_lines or width or height):
        message = "the options for views, overlays and sizes don't apply to a .html page, which has its own"
        raise UsageError(message, help="leave them out, or write a .png, .svg or .pdf file")
    if "gantt" not in chosen and (overlays or no_lines):
        message = "overlays and lines exist only in the view gantt, which is not among the chosen views"
        raise UsageError(message, help="add the view gantt, or leave these options out")
    opened = trace.open(directory)
    for problem in opened.problems:
        click.echo(f"warning: {problem}", err=True)
    if form == "html":
        _write_page(opened, output, selection)
        return
    sizes = {"width": width, "height": height}
    gantt = {"overlays": overlays, "lines": not no_lines}
    options = {name: sizes | gantt if name == "gantt" else sizes for name in chosen}
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


def _write_page(opened: Trace, output: str, selection: Selection) -> None:
    from pse.views.page import write_html

    write_html(opened, Path(output), selection)
