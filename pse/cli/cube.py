"""``pse cube``: a part of a run, the difference of two, the mean of several, metrics of several together."""

from pathlib import Path

import click

from pse.analysis import (
    Cube,
    analyze,
    cube_cut,
    cube_difference,
    cube_mean,
    cube_text,
    cube_union,
    difference_text,
    read_cube,
)
from pse.cli._group import Group
from pse.cli.analyze import OUTPUT, TOP, write

_PATH = click.Path(path_type=Path)


@click.group("cube", cls=Group)
def command() -> None:
    """Compute with what pse analyze found: traces, OTF2 archives, or the cubes that it wrote (.npz)."""


def _load(source: Path) -> Cube:
    cube = read_cube(source) if source.suffix == ".npz" else analyze(source)
    for problem in cube.problems:
        click.echo(f"warning: {source}: {problem}", err=True)
    return cube


@command.command()
@click.argument("source", metavar="CUBE", type=_PATH)
@click.option("--root", metavar="NAME", required=True, help="A loop, call site, module or routine.")
@TOP
@OUTPUT
def cut(source: Path, root: str, top: int, output: Path | None) -> None:
    """Keep what is called from NAME: shares are then of its time."""
    _show(cube_cut(_load(source), root), top, output)


@command.command()
@click.argument("old", metavar="OLD", type=_PATH)
@click.argument("new", metavar="NEW", type=_PATH)
@TOP
@OUTPUT
def diff(old: Path, new: Path, top: int, output: Path | None) -> None:
    """Say what changed from one run to another, in percent of the old run's time."""
    first, second = _load(old), _load(new)
    if output is not None:
        write(cube_difference(first, second), output)
    click.echo("\n".join(difference_text(first, second, top)))


@command.command()
@click.argument("sources", metavar="CUBE…", nargs=-1, required=True, type=_PATH)
@TOP
@OUTPUT
def mean(sources: tuple[Path, ...], top: int, output: Path | None) -> None:
    """Take the mean of runs, for instance of one program that was run several times."""
    _show(cube_mean([_load(source) for source in sources]), top, output)


@command.command()
@click.argument("sources", metavar="CUBE…", nargs=-1, required=True, type=_PATH)
@TOP
@OUTPUT
def merge(sources: tuple[Path, ...], top: int, output: Path | None) -> None:
    """Put metrics of several runs together: each is taken from the first one that has it."""
    _show(cube_union([_load(source) for source in sources]), top, output)


def _show(cube: Cube, top: int, output: Path | None) -> None:
    if output is not None:
        write(cube, output)
    click.echo("\n".join(cube_text(cube, top)))
