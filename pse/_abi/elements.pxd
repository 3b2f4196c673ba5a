# Made from cext/abi/elements.def by cext/abi/generate.py: change the table, not this file.

cdef extern from "abi_elements.h" nogil:
    enum:
        PSE_MAX_DIMS
        PSE_MAX_TEXT
        PSE_SMALLEST_ARENA
        PSE_BYTE
        PSE_I32
        PSE_I64
        PSE_F32
        PSE_F64
        PSE_C64
        PSE_C128
        PSE_U8
        PSE_U16
        PSE_BOOL
        PSE_OBJECT
