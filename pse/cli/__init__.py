"""The command line ``pse``: one small file per command, no logic.

The group below finds its commands by looking at the files of this directory:  ``pse/cli/check.py`` is the
command ``pse check`` and offers a click command of the name ``command``.  A command's file is imported
when that command is used, so ``pse check`` never pays for MPI.  Logic lives in the rooms below.
"""

import importlib
import pkgutil
from typing import Any

import click

from pse import __version__
from pse.cli._group import Group, guarded

__all__ = ["main"]

SECTIONS = (
    ("Write programs and modules", ("new", "check", "explain", "fmt", "graph", "module")),
    ("Run them", ("run", "resume", "tools", "cluster")),
    ("See what happened, and improve it", ("trace", "analyze", "cube", "view", "advise")),
    ("This machine", ("doctor", "bench", "cache", "completion")),
)
"""What ``pse --help`` lists together."""


class LazyGroup(Group):
    """A group whose commands are the modules of this package, imported on first use."""

    sections = SECTIONS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command: the public modules of this package, in alphabetical order."""
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of one command and return its ``command``; None if there is no such file."""
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            module = importlib.import_module(f"{__name__}.{cmd_name}")
        except ImportError as error:
            return _unavailable(cmd_name, error)
        command: click.Command = module.command
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line and run; what is printed for ``--help`` may go wrong too."""
        with guarded():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever goes wrong is printed and becomes an exit code, never a traceback."""
        with guarded():
            return super().invoke(ctx)


def _unavailable(name: str, error: ImportError) -> click.Command:
    """Stand in for a command whose imports fail, so that ``--help`` and all other commands still work."""

    @click.command(name, help=f"(not available: {error})", context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def command(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(f"`pse {name}` is not available here: {error}")

    return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pse")
def main() -> None:
    """Compose modules in a .coven program, run it on MPI ranks, see what happened."""
