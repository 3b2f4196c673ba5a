"""``pse cube``: a part of a run, the difference of two, the mean of several, metrics of several together."""

import click

from pse.cli._options.group import LazyGroup


@click.group("cube", cls=LazyGroup, package=__name__)
def command() -> None:
    """Compute with what pse analyze found: traces, OTF2 archives, or the cubes that it wrote (.npz)."""
