"""``pse ace``: measure what communication costs here, and how much that varies.  One file per command."""

import click

from pse.cli._options.group import LazyGroup


@click.group("ace", cls=LazyGroup, package=__name__)
def command() -> None:
    """Measure what communication costs here and how much that varies, with emulated applications."""
