/* Waiting for operations. */
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "operations.h"

bool pse_bcs_is_done(const struct pse_bcs_operation *operation)
{
    for (int i = 0; i < operation->count; i++)
        if (!pse_bcs_end_is_done(pse_bcs_layer, operation->parts[i].descriptor))
            return false;
    return true;
}

enum { FEW = 64 };

/* The descriptors of all operations, in `few` if there is room. */
static uint32_t *gather(struct pse_bcs_operation *const *operations, size_t count, uint32_t few[FEW],
                        size_t *found)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++)
        needed += (size_t)operations[i]->count;
    uint32_t *all = needed <= FEW ? few : pse_bcs_memory(needed * sizeof *all);
    *found = 0;
    for (size_t i = 0; i < count; i++)
        for (int part = 0; part < operations[i]->count; part++)
            all[(*found)++] = operations[i]->parts[part].descriptor;
    return all;
}

bool pse_bcs_wait(struct pse_bcs_operation *const *operations, size_t count, enum pse_bcs_wait mode)
{
    uint32_t few[FEW];
    size_t found;
    uint32_t *all = gather(operations, count, few, &found);
    const bool complete = !found || pse_bcs_layer_wait(all, found, mode, NULL);
    if (all != few)
        free(all);
    return complete;
}

/* Of operations with several messages the one whose last message is the first to come. */
size_t pse_bcs_wait_for_one(struct pse_bcs_operation *const *operations, size_t count)
{
    uint32_t few[FEW];
    size_t found, which;
    for (size_t i = 0; i < count; i++)
        if (!operations[i]->count)
            return i;
    uint32_t *all = gather(operations, count, few, &found);
    size_t *owners = pse_bcs_memory(found * sizeof *owners), *left = pse_bcs_memory(count * sizeof *left);
    size_t place = 0;
    for (size_t i = 0; i < count; i++) {
        left[i] = (size_t)operations[i]->count;
        for (size_t part = 0; part < left[i]; part++)
            owners[place++] = i;
    }
    for (;;) {
        pse_bcs_layer_wait(all, found, PSE_BCS_FOR_ONE, &which);
        place = owners[which];
        if (--left[place] == 0)
            break;
        memmove(&all[which], &all[which + 1], (--found - which) * sizeof *all);
        memmove(&owners[which], &owners[which + 1], (found - which) * sizeof *owners);
    }
    free(owners), free(left);
    if (all != few)
        free(all);
    return place;
}

int pse_bcs_run(struct pse_bcs_operation *operation, MPI_Status *status)
{
    struct pse_bcs_operation *const one = operation;
    pse_bcs_wait(&one, 1, PSE_BCS_FOR_ALL);
    int error = pse_bcs_finish(operation);
    pse_bcs_tell_status(operation, status);
    error = pse_bcs_raise(operation->comm, error);
    pse_bcs_clear(operation);
    return error;
}
