"""Whether the program of a command line can be executed: asked before anything starts that would fail."""

import os
import shutil

from pse.errors import UsageError


def require_executable(name: str) -> None:
    """Make sure that a program can be executed.

    Parameters
    ----------
    name : str
        A path, or a name that is looked for on PATH.

    Raises
    ------
    UsageError
        If it can't; the message says why, and what to write instead.
    """
    found = shutil.which(name)
    if found is None or (name.endswith(".py") and not _names_interpreter(found)):
        reason, help = _why_not(name)
        raise UsageError(f"{name} can't be started: {reason}", help=help)


def _why_not(name: str) -> tuple[str, str]:
    if os.path.isdir(name):
        return "it is a directory", "give the path of the program in it"
    if not os.path.exists(name):
        return "there is no such program, here or on PATH", "give its path, or a name on PATH"
    if name.endswith(".py"):
        return "it is a source file of Python", f"let Python run it:  python {name}"
    if not os.access(name, os.X_OK):
        return "the file is not executable", f"make it so:  chmod +x {name}"
    return "it is not on PATH", f"give its path:  ./{name}"


def _names_interpreter(path: str) -> bool:
    """Say whether a script begins with the line that names what executes it."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True  # It may be executed, though not read.
