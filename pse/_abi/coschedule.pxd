# Made from cext/abi/coschedule.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "abi_coschedule.h" nogil:
    ctypedef struct pse_bcs_act:
        uint32_t kind
        int32_t peer
        int32_t tag
        uint32_t reserved
        uint64_t amount

    ctypedef struct pse_bcs_slice:
        uint64_t slice
        uint64_t epoch
        uint64_t begin
        uint64_t getts
        uint64_t gtdem
        uint64_t gtmsm
        uint64_t gtts
        uint64_t late
        uint64_t length
        uint32_t np2pdem
        uint32_t np2pmsm
        uint32_t ncolldem
        uint32_t ncollmsm
        uint32_t bpts
        uint32_t timed

    ctypedef struct pse_bcs_match:
        uint64_t slice
        uint64_t epoch
        uint32_t receiver
        uint32_t source
        uint64_t receive
        uint64_t send
        uint64_t bytes
        int32_t tag
        uint32_t kind

    enum:
        PSE_BCS_SHORTEST_SLICE
        PSE_BCS_NONE
        PSE_BCS_PLACE
        PSE_BCS_EAGER
        PSE_BCS_ENDPOINT
        PSE_BCS_WHOLE
        PSE_BCS_BARRIER
        PSE_BCS_BCAST
        PSE_BCS_REDUCE
        PSE_BCS_ALLREDUCE
        PSE_BCS_SCATTER
        PSE_BCS_GATHER
        PSE_BCS_ALLGATHER
        PSE_BCS_ALLTOALL
        PSE_BCS_SCAN
        PSE_BCS_EXSCAN
        PSE_BCS_WAIT_COMPLETE
        PSE_BCS_WAIT_INCOMPLETE
        PSE_BCS_WAIT_INTERRUPTED
        PSE_BCS_WAIT_FAILED
        PSE_BCS_FAILURE_NONE
        PSE_BCS_FAILURE_DEAD
        PSE_BCS_FAILURE_DEADLOCK
        PSE_BCS_FAILURE_MISMATCH
        PSE_BCS_FAILURE_LEFT
        PSE_BCS_KIND_SEND
        PSE_BCS_KIND_RECEIVE
        PSE_BCS_KIND_PROBE
        PSE_BCS_KIND_COLLECTIVE
        PSE_BCS_ACT_SEND
        PSE_BCS_ACT_RECEIVE
        PSE_BCS_ACT_COLLECTIVE
        PSE_BCS_ACT_COMPUTE
        PSE_BCS_ACT_WAIT
        PSE_BCS_SEND
        PSE_BCS_ISEND
        PSE_BCS_RECV
        PSE_BCS_IRECV
        PSE_BCS_PROBE
        PSE_BCS_IPROBE
        PSE_BCS_WAIT
        PSE_BCS_WAITALL
        PSE_BCS_WAITANY
        PSE_BCS_TEST
        PSE_BCS_FIRST_BLOCKING
        PSE_BCS_FIRST_IMMEDIATE
        PSE_BCS_PRIMITIVES
        PSE_BCS_MATCH
        PSE_BCS_ANSWER
