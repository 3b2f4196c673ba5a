/* Made from cext/abi/coschedule.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_COSCHEDULE_H
#define PSE_ABI_COSCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#define PSE_BCS_SHORTEST_SLICE 100000 /* ns of the shortest time slice that is accepted. */
#define PSE_BCS_DEFAULT_SLICE 500000 /* ns of a time slice if nothing else is said. */
#define PSE_BCS_DEFAULT_FAR_SLICE 1000000 /* The same on several nodes. */

/* What moves of a message in each ns of a slice at most: a core copies that in half the time, roughly. */
#define PSE_BCS_BYTES_PER_NS 6
#define PSE_BCS_NONE 0xffffffffu /* No rank, descriptor, operation, event. */

/* Variable of the environment: the machine of the stepper and, behind a colon, its socket, where ranks
 * tell of their layers. */
#define PSE_BCS_STEPPER "PSE_BCS_STEP"

/* Variable of the environment: the folder that gets a report of each process (section 5.1 of the paper). */
#define PSE_BCS_MMDS "PSE_BCS_MMDS"
#define PSE_BCS_MMDS_RANKS "PSE_BCS_MMDS_RANKS" /* Which processes, as in 0,4:7; all if it is not set. */

/* What of them: routines, computation, communication, with commas; all if it is not set. */
#define PSE_BCS_MMDS_METRICS "PSE_BCS_MMDS_METRICS"

/* Its distributions have two to the power of this many bins for each factor of two. */
#define PSE_BCS_MMDS_RESOLUTION "PSE_BCS_MMDS_RESOLUTION"

/* The folder that gets the slices of each node (section 5.2 of the paper). */
#define PSE_BCS_EMDS "PSE_BCS_EMDS"

/* Which slices, as in 7500:12500; if it is not set, the last ones. */
#define PSE_BCS_EMDS_SLICES "PSE_BCS_EMDS_SLICES"
#define PSE_BCS_RESOLUTION 3 /* Of distributions, if nothing else is said, */
#define PSE_BCS_MOST_RESOLUTION 8 /* and at most. */
#define PSE_BCS_KEPT_SLICES 16384 /* Slices that are kept if nothing else is said, */
#define PSE_BCS_MOST_SLICES 1000000 /* and at most. */
#define PSE_BCS_ROUTINE 48 /* Bytes for the name of a routine, with the zero at their end. */
#define PSE_BCS_ENDED -1 /* Instead of a process: it has ended, on another node. */
#define PSE_BCS_PLACE 256 /* Bytes for file and line of a call, with the zero at their end. */
#define PSE_BCS_EAGER 65536 /* Messages up to so many bytes travel with their descriptor. */

/* ns that a blocked rank stays awake on a core that nobody else wants: who answers is woken before, and
 * does its part. */
#define PSE_BCS_AWAKE 200000

/* What a rank may have under way at once; fewer of more than 256 ranks. */
#define PSE_BCS_MOST_OPERATIONS 1048576
#define PSE_BCS_MOST_DESCRIPTORS 268435456 /* That of all ranks together. */
#define PSE_BCS_HOST 64 /* Bytes for the name of a machine, with the zero at their end. */
#define PSE_BCS_ENDPOINT 128 /* Where a node is reached: so many bytes. */

/* Arrays up to so many bytes are reduced whole by every rank that needs the result. */
#define PSE_BCS_WHOLE 16384

/* Collective operations. */
enum pse_bcs_collective {
    PSE_BCS_BARRIER = 0,
    PSE_BCS_BCAST = 1,
    PSE_BCS_REDUCE = 2,
    PSE_BCS_ALLREDUCE = 3,
    PSE_BCS_SCATTER = 4, /* and its form for pieces of different sizes */
    PSE_BCS_GATHER = 5, /* and its form for pieces of different sizes */
    PSE_BCS_ALLGATHER = 6, /* and its form for pieces of different sizes */
    PSE_BCS_ALLTOALL = 7, /* and its form for pieces of different sizes */
    PSE_BCS_SCAN = 8,
    PSE_BCS_EXSCAN = 9,
};

