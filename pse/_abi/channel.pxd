# Made from cext/abi/channel.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

cdef extern from "abi_channel.h" nogil:
    ctypedef struct pse_reference:
        uint64_t at
        uint64_t bytes

    ctypedef union pse_message_value:
        uint64_t counts[2]
        uint64_t handle
        void *pointer
        double scalar[2]
        int64_t integer
        pse_reference reference

    ctypedef struct pse_message:
        uint64_t tph
        uint32_t edge
        uint32_t source
        uint32_t index
        uint8_t kind
        uint8_t flags
        uint16_t dtype
        uint64_t sequence
        pse_message_value value
        uint32_t site
        uint32_t extra

    ctypedef struct pse_slot:
        int32_t pid
        uint32_t state
        uint32_t site
        uint32_t cpu
        uint64_t tph
        uint64_t since
        uint64_t affinity
        int64_t loop_index
        uint64_t yield_after
        uint32_t bell
        uint32_t sleeping
        uint32_t wants

    ctypedef struct pse_site_statistics:
        uint64_t calls
        uint64_t wall
        uint64_t cpu
        uint64_t described
        uint64_t copied
        uint64_t remote
        uint64_t waited

    enum:
        PSE_NO_SITE
        PSE_CARRIES_HANDLE
        PSE_CARRIES_SCALAR
        PSE_CARRIES_POINTER
        PSE_CARRIES_CREDIT
        PSE_CARRIES_ITERATIONS
        PSE_CARRIES_PARTITION_SCALAR
        PSE_CARRIES_PARTITION_HANDLE
        PSE_CARRIES_PARTITION_POINTER
        PSE_CARRIES_PARTITION_REFERENCE
        PSE_CARRIES_PARTITION_COPY
        PSE_CARRIES_PARTITION_TAKEN
        PSE_CARRIES_QUESTION
        PSE_CARRIES_ANSWER
        PSE_CARRIES_READY
        PSE_CARRIES_ORDER
