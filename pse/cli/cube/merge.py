"""``pse cube merge``: metrics of several runs together."""

from pathlib import Path

import click

from pse.analysis import cube_union
from pse.cli.analyze import OUTPUT, TOP
from pse.cli.cube._cubes import PATH, load, show, warn


@click.command("merge")
@click.argument("sources", metavar="CUBE…", nargs=-1, required=True, type=PATH)
@TOP
@OUTPUT
def command(sources: tuple[Path, ...], top: int, output: Path | None) -> None:
    """Put metrics of several runs together: each is taken from the first one that has it.

    Shares are in percent of the time of the first run.
    """
    cubes = [load(source) for source in sources]
    warn(made := cube_union(cubes), cubes)
    show(made, top, output)
