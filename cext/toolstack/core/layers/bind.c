/* Choosing what each import of a tool becomes. */
#include "layers/bind.h"

#include <stdlib.h>
#include <string.h>

#include "calls/call_filter.h"
#include "calls/large_counts.h"
#include "calls/routine_filter.h"
#include "calls/thunk.h"
#include "config/report.h"
#include "elf/loaded_elf.h"
#include "layers/layer_dlsym.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"

struct layer_binding {
    struct tool_layer *layer;
    const pse_function *below;
};

/* Calls that a tool makes of its own accord are those of routines that it doesn't wrap. */
static pse_function lower(const struct layer_binding *binding, int routine)
{
    if (binding->layer->spec->hides && !pse_toolstack_layer_defines(binding->layer, routine))
        return pse_toolstack_library_routine(routine);
    return binding->below[routine];
}

static pse_function chosen_for_layer(void *context, const char *name)
{
    const struct layer_binding *binding = context;
    int routine = pse_toolstack_find_lower(name);
    if (routine >= 0)
        return lower(binding, routine);
    if (strcmp(name, "dlsym") == 0)
        return pse_toolstack_make_thunk(pse_toolstack_dlsym_entry, binding->layer);
    if ((*name != 'M' && *name != 'm') || (routine = pse_toolstack_find(name)) < 0)
        return NULL;
    const pse_function own = pse_toolstack_layer_defines(binding->layer, routine);
    return own ? own : lower(binding, routine);
}

/* The first definition counts: the tool's own before those of libraries that came with it. */
static void note_definitions(const struct tool_layer *layer, const struct loaded_elf *elf,
                             pse_function *entry, const pse_function *below)
{
    const unsigned count = pse_toolstack_elf_symbols(elf);
    for (unsigned i = 1; i < count; i++) {
        const char *name = elf->strings + elf->symbols[i].st_name;
        const int routine = *name == 'M' || *name == 'm' ? pse_toolstack_find(name) : -1;
        const pse_function own = routine >= 0 ? pse_toolstack_elf_function(elf, elf->symbols + i) : NULL;
        if (own && entry[routine] == below[routine] && !pse_toolstack_is_seen_in_c(layer, routine))
            entry[routine] = own;
    }
}

/* Put what stands between the layer and its callers into `entry`.  A filter stands before the shim that it
 * concerns; what watches completions has to see all of them. */
static void put_between(struct tool_layer *layer, pse_function *entry, const pse_function *below)
{
    bool lasting = false, all = true;
    pse_toolstack_hide_routines(layer->spec, entry, below);
    all &= pse_toolstack_add_shims(entry, below, &lasting);
    all &= pse_toolstack_add_call_filters(layer->spec, entry, below);
    if (lasting)
        all &= pse_toolstack_watch_completions(entry);
    if (!all)
        pse_toolstack_warn(
            true,
            "%s: tool `%s` sees calls that its filters exclude, or none with large counts: there "
            "is no memory for all of what stands between",
            layer->spec->place, layer->spec->name);
}

/* The same, remembering what: pse_toolstack_layer_below must give it later. */
static const char *wrap(struct tool_layer *layer, pse_function *entry, const pse_function *below,
                        pse_function *before)
{
    memcpy(before, entry, (size_t)pse_toolstack_routine_count * sizeof *entry);
    put_between(layer, entry, below);
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        layer->overrides += entry[i] != before[i];
    if (!layer->overrides)
        return NULL;
    layer->override = malloc((size_t)layer->overrides * sizeof *layer->override);
    if (!layer->override)
        return "there is no memory for its filters";
    for (int i = 0, next = 0; i < pse_toolstack_routine_count; i++)
        if (entry[i] != before[i])
            layer->override[next++] = (struct routine_override){i, entry[i]};
    return NULL;
}

const char *pse_toolstack_bind_layer(struct tool_layer *layer, pse_function *entry)
{
    struct loaded_elf elf;
    pse_function *const below = entry + pse_toolstack_routine_count, *const before =
                                                                         below + pse_toolstack_routine_count;
    struct layer_binding binding = {layer, below};
    memcpy(below, entry, (size_t)pse_toolstack_routine_count * sizeof *entry);
    for (struct link_map *map = layer->map; map; map = pse_toolstack_layer_next_map(layer, map)) {
        if (!pse_toolstack_view_elf(&elf, map) || pse_toolstack_is_library(&elf))
            continue;
        if (!pse_toolstack_elf_rebind(&elf, chosen_for_layer, &binding))
            return "its imports can't be made writable, which is needed to lead its MPI calls to the tools "
                   "below";
        note_definitions(layer, &elf, entry, below);
    }
    free(layer->override);
    layer->override = NULL;
    layer->overrides = 0;
    return wrap(layer, entry, below, before);
}
