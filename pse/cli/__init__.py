"""The command line ``pse``: one small file per command, no logic.

The group below finds its commands by looking at the files of this directory:  ``pse/cli/check.py`` is the
command ``pse check`` and offers a click command of the name ``command``.  A command's file is imported
when that command is used, so ``pse check`` never pays for MPI.  Logic lives in the rooms below.
"""

from typing import Any

import click

from pse import __version__
from pse.cli._group import LazyGroup, guarded

__all__ = ["main"]

SECTIONS = (
    ("Write programs and modules", ("new", "check", "explain", "fmt", "graph", "module")),
    ("Run them", ("run", "resume", "tools", "cluster")),
    ("See what happened, and improve it", ("trace", "analyze", "cube", "view", "advise")),
    ("Measure the network", ("ace",)),
    ("Coscheduled communication", ("bcs",)),
    ("This machine", ("doctor", "bench", "cache", "completion")),
)
"""What ``pse --help`` lists together."""


class Commands(LazyGroup):
    """All commands: the modules of this package."""

    sections = SECTIONS

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line and run; what is printed for ``--help`` may go wrong too."""
        with guarded():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever goes wrong is printed and becomes an exit code, never a traceback."""
        with guarded():
            return super().invoke(ctx)


@click.group(cls=Commands, package=__name__, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pse")
def main() -> None:
    """Compose modules in a .coven program, run it on MPI ranks, see what happened."""
