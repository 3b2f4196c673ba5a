/* Steps of communication as calls of MPI.
 *
 * A blocking routine has the arguments of its non-blocking form without the request at the end: both are
 * called with it, since calling conventions let a routine ignore what follows its own arguments.  (MPI_Recv
 * has its status in that place.)
 */
#include "operations.h"

#include "backoff.h"

enum { REAL = 8 }; /* bytes */

typedef pse_emulate_handle handle;
typedef int (*transfer)(void *, int, handle, int, int, handle, void *);
typedef int (*barrier)(handle, void *);
typedef int (*broadcast)(void *, int, handle, int, handle, void *);
typedef int (*all_reduction)(const void *, void *, int, handle, handle, handle, void *);
typedef int (*reduction)(const void *, void *, int, handle, handle, int, handle, void *);
typedef int (*all_exchange)(const void *, int, handle, void *, int, handle, handle, void *);
typedef int (*rooted_exchange)(const void *, int, handle, void *, int, handle, int, handle, void *);

static const struct {
    int blocking, begun;
} ROUTINES[] = {
    [PSE_STEP_SEND] = {PSE_EMULATE_Send, PSE_EMULATE_Isend},
    [PSE_STEP_RECEIVE] = {PSE_EMULATE_Recv, PSE_EMULATE_Irecv},
    [PSE_STEP_ISEND] = {PSE_EMULATE_Isend, PSE_EMULATE_Isend},
    [PSE_STEP_IRECEIVE] = {PSE_EMULATE_Irecv, PSE_EMULATE_Irecv},
    [PSE_STEP_SSEND] = {PSE_EMULATE_Ssend, PSE_EMULATE_Issend},
    [PSE_STEP_BARRIER] = {PSE_EMULATE_Barrier, PSE_EMULATE_Ibarrier},
    [PSE_STEP_BROADCAST] = {PSE_EMULATE_Bcast, PSE_EMULATE_Ibcast},
    [PSE_STEP_ALLREDUCE] = {PSE_EMULATE_Allreduce, PSE_EMULATE_Iallreduce},
    [PSE_STEP_REDUCE] = {PSE_EMULATE_Reduce, PSE_EMULATE_Ireduce},
    [PSE_STEP_ALLTOALL] = {PSE_EMULATE_Alltoall, PSE_EMULATE_Ialltoall},
    [PSE_STEP_ALLGATHER] = {PSE_EMULATE_Allgather, PSE_EMULATE_Iallgather},
    [PSE_STEP_GATHER] = {PSE_EMULATE_Gather, PSE_EMULATE_Igather},
    [PSE_STEP_SCATTER] = {PSE_EMULATE_Scatter, PSE_EMULATE_Iscatter},
};

#define EMULATE_ROUTINE_NAME(name) "MPI_" #name,
static const char *const NAMES[] = {PSE_EMULATE_EACH_ROUTINE(EMULATE_ROUTINE_NAME)};

const char *pse_emulate_routine_name(int routine)
{
    return NAMES[routine];
}

/* Call one routine for a step, blocking or not. */
static int call(pse_emulate_rank *rank, const pse_emulate_step *step, int routine, void *request)
{
    const pse_emulate_library *mpi = rank->mpi;
    void *function = mpi->routines[routine];
    const int bytes = (int)step->bytes, reals = bytes % REAL == 0;
    const int count = reals ? bytes / REAL : bytes;
    const handle type = reals ? mpi->real : mpi->byte, operation = reals ? mpi->sum : mpi->bit_or;
    const handle comm = rank->comms[step->communicator];
    char *in = rank->in + step->offset;
    switch (step->kind) {
    case PSE_STEP_SEND:
    case PSE_STEP_ISEND:
    case PSE_STEP_SSEND:
        return ((transfer)function)(rank->out, bytes, mpi->byte, step->peer, step->tag, comm, request);
    case PSE_STEP_RECEIVE:
    case PSE_STEP_IRECEIVE:
        return ((transfer)function)(in, bytes, mpi->byte, step->peer, step->tag, comm, request);
    case PSE_STEP_BARRIER:
        return ((barrier)function)(comm, request);
    case PSE_STEP_BROADCAST:
        return ((broadcast)function)(in, bytes, mpi->byte, step->peer, comm, request);
    case PSE_STEP_ALLREDUCE:
        return ((all_reduction)function)(rank->out, in, count, type, operation, comm, request);
    case PSE_STEP_REDUCE:
        return ((reduction)function)(rank->out, in, count, type, operation, step->peer, comm, request);
    case PSE_STEP_ALLTOALL:
    case PSE_STEP_ALLGATHER:
        return ((all_exchange)function)(rank->out, bytes, mpi->byte, in, bytes, mpi->byte, comm, request);
    default: /* PSE_STEP_GATHER, PSE_STEP_SCATTER */
        return ((rooted_exchange)function)(rank->out, bytes, mpi->byte, in, bytes, mpi->byte, step->peer,
                                           comm, request);
    }
}

/* Sleep until the requests are complete. */
static int sleep_until_complete(pse_emulate_rank *rank, int count, void *requests)
{
    typedef int (*test)(int, void *, int *, void *);
    test look = (test)rank->mpi->routines[PSE_EMULATE_Testall];
    pse_backoff wait = {.longest = PSE_BACKOFF_LONGEST_BRIEF};
    for (;;) {
        int done = 0, error = look(count, requests, &done, rank->statuses);
        if (error || done)
            return error;
        pse_backoff_pause(&wait);
    }
}

static int wait_for_all(pse_emulate_rank *rank)
{
    typedef int (*wait)(int, void *, void *);
    int count = rank->pending;
    rank->pending = 0;
    if (rank->sleeps)
        return sleep_until_complete(rank, count, rank->requests);
    return ((wait)rank->mpi->routines[PSE_EMULATE_Waitall])(count, rank->requests, rank->statuses);
}

int pse_emulate_perform(pse_emulate_rank *rank, const pse_emulate_step *step)
{
    if (step->kind == PSE_STEP_WAITALL)
        return wait_for_all(rank);
    void *request = rank->requests + (size_t)rank->pending * rank->mpi->request_size;
    if (step->kind == PSE_STEP_ISEND || step->kind == PSE_STEP_IRECEIVE) {
        rank->pending++;
        return call(rank, step, ROUTINES[step->kind].begun, request);
    }
    if (!rank->sleeps)
        return call(rank, step, ROUTINES[step->kind].blocking, rank->statuses);
    int error = call(rank, step, ROUTINES[step->kind].begun, request);
    return error ? error : sleep_until_complete(rank, 1, request);
}
