# Made from cext/abi/messaging.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "abi_messaging.h" nogil:
    ctypedef struct pse_messaging_side:
        uint32_t partition
        uint32_t site
        uint32_t kind
        uint32_t extra
        uint32_t type
        uint64_t bytes

    ctypedef struct pse_messaging_fault:
        int32_t kind
        int32_t tag
        uint32_t partitions
        int64_t peer
        int64_t index
        uint64_t tph
        pse_messaging_side here
        pse_messaging_side there

    ctypedef struct pse_messaging_wait:
        uint64_t tph
        int64_t index
        uint32_t kind
        uint32_t scope
        uint32_t partition
        uint32_t partitions
        uint32_t site
        uint32_t peer
        int32_t tag
        uint32_t collective
        uint32_t sequence
        uint32_t rank

    ctypedef struct pse_messaging_saved:
        uint32_t scope
        uint32_t partition
        uint32_t is_message
        uint32_t from_ "from"
        uint32_t number
        uint32_t site
        uint32_t collective
        uint32_t extra
        uint32_t type
        uint64_t bytes
        const void *data

    enum:
        PSE_MESSAGING_FINE
        PSE_MESSAGING_NO_PARTITION
        PSE_MESSAGING_TAG
        PSE_MESSAGING_TYPE
        PSE_MESSAGING_SIZE
        PSE_MESSAGING_MISMATCH
        PSE_MESSAGING_CONFUSED
        PSE_MESSAGING_LEFT
        PSE_MESSAGING_MEMORY
        PSE_MESSAGING_WAITS_RECEIVE
        PSE_MESSAGING_WAITS_SEND
        PSE_MESSAGING_WAITS_COLLECTIVE
        PSE_MESSAGING_REACHED
