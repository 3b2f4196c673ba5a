"""``pse cache``: what pse keeps to have it again, such as compiled modules."""

import click
from rich.console import Console
from rich.table import Table

from pse import _cache
from pse.cli._options.group import Group
from pse.cli.completion import cached
from pse.text import size_text


@click.group("cache", cls=Group, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show, or clear, what pse keeps for later: compiled modules and MPI tools, tables of its grammar.

    The directory is PSE_CACHE, or else the user's cache directory of the system.
    """
    if ctx.invoked_subcommand is None:
        _show()


@command.command("clear")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=cached)
def clear(names: tuple[str, ...]) -> None:
    """Remove what is kept under the names that `pse cache` lists; without NAME, all of it."""
    freed = _cache.clear(names)
    click.echo(f"{_cache.directory()}: {size_text(freed)} freed")


def _show() -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(2):
        table.add_column()
    table.add_column(justify="right")
    for entry in _cache.contents():
        table.add_row(entry.name, entry.title, size_text(entry.size))
    click.echo(f"{_cache.directory()}:" + ("" if table.row_count else " empty"))
    if table.row_count:
        Console(highlight=False).print(table)
