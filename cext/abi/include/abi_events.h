/* Made from cext/abi/events.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_EVENTS_H
#define PSE_ABI_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "abi_waiting.h"

#define PSE_TRACE_VERSION 1
#define PSE_TRACE_MAGIC "PSETRACE" /* How a file of events begins. */
#define PSE_EVENTS_FILE "rank-%05u%s.events" /* The name of a rank's file of events, and what wrote it. */
#define PSE_MPI_EVENTS ".mpi" /* What wrote it: the tool `trace`; the runtime's have none. */
#define PSE_BCS_EVENTS ".bcs" /* The same: the tool `bcs`. */
#define PSE_COMM_EVENTS ".comm" /* The same: pse.bcs.Comm. */
#define PSE_BYTE_ORDER 0x01020304 /* As the writer's machine stores it. */
#define PSE_NONE 0xffffffffu /* No rank, site, edge, loop, partition. */
#define PSE_CPU_TIME "CPU time of the process" /* ns */
#define PSE_CPU_SHARE "share of a core that control groups leave" /* cores */
#define PSE_CORES "cores that the rank may use, a bit for each" /* a mask */
#define PSE_LINK_RATE "rate of the link to another node, before the program began" /* bytes/s */

/* The record: 48 bytes. */
typedef struct pse_event {
    uint64_t time; /* when it happened, ns of the header's clock */
    uint16_t type; /* what happened; 0: not written yet, the end of the trace */
    uint16_t flags; /* per type */
    uint32_t site; /* call site in which it happened, or none */
    uint64_t tph; /* TPH (context) in which it happened, or 0; the same number on every rank */
    uint64_t a; /* per type */
    uint64_t b; /* per type */
    uint64_t c; /* per type */
} pse_event;
#ifndef __cplusplus
_Static_assert(sizeof(pse_event) == 48 && offsetof(pse_event, time) == 0 && offsetof(pse_event, type) == 8 &&
               offsetof(pse_event, flags) == 10 && offsetof(pse_event, site) == 12 &&
               offsetof(pse_event, tph) == 16 && offsetof(pse_event, a) == 24 &&
               offsetof(pse_event, b) == 32 && offsetof(pse_event, c) == 40,
               "pse_event as NumPy has it");
#endif

/* The header: the first page of a file; what is not named here is zero. */
typedef struct pse_trace_header {
    char magic[8]; /* PSE_TRACE_MAGIC */
    uint32_t version; /* version of this table */
    uint32_t byte_order; /* PSE_BYTE_ORDER */
    uint32_t header_size; /* offset of the first record, bytes */
    uint32_t record_size; /* bytes of a record */
    uint32_t rank; /* who wrote it */
    uint32_t pid; /* process id of the writer on its host */
    uint32_t clock_id; /* clock of all times here: 1 is CLOCK_MONOTONIC */
    uint32_t state; /* state bits */
    uint64_t records; /* records that are there for certain; all of them when closed or truncated */
    int64_t start_real; /* when recording began, ns since 1970 (UTC) */
    uint64_t start_clock; /* the same moment by the clock of all times here */
    int32_t error; /* errno of what ended recording early, else 0 */
    uint32_t reserved; /* 0 */
    char host[256]; /* name of the writer's host, UTF-8, padded with zeros */
} pse_trace_header;
#ifndef __cplusplus
_Static_assert(sizeof(pse_trace_header) == 328 && offsetof(pse_trace_header, magic) == 0 &&
               offsetof(pse_trace_header, version) == 8 && offsetof(pse_trace_header, byte_order) == 12 &&
               offsetof(pse_trace_header, header_size) == 16 &&
               offsetof(pse_trace_header, record_size) == 20 && offsetof(pse_trace_header, rank) == 24 &&
               offsetof(pse_trace_header, pid) == 28 && offsetof(pse_trace_header, clock_id) == 32 &&
               offsetof(pse_trace_header, state) == 36 && offsetof(pse_trace_header, records) == 40 &&
               offsetof(pse_trace_header, start_real) == 48 &&
               offsetof(pse_trace_header, start_clock) == 56 && offsetof(pse_trace_header, error) == 64 &&
               offsetof(pse_trace_header, reserved) == 68 && offsetof(pse_trace_header, host) == 72,
               "pse_trace_header as NumPy has it");
