/* Made from cext/abi/replay.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_REPLAY_H
#define PSE_ABI_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* What a call path ends in: the top byte of a node's key; the lower bits identify it. */
enum pse_replay_frame_kind {
    PSE_FRAME_PROGRAM = 0, /* the program: the root of all call paths */
    PSE_FRAME_ROUTINE = 1, /* a routine: its number in the rank's texts */
    PSE_FRAME_SITE = 2, /* a call site: its number */
    PSE_FRAME_WAIT = 3, /* a wait: its call site (low 32 bits) and the reason (above) */
    PSE_FRAME_END = 4, /* the end of a rank that has no more work for its program */
};

/* A call path: a node of a rank's tree of calls; node 0 is the program. */
typedef struct pse_replay_node {
    uint64_t key; /* what it ends in */
    uint64_t visits; /* how often it was entered */
    double time; /* ns in it and not in what it called */
    uint32_t parent; /* node that it was entered from; that of node 0 is 0 */
    uint32_t child; /* node that was entered from it last; 0: none */
    double sent; /* bytes that its operations of MPI sent */
    double received; /* bytes that its operations of MPI received */
} pse_replay_node;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_node) == 48 && offsetof(pse_replay_node, key) == 0 &&
               offsetof(pse_replay_node, visits) == 8 && offsetof(pse_replay_node, time) == 16 &&
               offsetof(pse_replay_node, parent) == 24 && offsetof(pse_replay_node, child) == 28 &&
               offsetof(pse_replay_node, sent) == 32 && offsetof(pse_replay_node, received) == 40,
               "pse_replay_node as NumPy has it");
#endif

/* A call in which operations of MPI happened. */
typedef struct pse_replay_call {
    uint64_t enter; /* ns of the rank's clock */
    uint64_t leave; /* ns of the rank's clock */
    uint32_t node; /* its call path */
    int16_t enter_residual; /* 65,536ths of a ns to add to enter */
    int16_t leave_residual; /* 65,536ths of a ns to add to leave */
} pse_replay_call;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_call) == 24 && offsetof(pse_replay_call, enter) == 0 &&
               offsetof(pse_replay_call, leave) == 8 && offsetof(pse_replay_call, node) == 16 &&
               offsetof(pse_replay_call, enter_residual) == 20 &&
               offsetof(pse_replay_call, leave_residual) == 22,
               "pse_replay_call as NumPy has it");
#endif

/* A send, receive, request or collective operation of MPI. */
typedef struct pse_replay_operation {
    uint64_t time; /* ns of the rank's clock */
    uint64_t a; /* as the record has it */
    uint64_t b; /* as the record has it */
    uint64_t c; /* as the record has it */
    uint32_t call; /* the call in which it happened; PSE_NONE: in no call */
    int16_t residual; /* 65,536ths of a ns to add to the time */
    uint8_t type; /* of the record */
    uint8_t flags; /* of the record */
} pse_replay_operation;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_operation) == 40 && offsetof(pse_replay_operation, time) == 0 &&
               offsetof(pse_replay_operation, a) == 8 && offsetof(pse_replay_operation, b) == 16 &&
               offsetof(pse_replay_operation, c) == 24 && offsetof(pse_replay_operation, call) == 32 &&
               offsetof(pse_replay_operation, residual) == 36 && offsetof(pse_replay_operation, type) == 38 &&
               offsetof(pse_replay_operation, flags) == 39,
               "pse_replay_operation as NumPy has it");
#endif

/* Time that a thread spent in a call path, and not in what it called. */
typedef struct pse_replay_span {
    uint64_t begin; /* ns of the rank's clock */
    uint64_t end; /* ns of the rank's clock */
    uint32_t node; /* the call path */
    uint32_t thread; /* the thread's number in the rank */
    int32_t begin_residual; /* 65,536ths of a ns to add to begin */
    int32_t end_residual; /* 65,536ths of a ns to add to end */
} pse_replay_span;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_span) == 32 && offsetof(pse_replay_span, begin) == 0 &&
               offsetof(pse_replay_span, end) == 8 && offsetof(pse_replay_span, node) == 16 &&
               offsetof(pse_replay_span, thread) == 20 && offsetof(pse_replay_span, begin_residual) == 24 &&
               offsetof(pse_replay_span, end_residual) == 28,
               "pse_replay_span as NumPy has it");
#endif

/* How much time of an interval belongs to a call path. */
typedef struct pse_replay_profile_row {
    uint32_t interval; /* number of the interval */
    uint32_t path; /* the call path */
    double time; /* ns, more than 0 */
} pse_replay_profile_row;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_profile_row) == 16 && offsetof(pse_replay_profile_row, interval) == 0 &&
               offsetof(pse_replay_profile_row, path) == 4 && offsetof(pse_replay_profile_row, time) == 8,
               "pse_replay_profile_row as NumPy has it");
#endif

/* An end of a line: how much later than corrected times are. */
typedef struct pse_replay_shift {
    uint64_t event; /* an event of the rank */
    int64_t time; /* ns of the rank's own time */
    int64_t shift; /* ns */
} pse_replay_shift;
#ifndef __cplusplus
_Static_assert(sizeof(pse_replay_shift) == 24 && offsetof(pse_replay_shift, event) == 0 &&
               offsetof(pse_replay_shift, time) == 8 && offsetof(pse_replay_shift, shift) == 16,
               "pse_replay_shift as NumPy has it");
#endif

/* Whether a late message was received in wrong order. */
enum pse_replay_order {
    PSE_ORDER_RIGHT = 0, /* no message that was sent earlier was received after it */
    PSE_ORDER_SAME_SOURCE = 1, /* its sender sent such a message */
    PSE_ORDER_OTHER_SOURCE = 2, /* another sender did */
};

#endif
