"""``pse cube cut``: a part of a run."""

from pathlib import Path

import click

from pse.analysis import cube_cut
from pse.cli.analyze import OUTPUT, TOP
from pse.cli.cube._cubes import PATH, load, show


@click.command("cut")
@click.argument("source", metavar="CUBE", type=PATH)
@click.option("--root", metavar="NAME", required=True, help="A loop, call site, module or routine.")
@TOP
@OUTPUT
def command(source: Path, root: str, top: int, output: Path | None) -> None:
    """Keep what is called from NAME: shares are then of its time."""
    show(cube_cut(load(source), root), top, output)
