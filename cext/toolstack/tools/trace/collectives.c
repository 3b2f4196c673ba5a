/* Records of collective operations. */
#include "collectives.h"

#include "writer.h"

void pse_trace_collective_begins(uint16_t operation, int root, MPI_Comm comm)
{
    if (!pse_trace_recorder)
        return;
    pse_trace_lock();
    pse_trace_put(pse_clock(), PSE_EVENT_MPI_COLLECTIVE_BEGIN, operation, pse_trace_or_none(root), 0,
                  pse_pair(pse_trace_communicator_of(comm)->number, 0));
    pse_trace_unlock();
}

void pse_trace_collective_ends(uint16_t operation, const struct trace_communicator *moving,
                               uint64_t sent_bytes, uint64_t bytes)
{
    pse_trace_put(pse_clock(), PSE_EVENT_MPI_COLLECTIVE_END, operation, sent_bytes, bytes,
                  pse_pair(moving->number, 0));
}

struct trace_request *pse_trace_collective_made(uint16_t operation, int root, MPI_Comm comm,
                                                uint64_t sent_bytes, uint64_t bytes, MPI_Request handle)
{
    struct trace_request *made = pse_trace_new_request(comm, handle, COLLECTS);
    made->persistent = true;
    made->mode = operation;
    made->root = pse_trace_or_none(root);
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
    int two_groups = 0;
    PMPI_Comm_test_inter(comm, &two_groups);
    if (!two_groups) /* Else its identity is each rank's own. */
        PMPI_Ibcast(made->identity, 2, MPI_UINT32_T, 0, comm, &made->told);
    pse_trace_put_start(made, time);
}