#endif

/* Types of records. */
enum pse_event_type {
    PSE_EVENT_PHASE = 1, /* a phase of the run begins */
    /* this rank's clock was compared with another's at this time; no site, no TPH */
    PSE_EVENT_CLOCK_SYNC = 2,
    /* 16 bytes of the name of something numbered on this rank, before its first use; no site, no TPH */
    PSE_EVENT_TEXT = 3,
    PSE_EVENT_MARKER = 4, /* something worth a mark in every view */
    PSE_EVENT_COUNTER = 5, /* sample of a counter */
    PSE_EVENT_CONTEXT_BEGIN = 16, /* a TPH comes into being on this rank */
    PSE_EVENT_CONTEXT_END = 17, /* a TPH is done on this rank */
    PSE_EVENT_MODULE_ENTER = 24, /* a module is called for this call site */
    PSE_EVENT_MODULE_LEAVE = 25, /* the module returned: the whole call in one record */
    /* how long the rank was ready to run without a core, in the call that ends next */
    PSE_EVENT_MODULE_PREEMPTED = 26,
    PSE_EVENT_SEND = 32, /* a tag is handed over; site: the call site that defined it */
    PSE_EVENT_RECEIVE = 33, /* a tag has arrived; site: the call site that defined it */
    PSE_EVENT_QUEUE_DEPTH = 34, /* the length of a queue of this rank changed */
    PSE_EVENT_PARTITION_SEND = 96, /* a partition's message leaves */
    PSE_EVENT_PARTITION_RECEIVE = 97, /* a partition's message has come to this rank */
    /* the receiving partition took the bytes from where they lay with the sender */
    PSE_EVENT_PARTITION_TAKE = 98,
    PSE_EVENT_PARTITION_SEND_COMPLETE = 99, /* the sending partition has its bytes back */
    PSE_EVENT_PARTITION_COLLECTIVE_BEGIN = 100, /* a partition comes to a collective operation */
    /* it is complete for this partition: the whole operation in one record */
    PSE_EVENT_PARTITION_COLLECTIVE_END = 101,
    PSE_EVENT_ALLOCATE = 40, /* memory for a tag was allocated */
    PSE_EVENT_FREE = 41, /* memory of a tag was freed */
    PSE_EVENT_WAIT_BEGIN = 48, /* the rank has nothing to do until something happens */
    PSE_EVENT_WAIT_END = 49, /* it happened: the whole wait in one record */
    PSE_EVENT_REGION_ENTER = 64, /* a routine was entered */
    PSE_EVENT_REGION_LEAVE = 65, /* a routine was left: the whole call in one record */
    PSE_EVENT_THREAD = 66, /* the thread of the events of routines and MPI from here on; before: thread 0 */
    /* functions that were found on the stack, before the first REGION_ENTER with them */
    PSE_EVENT_CALLERS = 67,
    PSE_EVENT_MPI_SEND = 72, /* a message was sent, or its sending started */
    PSE_EVENT_MPI_SEND_COMPLETE = 73, /* a started send is complete */
    PSE_EVENT_MPI_RECEIVE_POST = 74, /* a receive was posted */
    PSE_EVENT_MPI_RECEIVE = 75, /* a message was received */
    PSE_EVENT_MPI_REQUEST_TEST = 76, /* a request was found not to be complete */
    /* a request was cancelled, or its sending failed; request 0: the last blocking send to there failed */
    PSE_EVENT_MPI_REQUEST_CANCEL = 77,
    /* a blocking probe found a message: the next of its kind to be received after this */
    PSE_EVENT_MPI_PROBE = 78,
    /* the partitioned message of a request takes another channel than the first one of its kind; before
     * what starts it */
    PSE_EVENT_MPI_CHANNEL = 79,
    /* what the routine waits for that is entered at the same time; of some calls that ended, too */
    PSE_EVENT_MPI_AWAIT = 82,
    PSE_EVENT_MPI_COLLECTIVE_BEGIN = 80, /* a collective operation begins, or was started (request) */
    PSE_EVENT_MPI_COLLECTIVE_END = 81, /* it ended: the latest begun with the same communicator and request */
    PSE_EVENT_MPI_COMMUNICATOR = 84, /* a communicator got its number on this rank */
    /* four members of a communicator, written by its rank 0; no site, no TPH */
    PSE_EVENT_MPI_COMMUNICATOR_RANKS = 85,
    /* four ranks that this rank sends to in neighbourhood operations of a topology */
    PSE_EVENT_MPI_NEIGHBORS = 87,
    PSE_EVENT_MPI_COMMUNICATOR_FREE = 86, /* a communicator is gone */
    /* a time slice, which this rank's process ran for its node: the whole slice in one record */
    PSE_EVENT_TIME_SLICE = 112,
    /* a slice matched an operation that is complete by now; sends, which may be complete before, are told
     * later */
    PSE_EVENT_SLICE_MATCH = 113,
};