/* How a wait ended. */
enum pse_bcs_outcome {
    PSE_BCS_WAIT_COMPLETE = 0, /* what was waited for is complete */
    PSE_BCS_WAIT_INCOMPLETE = 1, /* a test found something incomplete */
    PSE_BCS_WAIT_INTERRUPTED = 2, /* a signal came, or it is time to look for one */
    PSE_BCS_WAIT_FAILED = 3, /* the layer has failed */
};

/* Why the layer has failed. */
enum pse_bcs_failure {
    PSE_BCS_FAILURE_NONE = 0, /* it has not */
    PSE_BCS_FAILURE_DEAD = 1, /* a rank's process ended without leaving */
    PSE_BCS_FAILURE_DEADLOCK = 2, /* all ranks wait and nothing can happen */
    PSE_BCS_FAILURE_MISMATCH = 3, /* ranks called different collective operations */
    PSE_BCS_FAILURE_LEFT = 4, /* a rank left while others wait for it */
    PSE_BCS_FAILURE_SILENT = 5, /* the leader of a node does not answer any more */
    PSE_BCS_FAILURE_STOPPED = 6, /* the process of a rank is stopped */
    PSE_BCS_FAILURE_FULL = 7, /* a rank has too many operations under way */
};

/* What a descriptor asks for. */
enum pse_bcs_kind {
    PSE_BCS_KIND_SEND = 0,
    PSE_BCS_KIND_RECEIVE = 1,
    PSE_BCS_KIND_PROBE = 2,
    PSE_BCS_KIND_COLLECTIVE = 3,
};

/* What a simulated rank does; the first ones are DescriptorKind's. */
enum pse_bcs_act_kind {
    PSE_BCS_ACT_SEND = 0,
    PSE_BCS_ACT_RECEIVE = 1,
    PSE_BCS_ACT_COLLECTIVE = 3,
    PSE_BCS_ACT_COMPUTE = 4,
    PSE_BCS_ACT_WAIT = 5, /* until all that was posted is complete */
};

/* A step of a simulated rank's program. */
typedef struct pse_bcs_act {
    uint32_t kind; /* Act */
    int32_t peer; /* the other rank, or the root */
    int32_t tag; /* of a message; COLLECTIVE: Collective */
    uint32_t reserved;
    uint64_t amount; /* bytes; COMPUTE: ns */
} pse_bcs_act;
#ifndef __cplusplus
_Static_assert(sizeof(pse_bcs_act) == 24 && offsetof(pse_bcs_act, kind) == 0 &&
               offsetof(pse_bcs_act, peer) == 4 && offsetof(pse_bcs_act, tag) == 8 &&
               offsetof(pse_bcs_act, reserved) == 12 && offsetof(pse_bcs_act, amount) == 16,
               "pse_bcs_act as NumPy has it");
#endif

/* Routines whose calls are monitored; of a collective operation: the first one's number plus its own. */
enum pse_bcs_primitive {
    PSE_BCS_SEND = 0,
    PSE_BCS_ISEND = 1,
    PSE_BCS_RECV = 2,
    PSE_BCS_IRECV = 3,
    PSE_BCS_PROBE = 4,
    PSE_BCS_IPROBE = 5,
    PSE_BCS_WAIT = 6,
    PSE_BCS_WAITALL = 7,
    PSE_BCS_WAITANY = 8,
    PSE_BCS_TEST = 9,
    PSE_BCS_FIRST_BLOCKING = 10, /* BARRIER, BCAST, … */
    PSE_BCS_FIRST_IMMEDIATE = 20, /* IBARRIER, IBCAST, … */
    PSE_BCS_PRIMITIVES = 30, /* how many there are */
};

