"""What `pse.run` and its kin raise, and how a notebook shows it: the message, not the inside of pse."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pse._abi.waiting import ExitCode
from pse.errors import PseError
from pse.language.diagnostics import Diagnostic, ProgramRefused, summary_text
from pse.notebook._diagnostics import Diagnostics
from pse.records import replace

if TYPE_CHECKING:
    from types import ModuleType


class NotebookError(PseError):
    """Anything that goes wrong in `pse.run`, `pse.experiment` or ``%%coven``; the root of the others.

    Attributes
    ----------
    message, help : str
        What was wrong, and what to do (None if there is nothing to say).

    See Also
    --------
    ProgramRejected
    """

    def __str__(self) -> str:
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message


class ProgramRejected(NotebookError):
    """The program is wrong; nothing ran.

    Attributes
    ----------
    diagnostics : Diagnostics
        All that is wrong with it: a sequence of `pse.language.Diagnostic`, which shows itself in colour.
    shown : bool
        Whether they have been displayed already (the magic does that, in place).
    sources : mapping of str to str
        Texts of files by their paths, to show the lines of diagnostics.

    Examples
    --------
    >>> try:
    ...     pse.run("wrong.coven")
    ... except pse.notebook.ProgramRejected as rejected:
    ...     print(rejected.diagnostics[0].message)
    unknown name `y`
    """

    exit_code: int = ExitCode.PROGRAM

    def __init__(self, diagnostics: Sequence[Diagnostic], sources: Mapping[str, str]) -> None:
        found = [replace(one, help=as_asked(one.help)) if one.help else one for one in diagnostics]
        self.diagnostics = Diagnostics(found, sources)
        self.shown = False
        super().__init__(f"the program is wrong: {summary_text(self.diagnostics)}")

    def __str__(self) -> str:
        return f"{self.message}\n{self.diagnostics}".rstrip()

    def _render_traceback_(self) -> list[str]:
        lines = super()._render_traceback_()
        return lines if self.shown else lines + self.diagnostics.ansi().splitlines()


class RunFailed(NotebookError):
    """A program did not run to its end.

    Attributes
    ----------
    exit_code : int
        As `pse run` gives it: 2 what was asked for is wrong, 3 a module or rank failed, 128 + n a signal.
    output : str
        What its modules had printed.
    trace_directory : str or None
        Where it was recorded up to then, for `pse.trace.open`.
    message : str
        What went wrong.
    help : str, optional
        What to do.

    See Also
    --------
    run
    """

    def __init__(
        self,
        message: str,
        exit_code: int,
        output: str,
        trace_directory: str | None = None,
        *,
        help: str | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.exit_code, self.output, self.trace_directory = exit_code, output, trace_directory


class Interrupted(KeyboardInterrupt):
    """The user stopped a run; the job has ended."""

    def __init__(self, message: str = "stopped: the run has ended") -> None:
        super().__init__(message)

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn other errors that pse knows into the notebook's, with their words.

    Raises
    ------
    ProgramRejected
        If a program is wrong.
    NotebookError
        If anything else is.

    See Also
    --------
    pse.notebook.checked
    """
    try:
        yield
    except NotebookError:
        raise
    except ProgramRefused as error:
        raise ProgramRejected(error.diagnostics, error.sources) from None
    except PseError as error:
        help = as_asked(error.help) if error.help else None
        raise NotebookError(as_asked(error.message.rstrip()), help=help) from None


_VALUE = r"(\S+?)(?=[:,;)]*(\s|$))"
_ANY_VALUE = _VALUE.replace("+", "*")
_PARAMETERS = (
    (rf"-o ([\w.]+)={_ANY_VALUE}", r"options={'\1': '\2'}"),
    (rf"-D (\w+)={_VALUE}", r"params={'\1': \2}"),
    (rf"-p {_VALUE}", r"processors=\1"),
    (rf"--(trace|tools|sanitize|gdb) '?{_VALUE}", r"\1='\2'"),
    (r"--(debug|prefix|serial)\b", r"\1=True"),
)
_FIELDS = (
    (rf"-o ([\w.]+)={_ANY_VALUE}", r"\1=\2"),
    (rf"-D (\w+)={_ANY_VALUE}", r"\2 in the field \1"),
    (r"\(-D( and -p)? sets? them\)", "(in this form)"),
    (r"by (-D|-p) and (-D|-p)\b", "in this form"),
    (rf"-p {_VALUE}", r"\1 processors"),
)
_COMMAND = re.compile(r"\bpse [a-z]+ |python -m pse")
_ASKED: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("asked", default=_PARAMETERS)
"""What stands in messages for options of the command line: how the user has given them."""


@contextlib.contextmanager
def _asked(words: tuple[tuple[str, str], ...]) -> Iterator[None]:
    before = _ASKED.set(words)
    try:
        yield
    finally:
        _ASKED.reset(before)


def asked_by_magic() -> contextlib.AbstractContextManager[None]:
    """Leave options in messages as ``%%coven`` takes them, which are those of the command line."""
    return _asked(())


def asked_by_form() -> contextlib.AbstractContextManager[None]:
    """Name the fields of a form where messages speak of options of the command line.

    Returns
    -------
    context manager
        While it is open, on this thread.

    See Also
    --------
    pse.notebook.checked
    """
    return _asked(_FIELDS)


def as_asked(text: str) -> str:
    """Name in a message what the user wrote: options of ``%%coven``, fields, else Python's parameters."""
    return _worded(text, _ASKED.get())


def as_parameters(text: str) -> str:
    """Name Python's parameters where a message speaks of options of the command line.

    Examples
    --------
    >>> as_parameters("-o arena=3Q: expected a size; run with -p 2 or -D N=8")
    "options={'arena': '3Q'}: expected a size; run with processors=2 or params={'N': 8}"
    """
    return _worded(text, _PARAMETERS)


def _worded(text: str, words: tuple[tuple[str, str], ...]) -> str:
    if _COMMAND.search(text):  # A whole command for a shell.
        return text
    for option, parameter in words:
        text = re.sub(rf"(?<![\w-]){option}", parameter, text)
    return text


def needed(name: str, purpose: str) -> ModuleType:
    """Import what only the extra ``notebook`` brings.

    Raises
    ------
    NotebookError
        If it isn't installed; says how to get it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        message = f"{purpose} needs {package}, which can't be imported: {error}"
        raise NotebookError(message, help="install it:  pip install 'pse[notebook]'") from None
