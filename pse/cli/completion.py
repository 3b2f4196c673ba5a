"""``pse completion``: have a shell complete pse's commands, options and files."""

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from pse.errors import UsageError

if TYPE_CHECKING:
    from pse.language.types import OptionKind

SHELLS = ("bash", "zsh", "fish")
_PARAMETER = re.compile(r"^\s*param\s+\w+\s+(\w+)", re.MULTILINE)
_VARIABLE = "_PSE_COMPLETE"  # Click's name for a program that is called pse.


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Have the shell offer files."""
    return [CompletionItem(incomplete, type="file")]


def directories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Have the shell offer directories."""
    return [CompletionItem(incomplete, type="dir")]


def options(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the options of a run with what their values may be, or an example."""
    from pse.language.types import OPTIONS

    pairs = [f"{name}={value}" for name, kind in OPTIONS.items() for value in _values(kind)]
    return _items(pairs, incomplete)


def _values(kind: "OptionKind") -> list[str]:
    found = [word for word in re.findall("[a-z]+", kind.expected) if kind.read(word) is not None]
    return found or [kind.example]


def parameters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the parameters of the program, once it is named."""
    from pse.language import read_program

    try:  # Click has not come to its arguments where an option's value is still to be typed.
        programs = ctx.params.get("programs") or ctx.args
        text = read_program(ctx.params.get("program") or "".join(programs[:1])).text
    except UsageError:
        return []
    return _items([f"{name}=" for name in _PARAMETER.findall(text)], incomplete)


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the codes of diagnostics."""
    from pse.language.diagnostics import code_pages

    return _items(code_pages(), incomplete.upper())


def cached(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names of what the cache keeps."""
    from pse import _cache

    return _items((entry.name for entry in _cache.contents()), incomplete)


def words(*known: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Offer words."""
    return lambda ctx, param, incomplete: _items(known, incomplete)


def _items(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in known if word.startswith(incomplete)]


@click.command("completion")
@click.argument("shell", metavar="[bash|zsh|fish]", required=False)
def command(shell: str | None) -> None:
    """Print a script by which a shell completes commands, options and files; without a name, for $SHELL.

    \b
    bash:  echo 'eval "$(pse completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(pse completion zsh)"' >> ~/.zshrc
    fish:  pse completion fish > ~/.config/fish/completions/pse.fish
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    completion = get_completion_class(name)
    if completion is None or name not in SHELLS:
        what = (
            f"there is no completion for the shell {name}" if name else "SHELL doesn't say what shell this is"
        )
        raise UsageError(what, help=f"name one of {', '.join(SHELLS)}")
    from pse.cli import main

    click.echo(completion(main, {}, "pse", _VARIABLE).source())
