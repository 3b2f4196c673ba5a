/* Made from cext/abi/memory.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_MEMORY_H
#define PSE_ABI_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "abi_elements.h"

/* What the bytes of a block are.  Strides are in bytes. */
typedef struct pse_layout {
    uint8_t dtype; /* number of the element type: pse_dtype */
    uint8_t ndim;
    uint16_t reserved;
    uint32_t itemsize;
    int64_t shape[PSE_MAX_DIMS];
    int64_t strides[PSE_MAX_DIMS];
} pse_layout;
#ifndef __cplusplus
_Static_assert(sizeof(pse_layout) == 136 && offsetof(pse_layout, dtype) == 0 &&
               offsetof(pse_layout, ndim) == 1 && offsetof(pse_layout, reserved) == 2 &&
               offsetof(pse_layout, itemsize) == 4 && offsetof(pse_layout, shape) == 8 &&
               offsetof(pse_layout, strides) == 72,
               "pse_layout as NumPy has it");
#endif

/* Counts of an arena, over all ranks that share it. */
typedef struct pse_arena_statistics {
    uint64_t capacity; /* bytes that the arena may hold at most */
    uint64_t grown; /* bytes that were ever handed out: the high-water mark of touched memory */
    uint64_t in_use; /* bytes of live blocks, headers included */
    uint64_t peak; /* largest in_use so far */
    uint64_t allocations; /* blocks that were allocated so far */
    uint64_t recycled; /* how many of these were served from warm memory */
    uint64_t live_blocks; /* blocks and views that somebody holds */
    uint64_t recoveries; /* how often a dead rank's lock was taken over */
} pse_arena_statistics;
#ifndef __cplusplus
_Static_assert(sizeof(pse_arena_statistics) == 64 && offsetof(pse_arena_statistics, capacity) == 0 &&
               offsetof(pse_arena_statistics, grown) == 8 && offsetof(pse_arena_statistics, in_use) == 16 &&
               offsetof(pse_arena_statistics, peak) == 24 &&
               offsetof(pse_arena_statistics, allocations) == 32 &&
               offsetof(pse_arena_statistics, recycled) == 40 &&
               offsetof(pse_arena_statistics, live_blocks) == 48 &&
               offsetof(pse_arena_statistics, recoveries) == 56,
               "pse_arena_statistics as NumPy has it");
#endif

/* Codes that the arena's functions return; 0 is none of them. */
enum pse_arena_code {
    PSE_ARENA_FULL = -1, /* the arena is full */
    PSE_ARENA_NO_MEMORY = -2, /* the system has no memory left for the arena */
    PSE_ARENA_TOO_LARGE = -3, /* the request is larger than the arena can ever hold */
    PSE_ARENA_SYSTEM = -4, /* a system call failed */
    PSE_ARENA_FOREIGN = -5, /* this is not an arena of this job */
    /* one shared block was asked for with different sizes or numbers of partitions */
    PSE_ARENA_MISMATCH = -6,
};
#define PSE_ARENA_TEXTS(X) \
    X(PSE_ARENA_FULL, -1, "the arena is full") \
    X(PSE_ARENA_NO_MEMORY, -2, "the system has no memory left for the arena") \
    X(PSE_ARENA_TOO_LARGE, -3, "the request is larger than the arena can ever hold") \
    X(PSE_ARENA_SYSTEM, -4, "a system call failed") \
    X(PSE_ARENA_FOREIGN, -5, "this is not an arena of this job") \
    X(PSE_ARENA_MISMATCH, -6, "one shared block was asked for with different sizes or numbers of partitions")

#endif
