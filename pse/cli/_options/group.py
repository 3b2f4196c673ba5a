"""What all commands share: groups with whole help texts and guesses, and the guard around every command.

Behind the guard every exception is a message and an exit code.  How errors are printed is in
`pse.runtime.supervise`, which is imported only when something fails.
"""

import contextlib
import importlib
import math
import os
import pkgutil
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import click

from pse._interrupt import stop_at_once
from pse.runtime.supervise import is_stream_full, open_closed_streams, redirect_to_null
from pse.text import nearest_word

_PROGRAM = ".coven"


class Group(click.Group):
    """A click group that lists what its commands do in whole sentences, in sections if it has any.

    Attributes
    ----------
    sections : sequence of (str, mapping of str to str)
        Titles, and under each its commands with a sentence on what they do; empty for one list of all, which
        has the first sentence of every command's help.
    """

    sections: Sequence[tuple[str, Mapping[str, str]]] = ()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a whole sentence on every command."""
        for title, rows in self.sections or (("Commands", dict(self._rows(ctx))),):
            with formatter.section(title):
                formatter.write_dl(list(rows.items()))

    def _rows(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, first_sentence(command.help or "")

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
        near = nearest_word(name, names)
        if near:
            return f"did you mean `{ctx.command_path} {near}`?"
        if name.endswith(_PROGRAM) and "run" in names:
            return f"to run a program: {ctx.command_path} run {name}"
        only = f"the only command is {names[0]}" if len(names) == 1 else ""
        return only or f"there are {', '.join(names)}"


class LazyGroup(Group):
    """A group whose commands are the modules of a package, imported on first use.

    Parameters
    ----------
    package : str
        The package's name; it must be imported.
    """

    def __init__(self, *args: Any, package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command: the public modules of the package, in alphabetical order."""
        names = (module.name for module in pkgutil.iter_modules(sys.modules[self._package].__path__))
        return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of one command and return its ``command``; None if there is no such file."""
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        except ImportError as error:
            return _unavailable(ctx, cmd_name, error)
        command: click.Command = module.command
        return command


def _unavailable(ctx: click.Context | None, name: str, error: ImportError) -> click.Command:
    """Stand in for a command whose imports fail, so that ``--help`` and all other commands still work."""
    path = f"{ctx.command_path if ctx else 'pse'} {name}"

    @click.command(name, help=f"(not available: {error})", context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def command(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(f"`{path}` is not available here: {error}")

    return command


def first_sentence(help: str) -> str:
    """Give the first sentence of a help, without its full stop."""
    paragraph = " ".join(help.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0].removesuffix(".")


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn exceptions into messages on standard error and exit codes.

    Failures that pse knows have exit codes of their own, a Ctrl-C gives 130, a signal that was raised as a
    KeyboardInterrupt with its `number` 128 more than that, a reader that went away 141, and what nobody
    foresaw 3 with one line (and the traceback if PSE_DEBUG is set).  Click's own exceptions pass.
    """
    open_closed_streams()
    try:
        if signal.getsignal(signal.SIGINT) is stop_at_once:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _stand_somewhere()
        yield
        sys.stdout.flush()
    except click.MissingParameter as error:
        raise click.UsageError(_missing(error), error.ctx) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt as stop:
        _leave(stop)
    except BrokenPipeError:
        # Python would complain about it once more at its end.
        redirect_to_null(sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        from pse.runtime.supervise import exit_code_of, print_error

        if interrupt := _interrupt_behind(error):
            _leave(interrupt)
        if is_stream_full(error):
            redirect_to_null(sys.stdout.fileno())
        with contextlib.suppress(OSError):
            print_error(error, sys.stderr)
            sys.stderr.flush()
        sys.exit(exit_code_of(error))


def _leave(stop: KeyboardInterrupt) -> NoReturn:
    number = getattr(stop, "number", signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A second one would be a traceback here,
    click.echo(f"stopped by {signal.Signals(number).name}", err=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # and ends at once what still holds up the end.
    sys.exit(128 + number)


def _interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """Find the Ctrl-C that became another error: one in a class's body or in C code, while a module loads."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Write pse's own warnings as lines for users, without the line of code that gives them."""
    before = warnings.formatwarning

    def text(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        own = category is UserWarning
        return f"warning: {message}\n" if own else before(message, category, filename, lineno, line)

    warnings.formatwarning = text
    try:
        yield
    finally:
        warnings.formatwarning = before


def _missing(error: click.MissingParameter) -> str:
    """Say what a command line lacks, and what it is for."""
    if error.param is None or error.ctx is None:
        return error.format_message()
    metavar = error.param.make_metavar(error.ctx)
    if not isinstance(error.param, click.Option):
        return f"`{error.ctx.command_path}` needs {metavar}"
    words = error.param.opts[0] if error.param.is_flag else f"{error.param.opts[0]} {metavar}"
    help = (error.param.help or "").removesuffix(".")
    return f"`{error.ctx.command_path}` needs {words}: {help[:1].lower()}{help[1:]}"


def _stand_somewhere() -> None:
    try:
        os.getcwd()
    except OSError as error:
        from pse.errors import UsageError

        message = f"the current directory can't be used: {error.strerror}"
        raise UsageError(message, help="change to a directory that exists") from None


class FiniteRange(click.FloatRange):
    """Numbers in a range; nan, which is beyond no bound, and infinity are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert what was written."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found
