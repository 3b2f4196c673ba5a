/* Make the table of memory: what is freed is divided among those that allocated it. */
#ifndef PSE_DIVIDE_MEMORY_H
#define PSE_DIVIDE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A change of memory as a record tells it, and as the table has it but for the last two fields. */
typedef struct __attribute__((packed)) pse_recorder_change {
    int64_t time;  /* ns */
    uint32_t rank; /* That allocated it. */
    uint32_t site;
    uint64_t tph;
    uint64_t handle;
    int64_t bytes; /* In the table negative where they are freed. */
    uint8_t local;
    uint32_t writer; /* The rank that recorded it. */
    uint8_t freed;
} pse_recorder_change;

enum { PSE_CHANGE_SIZE = 41 }; /* Bytes of a row of the table. */

/* What the blocks are known by while they live: all 0 at first. */
typedef struct pse_recorder_blocks {
    uint64_t *row;  /* By slot: a change of this block, from 1; 0 for an empty slot. */
    uint64_t *last; /* By slot: the last allocation of the block that lives, from 1. */
    uint64_t mask;  /* Slots less 1; a power of two of them, more than there are allocations. */
    uint64_t *next; /* By change: the next allocation of its block; after the last one the first. */
} pse_recorder_blocks;

/* Write the table's rows of `count` changes, taken in the order `order`, which is that of time; `arena` has a
 * number for each rank's arena.  There is room for each allocation twice and each free once; returns how many
 * rows there are. */
uint64_t pse_recorder_divide_memory(const pse_recorder_change *changes, const int64_t *order, uint64_t count,
                                    const uint32_t *arena, const pse_recorder_blocks *blocks, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
