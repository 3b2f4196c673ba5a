/* What the files of the arena share and nobody else sees: how the memory file is laid out.
 *
 *   control | zone of small blocks | zone of large blocks
 *
 * A zone is a row of blocks without gaps from `begin` to `top`; each block knows its size, so the row can
 * always be walked.  Zones are as large as the whole arena in address space, which costs nothing; the memory
 * that both have taken together (`committed`) is bounded by the capacity.  Blocks of up to PSE_SMALL bytes
 * have a zone of their own so that they never lie between large ones.
 *
 * A rank may be killed between any two instructions.  What the next holder of the lock trusts is only this:
 * `top`, and each block's size and magic.  Each of these changes by a single store, and only after everything
 * that the new value promises has been written.  The lists are thrown away and made again (recover.c).
 */
#ifndef PSE_ARENA_INTERNAL_H
#define PSE_ARENA_INTERNAL_H

#include "arena.h"

#include <pthread.h>

#define PSE_CONTROL_MAGIC UINT64_C(0x31616e6572416573) /* Says which layout of this file it is. */
#define PSE_LIVE UINT64_C(0x6576696c2d657370)
#define PSE_FREE UINT64_C(0x656572662d657370)

enum {
    PSE_LINE = 64,      /* Alignment of blocks and data. */
    PSE_PAGE = 4096,    /* Alignment of the data of large blocks. */
    PSE_HUGE = 2 << 20, /* The file is mapped at, and large blocks' memory is taken in, multiples of this. */
    PSE_GRANULE = 64 << 10, /* Memory is taken in multiples of this. */
    PSE_HEADER = 256,       /* Bytes from a block's header to its data. */
    PSE_SMALL = 64 << 10,   /* The largest number of bytes of a small block. */
    PSE_BINS_PER_DOUBLING = 8,
    PSE_BIN_COUNT = 40 * PSE_BINS_PER_DOUBLING,
    PSE_SHARED_PARENTS = 1024,
    PSE_ZONE_COUNT = 2,
    PSE_CANDIDATES = 64, /* How many blocks of a bin are looked at for the best fit. */
};

_Static_assert(sizeof(pse_block) <= PSE_HEADER, "a block's header must fit before its data");

typedef struct pse_arena_zone {
    uint64_t begin;
    uint64_t top;               /* End of the last block. */
    uint64_t high;              /* Highest top so far: below it, memory is warm. */
    _Atomic uint64_t committed; /* End of the memory that was taken from the system. */
} pse_arena_zone;

/* A shared parent that not all of its partitions have asked for yet (shared_parents.c). */
typedef struct pse_arena_shared_parent {
    uint64_t key; /* 0: this entry is free. */
    pse_handle block;
    uint32_t parts;
    uint32_t missing;
} pse_arena_shared_parent;

typedef struct pse_arena_control {
    uint64_t magic;
    uint64_t capacity;
    uint64_t file_bytes;
    pthread_mutex_t lock;   /* Guards all below but the atomics. */
    pthread_mutex_t growth; /* Held while memory is taken from the system; never together with `lock`. */
    _Atomic uint64_t frees;
    _Atomic uint32_t poison;
    uint32_t guarded; /* Set before the first block. */
    uint32_t key_end; /* One past the last entry of `keys` that was ever used. */
    uint64_t in_use;
    uint64_t peak;
    uint64_t allocations;
    uint64_t recycled;
    uint64_t live_blocks;
    uint64_t recoveries;
    uint64_t blocks;         /* Blocks in both zones, live and free. */
    uint64_t frees_at_merge; /* `frees` when free neighbours were last merged. */
    pse_arena_zone zones[PSE_ZONE_COUNT];
    uint64_t bin_map[PSE_BIN_COUNT / 64]; /* Which bins hold something. */
    pse_handle bins[PSE_BIN_COUNT];
    pse_arena_shared_parent keys[PSE_SHARED_PARENTS];
} pse_arena_control;

struct pse_arena {
    pse_arena_control *control; /* Also the address that offsets count from. */
    int fd;
    uint64_t prefaulted; /* End of what this process has mapped of the large zone (growth.c). */
};

