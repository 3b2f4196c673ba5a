/* The calls that wait, and waiting for what nonblocking calls have started. */
#include "wait.h"

#include "backoff.h"
#include "persistent_collectives.h"
#include "tool.h"

/* Look, pause, look again … until `flag` is set or the look fails; gives the look's error code. */
#define UNTIL(flag, look)                                                                                    \
    pse_backoff wait = {.patient = true};                                                                    \
    int flag = 0, error;                                                                                     \
    while ((error = (look)) == MPI_SUCCESS && !flag)                                                         \
        pse_backoff_pause(&wait);                                                                            \
    return error

/* Completion
 * ------------------------------------------------------------------------------------------------------- */

TOOL_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    RETURN_OWN(PMPI_Wait(request, status))
    UNTIL(flag, PMPI_Test(request, &flag, status));
}

static int wait_one_by_one(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int result = MPI_SUCCESS;
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        result = MPI_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return result;
}

TOOL_PUBLIC int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    RETURN_OWN(PMPI_Waitall(count, requests, statuses))
    if (pse_coopwait_has_persistent_collective(count, requests))
        return wait_one_by_one(count, requests, statuses);
    UNTIL(flag, PMPI_Testall(count, requests, &flag, statuses));
}

TOOL_PUBLIC int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    RETURN_OWN(PMPI_Waitany(count, requests, index, status))
    UNTIL(flag, PMPI_Testany(count, requests, index, &flag, status));
}

TOOL_PUBLIC int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[],
                             MPI_Status statuses[])
{
    RETURN_OWN(PMPI_Waitsome(count, requests, completed, indices, statuses))
    /* MPI_UNDEFINED, when no request is active, ends the wait too. */
    UNTIL(flag, (error = PMPI_Testsome(count, requests, completed, indices, statuses), flag = *completed != 0,
                 error));
}

TOOL_PUBLIC int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    RETURN_OWN(PMPI_Probe(source, tag, comm, status))
    UNTIL(flag, PMPI_Iprobe(source, tag, comm, &flag, status));
}

TOOL_PUBLIC int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    RETURN_OWN(PMPI_Mprobe(source, tag, comm, message, status))
    UNTIL(flag, PMPI_Improbe(source, tag, comm, &flag, message, status));
}

TOOL_PUBLIC int MPI_Win_wait(MPI_Win win)
{
    RETURN_OWN(PMPI_Win_wait(win))
    UNTIL(flag, PMPI_Win_test(win, &flag));
}

int pse_coopwait_finish(int error, MPI_Request *request, MPI_Status *status)
{
    return *request == MPI_REQUEST_NULL ? error : MPI_Wait(request, status);
}

int pse_coopwait_barrier(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return comm == MPI_COMM_NULL
               ? MPI_SUCCESS
               : pse_coopwait_finish(PMPI_Ibarrier(comm, &request), &request, MPI_STATUS_IGNORE);
}

bool pse_coopwait_has_two_groups(MPI_Comm comm)
{
    int two = 0;
    return comm != MPI_COMM_NULL && PMPI_Comm_test_inter(comm, &two) == MPI_SUCCESS && two;
}

/* Open MPI's nonblocking forms confuse the two messages of a rank that is its neighbour on both sides. */
static bool has_grid_of_open_mpi(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;
    (void)comm;
#ifdef OPEN_MPI
    if (comm != MPI_COMM_NULL)
        PMPI_Topo_test(comm, &kind);
#endif
    return kind == MPI_CART;
}

bool pse_coopwait_must_meet(MPI_Comm comm, bool neighbors)
{
    return pse_coopwait_has_two_groups(comm) || (neighbors && has_grid_of_open_mpi(comm));
}

void pse_coopwait_withdraw(MPI_Request *received)
{
    PMPI_Cancel(received);
    MPI_Wait(received, MPI_STATUS_IGNORE);
}

int pse_coopwait_finish_both(MPI_Request *received, MPI_Status *status, MPI_Request *sent)
{
    const int error = MPI_Wait(received, status), other = MPI_Wait(sent, MPI_STATUS_IGNORE);
    return error != MPI_SUCCESS ? error : other;
}
