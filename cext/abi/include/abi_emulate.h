/* Made from cext/abi/emulate.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_EMULATE_H
#define PSE_ABI_EMULATE_H

#include <stddef.h>
#include <stdint.h>

/* What a step does; `bytes` is the size of one message. */
enum pse_emulate_kind {
    PSE_STEP_COMPUTE = 0, /* compute for so many seconds */
    PSE_STEP_SEND = 1, /* send to a peer */
    PSE_STEP_RECEIVE = 2, /* receive from a peer */
    PSE_STEP_ISEND = 3, /* begin to send to a peer */
    PSE_STEP_IRECEIVE = 4, /* begin to receive from a peer */
    PSE_STEP_WAITALL = 5, /* wait for all that has begun */
    PSE_STEP_SSEND = 6, /* send to a peer, and wait until it receives */
    PSE_STEP_BARRIER = 7, /* wait for all ranks */
    PSE_STEP_BROADCAST = 8, /* the root (peer) sends to all */
    PSE_STEP_ALLREDUCE = 9, /* combine what all ranks have, for all */
    PSE_STEP_REDUCE = 10, /* combine what all ranks have, for the root (peer) */
    PSE_STEP_ALLTOALL = 11, /* every rank sends a message to every rank */
    PSE_STEP_ALLGATHER = 12, /* every rank sends the same message to every rank */
    PSE_STEP_GATHER = 13, /* every rank sends a message to the root (peer) */
    PSE_STEP_SCATTER = 14, /* the root (peer) sends a message to every rank */
};

/* A step of a cycle. */
typedef struct pse_emulate_step {
    int32_t kind; /* what it does */
    int32_t peer; /* rank of the other side, or the root, in the communicator */
    int32_t tag; /* of the message */
    int32_t communicator; /* 0: of all ranks, else the number of one of some of them */
    int64_t bytes; /* of one message */
    int64_t offset; /* where the buffer for receiving has its place */
    double seconds; /* of COMPUTE */
} pse_emulate_step;
#ifndef __cplusplus
_Static_assert(sizeof(pse_emulate_step) == 40 && offsetof(pse_emulate_step, kind) == 0 &&
               offsetof(pse_emulate_step, peer) == 4 && offsetof(pse_emulate_step, tag) == 8 &&
               offsetof(pse_emulate_step, communicator) == 12 && offsetof(pse_emulate_step, bytes) == 16 &&
               offsetof(pse_emulate_step, offset) == 24 && offsetof(pse_emulate_step, seconds) == 32,
               "pse_emulate_step as NumPy has it");
#endif

/* The times of a cycle, in seconds. */
typedef struct pse_emulate_times {
    double start; /* when it began, since the launch's begin */
    double compute; /* in its steps of COMPUTE */
    double communication; /* in its other steps */
    double barrier; /* in the barrier behind it */
} pse_emulate_times;
#ifndef __cplusplus
_Static_assert(sizeof(pse_emulate_times) == 32 && offsetof(pse_emulate_times, start) == 0 &&
               offsetof(pse_emulate_times, compute) == 8 &&
               offsetof(pse_emulate_times, communication) == 16 && offsetof(pse_emulate_times, barrier) == 24,
               "pse_emulate_times as NumPy has it");
#endif

#endif
