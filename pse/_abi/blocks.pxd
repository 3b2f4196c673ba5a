# Made from cext/abi/blocks.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "abi_blocks.h" nogil:
    ctypedef struct pse_kernels_block:
        int64_t begin
        int64_t end
        uint64_t tph
        uint32_t site
        uint32_t detail
        uint32_t category
        uint16_t lane
        uint16_t flags

    ctypedef struct pse_kernels_share:
        int64_t time
        uint32_t pixel
        uint32_t count
        uint32_t parts
        uint32_t unused
        pse_kernels_block last

    enum:
        PSE_BLOCK_OPEN
        PSE_LANE_CALL
        PSE_LANE_WAIT
        PSE_LANE_REGION
