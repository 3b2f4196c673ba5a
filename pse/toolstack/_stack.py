"""A stack seen from Python: what starts a command with one, what is in one, attaching one to this process.

The C library does the work and reads the configuration; it is asked through the functions of
cext/toolstack/core/attach.c.  What is wrong with a configuration is a `UsageError` here, before anything
starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pse._abi.environment import TOOLS_PATH_VARIABLE, TOOLS_VARIABLE
from pse._cache import code_directory
from pse._executable import require_executable
from pse.errors import UsageError, system_help
from pse.files import draft_file
from pse.records import dataclass
from pse.toolstack import _elf as elf
from pse.toolstack._library import SHIPPED, library, shipped_tools
from pse.toolstack._mpi import Mpi, find_mpi, loaded_mpi
from pse.toolstack._shipped import cache_errors

CONFIGURATION = TOOLS_VARIABLE
"""The variable that names the configuration."""

_MEND = "mend this line, or mark its tool as `optional` to go on without a tool that can't be used"
"""What to do about a tool that is refused; what is wrong with a line itself comes with a help of its own."""
_MEND_OPTION = "name other tools, or write a configuration, where tools have arguments and may be `optional`"
"""The same where the option ``--tools`` names it."""
_DESCRIBE = (
    "import ctypes, os, sys; ctypes.CDLL(sys.argv[1]).pse_toolstack_describe(*map(os.fsencode, sys.argv[2:]))"
)


@dataclass(frozen=True)
class LoadedTool:
    """One layer of a stack, as it was loaded.

    Parameters
    ----------
    name : str
        The instance's name in the configuration.
    line : int
        The line of its ``module`` there.
    path : str
        The file that was loaded.
    routines : tuple of str
        The MPI routines that it wraps.
    services : tuple of (str, str)
        Name and signature of what it publishes for other tools.

    See Also
    --------
    describe
    """

    name: str
    line: int
    path: str
    routines: tuple[str, ...]
    services: tuple[tuple[str, str], ...]


def environment(configuration: str, mpi: Mpi) -> dict[str, str]:
    """Give the variables with which an MPI program runs under a stack.

    Parameters
    ----------
    configuration : str
        The configuration's path.
    mpi : Mpi
        The MPI library that the program will load.

    Returns
    -------
    dict
        ``PSE_TOOLS`` and ``LD_PRELOAD``, the latter with what is preloaded already; for Open MPI also
        ``MPI4PY_MPIABI``.

    Raises
    ------
    UsageError
        If something is wrong with the configuration, with file and line.

    Examples
    --------
    >>> _ = Path("tools.conf").write_text("module profile\\n")
    >>> variables = environment("tools.conf", find_mpi())
    >>> Path(variables["PSE_TOOLS"]).name, "LD_PRELOAD" in variables
    ('tools.conf', True)
    """
    file = os.path.abspath(configuration)
    _require_readable(file)
    made = library(mpi)
    verify(file, made)
    before = [name for name in os.environ.get("LD_PRELOAD", "").split(":") if name not in ("", str(made))]
    preload = {CONFIGURATION: file, "LD_PRELOAD": ":".join([str(made), *before])}
    return preload | _mpi4py_variables(mpi)


def configuration_of(tools: str) -> str:
    """Give the configuration that is named, or write one, in pse's cache, of tools that are.

    Parameters
    ----------
    tools : str
        A file, or names of tools on the search path, that nearest to the program first, with commas between.
        What has a slash or an ending, or is there, is a file.

    Returns
    -------
    str
        The configuration's path.

    Raises
    ------
    UsageError
        If a name has characters that names of tools don't have.
    RunError
        If the cache can't be written.

    Examples
    --------
    >>> Path(configuration_of("profile,coopwait")).read_text()
    'origin --tools profile,coopwait\\nmodule profile\\nmodule coopwait\\n'
    """
    if "/" in tools or Path(tools).suffix or Path(tools).is_file():
        return tools
    names = tools.split(",")
    for name in names:
        if not re.fullmatch(r"\w[\w.+-]*", name):
            raise UsageError(f"{name!r} is not the name of a tool", help="`pse tools list` names all tools")
    place = code_directory() / "toolstack" / f"{'+'.join(names)}.conf"
    text = "".join([f"origin --tools {tools}\n", *(f"module {name}\n" for name in names)])
    with cache_errors():
        if not place.exists() or place.read_text() != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            with draft_file(place) as draft:
                Path(draft).write_text(text)
    return str(place)


def _require_readable(file: str) -> None:
    """Make sure that a configuration can be read before tools are compiled for it."""
    try:
        Path(file).open().close()
    except OSError as error:
        variable = os.environ.get(TOOLS_VARIABLE)
        named = variable is not None and os.path.abspath(variable) == file
        shown = f"{TOOLS_VARIABLE}={file}" if named else file
        what = f"name a file that lists tools, one on each line{f', or unset {TOOLS_VARIABLE}' * named}"
        raise UsageError(
            f"{shown}: the configuration of the tool stack can't be read: {error.strerror}",
            help=system_help(error, file)
            if isinstance(error, PermissionError)
            else f"{what}; `pse tools list` shows the tools that there are",
        ) from None


def _mpi4py_variables(mpi: Mpi) -> dict[str, str]:
    """Tell mpi4py that this is Open MPI: it looks for a variable of the library's, before it loads that."""
    own = any(symbol.defined and symbol.name == "ompi_mpi_comm_self" for symbol in elf.read(mpi.path).symbols)
    return {"MPI4PY_MPIABI": "openmpi"} if own and "MPI4PY_MPIABI" not in os.environ else {}


