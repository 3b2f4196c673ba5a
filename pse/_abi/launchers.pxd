# Made from cext/abi/launchers.def by cext/abi/generate.py: change the table, not this file.

cdef extern from "abi_launchers.h" nogil:
    pass
