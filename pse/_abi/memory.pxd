# Made from cext/abi/memory.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

cdef extern from "abi_memory.h" nogil:
    ctypedef struct pse_layout:
        uint8_t dtype
        uint8_t ndim
        uint16_t reserved
        uint32_t itemsize
        int64_t shape[8]
        int64_t strides[8]

    ctypedef struct pse_arena_statistics:
        uint64_t capacity
        uint64_t grown
        uint64_t in_use
        uint64_t peak
        uint64_t allocations
        uint64_t recycled
        uint64_t live_blocks
        uint64_t recoveries

    enum:
        PSE_ARENA_FULL
        PSE_ARENA_NO_MEMORY
        PSE_ARENA_TOO_LARGE
        PSE_ARENA_SYSTEM
        PSE_ARENA_FOREIGN
        PSE_ARENA_MISMATCH
