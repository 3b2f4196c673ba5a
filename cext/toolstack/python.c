/* The doors for tools that are written in Python (pse/toolstack/_python.py): layers of single functions on top
 * of the stack, and events taken out of rings.
 *
 * A pushed layer is treated as a tool's is: it gets shims for large counts.  Layers come off in the opposite
 * order, when the tables of stubs becomes again what it was.  Whoever pushes and pops does so from one thread
 * at a time; calls of MPI may go on meanwhile.
 */
#include "wrap.h"

#include <stdlib.h>

struct pushed {
    struct pushed *under;
    pse_function below[]; /* the table of stubs as it was */
};

static struct pushed *top;

static void publish(const pse_function *entry)
{
    for (int i = 0; i < pse_routines; i++)
        __atomic_store_n(&pse_table[i], entry[i], __ATOMIC_RELEASE);
}

/* Functions for routines that exist, on top of all that is there; NULL if there is no memory.  The stack must
 * have been begun (pse_tools_attach). */
PSE_EXPORT struct pushed *pse_stack_push(int count, const char *const *routines,
                                         const pse_function *functions)
{
    const size_t size = (size_t)pse_routines * sizeof(pse_function);
    struct pushed *layer = malloc(sizeof *layer + size);
    pse_function *entry = malloc(size);
    bool lasting = false, all = layer && entry;
    if (all) {
        memcpy(layer->below, pse_table, size);
        memcpy(entry, pse_table, size);
        for (int i = 0; i < count; i++)
            entry[pse_find(routines[i])] = functions[i];
        all = pse_add_shims(entry, layer->below, &lasting) && (!lasting || pse_watch_completions(entry));
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
PSE_EXPORT pse_function pse_stack_below(const struct pushed *layer, const char *routine)
{
    const int number = pse_find(routine);
    return number < 0 ? NULL : layer->below[number];
}

/* Take a layer off again; false if it isn't the one on top.  Calls that are in it may still ask what is
 * below, so its memory stays. */
PSE_EXPORT bool pse_stack_pop(const struct pushed *layer)
{
    if (layer != top)
        return false;
    top = layer->under;
    publish(layer->below);
    return true;
}

/* Move up to `count` events of a ring to `events`; how many there were. */
PSE_EXPORT size_t pse_tools_take(struct pse_ring *ring, void *events, size_t count)
{
    size_t taken = 0;
    while (taken < count && pse_ring_take(ring, (char *)events + taken * ring->bytes))
        taken++;
    return taken;
}
