/* Made from cext/abi/blocks.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_BLOCKS_H
#define PSE_ABI_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#define PSE_BLOCK_OPEN 0x8000 /* Flag of a block that was never left: it goes on to the end of the run. */

/* Where a block lies in the row of its rank; deeper regions have the next lanes. */
enum pse_blocks_lane {
    PSE_LANE_CALL = 0, /* module calls */
    PSE_LANE_WAIT = 1,
    PSE_LANE_REGION = 2, /* routines of MPI and others */
};

/* A call, a wait or a region of a rank. */
typedef struct pse_kernels_block {
    int64_t begin; /* ns of the rank's clock; Python makes it ns since the run's origin */
    int64_t end;
    uint64_t tph;
    uint32_t site;
    uint32_t detail; /* partition of a call, peer of a wait, of a region the index of its name */
    uint32_t category; /* of a call as asked for, of a wait its reason, of a region its number */
    uint16_t lane;
    uint16_t flags; /* of the record that ended it, and OPEN */
} pse_kernels_block;
#ifndef __cplusplus
_Static_assert(sizeof(pse_kernels_block) == 40 && offsetof(pse_kernels_block, begin) == 0 &&
               offsetof(pse_kernels_block, end) == 8 && offsetof(pse_kernels_block, tph) == 16 &&
               offsetof(pse_kernels_block, site) == 24 && offsetof(pse_kernels_block, detail) == 28 &&
               offsetof(pse_kernels_block, category) == 32 && offsetof(pse_kernels_block, lane) == 36 &&
               offsetof(pse_kernels_block, flags) == 38,
               "pse_kernels_block as NumPy has it");
#endif

/* What one category has of one pixel; the same pixel, lane and category may come more than once. */
typedef struct pse_kernels_share {
    int64_t time; /* ns */
    uint32_t pixel; /* from 0 */
    uint32_t count; /* blocks that begin in it (or before the window and end in it) */
    uint32_t parts; /* blocks that have a part of it */
    uint32_t unused;
    pse_kernels_block last; /* the last one of them */
} pse_kernels_share;
#ifndef __cplusplus
_Static_assert(sizeof(pse_kernels_share) == 64 && offsetof(pse_kernels_share, time) == 0 &&
               offsetof(pse_kernels_share, pixel) == 8 && offsetof(pse_kernels_share, count) == 12 &&
               offsetof(pse_kernels_share, parts) == 16 && offsetof(pse_kernels_share, unused) == 20 &&
               offsetof(pse_kernels_share, last) == 24,
               "pse_kernels_share as NumPy has it");
#endif

#endif
