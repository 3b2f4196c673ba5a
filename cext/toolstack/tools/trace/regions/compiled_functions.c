/* Hooks of compiled code, and the names of functions. */
#define _GNU_SOURCE
#include "regions/compiled_functions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_regions.h"
#include "regions/callers.h"
#include "regions/compiled_regions.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

static struct pse_region_hooks *hooks; /* of the preloaded object */

/* Functions */

static void enter_function(void *address)
{
    if (!pse_trace_recorder || pse_trace_is_writing())
        return;
    pse_trace_end_callers();
    pse_trace_enter_region(pse_trace_define_function(address), NULL);
}

static void leave_function(void *address)
{
    const struct trace_region *region = pse_trace_find_region(address);
    if (region)
        pse_trace_leave_region(region, true);
}

/* Regions of the source */

static struct trace_region *region_of(const struct pse_region *given)
{
    struct trace_region *region = pse_trace_find_region(given);
    return region ? region : pse_trace_define_region(given, given->name, "", given->file, given->line, false);
}

static void enter_named(const struct pse_region *given)
{
    if (pse_trace_recorder && !pse_trace_is_writing())
        pse_trace_enter_region(region_of(given), __builtin_frame_address(0));
}

/* Whether a region of that name is begun somewhere, and not recorded. */
static bool may_be_left_out(const char *name)
{
    if (pse_trace_regions_without_room)
        return true;
    for (unsigned i = 0; i < pse_trace_region_count(); i++)
        if (!pse_trace_region(i)->is_recorded && strcmp(pse_trace_region(i)->name, name) == 0)
            return true;
    return false;
}

/* The innermost region of that name; others of the source may have been left by a return. */
static void leave_named(const struct pse_region *end)
{
    const struct trace_thread *thread =
        pse_trace_recorder && !pse_trace_is_writing() ? pse_trace_this_thread() : NULL;
    unsigned at = !thread ? 0 : thread->depth < thread->room ? thread->depth : thread->room;
    while (at-- > 0)
        if (strcmp(thread->frames[at].region->name, end->name) == 0) {
            pse_trace_leave_region(thread->frames[at].region, true);
            return;
        }
    if (thread && thread->depth <= thread->room && !may_be_left_out(end->name))
        pse_trace_ended_without_begin(end->name, end->file, end->line);
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
    leave_named(&(struct pse_region){name, "", 0});
}

TOOL_PUBLIC void pse_region_leave_at(const struct pse_region *end)
{
    leave_named(end);
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
    pse_trace_thread_began = hooks->thread_began;
    hooks->function_leave = leave_function;
    hooks->leave = leave_named;
    hooks->enter = enter_named;
    hooks->function_enter = enter_function;
}

void pse_trace_unhook_compiled(void)
{
    if (hooks)
        hooks->enter = NULL;
}
