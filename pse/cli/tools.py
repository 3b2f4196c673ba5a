"""``pse tools``: run MPI programs under a stack of tools, look at stacks; done by `pse.toolstack`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from pse.cli._options.group import Group
from pse.cli.completion import files
from pse.errors import UsageError
from pse.runtime.launch import command_on_ranks

if TYPE_CHECKING:
    from pse.toolstack import Mpi

_CONFIGURATION = click.argument("configuration", metavar="CONF", shell_complete=files)
_MPI = click.option("--mpi", "mpi", metavar="LIBRARY", help="The MPI library (found by itself if not given).")


@click.group("tools", cls=Group)
def command() -> None:
    """Load and chain MPI tools under any MPI program, without relinking it."""


@command.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    *("-c", "--configuration"),
    metavar="CONF",
    shell_complete=files,
    help="A file that lists the tools, in their order.",
)
@click.option(
    "--tools", "names", metavar="TOOL,…|CONF", help="The tools by their names, or as -c; as `pse run` has it."
)
@click.option(
    "-n", "ranks", type=click.IntRange(1), metavar="RANKS", help="Start RANKS ranks of the command."
)
@_MPI
@click.argument("words", metavar="COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    configuration: str | None, names: str | None, ranks: int | None, mpi: str | None, words: tuple[str, ...]
) -> None:
    """Run a command, usually mpiexec, with the stack of tools under its MPI programs."""
    from pse.toolstack import configuration_of, environment, execute

    if (configuration is None) == (names is None):
        raise UsageError(
            "either a configuration or the names of tools are needed",
            help="for example:  pse tools run --tools profile -n 2 ./program   or  -c tools.conf",
        )
    if ranks is not None:
        words = command_on_ranks(ranks, words)
    chosen = configuration or configuration_of(names or "")
    execute(words, environment(chosen, _chosen(mpi, words)))


@command.command("list")
def list_tools() -> None:
    """List the tools that a configuration can name."""
    from pse.toolstack import available

    table = _table("tool", "wraps", "file")
    for name, path, wrapped in available():
        table.add_row(name, f"{wrapped} routines", str(path))
    _print(table)


@command.command("check")
@_CONFIGURATION
@_MPI
def check(configuration: str, mpi: str | None) -> None:
    """Load the tools of a configuration as a run would, and let them start; run no program."""
    from pse.toolstack import describe

    tools, words = describe(configuration, _chosen(mpi))
    click.echo(words, nl=False, err=True)
    if not tools:
        click.echo(f"{configuration} loads no tool: programs would run without any")
        return
    table = _table("tool", "line", "wraps", "file")
    for tool in tools:
        table.add_row(tool.name, str(tool.line), f"{len(tool.routines)} routines", tool.path)
    _print(table)


@command.command("show")
@_CONFIGURATION
@_MPI
def show(configuration: str, mpi: str | None) -> None:
    """Show what each tool of a configuration wraps and publishes, from the program down."""
    from pse.toolstack import describe

    tools, words = describe(configuration, _chosen(mpi))
    click.echo(words, nl=False, err=True)
    for tool in tools:
        click.echo(f"{tool.name}  ({tool.path})")
        click.echo(click.wrap_text(" ".join(tool.routines), 100, "    ", "    "))
        for name, signature in tool.services:
            click.echo(f"    publishes {name}: {signature}")


@command.command("library")
@_MPI
def library(mpi: str | None) -> None:
    """Print the path of the object to preload, for LD_PRELOAD."""
    from pse.toolstack import library as made

    click.echo(made(_chosen(mpi)))


@command.command("adopt")
@click.option("--rewrite", is_flag=True, required=True, help="Rename PMPI_x in the binary to XMPI_x.")
@click.argument("tool", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
def adopt(rewrite: bool, tool: Path, out: Path) -> None:
    """Write a copy OUT of TOOL that can only run in a stack (tools run in one as they are, too)."""
    from pse.toolstack import adopt as rewritten

    click.echo(f"{out}: {rewritten(tool, out)} imports renamed from PMPI_ to XMPI_")


def _chosen(mpi: str | None, words: tuple[str, ...] = ()) -> "Mpi":
    from pse.toolstack import Mpi, find_mpi

    if mpi is None:
        return find_mpi(words)
    if not Path(mpi).exists():
        raise UsageError(f"--mpi {mpi}: there is no such file", help="give the path of a libmpi.so")
    return Mpi.at(Path(mpi))


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _print(table: Table) -> None:
    console = Console()
    Console(width=None if console.is_terminal else 400, highlight=False).print(table)