enum pse_zone_index { PSE_ZONE_SMALL, PSE_ZONE_LARGE };

/* The library's own words in a block's header. */
enum pse_internal { PSE_SIZE, PSE_NEXT, PSE_PREVIOUS };

static inline pse_block *pse_arena_block_at(const pse_arena_control *control, pse_handle handle)
{
    return (pse_block *)((char *)control + handle);
}

static inline pse_handle pse_arena_handle_of(const pse_arena_control *control, const pse_block *block)
{
    return (pse_handle)((const char *)block - (const char *)control);
}

/* A store that no later holder of the lock can see before the ones that precede it. */
static inline void pse_arena_publish(uint64_t *where, uint64_t value)
{
    __atomic_store_n(where, value, __ATOMIC_RELEASE);
}

/* Where the memory of a zone begins: its first block may lie a little higher. */
static inline uint64_t pse_arena_zone_base(const pse_arena_zone *zone)
{
    return zone->begin & ~(uint64_t)(PSE_GRANULE - 1);
}

static inline void pse_arena_note_peak(pse_arena_control *control)
{
    if (control->in_use > control->peak)
        control->peak = control->in_use;
}

static inline uint64_t pse_arena_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

/* bins.c: free blocks by size.  All are called with the lock held. */
uint64_t pse_arena_bin_round(uint64_t bytes);
void pse_arena_bin_clear(pse_arena_control *control);
void pse_arena_bin_insert(pse_arena_control *control, pse_block *block);
void pse_arena_bin_remove(pse_arena_control *control, pse_block *block);
size_t pse_arena_bin_of(uint64_t size);
pse_block *pse_arena_bin_find(const pse_arena_control *control, uint64_t size, uint64_t most);
pse_block *pse_arena_bin_find_larger(const pse_arena_control *control, uint64_t size);

/* recover.c */
bool pse_arena_is_whole(const pse_block *block, uint64_t room);
void pse_arena_lock(pse_arena_control *control);
void pse_arena_unlock(pse_arena_control *control);
bool pse_arena_rebuild(pse_arena_control *control, bool merge_small, bool merge_large);

/* growth.c: without the lock. */
int pse_arena_grow(pse_arena *arena, enum pse_zone_index index, uint64_t bytes);
bool pse_arena_fits_ever(const pse_arena_control *control, uint64_t size);
void pse_arena_populate(pse_arena *arena, uint64_t begin, uint64_t end);

/* shared_parents.c: shared parents that not all partitions have asked for yet.  With the lock held. */
pse_arena_shared_parent *pse_arena_parent_find(pse_arena_control *control, uint64_t key);
pse_arena_shared_parent *pse_arena_parent_free(pse_arena_control *control);
void pse_arena_parent_add(pse_arena_shared_parent *entry, uint64_t key, pse_handle block, uint32_t parts);
pse_handle pse_arena_parent_join(pse_arena_shared_parent *entry);
void pse_arena_parent_repair(pse_arena_control *control);

/* guard_pages.c: the size of a guarded block, and where the data of a block without parent begin. */
uint64_t pse_arena_guarded_size(uint64_t bytes);
void pse_arena_fill_margin(pse_arena_control *control, const pse_block *block);
uint64_t pse_arena_place_of_data(const pse_arena_control *control, const pse_block *block, uint64_t bytes);

/* allocate.c: a live block, or NULL if memory must be taken first.  `desperate` is for when there is none.
 * With the lock held. */
typedef struct pse_arena_request {
    uint64_t bytes;      /* Of data. */
    uint64_t size;       /* With header, rounded. */
    uint32_t references; /* How many the new block starts with. */
    enum pse_zone_index zone;
    pse_handle parent; /* For a view: its root, */
    uint64_t data;     /* and where its data begins. */
    bool cold;         /* Out: not all of its memory was handed out before. */
} pse_arena_request;

pse_block *pse_arena_take(pse_arena_control *control, pse_arena_request *request, bool desperate);

#endif
