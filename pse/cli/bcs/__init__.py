"""``pse bcs``: programs with coscheduled communication.  One file per command."""

import click

from pse.cli._options.group import LazyGroup


@click.group("bcs", cls=LazyGroup, package=__name__)
def command() -> None:
    """Step, simulate and examine programs with coscheduled communication (pse.bcs)."""
