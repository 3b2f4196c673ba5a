"""``pse cube mean``: the mean of several runs."""

from pathlib import Path

import click

from pse.analysis import cube_mean
from pse.cli.analyze import OUTPUT, TOP
from pse.cli.cube._cubes import PATH, load, show, warn


@click.command("mean")
@click.argument("sources", metavar="CUBE…", nargs=-1, required=True, type=PATH)
@TOP
@OUTPUT
def command(sources: tuple[Path, ...], top: int, output: Path | None) -> None:
    """Take the mean of runs, for instance of one program that was run several times."""
    cubes = [load(source) for source in sources]
    warn(made := cube_mean(cubes), cubes)
    show(made, top, output)
