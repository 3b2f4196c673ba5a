# Made from cext/abi/replay.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t, uint8_t

cdef extern from "abi_replay.h" nogil:
    ctypedef struct pse_replay_node:
        uint64_t key
        uint64_t visits
        double time
        uint32_t parent
        uint32_t child
        double sent
        double received

    ctypedef struct pse_replay_call:
        uint64_t enter
        uint64_t leave
        uint32_t node
        int16_t enter_residual
        int16_t leave_residual

    ctypedef struct pse_replay_operation:
        uint64_t time
        uint64_t a
        uint64_t b
        uint64_t c
        uint32_t call
        int16_t residual
        uint8_t type
        uint8_t flags

    ctypedef struct pse_replay_span:
        uint64_t begin
        uint64_t end
        uint32_t node
        uint32_t thread
        int32_t begin_residual
        int32_t end_residual

    ctypedef struct pse_replay_profile_row:
        uint32_t interval
        uint32_t path
        double time

    ctypedef struct pse_replay_shift:
        uint64_t event
        int64_t time
        int64_t shift

    enum:
        PSE_FRAME_PROGRAM
        PSE_FRAME_ROUTINE
        PSE_FRAME_SITE
        PSE_FRAME_WAIT
        PSE_FRAME_END
        PSE_ORDER_RIGHT
        PSE_ORDER_SAME_SOURCE
        PSE_ORDER_OTHER_SOURCE
