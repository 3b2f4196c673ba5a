"""Output that is there whole or not at all, and never in the place of what already exists."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pse.errors import system_help
from pse.files import draft_directory, draft_file, require_directory
from pse.trace.format._errors import TraceError


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Give a directory to write into, which becomes `path` at the end; an empty one may be there already.

    Raises
    ------
    TraceError
        Something is there already, or it can't be written.
    UsageError
        There is no directory for it.
    """
    require_directory(path)
    with _explained(path):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise TraceError(f"{path} already exists and is not a directory", help=_HELP)
        if path.exists() and any(path.iterdir()):
            raise TraceError(f"{path} already exists and is not empty", help=_HELP)
        with draft_directory(path) as part:
            yield part


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a file to write to, which becomes `path` at the end; an empty file may be there already.

    Raises
    ------
    TraceError
        Something is there already, or it can't be written.
    UsageError
        There is no directory for it.
    """
    require_directory(path)
    with _explained(path):
        if path.exists() and not path.is_file():
            raise TraceError(f"{path} already exists and is not a file", help=_HELP)
        if path.exists() and path.stat().st_size:
            raise TraceError(f"{path} already exists", help=_HELP)
        with draft_file(path) as part:
            yield part


_HELP = "name another path with -o, or remove this one first"


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} can't be written: {error.strerror or error}"
        raise TraceError(message, help=system_help(error, path, writing=True)) from error
