/* The blocks of one rank's trace, at a level of detail: what fills a pixel is a block, what doesn't is
 * merged.
 *
 * Module calls, waits and regions are blocks of time.  Those at least as wide as `narrow` are given one by
 * one; of the others each pixel gets the time that each category has in it, to the nanosecond, and how many
 * there are.  So the busy share of every pixel is what it is in the records.  Records come in pieces of any
 * size, in order.
 *
 * No allocation: the caller owns all arrays.  The executable definition in Python is in
 * tests/views/test_blocks.py.
 */
#ifndef PSE_BLOCKS_H
#define PSE_BLOCKS_H

#include <stdint.h>

#include "abi_blocks.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_BLOCKS_DEPTH 8       /* Lanes of nested regions; what is nested deeper is only counted. */
#define PSE_BLOCKS_CATEGORIES 32 /* Kept of a lane's current pixel before they go to `shares`. */
#define PSE_BLOCKS_STACK 256     /* Open regions that are remembered. */
#define PSE_BLOCKS_CONTEXTS 4096 /* Begins of contexts that are picked. */
#define PSE_BLOCKS_TAIL 2048     /* Room for what comes at the end. */

/* Lanes of a rank: those of the table, regions by depth. */
enum { PSE_BLOCKS_LANES = PSE_LANE_REGION + PSE_BLOCKS_DEPTH };

typedef struct pse_kernels_lane {
    uint32_t pixel; /* That `shares` are of. */
    uint32_t used;
    pse_kernels_share shares[PSE_BLOCKS_CATEGORIES];
} pse_kernels_lane;

typedef struct pse_kernels_blocks {
    /* What is asked for. */
    const int64_t *edges; /* Of pixels, ascending: pixels + 1. */
    uint32_t pixels;      /* At least 1. */
    int64_t narrow; /* Blocks that are shorter are merged, ns; at most as long as the narrowest pixel. */
    const uint32_t *site_categories;
    uint64_t sites;
    uint32_t other;       /* Category of calls of sites past `sites`, and of calls that are not in `tphs`. */
    const uint64_t *tphs; /* Ascending; NULL: all. */
    uint64_t tph_count;
    uint32_t sample; /* Messages are picked whose sequence number, mixed, is at most this; UINT32_MAX: all.
                      * Those that begin or end further off the window than it is long are left out. */

    /* What is found; the caller makes room and empties. */
    pse_kernels_block *blocks;
    uint64_t block_count, block_room;
    pse_kernels_share *shares;
    uint64_t share_count, share_room;
    pse_event *picked; /* TEXT, MARKER, sampled SEND and RECEIVE, the first CONTEXT_BEGIN. */
    uint64_t picked_count, picked_room;
    uint64_t sends;     /* In the window, of the TPHs asked for, picked or not. */
    uint64_t mpi_sends; /* Messages of MPI, in the window. */
    uint64_t contexts;  /* Begins of contexts. */
    uint64_t merged;    /* Blocks that are in `shares`. */
    uint64_t deeper;    /* Regions that are nested too deep. */
    int64_t last;       /* Time of the last record. */

    /* Between pieces. All from here on, and the counts above, are zero at first. */
    pse_kernels_lane lanes[PSE_BLOCKS_LANES];
    pse_kernels_block call, wait; /* Entered and not left, if so. */
    int32_t call_is_open, wait_is_open;
    pse_kernels_block regions[PSE_BLOCKS_STACK]; /* The open ones from the outermost. */
    int64_t depth;
} pse_kernels_blocks;

/* Take `count` records in.  Returns how many were taken: fewer if an array is full, then call again with the
 * rest. */
uint64_t pse_kernels_blocks_take(pse_kernels_blocks *found, const pse_event *events, uint64_t count);

/* End what is open at the last record's time, as PSE_BLOCK_OPEN, and bring what is held of pixels to
 * `shares`.  Needs room for PSE_BLOCKS_TAIL shares and blocks. */
void pse_kernels_blocks_finish(pse_kernels_blocks *found);

#ifdef __cplusplus
}
#endif
#endif
