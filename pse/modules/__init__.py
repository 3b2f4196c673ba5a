"""Modules: the functions that users write in C, C++, Cython, Fortran or Python and compose in programs.

`Finder` reads directives (for the checker, nothing is run), `build_module` compiles, `load_module` makes a
module callable, and `call_python` calls one that is written in Python.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
