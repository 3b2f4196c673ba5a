"""The tool stack: MPI tools are loaded and chained under a program, without relinking it.

The stack itself is C (cext/toolstack) and needs no Python at run time.  This room finds the MPI library,
makes the object that is preloaded for it, attaches a stack to a process that has MPI loaded already, and
has tools that are written in Python.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
