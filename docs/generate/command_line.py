"""Write the reference of the command line from the commands themselves: what ``--help`` says, as one page.

mkdocs-gen-files runs this file while the manual is built.
"""

from collections.abc import Iterator

import click
import mkdocs_gen_files

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


with mkdocs_gen_files.open("command_line.md", "w") as page:
    print("\n\n".join([HEAD, *described(main, ROOT, 1)]), file=page)
