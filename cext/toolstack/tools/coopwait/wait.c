/* Waiting for requests. */
#include "wait.h"

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
