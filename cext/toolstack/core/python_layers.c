/* What tools in Python call (pse/toolstack/_python_tools.py): layers of single functions on top of the stack,
 * and events taken out of rings.
 *
 * A pushed layer is treated as a tool's is: it gets shims for large counts.  Layers come off in the opposite
 * order, when the table of stubs becomes again what it was.  Whoever pushes and pops does so from one thread
 * at a time; calls of MPI may go on meanwhile.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calls/large_counts.h"
#include "mpi/routine_table.h"
#include "pse_tools.h"
#include "visibility.h"

struct pushed_layer {
    struct pushed_layer *under;
    pse_function below[]; /* the table of stubs as it was */
};

static struct pushed_layer *top;

static void publish(const pse_function *entry)
{
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        __atomic_store_n(&pse_toolstack_table[i], entry[i], __ATOMIC_RELEASE);
}

/* Functions for routines that exist, on top of all that is there; NULL if there is no memory.  The stack must
 * have been begun (pse_toolstack_attach). */
PSE_EXPORT struct pushed_layer *pse_toolstack_push(int count, const char *const *routines,
                                                   const pse_function *functions)
{
    const size_t size = (size_t)pse_toolstack_routine_count * sizeof(pse_function);
    struct pushed_layer *layer = malloc(sizeof *layer + size);
    pse_function *entry = malloc(size);
    bool lasting = false, all = layer && entry;
    if (all) {
        memcpy(layer->below, pse_toolstack_table, size);
        memcpy(entry, pse_toolstack_table, size);
        for (int i = 0; i < count; i++)
            entry[pse_toolstack_find(routines[i])] = functions[i];
        all = pse_toolstack_add_shims(entry, layer->below, &lasting) &&
              (!lasting || pse_toolstack_watch_completions(entry));
    }
    if (all) {
        layer->under = top;
        top = layer;
        publish(entry);
    } else {
        free(layer);
    }
    free(entry);
    return all ? layer : NULL;
}

/* What is below a pushed layer; NULL if MPI has no such routine. */
PSE_EXPORT pse_function pse_toolstack_below(const struct pushed_layer *layer, const char *routine)
{
    const int number = pse_toolstack_find(routine);
    return number < 0 ? NULL : layer->below[number];
}

/* Take a layer off again; false if it isn't the one on top.  Calls that are in it may still ask what is
 * below, so its memory stays. */
PSE_EXPORT bool pse_toolstack_pop(const struct pushed_layer *layer)
{
    if (layer != top)
        return false;
    top = layer->under;
    publish(layer->below);
    return true;
}

/* Move up to `count` events of a ring to `events`; how many there were. */
PSE_EXPORT size_t pse_toolstack_take(struct pse_ring *ring, void *events, size_t count)
{
    size_t taken = 0;
    while (taken < count && pse_ring_take(ring, (char *)events + taken * ring->bytes))
        taken++;
    return taken;
}