/* What happened in a time slice: tables 5.1 and 5.2 of the paper; times in ns. */
typedef struct pse_bcs_slice {
    uint64_t slice; /* number of the slice */
    uint64_t epoch; /* how often all ranks were blocked before: a function of the program alone */
    uint64_t begin; /* when it began (CLOCK_MONOTONIC) */
    uint64_t getts; /* elapsed time from the previous slice */
    uint64_t gtdem; /* time to complete the descriptor exchange microphase */
    uint64_t gtmsm; /* time to complete the message scheduling microphase */
    uint64_t gtts; /* time to complete the slice */
    uint64_t late; /* how long after its time a slice began that has one */
    uint64_t length; /* of the slices from this one on */
    uint32_t np2pdem; /* point-to-point descriptors processed in the exchange */
    uint32_t np2pmsm; /* point-to-point operations scheduled */
    uint32_t ncolldem; /* collective descriptors processed in the exchange */
    uint32_t ncollmsm; /* collective operations scheduled */
    uint32_t bpts; /* blocked ranks */
    uint32_t timed; /* 1: the slice began at its time; 0: because a rank blocked */
    /* strobes before this slice's that found the exchange of the one before not over on all nodes */
    uint32_t usrdem;
    uint32_t usrmsm; /* those that found its scheduling not over on all nodes */
    uint64_t ltr_exchange; /* what this node took to exchange its own descriptors */
    uint64_t ltr_nodes; /* to take what other nodes told */
    uint64_t ltr_match; /* to match messages and receives */
    uint64_t ltr_decide; /* to decide what waits until all ranks are blocked */
    uint64_t ltr_message; /* to move bytes of messages, all its ranks together */
    uint64_t ltr_broadcast; /* to perform collective operations other than reductions */
    uint64_t ltr_reduce; /* to perform reductions */
} pse_bcs_slice;
#ifndef __cplusplus
_Static_assert(sizeof(pse_bcs_slice) == 160 && offsetof(pse_bcs_slice, slice) == 0 &&
               offsetof(pse_bcs_slice, epoch) == 8 && offsetof(pse_bcs_slice, begin) == 16 &&
               offsetof(pse_bcs_slice, getts) == 24 && offsetof(pse_bcs_slice, gtdem) == 32 &&
               offsetof(pse_bcs_slice, gtmsm) == 40 && offsetof(pse_bcs_slice, gtts) == 48 &&
               offsetof(pse_bcs_slice, late) == 56 && offsetof(pse_bcs_slice, length) == 64 &&
               offsetof(pse_bcs_slice, np2pdem) == 72 && offsetof(pse_bcs_slice, np2pmsm) == 76 &&
               offsetof(pse_bcs_slice, ncolldem) == 80 && offsetof(pse_bcs_slice, ncollmsm) == 84 &&
               offsetof(pse_bcs_slice, bpts) == 88 && offsetof(pse_bcs_slice, timed) == 92 &&
               offsetof(pse_bcs_slice, usrdem) == 96 && offsetof(pse_bcs_slice, usrmsm) == 100 &&
               offsetof(pse_bcs_slice, ltr_exchange) == 104 && offsetof(pse_bcs_slice, ltr_nodes) == 112 &&
               offsetof(pse_bcs_slice, ltr_match) == 120 && offsetof(pse_bcs_slice, ltr_decide) == 128 &&
               offsetof(pse_bcs_slice, ltr_message) == 136 && offsetof(pse_bcs_slice, ltr_broadcast) == 144 &&
               offsetof(pse_bcs_slice, ltr_reduce) == 152,
               "pse_bcs_slice as NumPy has it");
