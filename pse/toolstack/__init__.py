"""The tool stack: MPI tools are loaded and chained under a program, without relinking it.

The stack itself is C (cext/toolstack) and needs no Python at run time.  This room finds the MPI library
(`mpi`), makes the object that is preloaded for it (`library`) from the names that it exports (`stubs`), and
attaches a stack to a process that has MPI loaded already (`attach`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
