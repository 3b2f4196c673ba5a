"""Cubes as the commands are given them, and as they show them."""

from collections.abc import Sequence
from pathlib import Path

import click

from pse.analysis import Cube, analyze, cube_text, read_cube
from pse.cli.analyze import write
from pse.text import printable_text

PATH = click.Path(path_type=Path)


def load(source: Path) -> Cube:
    """Read a cube, or analyze a trace; what is wrong with it is told."""
    cube = read_cube(source) if source.suffix == ".npz" else analyze(source)
    for problem in cube.problems:
        click.echo(f"warning: {printable_text(str(source))}: {problem}", err=True)
    return cube


def warn(made: Cube, cubes: Sequence[Cube]) -> None:
    """Tell what is wrong with a result, but for what was told of the cubes that it was made of."""
    told = {f"{cube.title}: {problem}" for cube in cubes for problem in cube.problems}
    for problem in made.problems:
        if problem not in told:
            click.echo(f"warning: {problem}", err=True)


def show(cube: Cube, top: int, output: Path | None) -> None:
    """Print a cube, and write it where a file is named."""
    if output is not None:
        write(cube, output)
    click.echo("\n".join(cube_text(cube, top)))
