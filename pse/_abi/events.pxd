# Made from cext/abi/events.def by cext/abi/generate.py: change the table, not this file.

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "abi_events.h" nogil:
    ctypedef struct pse_event:
        uint64_t time
        uint16_t type
        uint16_t flags
        uint32_t site
        uint64_t tph
        uint64_t a
        uint64_t b
        uint64_t c

    ctypedef struct pse_trace_header:
        char magic[8]
        uint32_t version
        uint32_t byte_order
        uint32_t header_size
        uint32_t record_size
        uint32_t rank
        uint32_t pid
        uint32_t clock_id
        uint32_t state
        uint64_t records
        int64_t start_real
        uint64_t start_clock
        int32_t error
        uint32_t reserved
        char host[256]

    enum:
        PSE_TRACE_VERSION
        PSE_NONE
        PSE_EVENT_PHASE
        PSE_EVENT_CLOCK_SYNC
        PSE_EVENT_TEXT
        PSE_EVENT_MARKER
        PSE_EVENT_COUNTER
        PSE_EVENT_CONTEXT_BEGIN
        PSE_EVENT_CONTEXT_END
        PSE_EVENT_MODULE_ENTER
        PSE_EVENT_MODULE_LEAVE
        PSE_EVENT_MODULE_PREEMPTED
        PSE_EVENT_SEND
        PSE_EVENT_RECEIVE
        PSE_EVENT_QUEUE_DEPTH
        PSE_EVENT_PARTITION_SEND
        PSE_EVENT_PARTITION_RECEIVE
        PSE_EVENT_PARTITION_TAKE
        PSE_EVENT_PARTITION_SEND_COMPLETE
        PSE_EVENT_PARTITION_COLLECTIVE_BEGIN
        PSE_EVENT_PARTITION_COLLECTIVE_END
        PSE_EVENT_ALLOCATE
        PSE_EVENT_FREE
        PSE_EVENT_WAIT_BEGIN
        PSE_EVENT_WAIT_END
        PSE_EVENT_REGION_ENTER
        PSE_EVENT_REGION_LEAVE
        PSE_EVENT_MPI_SEND
        PSE_EVENT_MPI_SEND_COMPLETE
        PSE_EVENT_MPI_RECEIVE_POST
        PSE_EVENT_MPI_RECEIVE
        PSE_EVENT_MPI_REQUEST_TEST
        PSE_EVENT_MPI_REQUEST_CANCEL
        PSE_EVENT_MPI_COLLECTIVE_BEGIN
        PSE_EVENT_MPI_COLLECTIVE_END
        PSE_EVENT_MPI_COMMUNICATOR
        PSE_EVENT_MPI_COMMUNICATOR_RANKS
        PSE_EVENT_MPI_COMMUNICATOR_FREE
        PSE_STATE_CLOSED
        PSE_STATE_TRUNCATED
        PSE_PHASE_START
        PSE_PHASE_READY
        PSE_PHASE_DONE
        PSE_PHASE_END
        PSE_TEXT_MARKER
        PSE_TEXT_COUNTER
        PSE_TEXT_COUNTER_UNIT
        PSE_TEXT_REGION
        PSE_TEXT_REGION_PLACE
        PSE_TEXT_COMMUNICATOR
        PSE_VALUE_UNSIGNED
        PSE_VALUE_SIGNED
        PSE_VALUE_FLOATING
        PSE_MODULE_FAILED
        PSE_MESSAGE_REMOTE
        PSE_MESSAGE_DESCRIPTOR
        PSE_MESSAGE_COPIED
        PSE_MESSAGE_SCALAR
        PSE_MESSAGE_RENDEZVOUS
        PSE_MESSAGE_COLLECTIVE
        PSE_MEMORY_LOCAL
        PSE_MEMORY_RECYCLED
        PSE_SEND_MODE_STANDARD
        PSE_SEND_MODE_SYNCHRONOUS
        PSE_SEND_MODE_BUFFERED
        PSE_SEND_MODE_READY
        PSE_COLLECTIVE_BARRIER
        PSE_COLLECTIVE_BCAST
        PSE_COLLECTIVE_GATHER
        PSE_COLLECTIVE_GATHERV
        PSE_COLLECTIVE_SCATTER
        PSE_COLLECTIVE_SCATTERV
        PSE_COLLECTIVE_ALLGATHER
        PSE_COLLECTIVE_ALLGATHERV
        PSE_COLLECTIVE_ALLTOALL
        PSE_COLLECTIVE_ALLTOALLV
        PSE_COLLECTIVE_ALLTOALLW
        PSE_COLLECTIVE_ALLREDUCE
        PSE_COLLECTIVE_REDUCE
        PSE_COLLECTIVE_REDUCE_SCATTER
        PSE_COLLECTIVE_REDUCE_SCATTER_BLOCK
        PSE_COLLECTIVE_SCAN
        PSE_COLLECTIVE_EXSCAN
        PSE_COLLECTIVE_NEIGHBOR_ALLGATHER
        PSE_COLLECTIVE_NEIGHBOR_ALLGATHERV
        PSE_COLLECTIVE_NEIGHBOR_ALLTOALL
        PSE_COLLECTIVE_NEIGHBOR_ALLTOALLV
        PSE_COLLECTIVE_NEIGHBOR_ALLTOALLW
        PSE_COLLECTIVE_CREATE_COMMUNICATOR
        PSE_COLLECTIVE_OTHER
