/* Binding: a module's imports of MPI routines are pointed at the layer below.
 *
 * An import is a relocation against a symbol: a slot of the procedure linkage table, an entry of the global
 * offset table
 * (-fno-plt, addresses of functions), or a word of initialised data (tables of functions).  All are 64-bit
 * words that hold the function's address, and are simply overwritten.  Relative relocations, packed (RELR) or
 * not, name no symbol and never concern another module.
 */

#include <dlfcn.h>
#include <stdlib.h>

#include "internal.h"

#if defined(__x86_64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_IMPORT(type)                                                                                      \
    ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

extern void pse_dlsym(void) PSE_HIDDEN; /* entry.c */

static void rebind(const struct pse_module *module, const ElfW(Rela) * rela, size_t count, pse_choice choose,
                   void *context)
{
    for (size_t i = 0; i < count; i++) {
        if (!IS_IMPORT(ELF64_R_TYPE(rela[i].r_info)))
            continue;
        const ElfW(Sym) *symbol = module->symbols + ELF64_R_SYM(rela[i].r_info);
        const pse_function to = choose(context, module->strings + symbol->st_name);
        if (to) {
            uintptr_t *slot = (uintptr_t *)(module->map->l_addr + rela[i].r_offset);
            __atomic_store_n(slot, (uintptr_t)to + (uintptr_t)rela[i].r_addend, __ATOMIC_RELEASE);
        }
    }
}

bool pse_rebind(const struct pse_module *module, pse_choice choose, void *context)
{
    if (!pse_module_protect(module, true))
        return false;
    rebind(module, module->rela, module->rela_count, choose, context);
    rebind(module, module->jump, module->jump_count, choose, context);
    return pse_module_protect(module, false);
}

/* Layers
 * -----------------------------------------------------------------------------------------------------------
 */

struct link_map *pse_next_map(const struct pse_layer *layer, const struct link_map *map)
{
    return map == layer->last ? NULL : map->l_next;
}

pse_function pse_layer_defines(const struct pse_layer *layer, int routine)
{
    struct pse_module module;
    for (struct link_map *map = layer->map; map; map = pse_next_map(layer, map))
        if (pse_module_open(&module, map) && !pse_is_library(&module)) {
            const pse_function own = pse_module_find(&module, pse_name(routine));
            if (own)
                return own;
        }
    return NULL;
}

struct binding {
    struct pse_layer *layer;
    const pse_function *below;
};

/* Calls that a tool makes of its own accord are those of routines that it doesn't wrap. */
static pse_function lower(const struct binding *binding, int routine)
{
    if (binding->layer->spec->hides && !pse_layer_defines(binding->layer, routine))
        return pse_library_routine(routine);
    return binding->below[routine];
}

static pse_function chosen_for_layer(void *context, const char *name)
{
    const struct binding *binding = context;
    int routine = pse_find_lower(name);
    if (routine >= 0)
        return lower(binding, routine);
    if (strcmp(name, "dlsym") == 0)
        return pse_make_thunk(pse_dlsym, binding->layer);
    if ((*name != 'M' && *name != 'm') || (routine = pse_find(name)) < 0)
        return NULL;
    const pse_function own = pse_layer_defines(binding->layer, routine);
    return own ? own : lower(binding, routine);
}

/* A tool that knows a routine in both languages sees a call from Fortran once, when it has become one of C:
 * then all tools see it, in their order. */
static bool is_seen_in_c(const struct pse_layer *layer, int routine)
{
    const int as = pse_comes_as(routine);
    return as >= 0 && pse_layer_defines(layer, as);
}

/* The first definition counts: the tool's own before those of libraries that came with it. */
static void note_definitions(const struct pse_layer *layer, const struct pse_module *module,
                             pse_function *entry, const pse_function *below)
{
    const unsigned count = pse_module_symbols(module);
    for (unsigned i = 1; i < count; i++) {
        const char *name = module->strings + module->symbols[i].st_name;
        const int routine = *name == 'M' || *name == 'm' ? pse_find(name) : -1;
        const pse_function own = routine >= 0 ? pse_symbol_value(module, module->symbols + i) : NULL;
        if (own && entry[routine] == below[routine] && !is_seen_in_c(layer, routine))
            entry[routine] = own;
    }
}

/* Let the hook put something between the layer and its callers, and remember what: `below` must give the same
 * later. */
static const char *wrap(struct pse_layer *layer, pse_function *entry, const pse_function *below,
                        pse_function *before)
{
    memcpy(before, entry, (size_t)pse_routines * sizeof *entry);
    pse_layer_wrap(layer, entry, below);
    for (int i = 0; i < pse_routines; i++)
        layer->overrides += entry[i] != before[i];
    if (!layer->overrides)
        return NULL;
    layer->override = malloc((size_t)layer->overrides * sizeof *layer->override);
    if (!layer->override)
        return "there is no memory for its filters";
    for (int i = 0, next = 0; i < pse_routines; i++)
        if (entry[i] != before[i])
            layer->override[next++] = (struct pse_override){i, entry[i]};
    return NULL;
}

const char *pse_layer_bind(struct pse_layer *layer, pse_function *entry)
{
    struct pse_module module;
    pse_function *const below = entry + pse_routines, *const before = below + pse_routines;
    struct binding binding = {layer, below};
    memcpy(below, entry, (size_t)pse_routines * sizeof *entry);
    for (struct link_map *map = layer->map; map; map = pse_next_map(layer, map)) {
        if (!pse_module_open(&module, map) || pse_is_library(&module))
            continue;
        if (!pse_rebind(&module, chosen_for_layer, &binding))
            return "its pages can't be made writable, which binding its calls needs";
        note_definitions(layer, &module, entry, below);
    }
    free(layer->override);
    layer->override = NULL;
    layer->overrides = 0;
    return wrap(layer, entry, below, before);
}

static pse_function override(const struct pse_layer *layer, int routine)
{
    for (int i = 0; i < layer->overrides; i++)
        if (layer->override[i].routine == routine)
            return layer->override[i].function;
    return NULL;
}

pse_function pse_layer_below(const struct pse_layer *layer, int routine)
{
    if (layer->spec->hides && !pse_layer_defines(layer, routine))
        return pse_library_routine(routine);
    for (int i = layer->tools.layer + 1; i < pse_layers; i++) {
        pse_function found = override(pse_stack[i], routine);
        if (found ||
            (!is_seen_in_c(pse_stack[i], routine) && (found = pse_layer_defines(pse_stack[i], routine))))
            return found;
    }
    return pse_library_routine(routine);
}

/* A tool's imported dlsym comes here; NULL leaves the answer to the system's. */
PSE_HIDDEN void *pse_dlsym_in_layer(void *handle, const char *name, struct pse_layer *layer)
{
    int routine = pse_find_lower(name);
    if (routine >= 0)
        return (void *)pse_layer_below(layer, routine);
    if ((routine = pse_find(name)) < 0)
        return NULL;
    const pse_function own = handle == RTLD_DEFAULT ? pse_layer_defines(layer, routine) : NULL;
    return (void *)(own ? own : pse_layer_below(layer, routine));
}