def verify(file: str, made: Path) -> None:
    """Look at a configuration and its tools' files, without running any tool."""
    check = ctypes.CDLL(str(made)).pse_toolstack_verify
    check.restype = ctypes.c_char_p
    if wrong := check(os.fsencode(file)):
        raise _refused(os.fsdecode(wrong))


def _refused(words: str) -> UsageError:
    message, _, help = words.partition("\nhelp: ")
    return UsageError(message, help=help or (_MEND_OPTION if message.startswith("--tools ") else _MEND))


def describe(configuration: str, mpi: Mpi) -> tuple[list[LoadedTool], str]:
    """Load and start a configuration's tools in a process of their own.

    Parameters
    ----------
    configuration : str
        Path of a configuration file.
    mpi : Mpi
        The MPI library that the tools are for.

    Returns
    -------
    list of Tool
        From the program down.
    str
        What the tools and the stack printed.

    Raises
    ------
    UsageError
        If a tool is refused or refuses.

    Examples
    --------
    >>> _ = Path("tools.conf").write_text("module profile\\n")
    >>> tools, printed = describe("tools.conf", find_mpi())
    >>> [(tool.name, tool.line, len(tool.routines) > 100) for tool in tools]
    [('profile', 1, True)]
    """
    file = os.path.abspath(configuration)
    _require_readable(file)
    command = [sys.executable, "-P", "-c", _DESCRIBE, str(library(mpi)), file, str(mpi.path)]
    done = subprocess.run(command, capture_output=True, check=False)
    words = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise _refused(words.removeprefix("error: ").strip() or f"loading ended with code {done.returncode}")
    return list(_tools(done.stdout.decode(errors="replace"))), words


def _tools(text: str) -> Iterator[LoadedTool]:
    for part in text.split("tool\t")[1:]:
        (name, line, path), *rows = (row.split("\t") for row in part.splitlines())
        routines = tuple(row[1] for row in rows if row[0] == "wraps")
        services = tuple((row[1], row[2]) for row in rows if row[0] == "service")
        yield LoadedTool(name, int(line), path, routines, services)


def available() -> Iterator[tuple[str, Path, int]]:
    """Yield the tools that a configuration can name, the first of each name on the search path.

    Those that come with pse are the ones for the MPI library that `find_mpi` finds; without one, those that
    were built with pse.

    Yields
    ------
    tuple of (str, path, int)
        Name, file, and how many routines it wraps.

    Examples
    --------
    >>> "trace" in [name for name, path, routines in available()]
    True
    """
    shipped: Path = SHIPPED
    seen: set[str] = set()
    with contextlib.suppress(UsageError):
        shipped = shipped_tools(find_mpi())
    searched = map(Path, filter(None, os.environ.get(TOOLS_PATH_VARIABLE, "").split(":")))
    for directory in [*searched, shipped]:
        for path in sorted(directory.glob("*.so")):
            name = path.stem.removeprefix("lib")
            wrapped = [symbol for symbol in elf.read(path).functions if symbol.startswith("MPI_")]
            if wrapped and name not in seen:
                seen.add(name)
                yield name, path, len(wrapped)


def attach(configuration: str | os.PathLike[str]) -> bool:
    """Put a stack under a program that has MPI loaded already, in this process.

    Modules that are loaded have their calls of MPI led through the stack; if MPI is initialised, each tool
    sees a call of MPI_Init_thread (or MPI_Init, if it wraps that one alone).  Modules that are loaded later
    are led through the stack by another call of this function, which changes nothing else.

    Parameters
    ----------
    configuration : path
        The configuration file.

    Returns
    -------
    bool
        Whether the stack is new; False if this process has one already.

    Raises
    ------
    UsageError
        If something is wrong with the configuration, if this process runs the tools of another one, or if no
        MPI library is loaded.  A tool that crashes, or refuses to start, ends the process with code 2.

    Examples
    --------
    >>> pse.toolstack.attach("tools.conf")  # doctest: +SKIP
    True
    """
    file = os.path.abspath(configuration)
    _require_readable(file)
    made = library(loaded_mpi())
    verify(file, made)
    stack = ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)
    stack.pse_toolstack_attach.restype = ctypes.c_bool
    stack.pse_toolstack_attached.restype = ctypes.c_char_p
    if stack.pse_toolstack_attach(os.fsencode(file)):
        return True
    running = os.fsdecode(stack.pse_toolstack_attached() or b"no configuration")
    if os.path.realpath(running) != os.path.realpath(file):
        help = "put the tools of both into one configuration, and attach that"
        raise UsageError(f"this process runs the tools of {running} already, not those of {file}", help=help)
    return False


def execute(command: Sequence[str], variables: dict[str, str]) -> None:
    """Replace this process by a command.

    Parameters
    ----------
    command : sequence of str
        The program, looked for on PATH, and its arguments.
    variables : dict
        Variables to set in its environment.

    Raises
    ------
    UsageError
        If the program can't be started.

    Examples
    --------
    >>> execute(["./solver"], environment("tools.conf", find_mpi()))  # doctest: +SKIP
    """
    require_executable(command[0])
    try:
        os.execvpe(command[0], list(command), os.environ | variables)
    except OSError as error:
        raise UsageError(
            f"{command[0]} can't be started: {error.strerror}",
            help="check the command: the program must be on PATH, and executable",
        ) from None
