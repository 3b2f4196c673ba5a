# Made from cext/abi/emulate.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, int64_t

cdef extern from "abi_emulate.h" nogil:
    ctypedef struct pse_emulate_step:
        int32_t kind
        int32_t peer
        int32_t tag
        int32_t communicator
        int64_t bytes
        int64_t offset
        double seconds

    ctypedef struct pse_emulate_times:
        double start
        double compute
        double communication
        double barrier

    enum:
        PSE_STEP_COMPUTE
        PSE_STEP_SEND
        PSE_STEP_RECEIVE
        PSE_STEP_ISEND
        PSE_STEP_IRECEIVE
        PSE_STEP_WAITALL
        PSE_STEP_SSEND
        PSE_STEP_BARRIER
        PSE_STEP_BROADCAST
        PSE_STEP_ALLREDUCE
        PSE_STEP_REDUCE
        PSE_STEP_ALLTOALL
        PSE_STEP_ALLGATHER
        PSE_STEP_GATHER
        PSE_STEP_SCATTER
