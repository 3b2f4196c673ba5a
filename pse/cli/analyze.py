"""``pse analyze``: how long ranks waited for each other, where, and for what."""

import json
from pathlib import Path

import click

from pse.analysis import analyze, cube_text, export_cubex, severities_json, write_cube

_WRITERS = {".npz": write_cube, ".cubex": export_cubex}


@click.command("analyze")
@click.argument("source", metavar="DIR|traces.otf2", type=click.Path(path_type=Path))
@click.option(
    "--report", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it."
)
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="Waits that are listed."
)
@click.option(
    "-o",
    "--output",
    metavar="CUBE",
    type=click.Path(path_type=Path),
    help="Write metrics by call path and rank to a file too: .npz, or .cubex for Cube's browser.",
)
def command(source: Path, form: str, top: int, output: Path | None) -> None:
    """Say how long ranks waited for each other, in which call paths, and in which way."""
    if output is not None and output.suffix not in _WRITERS:
        raise click.UsageError(f"{output}: write a file that ends in {' or '.join(_WRITERS)}")
    cube = analyze(source)
    for problem in cube.problems:
        click.echo(f"warning: {problem}", err=True)
    if output is not None:
        _WRITERS[output.suffix](cube, output)
    if form == "json":
        click.echo(json.dumps(severities_json(cube), indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(cube_text(cube, top)))
