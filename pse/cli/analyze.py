"""``pse analyze``: how long ranks waited for each other, where, and for what."""

import json
from pathlib import Path

import click

from pse.analysis import METRICS, Cube, analyze, cube_text, export_cubex, severities_json, write_cube
from pse.text import list_text
from pse.views.cube import write_cube_page

_SUFFIXES = (".npz", ".cubex", ".html")


def _checked(_context: click.Context, _parameter: click.Parameter, output: Path | None) -> Path | None:
    if output is not None and output.suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: write a file that ends in {list_text(_SUFFIXES, 'or')}")
    return output


TOP = click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="Lines by call path."
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_checked,
    help="Write metrics by call path and rank to a file too: .html, .npz, or .cubex for Cube's browser.",
)

METAHOSTS = click.option(
    "--metahosts",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Says which ranks ran on which machine, a line each: METAHOST HOST…, or METAHOST ranks 0-3 7.",
)


def write(cube: Cube, output: Path, old: Cube | None = None) -> None:
    """Write a cube in the format that the name of the file says; `old` is what a difference changed."""
    if output.suffix == ".html":
        roots = [metric.name for metric in METRICS if not metric.parent]
        write_cube_page(cube, output, {name: old.total(name) for name in roots} if old else None)
    else:
        (write_cube if output.suffix == ".npz" else export_cubex)(cube, output)


@click.command("analyze")
@click.argument("source", metavar="DIR|traces.otf2", type=click.Path(path_type=Path))
@click.option(
    "--report", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)
@TOP
@OUTPUT
@METAHOSTS
@click.option("--no-repair", is_flag=True, help="Leave times as they are where clocks are wrong.")
def command(
    source: Path, form: str, top: int, output: Path | None, metahosts: Path | None, no_repair: bool
) -> None:
    """Say how long ranks waited for each other, in which call paths, and in which way."""
    cube = analyze(source, metahosts=metahosts, repair=not no_repair)
    for problem in cube.problems:
        click.echo(f"warning: {problem}", err=True)
    if output is not None:
        write(cube, output)
    if form == "json":
        click.echo(json.dumps(severities_json(cube), indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(cube_text(cube, top)))
