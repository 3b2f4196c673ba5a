"""Programs from files: the one place that opens one, or a module's source.

What cannot be opened is the command line's fault (`UsageError`); what was opened and is not text is a
diagnostic.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

from pse.errors import UsageError, system_help
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax._words import MAX_CHARACTERS, NO_TEXT, TOO_LONG_HELP
from pse.language.types._types import LANGUAGES


class Source(NamedTuple):
    """A program's text, and what is wrong with its bytes (then the text is empty)."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


def read_program(path: str) -> Source:
    """Read a program.

    Parameters
    ----------
    path : str
        The path as the user typed it.

    Returns
    -------
    Source
        Its text, and what is wrong with its bytes; then the text is empty.

    Raises
    ------
    UsageError
        If there is no such file, it cannot be read, or its name is that of a file of modules.

    Examples
    --------
    >>> source = read_program("heat.coven")
    >>> source.text.splitlines()[0]
    'coven 1'
    """
    source = _read(path)
    if os.path.splitext(path)[1].lower() in LANGUAGES:
        help = f'run a program that imports it, a .coven file:  import "{os.path.basename(path)}" {{ NAME }}'
        raise UsageError(f"{path} is a file of modules, not a program", help=help)
    return source


@contextlib.contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    r"""Open a program or a module's source to read: a file, nothing that could keep its reader waiting.

    Parameters
    ----------
    path : path
        The file.

    Yields
    ------
    BinaryIO
        Its bytes.

    Raises
    ------
    OSError
        The system refuses, or it is a pipe or a device.

    Examples
    --------
    >>> with open_text("heat.coven") as file:
    ...     file.readline()
    b'coven 1\n'
    >>> with open_text("/dev/null") as file:
    ...     file.readline()
    Traceback (most recent call last):
        ...
    OSError: [Errno 6] it is a pipe or a device, not a file: '/dev/null'
    """
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.ENXIO, "it is a pipe or a device, not a file", os.fspath(path))
        yield file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)  # A pipe would wait for who writes to it.


def _read(path: str) -> Source:
    try:
        with open_text(path) as file:
            data = file.read(4 * MAX_CHARACTERS + 1)
    except IsADirectoryError:
        help = f"give the path of a .coven file:  {os.path.join(path, 'NAME.coven')}"
        raise UsageError(f"{path} is a directory, not a program", help=help) from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or "this cannot be the name of a file"
        message = f"the program {path or repr(path)} cannot be read: {reason}"
        raise UsageError(message, help=system_help(failure, path, ending=".coven")) from None
    return decode(data, path)


def decode(data: bytes, path: str) -> Source:
    """Turn a file's bytes into text: UTF-8, with or without a byte order mark."""
    start = Span(path, 1, 1, 1, 1)
    if len(data) > 4 * MAX_CHARACTERS:
        message = f"the file is too long for a program: more than {MAX_CHARACTERS:,} characters"
        return Source("", (error_at("E0009", message, start, help=TOO_LONG_HELP),))
    if b"\0" in data:
        return Source("", (error_at("E0013", NO_TEXT, start, help="give the path of a .coven file"),))
    try:
        return Source(data.decode("utf-8-sig"), ())
    except UnicodeDecodeError as failure:
        before = data[: failure.start].decode("utf-8", errors="replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        message = f"this file is not UTF-8: byte 0x{data[failure.start]:02x} does not belong here"
        place = Span(path, line, column, line, column + 1)
        return Source("", (error_at("E0014", message, place, help="save the file as UTF-8"),))


def quoted_sources(diagnostics: Iterable[Diagnostic], known: Mapping[str, str]) -> dict[str, str]:
    """Add the texts of module files that diagnostics point into, as far as they can be read.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What is to be printed.
    known : mapping of path to text
        The texts that are at hand.

    Returns
    -------
    dict of str to str
        The texts by path, those at hand included.

    Examples
    --------
    >>> sorted(quoted_sources(wrong.diagnostics, {"wrong.coven": wrong.text}))
    ['wrong.coven']
    """
    sources = dict(known)
    for path in {diagnostic.span.path for diagnostic in diagnostics} - known.keys():
        try:
            sources[path] = _read(path).text
        except UsageError:
            continue  # The diagnostic is printed without its line.
    return sources