/* Bits of a file's `state`. */
enum pse_trace_state {
    PSE_STATE_CLOSED = 1, /* the writer closed the file; unset: it still runs or it was killed */
    PSE_STATE_TRUNCATED = 2, /* recording stopped early: see error */
};

/* Field `a` of PHASE. */
enum pse_trace_phase {
    PSE_PHASE_START = 1, /* the process runs, nothing is set up */
    PSE_PHASE_READY = 2, /* modules are loaded, the program's first statement is next */
    PSE_PHASE_DONE = 3, /* the program's last statement is done; tear-down is next */
    PSE_PHASE_END = 4, /* last record of a rank that ended in order */
};

/* Flags of TEXT. */
enum pse_text_kind {
    PSE_TEXT_MARKER = 1, /* a marker */
    PSE_TEXT_COUNTER = 2, /* a counter */
    PSE_TEXT_COUNTER_UNIT = 3, /* the unit of a counter */
    PSE_TEXT_REGION = 4, /* a routine; MPI's begin with MPI_ */
    PSE_TEXT_REGION_PLACE = 5, /* where a routine is: file:line:col */
    PSE_TEXT_COMMUNICATOR = 6, /* an MPI communicator */
    PSE_TEXT_NOTE = 7, /* a sentence: what the recorder has left out, or ended */
};

/* Flags of COUNTER. */
enum pse_value_kind {
    PSE_VALUE_UNSIGNED = 0, /* uint64 */
    PSE_VALUE_SIGNED = 1, /* int64 */
    PSE_VALUE_FLOATING = 2, /* float64 */
};

/* Flags of MODULE_LEAVE. */
enum pse_module_flag {
    PSE_MODULE_FAILED = 1, /* it returned an error, raised an exception or broke its signature */
};

/* Flags of SEND and RECEIVE, and of messages among partitions. */
enum pse_message_flag {
    PSE_MESSAGE_REMOTE = 1, /* the other rank is on another node */
    PSE_MESSAGE_DESCRIPTOR = 2, /* only a descriptor travelled: no byte of the tag was moved */
    PSE_MESSAGE_COPIED = 4, /* the bytes were copied or sent through MPI */
    PSE_MESSAGE_SCALAR = 8, /* the value is in the message itself */
    /* among partitions: the sender keeps the bytes until the other rank has them */
    PSE_MESSAGE_RENDEZVOUS = 16,
    PSE_MESSAGE_COLLECTIVE = 32, /* among partitions: a part of a collective operation */
};

/* Flags of ALLOCATE and FREE. */
enum pse_memory_flag {
    PSE_MEMORY_LOCAL = 1, /* this process's own memory, not the node's arena */
    PSE_MEMORY_RECYCLED = 2, /* warm memory that was used before */
};

/* Flags of MPI_COMMUNICATOR. */
enum pse_communicator_flag {
    PSE_COMMUNICATOR_TWO_GROUPS = 1, /* an intercommunicator */
    PSE_COMMUNICATOR_SECOND_GROUP = 2, /* this rank is in its second group */
    /* with processes of another job, such as spawned ones: its leader and ranks are not known here */
    PSE_COMMUNICATOR_OTHER_JOB = 4,
};