#endif
#define PSE_BCS_SLICE_FIELDS \
    "('slice', '<u8')," \
    "('epoch', '<u8')," \
    "('begin', '<u8')," \
    "('getts', '<u8')," \
    "('gtdem', '<u8')," \
    "('gtmsm', '<u8')," \
    "('gtts', '<u8')," \
    "('late', '<u8')," \
    "('length', '<u8')," \
    "('np2pdem', '<u4')," \
    "('np2pmsm', '<u4')," \
    "('ncolldem', '<u4')," \
    "('ncollmsm', '<u4')," \
    "('bpts', '<u4')," \
    "('timed', '<u4')," \
    "('usrdem', '<u4')," \
    "('usrmsm', '<u4')," \
    "('ltr_exchange', '<u8')," \
    "('ltr_nodes', '<u8')," \
    "('ltr_match', '<u8')," \
    "('ltr_decide', '<u8')," \
    "('ltr_message', '<u8')," \
    "('ltr_broadcast', '<u8')," \
    "('ltr_reduce', '<u8'),"

/* What a row of a process's report measures. */
enum pse_bcs_measure {
    PSE_BCS_MEASURE_COMPUTATION = 0, /* stretches of computation between blocking operations, in ns */
    PSE_BCS_MEASURE_COMMUNICATION = 1, /* times in blocking operations, in ns */
    PSE_BCS_MEASURE_LATENCY = 2, /* times in a routine, in ns */
    PSE_BCS_MEASURE_SIZE = 3, /* the bytes that a routine was given */
};

/* A distribution in the report of a process; its bins follow. */
typedef struct pse_bcs_report_row {
    uint32_t rank; /* whose process it was */
    uint32_t measure; /* Measure */
    char routine[PSE_BCS_ROUTINE]; /* LATENCY and SIZE: which one, without MPI_ */
    uint64_t count; /* how many there were */
    uint64_t total; /* their sum */
    uint64_t least;
    uint64_t greatest;
} pse_bcs_report_row;
#ifndef __cplusplus
_Static_assert(sizeof(pse_bcs_report_row) == 88 && offsetof(pse_bcs_report_row, rank) == 0 &&
               offsetof(pse_bcs_report_row, measure) == 4 && offsetof(pse_bcs_report_row, routine) == 8 &&
               offsetof(pse_bcs_report_row, count) == 56 && offsetof(pse_bcs_report_row, total) == 64 &&
               offsetof(pse_bcs_report_row, least) == 72 && offsetof(pse_bcs_report_row, greatest) == 80,
               "pse_bcs_report_row as NumPy has it");
#endif
#define PSE_BCS_REPORT_FIELDS \
    "('rank', '<u4')," \
    "('measure', '<u4')," \
    "('routine', 'S48')," \
    "('count', '<u8')," \
    "('total', '<u8')," \
    "('least', '<u8')," \
    "('greatest', '<u8'),"

/* What a row of the schedule says. */
enum pse_bcs_decision {
    PSE_BCS_MATCH = 0, /* a receive or probe and the send that it got */
    PSE_BCS_ANSWER = 1, /* what a test or a wait for one of several requests was told */
};

/* A decision of the layer: a row of the schedule. */
typedef struct pse_bcs_match {
    uint64_t slice; /* slice in which they were matched */
    uint64_t epoch; /* how often all ranks had been blocked before */
    uint32_t receiver; /* rank that received */
    uint32_t source; /* rank that sent */
    uint64_t receive; /* which descriptor of the receiver, from 0; answers: which test or wait */
    /* which descriptor of the source, from 0; answers: the place of the request, or 2^32 - 1 for no */
    uint64_t send;
    uint64_t bytes; /* length of the message */
    int32_t tag; /* of the message */
    uint32_t kind; /* Decision */
} pse_bcs_match;
#ifndef __cplusplus
_Static_assert(sizeof(pse_bcs_match) == 56 && offsetof(pse_bcs_match, slice) == 0 &&
               offsetof(pse_bcs_match, epoch) == 8 && offsetof(pse_bcs_match, receiver) == 16 &&
               offsetof(pse_bcs_match, source) == 20 && offsetof(pse_bcs_match, receive) == 24 &&
               offsetof(pse_bcs_match, send) == 32 && offsetof(pse_bcs_match, bytes) == 40 &&
               offsetof(pse_bcs_match, tag) == 48 && offsetof(pse_bcs_match, kind) == 52,
               "pse_bcs_match as NumPy has it");
#endif

#endif
