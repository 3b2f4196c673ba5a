"""``pse bcs``: what programs with coscheduled communication did.  One file per command."""

import click

from pse.cli._group import LazyGroup


@click.group("bcs", cls=LazyGroup, package=__name__)
def command() -> None:
    """Look at what programs with coscheduled communication (pse.bcs) did."""
