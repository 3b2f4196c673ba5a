"""``pse ace report``: what was measured, as tables, pictures and a table for other programs."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from pse import views
from pse.cli.completion import files
from pse.emulate import Results, loaded_ratios, print_loaded, print_report, report_console, report_json
from pse.errors import UsageError
from pse.files import write_file
from pse.views.core import choose_format

_LIST = "\b\nViews:\n" + "\n".join(
    f"  {name:<14}{view.description}" for name, view in views.MEASUREMENT_VIEWS.items()
)
_PATH = click.Path(path_type=Path)


@click.command("report", epilog=_LIST)
@click.argument("sources", metavar="RESULTS.ace…", type=_PATH, nargs=-1, required=True)
@click.option(
    *("--by", "by"),
    type=click.Choice(["application", "rank", "pattern"]),
    default="application",
    show_default=True,
    help="What gets rows of its own.",
)
@click.option("--alone", metavar="RESULTS.ace", type=_PATH, help="The same applications, each alone.")
@click.option("--view", metavar="VIEW", help="Draw this into the file of -o.")
@click.option(
    "-o",
    "output",
    metavar="FILE",
    type=_PATH,
    shell_complete=files,
    help="A picture (.png, .svg, .pdf), or all cycles (.csv).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    sources: Sequence[Path], by: str, alone: Path | None, view: str | None, output: Path | None, as_json: bool
) -> None:
    """Report run times as predicted and measured, dispersion, and what is slow; draw pictures with -o.

    Several results share a picture, for instance those of several numbers of nodes.
    """
    results = [Results.load(source) for source in sources]
    if output is not None:
        _write(results, view, output)
        return
    if view is not None:
        raise UsageError(f"view {view} has no file to go to", help=f"for example: -o {view}.svg")
    beside = None if alone is None else Results.load(alone)
    if as_json:
        _print_json(sources, results, by, beside)
        return
    console = report_console()
    for number, one in enumerate(results):
        if len(results) > 1:
            console.print(("\n" if number else "") + str(sources[number]), style="bold")
        print_report(one, console, by=by)
        if beside is not None:
            print_loaded(loaded_ratios(one, beside), console)


def _print_json(sources: Sequence[Path], results: Sequence[Results], by: str, alone: Results | None) -> None:
    """Print one object, or for several results an object of such by their names."""
    found = [report_json(one, by=by, alone=alone) for one in results]
    several = dict(zip(map(str, sources), found, strict=True))
    click.echo(json.dumps(found[0] if len(found) == 1 else several, indent=1, ensure_ascii=False))


def _write(results: Sequence[Results], view: str | None, output: Path) -> None:
    if output.suffix.lower() != ".csv":
        choose_format(output, more=["csv"])
        views.save(views.draw_measurements(results, view or "error"), output)
        return
    if view is not None or len(results) > 1:
        raise UsageError(
            f"{output} would hold the cycles of one measurement",
            help="leave out --view, and name one RESULTS.ace",
        )
    write_file(results[0].frame().to_csv(index=False).encode(), output)
