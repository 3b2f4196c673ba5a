"""The files of a trace beside its events: its definitions, and a copy of the program.

The copy is there so that views and advice outlive the program's changes.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from pse._abi.environment import TRACE_VARIABLE
from pse.errors import system_help
from pse.text import text_bytes
from pse.trace.format._definitions import Definitions, digest
from pse.trace.format._errors import DAMAGED, TraceError, refuse_pipes
from pse.trace.format._events import BCS_EVENTS, COMM_EVENTS, EVENTS_FILE, MPI_EVENTS

FILE_NAME = "definitions.json"
PROGRAM_NAME = "program.coven"
OTHERS = (MPI_EVENTS, BCS_EVENTS, COMM_EVENTS)
"""Who writes events of a rank beside the runtime."""
RESIDUALS = ".residuals"  # What imported times lack (``residuals.py``).
_OTHER = "|".join(map(re.escape, OTHERS))
RANK_FILE = re.compile(re.escape(EVENTS_FILE).replace("%05u", r"(\d{5,})").replace("%s", f"({_OTHER})?"))
"""The runtime's, and those of others."""


def create(directory: str | os.PathLike[str]) -> None:
    """Make a directory ready for a new trace; an older trace in it is removed, other files are left alone.

    The launcher calls it once per host, before any rank opens its recorder.  The tool ``trace`` is earlier:
    where it writes to the same directory (PSE_TRACE_DIRECTORY), its files are left to it.

    Parameters
    ----------
    directory : path
        The directory; it is made if it isn't there.

    Raises
    ------
    TraceError
        It can't be made or is not writable.

    See Also
    --------
    Recorder
    """
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for old in path.iterdir():
            found = RANK_FILE.fullmatch(old.name)
            ours = old.name in (FILE_NAME, PROGRAM_NAME) or old.suffix == RESIDUALS
            if ours or (found and not (found[2] and _is_tools(path))):
                old.unlink(missing_ok=True)  # Hosts may share the directory.
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise TraceError(
            f"no trace can be written to {path}: {error.strerror}",
            help="name a directory that you may write to",
        ) from error


def _is_tools(path: Path) -> bool:
    return os.environ.get(TRACE_VARIABLE) == os.path.abspath(path)


def write_definitions(directory: str | os.PathLike[str], definitions: Definitions) -> None:
    """Write ``definitions.json`` in one step: a reader sees all of it or nothing.

    Parameters
    ----------
    directory : path
        The trace's directory.
    definitions : Definitions
        What the numbers in the events stand for.

    Raises
    ------
    TraceError
        It can't be written there.

    Examples
    --------
    >>> create("copy")
    >>> write_definitions("copy", trace.definitions)
    >>> read_definitions("copy") == trace.definitions
    True
    """
    _write(Path(directory) / FILE_NAME, definitions.to_json())


def write_program(directory: str | os.PathLike[str], text: str) -> None:
    """Write a copy of the program, of which `Definitions.text_sha256` is the `digest`.

    Parameters
    ----------
    directory : path
        The trace's directory.
    text : str
        The program as it runs.

    Raises
    ------
    TraceError
        It can't be written there.

    Examples
    --------
    >>> create("other")
    >>> write_program("other", "coven 1\\nprogram p { let x = 1 }\\n")
    >>> [file.name for file in Path("other").iterdir()]
    ['program.coven']
    """
    _write(Path(directory) / PROGRAM_NAME, text)


def _write(path: Path, text: str) -> None:
    from pse.files import replace_file  # Ranks write no definitions.

    try:
        replace_file(path, text_bytes(text))
    except OSError as error:
        message = f"{path} can't be written: {error.strerror}"
        raise TraceError(message, help=system_help(error, path, writing=True)) from error


def read_definitions(directory: str | os.PathLike[str]) -> Definitions:
    """Read ``definitions.json``.

    Parameters
    ----------
    directory : path
        The trace's directory.

    Returns
    -------
    Definitions
        What the numbers in the events stand for.

    Raises
    ------
    TraceError
        It isn't there, can't be read or isn't sound; the message says which file.

    Examples
    --------
    >>> definitions = read_definitions("run1")
    >>> [site.label for site in definitions.sites]
    ['load', 'rows', 'total']
    """
    path = Path(directory) / FILE_NAME
    try:
        refuse_pipes(path)
        return Definitions.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}", help=system_help(error, path)) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: it isn't UTF-8 text", help=DAMAGED) from error
    except TraceError as error:
        raise TraceError(f"{path}: {error.message}", help=error.help or DAMAGED) from error


def read_program(directory: str | os.PathLike[str], definitions: Definitions) -> str | None:
    """Read the copy of the program; None if there is none.

    Raises
    ------
    TraceError
        It can't be read, or isn't the text that ran.
    """
    path = Path(directory) / PROGRAM_NAME
    try:
        refuse_pipes(path)
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}", help=system_help(error, path)) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: it isn't UTF-8 text", help=DAMAGED) from error
    if digest(text) != definitions.text_sha256:
        help = "put the text that ran there again, or record the run anew"
        raise TraceError(f"{path} isn't the text that ran: it was changed since", help=help)
    return text
