/* The table of regions: open addressing, read without a lock. */
#define _GNU_SOURCE
#include "regions/region_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hot.h"
#include "regions/region_filter.h"

enum { REGION_SLOTS = 1 << 16, MOST_REGIONS = REGION_SLOTS / 2, FIRST_NUMBER = 4096 };

uint64_t pse_trace_regions_without_room;

static struct trace_region *slots[REGION_SLOTS];
PSE_TRACE_HOT_TABLE struct trace_region *pse_trace_recent_regions[RECENT_REGIONS];
static struct trace_region *regions[MOST_REGIONS];
static unsigned region_count;
static struct trace_region unrecorded; /* stands for all that found the table full */
static pthread_mutex_t defining = PTHREAD_MUTEX_INITIALIZER;

struct trace_region *pse_trace_region(unsigned index)
{
    return regions[index];
}

unsigned pse_trace_region_count(void)
{
    return __atomic_load_n(&region_count, __ATOMIC_ACQUIRE);
}

/* Where a region with a key is, or belongs; read without a lock. */
static struct trace_region **slot_of(const void *key)
{
    unsigned slot = (unsigned)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u >> 32) % REGION_SLOTS;
    const struct trace_region *region;
    while ((region = __atomic_load_n(&slots[slot], __ATOMIC_ACQUIRE)) != NULL && region->key != key)
        slot = (slot + 1) % REGION_SLOTS;
    return &slots[slot];
}

struct trace_region *pse_trace_look_for_region(const void *key)
{
    struct trace_region *region = __atomic_load_n(slot_of(key), __ATOMIC_ACQUIRE);
    if (region)
        __atomic_store_n(pse_trace_recent_region(key), region, __ATOMIC_RELEASE);
    return region;
}

/* The first ones of the program itself stand together. */
static struct trace_region *region_memory(bool is_library)
{
    enum { FIRST_OWN = 24 };
    PSE_TRACE_HOT_TABLE static struct trace_region own[FIRST_OWN];
    static unsigned used;
    return is_library || used == FIRST_OWN ? calloc(1, sizeof(struct trace_region)) : &own[used++];
}

static struct trace_region *new_region(const void *key, const char *name, const char *file, int line,
                                       bool is_library)
{
    struct trace_region *made = region_memory(is_library);
    name = *name ? name : "(no name)";
    const int length = made && file[0] ? asprintf(&made->place, "%s:%d:1", file, line) : 0;
    if (made && length <= 0)
        made->place = strdup("");
    if (!made || !made->place || !(made->name = strdup(name)))
        return NULL;
    made->key = key;
    made->number = FIRST_NUMBER + region_count;
    return made;
}

static struct trace_region *add_region(const void *key, const char *name, const char *mangled,
                                       const char *file, int line, bool is_library)
{
    struct trace_region **slot = slot_of(key);
    if (*slot)
        return *slot; /* Another thread was faster. */
    struct trace_region *made =
        region_count < MOST_REGIONS ? new_region(key, name, file, line, is_library) : NULL;
    if (!made) {
        pse_trace_regions_without_room++;
        return &unrecorded;
    }
    made->is_recorded = pse_trace_filter_includes(name, mangled, file, !is_library);
    regions[region_count] = made;
    __atomic_store_n(&region_count, region_count + 1, __ATOMIC_RELEASE);
    __atomic_store_n(slot, made, __ATOMIC_RELEASE);
    return made;
}

struct trace_region *pse_trace_define_region(const void *key, const char *name, const char *mangled,
                                             const char *file, int line, bool is_library)
{
    pthread_mutex_lock(&defining);
    struct trace_region *region = add_region(key, name, mangled, file, line, is_library);
    pthread_mutex_unlock(&defining);
    return region;
}
