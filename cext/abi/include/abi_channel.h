/* Made from cext/abi/channel.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_CHANNEL_H
#define PSE_ABI_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#define PSE_NO_SITE 0xffffffffu /* No call site. */

/* What a message brings, by the member of `value` that it uses. */
enum pse_message_kind {
    PSE_CARRIES_HANDLE = 1, /* `handle` names a block of the node's arena; the receiver owns one reference */
    PSE_CARRIES_SCALAR = 2, /* `scalar` holds the value */
    /* `pointer` names a block that the receiver can read as it is (never crosses ranks) */
    PSE_CARRIES_POINTER = 3,
    /* `integer`: how many messages of this edge the source has taken (from other nodes) */
    PSE_CARRIES_CREDIT = 4,
    PSE_CARRIES_ITERATIONS = 5, /* `integer`: how many iterations of loop `index` the source has completed */
    PSE_CARRIES_PARTITION_SCALAR = 6, /* among partitions: `scalar` holds `dtype >> 8` bytes */
    PSE_CARRIES_PARTITION_HANDLE = 7, /* among partitions: `handle`, as above */
    PSE_CARRIES_PARTITION_POINTER = 8, /* among partitions: `pointer`, as above */
    /* among partitions: `reference`: the sender's own array; it is to be told */
    PSE_CARRIES_PARTITION_REFERENCE = 9,
    PSE_CARRIES_PARTITION_COPY = 10, /* among partitions: of this rank's own; never in an inbox */
    PSE_CARRIES_PARTITION_TAKEN = 11, /* answers PARTITION_REFERENCE: the array was copied */
    PSE_CARRIES_QUESTION = 12, /* whether a rank has anything left to do (deadlock_detection.c) */
    PSE_CARRIES_ANSWER = 13,
    PSE_CARRIES_READY = 64, /* the call may run on the source and all ranks below it */
    PSE_CARRIES_ORDER = 65, /* the call is to run */
};

/* An array in the arena that is not a block. */
typedef struct pse_reference {
    uint64_t at;
    uint64_t bytes;
} pse_reference;
#ifndef __cplusplus
_Static_assert(sizeof(pse_reference) == 16 && offsetof(pse_reference, at) == 0 &&
               offsetof(pse_reference, bytes) == 8,
               "pse_reference as NumPy has it");
#endif

/* What a message brings. */
typedef union pse_message_value {
    uint64_t counts[2];
    uint64_t handle;
    void *pointer;
    double scalar[2];
    int64_t integer;
    pse_reference reference;
} pse_message_value;
#ifndef __cplusplus
_Static_assert(sizeof(pse_message_value) == 16,
               "pse_message_value as NumPy has it");
#endif

/* A message between two ranks. */
typedef struct pse_message {
    uint64_t tph;
    uint32_t edge;
    uint32_t source; /* rank that sent it */
    uint32_t index; /* which piece, where an edge carries one for each partition */
    uint8_t kind;
    uint8_t flags; /* PSE_MESSAGE_* of the trace's table: how the bytes travelled */
    uint16_t dtype;
    uint64_t sequence; /* counts the messages between one pair of ranks, from 1 */
    pse_message_value value;
    uint32_t site; /* call site that sent it (messages among partitions) */
    uint32_t extra;
} pse_message;
#ifndef __cplusplus
_Static_assert(sizeof(pse_message) == 56 && offsetof(pse_message, tph) == 0 &&
               offsetof(pse_message, edge) == 8 && offsetof(pse_message, source) == 12 &&
               offsetof(pse_message, index) == 16 && offsetof(pse_message, kind) == 20 &&
               offsetof(pse_message, flags) == 21 && offsetof(pse_message, dtype) == 22 &&
               offsetof(pse_message, sequence) == 24 && offsetof(pse_message, value) == 32 &&
               offsetof(pse_message, site) == 48 && offsetof(pse_message, extra) == 52,
               "pse_message as NumPy has it");
#endif

/* One rank's slot of the board.  Written by its rank, but for `bell`, which everybody rings. */
typedef struct pse_slot {
    _Atomic int32_t pid; /* process of the rank, 0 before it has started */
    _Atomic uint32_t state; /* what it does (RankState) */
    _Atomic uint32_t site; /* call site that runs now, or NO_SITE */
    _Atomic uint32_t cpu; /* core it was last seen on */
    _Atomic uint64_t tph; /* TPH that the call works on */
    _Atomic uint64_t since; /* when `state` or `site` last changed (CLOCK_MONOTONIC ns) */
    _Atomic uint64_t affinity; /* cores it may use, as a mask of the first 64 */
    _Atomic int64_t loop_index; /* loop counter of the TPH, for people */
    _Atomic uint64_t yield_after; /* until then, waiting for a shared core is done asleep (doorbell.c) */
    _Alignas(64) _Atomic uint32_t bell; /* how often it was rung */
    _Atomic uint32_t sleeping; /* 1 while the rank sleeps */
    /* PSE_WANT_*: what its blocked TPHs wait for, so that others ring when it comes */
    _Atomic uint32_t wants;
} pse_slot;
#ifndef __cplusplus
_Static_assert(sizeof(pse_slot) == 128 && offsetof(pse_slot, pid) == 0 && offsetof(pse_slot, state) == 4 &&
               offsetof(pse_slot, site) == 8 && offsetof(pse_slot, cpu) == 12 &&
               offsetof(pse_slot, tph) == 16 && offsetof(pse_slot, since) == 24 &&
               offsetof(pse_slot, affinity) == 32 && offsetof(pse_slot, loop_index) == 40 &&
               offsetof(pse_slot, yield_after) == 48 && offsetof(pse_slot, bell) == 64 &&
               offsetof(pse_slot, sleeping) == 68 && offsetof(pse_slot, wants) == 72,
               "pse_slot as NumPy has it");
#endif

/* What one rank did at one call site so far. */
typedef struct pse_site_statistics {
    _Alignas(64) _Atomic uint64_t calls; /* calls so far */
    _Atomic uint64_t wall; /* ns inside the module */
    _Atomic uint64_t cpu; /* ns of CPU time inside the module */
    _Atomic uint64_t described; /* bytes handed over by descriptor */
    _Atomic uint64_t copied; /* bytes copied on the node by the engine */
    _Atomic uint64_t remote; /* bytes sent through MPI */
    _Atomic uint64_t waited; /* ns that the rank slept before it could run this call site */
} pse_site_statistics;
#ifndef __cplusplus
_Static_assert(sizeof(pse_site_statistics) == 64 && offsetof(pse_site_statistics, calls) == 0 &&
               offsetof(pse_site_statistics, wall) == 8 && offsetof(pse_site_statistics, cpu) == 16 &&
               offsetof(pse_site_statistics, described) == 24 &&
               offsetof(pse_site_statistics, copied) == 32 && offsetof(pse_site_statistics, remote) == 40 &&
               offsetof(pse_site_statistics, waited) == 48,
               "pse_site_statistics as NumPy has it");
#endif

#endif