/* Flags of MPI_SEND. */
enum pse_send_mode {
    PSE_SEND_MODE_STANDARD = 0, /* MPI_Send and its kin */
    PSE_SEND_MODE_SYNCHRONOUS = 1, /* MPI_Ssend */
    PSE_SEND_MODE_BUFFERED = 2, /* MPI_Bsend */
    PSE_SEND_MODE_READY = 3, /* MPI_Rsend */
    PSE_SEND_MODE_PARTITIONED = 4, /* MPI_Psend_init: it meets receives of MPI_Precv_init only */
};

/* Flags of MPI_AWAIT. */
enum pse_await {
    PSE_AWAIT_MESSAGE = 0, /* a message: MPI_Recv, MPI_Probe and their kin */
    PSE_AWAIT_ALL = 1, /* all of the requests: MPI_Wait, MPI_Waitall */
    PSE_AWAIT_ANY = 2, /* one or more of the requests: MPI_Waitany, MPI_Waitsome */
};

/* Flags of the begins and ends of collective operations. */
enum pse_trace_collective {
    PSE_COLLECTIVE_BARRIER = 1, /* MPI_Barrier */
    PSE_COLLECTIVE_BCAST = 2, /* MPI_Bcast */
    PSE_COLLECTIVE_GATHER = 3, /* MPI_Gather */
    PSE_COLLECTIVE_GATHERV = 4, /* MPI_Gatherv */
    PSE_COLLECTIVE_SCATTER = 5, /* MPI_Scatter */
    PSE_COLLECTIVE_SCATTERV = 6, /* MPI_Scatterv */
    PSE_COLLECTIVE_ALLGATHER = 7, /* MPI_Allgather */
    PSE_COLLECTIVE_ALLGATHERV = 8, /* MPI_Allgatherv */
    PSE_COLLECTIVE_ALLTOALL = 9, /* MPI_Alltoall */
    PSE_COLLECTIVE_ALLTOALLV = 10, /* MPI_Alltoallv */
    PSE_COLLECTIVE_ALLTOALLW = 11, /* MPI_Alltoallw */
    PSE_COLLECTIVE_ALLREDUCE = 12, /* MPI_Allreduce */
    PSE_COLLECTIVE_REDUCE = 13, /* MPI_Reduce */
    PSE_COLLECTIVE_REDUCE_SCATTER = 14, /* MPI_Reduce_scatter */
    PSE_COLLECTIVE_REDUCE_SCATTER_BLOCK = 15, /* MPI_Reduce_scatter_block */
    PSE_COLLECTIVE_SCAN = 16, /* MPI_Scan */
    PSE_COLLECTIVE_EXSCAN = 17, /* MPI_Exscan */
    PSE_COLLECTIVE_NEIGHBOR_ALLGATHER = 18, /* MPI_Neighbor_allgather */
    PSE_COLLECTIVE_NEIGHBOR_ALLGATHERV = 19, /* MPI_Neighbor_allgatherv */
    PSE_COLLECTIVE_NEIGHBOR_ALLTOALL = 20, /* MPI_Neighbor_alltoall */
    PSE_COLLECTIVE_NEIGHBOR_ALLTOALLV = 21, /* MPI_Neighbor_alltoallv */
    PSE_COLLECTIVE_NEIGHBOR_ALLTOALLW = 22, /* MPI_Neighbor_alltoallw */
    PSE_COLLECTIVE_CREATE_COMMUNICATOR = 23, /* MPI_Comm_dup, MPI_Comm_split and their kin */
    PSE_COLLECTIVE_OTHER = 24, /* any other, in imported traces */
    PSE_COLLECTIVE_WINDOW = 25, /* MPI_Win_create, MPI_Win_fence, MPI_Win_free and their kin */
    PSE_COLLECTIVE_FILE = 26, /* MPI_File_open, MPI_File_close, MPI_File_write_all and their kin */
};

#endif
