"""Groups of commands: their help is not cut short, and of a name that is none of them the nearest is said."""

import difflib
import re
from collections.abc import Iterator, Sequence

import click

_PROGRAM = ".coven"


class Group(click.Group):
    """A click group that lists what its commands do in whole sentences, in sections if it has any.

    Attributes
    ----------
    sections : sequence of (str, sequence of str)
        Titles, and the commands under each; empty for one list of all.
    """

    sections: Sequence[tuple[str, Sequence[str]]] = ()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of every command's help, whole."""
        for title, names in self.sections or (("Commands", self.list_commands(ctx)),):
            with formatter.section(title):
                formatter.write_dl(list(self._rows(ctx, names)))

    def _rows(self, ctx: click.Context, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, _first_sentence(command.help or "")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or say which one may be meant."""
        name = args[0]
        known = name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name)
        if not known:
            ctx.fail(f"there is no command {name}; {self._meant(ctx, name)}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, name: str) -> str:
        names = self.list_commands(ctx)
        near = difflib.get_close_matches(name, names, 1)
        if near:
            return f"did you mean `{ctx.command_path} {near[0]}`?"
        if name.endswith(_PROGRAM) and "run" in names:
            return f"to run a program: {ctx.command_path} run {name}"
        return f"there are {', '.join(names)}"


def _first_sentence(help: str) -> str:
    paragraph = " ".join(help.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0].removesuffix(".")
