/* Collective operations of a trace; blocking ones have request 0.
 *
 * Functions here expect the lock to be held and the recorder to be there, but for `collective_begins`, which
 * is called before MPI is.
 *
 * May touch: the recorder.
 */
#ifndef PSE_TRACE_COLLECTIVES_H
#define PSE_TRACE_COLLECTIVES_H

#include "trace_requests.h"

enum { NO_ROOT = -1 };

static void collective_begins(uint16_t operation, int root, MPI_Comm comm)
{
    if (!recorder)
        return;
    lock();
    put(pse_clock(), PSE_EVENT_MPI_COLLECTIVE_BEGIN, operation, or_any(root), 0,
        pse_pair(communicator_of(comm)->number, 0));
    unlock();
}

static void collective_ends(uint16_t operation, const struct communicator *moving, uint64_t sent_bytes,
                            uint64_t bytes)
{
    put(pse_clock(), PSE_EVENT_MPI_COLLECTIVE_END, operation, sent_bytes, bytes, pse_pair(moving->number, 0));
}

static struct request *collective_made(uint16_t operation, int root, MPI_Comm comm, uint64_t sent_bytes,
                                       uint64_t bytes, MPI_Request handle)
{
    struct request *made = new_request(comm, handle, COLLECTS);
    made->persistent = true;
    made->mode = operation;
    made->root = or_any(root);
    made->bytes = sent_bytes;
    made->room = bytes;
    return made;
}

static void collective_starts(uint16_t operation, int root, MPI_Comm comm, uint64_t sent_bytes,
                              uint64_t bytes, MPI_Request handle, uint64_t time)
{
    struct request *made = collective_made(operation, root, comm, sent_bytes, bytes, handle);
    made->persistent = false;
    put_start(made, time);
}

/* MPI_Comm_idup: see trace_communicators.h. */
static void communicator_starts(MPI_Comm *newcomm, MPI_Comm comm, uint64_t time, const MPI_Request *handle)
{
    struct request *made = new_request(comm, *handle, COLLECTS | MAKES_COMMUNICATOR);
    made->mode = PSE_COLLECTIVE_CREATE_COMMUNICATOR;
    made->root = PSE_NONE;
    made->made = newcomm;
    made->parent = comm;
    made->made_number = ++communicator_count;
    made->identity[0] = job_rank;
    made->identity[1] = made->made_number;
    PMPI_Ibcast(made->identity, 2, MPI_UINT32_T, 0, comm, &made->told);
    put_start(made, time);
}

/* Code of the wrappers: after a call that succeeded, with the lock; `...` are the bytes sent and received. */
#define SUCCEEDED(code)                                                                                      \
    if (recorder && returned == MPI_SUCCESS) {                                                               \
        lock();                                                                                              \
        code;                                                                                                \
        unlock();                                                                                            \
    }
#define BEGIN(operation, root) collective_begins(PSE_COLLECTIVE_##operation, root, comm)
#define END(operation, ...)                                                                                  \
    SUCCEEDED(struct communicator *moving = communicator_of(comm);                                           \
              collective_ends(PSE_COLLECTIVE_##operation, moving, __VA_ARGS__))
#define START(operation, root, ...)                                                                          \
    SUCCEEDED(struct communicator *moving = communicator_of(comm); (void)moving;                             \
              collective_starts(PSE_COLLECTIVE_##operation, root, comm, __VA_ARGS__, *request, entered))
#define MADE(operation, root, ...)                                                                           \
    SUCCEEDED(struct communicator *moving = communicator_of(comm); (void)moving;                             \
              collective_made(PSE_COLLECTIVE_##operation, root, comm, __VA_ARGS__, *request))

#endif
