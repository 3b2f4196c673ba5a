/* Requests: their handles, what becomes of them, and waiting for them. */
#include <stdlib.h>

#include "handle_table.h"
#include "layer.h"
#include "operations.h"

static struct pse_handle_table table;
static struct pse_bcs_operation *abandoned;

/* Handles are those of generalized requests, so no request of MPI's own has the same. */

static MPI_Request *spare;
static size_t spares, room;

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    pse_bcs_set_empty_status(status);
    return MPI_SUCCESS;
}

static int release(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int cancel(void *unused, int complete)
{
    (void)unused, (void)complete;
    return MPI_SUCCESS;
}

MPI_Request pse_bcs_take_handle(void)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    if (spares)
        return spare[--spares];
    PMPI_Grequest_start(query, release, cancel, NULL, &handle);
    return handle;
}

void pse_bcs_give_handle(MPI_Request handle)
{
    if (spares == room)
        spare = pse_bcs_more_memory(spare, (room = 2 * room + 64) * sizeof *spare);
    spare[spares++] = handle;
}

void pse_bcs_free_handles(void)
{
    while (spares) {
        MPI_Request handle = spare[--spares];
        PMPI_Grequest_complete(handle);
        PMPI_Wait(&handle, MPI_STATUS_IGNORE);
    }
}

/* Requests */

struct pse_bcs_operation *pse_bcs_allocate(void)
{
    return pse_bcs_memory(sizeof(struct pse_bcs_operation));
}

void pse_bcs_start(struct pse_bcs_operation *operation, MPI_Request *request)
{
    operation->handle = *request = pse_bcs_take_handle();
    pse_handle_add(&table, (uintptr_t)operation->handle, operation);
}

struct pse_bcs_operation *pse_bcs_operation_of(MPI_Request request)
{
    return pse_bcs_layer ? pse_handle_find(&table, (uintptr_t)request) : NULL;
}

bool pse_bcs_is_active(const struct pse_bcs_operation *operation)
{
    return !operation->persistent || operation->persistent->active;
}

static void dispose(struct pse_bcs_operation *operation)
{
    if (operation->persistent)
        PMPI_Type_free(&operation->persistent->place.type);
    free(operation->persistent);
    pse_bcs_clear(operation);
    free(operation);
}

static void forget(struct pse_bcs_operation *operation)
{
    pse_handle_take(&table, (uintptr_t)operation->handle);
    pse_bcs_give_handle(operation->handle);
}

int pse_bcs_complete(struct pse_bcs_operation *operation, MPI_Request *request, MPI_Status *status)
{
    const int error = pse_bcs_finish(operation);
    pse_bcs_tell_status(operation, status);
    operation->truncated = operation->has_envelope = operation->cancelled = false;
    if (operation->persistent) {
        operation->persistent->active = false;
        return error;
    }
    *request = MPI_REQUEST_NULL;
    forget(operation);
    dispose(operation);
    return error;
}

void pse_bcs_peek(const struct pse_bcs_operation *operation, MPI_Status *status)
{
    struct pse_bcs_operation seen = *operation;
    for (int i = 0; i < operation->count; i++)
        if (operation->parts[i].receives) {
            const struct pse_bcs_received found =
                pse_bcs_end_received(pse_bcs_layer, operation->parts[i].descriptor);
            seen.has_envelope = true;
            seen.source = operation->comm->ranks[found.source];
            seen.received_tag = found.tag, seen.bytes = found.bytes;
        }
    pse_bcs_tell_status(&seen, status);
}

void pse_bcs_cancel(struct pse_bcs_operation *operation)
{
    if (!operation->label && operation->count == 1 && operation->parts[0].receives)
        operation->cancelled = pse_bcs_end_cancel(pse_bcs_layer, operation->parts[0].descriptor);
}

void pse_bcs_start_again(struct pse_bcs_operation *operation)
{
    const struct pse_bcs_persistent *again = operation->persistent;
    operation->persistent->active = true;
    if (again->receives)
        pse_bcs_add_receive(operation, again->place, again->peer, again->tag);
    else
        pse_bcs_add_send(operation, again->place, again->peer, again->tag, again->mode);
}

void pse_bcs_abandon(struct pse_bcs_operation *operation)
{
    forget(operation);
    operation->next = abandoned;
    abandoned = operation;
    pse_bcs_end_abandoned(false);
}

void pse_bcs_end_abandoned(bool all)
{
    for (struct pse_bcs_operation **at = &abandoned, *one; (one = *at);) {
        if (all)
            pse_bcs_wait(&one, 1, PSE_BCS_FOR_ALL);
        if (!all && !pse_bcs_is_done(one)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        pse_bcs_finish(one);
        dispose(one);
    }
}
