/* Looking up routines in layers. */
#include "layers/layer.h"

#include "elf/loaded_elf.h"
#include "mpi/fortran.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"

struct tool_layer **pse_toolstack_layers;
int pse_toolstack_layer_count;

struct link_map *pse_toolstack_layer_next_map(const struct tool_layer *layer, const struct link_map *map)
{
    return map == layer->last ? NULL : map->l_next;
}

pse_function pse_toolstack_layer_defines(const struct tool_layer *layer, int routine)
{
    struct loaded_elf elf;
    for (struct link_map *map = layer->map; map; map = pse_toolstack_layer_next_map(layer, map))
        if (pse_toolstack_view_elf(&elf, map) && !pse_toolstack_is_library(&elf)) {
            const pse_function own = pse_toolstack_elf_find(&elf, pse_toolstack_routine_name(routine));
            if (own)
                return own;
        }
    return NULL;
}

bool pse_toolstack_is_seen_in_c(const struct tool_layer *layer, int routine)
{
    const int as = pse_toolstack_comes_as(routine);
    return as >= 0 && pse_toolstack_layer_defines(layer, as);
}

static pse_function override(const struct tool_layer *layer, int routine)
{
    for (int i = 0; i < layer->overrides; i++)
        if (layer->override[i].routine == routine)
            return layer->override[i].function;
    return NULL;
}

pse_function pse_toolstack_layer_below(const struct tool_layer *layer, int routine)
{
    if (layer->spec->hides && !pse_toolstack_layer_defines(layer, routine))
        return pse_toolstack_library_routine(routine);
    for (int i = layer->tools.layer + 1; i < pse_toolstack_layer_count; i++) {
        pse_function found = override(pse_toolstack_layers[i], routine);
        if (found || (!pse_toolstack_is_seen_in_c(pse_toolstack_layers[i], routine) &&
                      (found = pse_toolstack_layer_defines(pse_toolstack_layers[i], routine))))
            return found;
    }
    return pse_toolstack_library_routine(routine);
}
