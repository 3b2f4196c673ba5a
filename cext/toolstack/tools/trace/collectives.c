/* Records of collective operations. */
#include "collectives.h"

#include <stdlib.h>

#include "handle_table.h"
#include "hot.h"
#include "tool_memory.h"
#include "writer.h"

/* Linked first of the hot code, which begins a page with it. */
__attribute__((hot, aligned(PSE_TRACE_PAGE))) void pse_trace_collective_begins(uint16_t operation, int root,
                                                                               MPI_Comm comm)
{
    if (!pse_trace_is_writing())
        return;
    const struct trace_communicator *on = pse_trace_communicator_of(comm);
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COLLECTIVE_BEGIN, operation, pse_trace_place(on, root), 0,
                  pse_pair(on->number, 0));
}

PSE_TRACE_HOT void pse_trace_collective_ends(uint16_t operation, const struct trace_communicator *moving,
                                             uint64_t sent_bytes, uint64_t bytes)
{
    pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COLLECTIVE_END, operation, sent_bytes, bytes,
                  pse_pair(moving->number, 0));
}

struct trace_request *pse_trace_collective_made(uint16_t operation, int root, MPI_Comm comm,
                                                uint64_t sent_bytes, uint64_t bytes, MPI_Request handle)
{
    struct trace_request *made = pse_trace_new_request(comm, handle, COLLECTS);
    made->persistent = true;
    made->mode = operation;
    made->root = pse_trace_place(pse_trace_communicator_of(comm), root);
    made->bytes = sent_bytes;
    made->room = bytes;
    return made;
}

void pse_trace_collective_starts(uint16_t operation, int root, MPI_Comm comm, uint64_t sent_bytes,
                                 uint64_t bytes, MPI_Request handle, uint64_t time)
{
    struct trace_request *made = pse_trace_collective_made(operation, root, comm, sent_bytes, bytes, handle);
    made->persistent = false;
    pse_trace_put_start(made, time);
}

/* Windows and files: the n-th one that is made with a communicator is the n-th one on all of its ranks. */

struct shared_object {
    struct pse_handle_node node;
    uint32_t communicator, number;
};

struct pse_handle_table pse_trace_windows, pse_trace_files;

void pse_trace_shared_made(struct pse_handle_table *table, uintptr_t handle, MPI_Comm comm)
{
    struct trace_communicator *on = pse_trace_communicator_of(comm);
    struct shared_object *made = pse_tool_memory(sizeof *made);
    made->communicator = on->number;
    made->number = ++on->shared;
    pse_handle_add(table, handle, made);
}

void pse_trace_shared_begins(uint16_t operation, const struct pse_handle_table *table, uintptr_t handle)
{
    const struct shared_object *on = pse_trace_is_writing() ? pse_handle_find(table, handle) : NULL;
    if (on)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COLLECTIVE_BEGIN, operation, PSE_NONE, on->number,
                      pse_pair(on->communicator, 0));
}

void pse_trace_shared_ends(uint16_t operation, const struct pse_handle_table *table, uintptr_t handle)
{
    const struct shared_object *on = pse_handle_find(table, handle);
    if (on)
        pse_trace_put(pse_trace_now, PSE_EVENT_MPI_COLLECTIVE_END, operation, 0, 0,
                      pse_pair(on->communicator, 0));
}

void pse_trace_shared_freed(uint16_t operation, struct pse_handle_table *table, uintptr_t handle)
{
    pse_trace_shared_ends(operation, table, handle);
    free(pse_handle_take(table, handle));
}

/* The number of the n-th copy of an intercommunicator, the same in both groups; no rank counts so far. */
static uint32_t number_of_copy(uint32_t parent, uint32_t n)
{
    uint64_t mixed = ((uint64_t)parent << 32 | n) * 0x9E3779B97F4A7C15u;
    return 0x80000000u | (uint32_t)((mixed ^ mixed >> 29) >> 16);
}

static void agree_on_copy(struct trace_request *made, struct trace_communicator *parent, MPI_Comm comm)
{
    if (parent->flags & PSE_COMMUNICATOR_OTHER_JOB)
        return;
    made->is_of_second_group = parent->flags & PSE_COMMUNICATOR_SECOND_GROUP;
    if (parent->flags & PSE_COMMUNICATOR_TWO_GROUPS) {
        made->identity[0] = parent->identity[0];
        made->identity[1] = number_of_copy(parent->identity[1], ++parent->copies);
    } else {
        PMPI_Ibcast(made->identity, 2, MPI_UINT32_T, 0, comm, &made->told);
    }
}

void pse_trace_idup_starts(MPI_Comm *newcomm, MPI_Comm comm, uint64_t time, const MPI_Request *handle)
{
    struct trace_request *made = pse_trace_new_request(comm, *handle, COLLECTS | MAKES_COMMUNICATOR);
    made->mode = PSE_COLLECTIVE_CREATE_COMMUNICATOR;
    made->root = PSE_NONE;
    made->made = newcomm;
    made->parent = comm;
    made->made_number = pse_trace_next_communicator();
    made->identity[0] = pse_trace_job_rank;
    made->identity[1] = made->made_number;
    agree_on_copy(made, pse_trace_communicator_of(comm), comm);
    pse_trace_put_start(made, time);
}
