"""Write the reference of the command line from the commands themselves: what ``--help`` says, as one page.

A hook of mkdocs: `mkdocs.yml` names it.
"""

from collections.abc import Iterator

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pse.cli import main

ROOT = click.Context(
    main, info_name="pse", terminal_width=100, max_content_width=100, **main.context_settings
)
HEAD = "# Command line\n\nWhat `--help` of every command says."


def described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Describe a command and, if it is a group, those in it."""
    if context.parent is not None:
        yield f"{'#' * level} {context.command_path}"
        yield f"```text\n{command.get_help(context).removeprefix('Usage: ')}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from described(inner, click.Context(inner, context, name), level + 1)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the page."""
    text = "\n\n".join([HEAD, *described(main, ROOT, 1)])
    files.append(File.generated(config, "command_line.md", content=text))
