"""Importing users' Python files and extensions by path, each as a module of its own.

Two programs' `frames.py` never meet: a file is known by its real path.  While a file is imported its folder
leads `sys.path`, so that it can import what lies beside it, but hides nothing of the standard library; those
helpers are taken out of `sys.modules` again, so that another folder's helper of the same name is another
module.  Failures are reported with the user's frames only.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from pse.modules._errors import ModuleError
from pse.modules.load._tracebacks import own_traceback
from pse.text import exception_text

_imported: dict[str, ModuleType] = {}


def import_python(source: str, shown: str) -> ModuleType:
    """Import a Python file by path; the same file again gives the same module.

    Parameters
    ----------
    source : str
        The file.
    shown : str
        Its path for messages.

    Returns
    -------
    ModuleType
        The Python module.

    Raises
    ------
    ModuleError
        With the file's own traceback, if its top level raises.

    Examples
    --------
    >>> import_python("stages.py", "stages.py").load.__name__
    'load'
    """
    real = os.path.realpath(source)
    if real not in _imported:
        name = f"pse_user_{len(_imported)}_{Path(real).stem}"
        spec = importlib.util.spec_from_file_location(name, source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # Dataclasses and annotations look their module up there.
        try:
            with _beside(os.path.dirname(real)):
                spec.loader.exec_module(module)
        except (Exception, SystemExit) as failure:
            del sys.modules[name]
            raise _failure(failure, shown, frozenset({source})) from failure
        _imported[real] = module
    return _imported[real]


def import_extension(name: str, library: Path, shown: str) -> ModuleType:
    """Import a built Python extension.

    Raises
    ------
    ModuleError
        If its initialisation raises.
    """
    if str(library) not in _imported:
        loader = ExtensionFileLoader(name, str(library))
        spec = importlib.util.spec_from_file_location(name, str(library), loader=loader)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except (Exception, SystemExit) as failure:
            raise _failure(failure, shown, frozenset({str(library), f"{name}.pyx"})) from failure
        _imported[str(library)] = module
    return _imported[str(library)]


def _failure(failure: BaseException, shown: str, files: frozenset[str]) -> ModuleError:
    message = f"{shown} can't be imported: {type(failure).__name__}: {exception_text(failure)}"
    help = None
    if isinstance(failure, ModuleNotFoundError) and failure.name:
        help = f"install the package that has `{failure.name}`, or put {failure.name}.py beside {shown}"
    elif isinstance(failure, ImportError) and failure.name in sys.stdlib_module_names:
        help = f"`{failure.name}` is a module of Python's own: give your file another name"
    return ModuleError(message, help=help, traceback=own_traceback(failure, files))


class _StandardLibrary:
    """Finds modules of the standard library elsewhere than in a folder: what is loaded may need them."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find a module as `sys.meta_path` asks for it."""
        if name not in sys.stdlib_module_names:
            return None
        return PathFinder.find_spec(name, [place for place in sys.path if place != self._folder])


@contextmanager
def _beside(folder: str) -> Iterator[None]:
    """Let imports find what lies in a folder; forget those helpers' names afterwards."""
    known, standard = set(sys.modules), _StandardLibrary(folder)
    sys.path.insert(0, folder)
    sys.meta_path.insert(0, standard)
    try:
        yield
    finally:
        sys.meta_path.remove(standard)
        sys.path.remove(folder)
        for name in set(sys.modules) - known:
            if not name.startswith("pse_user_") and _lies_in(folder, sys.modules[name]):
                del sys.modules[name]


def _lies_in(folder: str, module: ModuleType) -> bool:
    """Say whether a module is the user's own in a folder, not a package installed somewhere below it."""
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    return file.startswith(folder + os.sep) and "site-packages" not in file[len(folder) :]
