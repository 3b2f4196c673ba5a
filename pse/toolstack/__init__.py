"""The tool stack: MPI tools are loaded and chained under a program, without relinking it.

The stack itself is C (cext/toolstack) and needs no Python at run time.  This room makes the object that is
preloaded (`library`), from the names that an MPI library exports (`stubs`), and attaches a stack to a process that
has MPI loaded already (`attach`).
"""
