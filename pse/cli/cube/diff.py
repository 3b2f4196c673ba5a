"""``pse cube diff``: what changed from one run to another."""

from pathlib import Path

import click

from pse.analysis import cube_difference, difference_text
from pse.cli.analyze import OUTPUT, TOP, write
from pse.cli.cube._cubes import PATH, load, warn


@click.command("diff")
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@TOP
@OUTPUT
def command(old: Path, new: Path, top: int, output: Path | None) -> None:
    """Say what changed from one run to another, in percent of the old run's time."""
    first, second = load(old), load(new)
    warn(changed := cube_difference(first, second), (first, second))
    if output is not None:
        write(changed, output)
    click.echo("\n".join(difference_text(first, second, top)))
