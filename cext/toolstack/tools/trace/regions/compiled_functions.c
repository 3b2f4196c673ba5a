/* Hooks of compiled code, and the names of functions. */
#define _GNU_SOURCE
#include "regions/compiled_functions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_regions.h"
#include "regions/callers.h"
#include "regions/region_filter.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/symbols.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

static struct pse_region_hooks *hooks; /* of the preloaded object */

/* Functions */

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

static void enter_function(void *address)
{
    if (!pse_trace_recorder || pse_trace_is_writing)
        return;
    pse_trace_end_callers();
    pse_trace_enter_region(pse_trace_define_function(address));
}

static void leave_function(void *address)
{
    const struct trace_region *region = pse_trace_find_region(address);
    if (region)
        pse_trace_leave_region(region);
}

/* Regions of the source */

static struct trace_region *region_of(const struct pse_region *given)
{
    struct trace_region *region = pse_trace_find_region(given);
    return region ? region : pse_trace_define_region(given, given->name, "", given->file, given->line, false);
}

static void enter_named(const struct pse_region *given)
{
    if (pse_trace_recorder && !pse_trace_is_writing)
        pse_trace_enter_named(region_of(given), __builtin_frame_address(0));
}

/* The innermost region of that name; others of the source may have been left by a return. */
static void leave_named(const char *name)
{
    const struct trace_thread *thread =
        pse_trace_recorder && !pse_trace_is_writing ? pse_trace_this_thread() : NULL;
    unsigned at = !thread ? 0 : thread->depth < thread->room ? thread->depth : thread->room;
    while (at-- > 0)
        if (strcmp(thread->frames[at].region->name, name) == 0) {
            pse_trace_leave_region(thread->frames[at].region);
            return;
        }
}

/* Loaded alone, without the stack. */
TOOL_PUBLIC void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    enter_function(function);
}

TOOL_PUBLIC void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    leave_function(function);
}

TOOL_PUBLIC void pse_region_enter(const struct pse_region *region)
{
    enter_named(region);
}

TOOL_PUBLIC void pse_region_leave(const char *name)
{
    leave_named(name);
}

/* Begin and end */

void pse_trace_hook_compiled(void)
{
    hooks = dlsym(RTLD_DEFAULT, "pse_region_hooks");
    if (!hooks)
        return;
    for (unsigned i = 0; i < hooks->early_count && i < PSE_EARLY_REGIONS; i++) {
        const struct pse_early_region *early = &hooks->early[i];
        if (early->function)
            pse_trace_end_callers();
        pse_trace_enter_early(early->region ? region_of(early->region)
                                            : pse_trace_define_function(early->function),
                              NULL, early->stack);
    }
    hooks->function_leave = leave_function;
    hooks->leave = leave_named;
    hooks->enter = enter_named;
    hooks->function_enter = enter_function;
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
            pse_recorder_text_at(pse_trace_recorder, pse_clock(), PSE_TEXT_REGION_PLACE, chosen[i]->number,
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
