"""A folder to start from: a program, a module in C and one in Python, and a notebook, all of which run."""

from __future__ import annotations

import shutil
from pathlib import Path

from pse.errors import UsageError
from pse.language.syntax import require_name

_TEMPLATES = Path(__file__).parent / "project"
_NAMED = {"program.coven": ".coven", "notebook.ipynb": ".ipynb"}
"""Templates that are called like the project, with their endings."""


def create_project(path: str) -> list[Path]:
    """Write a folder with a program, its modules and a notebook.

    Parameters
    ----------
    path : str
        The folder, which must not exist yet; program and notebook are called like it.

    Returns
    -------
    list of Path
        The files that were written, the program first.

    Raises
    ------
    UsageError
        If there is something of this name already, its name can't be a program's, or it can't be written.

    Examples
    --------
    >>> create_project("/proc/mine")
    Traceback (most recent call last):
    pse.errors.UsageError: /proc/mine can't be written: No such file or directory
    """
    folder = Path(path)
    _check_name(folder.name)
    if folder.exists():
        raise UsageError(
            f"{folder} exists already and is left as it is", help="choose another name, or remove it first"
        )
    try:
        folder.mkdir(parents=True)
        return [_write(template, folder) for template in _templates()]
    except OSError as failure:
        shutil.rmtree(folder, ignore_errors=True)
        help = "name a directory that you can write to"
        raise UsageError(f"{folder} can't be written: {failure.strerror}", help=help) from None


def _check_name(name: str) -> None:
    if name in ("", ".."):
        message = "the folder and its program need a name, and this path has none"
        raise UsageError(message, help="give the name of a new folder, for example: pse new pipeline")
    require_name(name, "program")


def _templates() -> list[Path]:
    first = _TEMPLATES / "program.coven"
    return [first, *sorted(path for path in _TEMPLATES.iterdir() if path.is_file() and path != first)]


def _write(template: Path, folder: Path) -> Path:
    ending = _NAMED.get(template.name)
    target = folder / (f"{folder.name}{ending}" if ending else template.name)
    target.write_text(template.read_text(encoding="utf-8").replace("NAME", folder.name), encoding="utf-8")
    return target
