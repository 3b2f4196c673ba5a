"""Modules: the functions that users write in C, C++, Cython, Fortran or Python and compose in programs.

`Finder` reads directives (for the checker, nothing is run), `build` compiles, `load` makes a module callable,
and `call_python` calls one that is written in Python.  ``pse.modules.std`` is the standard library.  Imports
only ``pse.language``; the next room up is ``runtime``.
"""

from pse.modules.builder import Built, build, prepare, unbuildable
from pse.modules.calling import call_python
from pse.modules.errors import BuildError, ModuleError
from pse.modules.finder import Finder
from pse.modules.loader import LoadedModule, load, serve

__all__ = [
    "BuildError",
    "Built",
    "Finder",
    "LoadedModule",
    "ModuleError",
    "build",
    "call_python",
    "load",
    "prepare",
    "serve",
    "unbuildable",
]
