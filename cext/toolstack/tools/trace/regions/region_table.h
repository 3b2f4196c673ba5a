/* The regions that are defined, by what identifies them in the process. */
#ifndef PSE_TRACE_REGION_TABLE_H
#define PSE_TRACE_REGION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_region {
    const void *key;  /* a code object of Python, the address of a function, a struct pse_region */
    uint32_t number;  /* in the rank's texts */
    bool is_recorded; /* neither excluded nor switched off */
    bool is_named;    /* the texts are in the file */
    bool is_python;
    bool is_address; /* its key is the address of a function, its place is found at the end of the run */
    uint32_t open;   /* how many frames of it are on stacks */
    uint64_t calls;  /* recorded */
    char *name, *place;
};

#pragma GCC visibility push(hidden)

/* Enters of regions for which the table has no room. */
extern uint64_t pse_trace_regions_without_room;

/* The region with a key; NULL if there is none yet. */
static inline struct trace_region *pse_trace_find_region(const void *key);
__attribute__((cold)) struct trace_region *pse_trace_look_for_region(const void *key);
enum { RECENT_REGIONS = 64 };
/* Some that were looked for before: those of the table are far apart. */
extern struct trace_region *pse_trace_recent_regions[RECENT_REGIONS];
/* Define it; a full table gives a region that is not recorded.  `is_library`: left out, unless the filter
 * includes it. */
struct trace_region *pse_trace_define_region(const void *key, const char *name, const char *mangled,
                                             const char *file, int line, bool is_library);

/* All regions that are defined. */
struct trace_region *pse_trace_region(unsigned index);
unsigned pse_trace_region_count(void);

#pragma GCC visibility pop

/* Where a region with a key is if it is a recent one. */
static inline struct trace_region **pse_trace_recent_region(const void *key)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return &pse_trace_recent_regions[(mixed >> 32) % RECENT_REGIONS];
}

static inline struct trace_region *pse_trace_find_region(const void *key)
{
    struct trace_region *region = __atomic_load_n(pse_trace_recent_region(key), __ATOMIC_ACQUIRE);
    return __builtin_expect(region && region->key == key, 1) ? region : pse_trace_look_for_region(key);
}

#endif
