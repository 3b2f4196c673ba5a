/* Regions of compiled functions: their names, files and lines. */
#define _GNU_SOURCE
#include "regions/compiled_regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regions/region_filter.h"
#include "regions/region_table.h"
#include "regions/symbols.h"
#include "writer.h"

struct trace_region *pse_trace_define_function(void *address)
{
    struct trace_region *region = pse_trace_find_region(address);
    struct compiled_symbol symbol;
    char place[PSE_SYMBOL_PLACE] = "", *line = NULL;
    if (region)
        return region;
    pse_trace_find_symbol(address, &symbol);
    if (pse_trace_filter_has_files() && pse_trace_find_lines(symbol.object, &symbol.offset, 1, &line) && line)
        snprintf(place, sizeof place, "%s", line);
    free(line);
    char *colon = strrchr(place, ':');
    if (colon)
        *colon = '\0';
    region = pse_trace_define_region(address, symbol.name, symbol.mangled, place, colon ? atoi(colon + 1) : 0,
                                     false);
    region->is_address = true;
    pse_trace_free_symbol(&symbol);
    return region;
}

/* The functions of one object: addresses of those that have no place yet. */
static unsigned of_object(const char *object, struct trace_region **chosen, unsigned long *offsets,
                          unsigned room)
{
    unsigned count = 0;
    for (unsigned i = 0; i < pse_trace_region_count() && count < room; i++) {
        struct trace_region *region = pse_trace_region(i);
        unsigned long offset;
        const char *own = region->is_address && region->is_named && !region->place[0]
                              ? pse_trace_object_of(region->key, &offset)
                              : NULL;
        if (own && strcmp(own, object) == 0) {
            chosen[count] = region;
            offsets[count++] = offset;
        }
    }
    return count;
}

static void find_places_of(const char *object)
{
    enum { MOST = 4096 };
    static struct trace_region *chosen[MOST];
    static unsigned long offsets[MOST];
    static char *lines[MOST];
    const unsigned count = of_object(object, chosen, offsets, MOST);
    if (!pse_trace_find_lines(object, offsets, count, lines))
        return;
    pse_trace_lock();
    for (unsigned i = 0; i < count; i++) {
        char *place = NULL;
        if (!lines[i] || asprintf(&place, "%s:1", lines[i]) < 0)
            place = strdup("?");
        else if (pse_trace_recorder)
            pse_recorder_text_at(pse_trace_recorder, pse_trace_now, PSE_TEXT_REGION_PLACE, chosen[i]->number,
                                 place);
        free(lines[i]);
        free(chosen[i]->place);
        chosen[i]->place = place;
    }
    pse_trace_unlock();
}

void pse_trace_find_places(void)
{
    for (unsigned i = 0; pse_trace_recorder && i < pse_trace_region_count(); i++) {
        const struct trace_region *region = pse_trace_region(i);
        unsigned long offset;
        const char *object = region->is_address && region->is_named && !region->place[0]
                                 ? pse_trace_object_of(region->key, &offset)
                                 : NULL;
        if (object)
            find_places_of(object);
    }
}
