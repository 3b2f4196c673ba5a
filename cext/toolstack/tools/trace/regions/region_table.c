/* The table of regions: open addressing, read without a lock. */
#define _GNU_SOURCE
#include "regions/region_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regions/region_filter.h"

enum { MOST_REGIONS = REGION_SLOTS / 2, FIRST_NUMBER = 4096 };

uint64_t pse_trace_regions_without_room;

struct trace_region *pse_trace_region_slots[REGION_SLOTS];
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

static struct trace_region *new_region(const void *key, const char *name, const char *file, int line)
{
    struct trace_region *made = calloc(1, sizeof *made);
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
    struct trace_region **slot = pse_trace_region_slot(key);
    if (*slot)
        return *slot; /* Another thread was faster. */
    struct trace_region *made = region_count < MOST_REGIONS ? new_region(key, name, file, line) : NULL;
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
