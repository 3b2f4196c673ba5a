/* The ordinary tool: wraps routines in both sizes of counts and calls the same ones below. */
#define TALLY_NAME "plain"
#include "tally.h"

static void note(int kind, MPI_Count count, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    tally_count[kind]++;
    tally_bytes[kind] += (long)count * size;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    note(SEND, count, type);
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Send_c(const void *buffer, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    note(SEND, count, type);
    return PMPI_Send_c(buffer, count, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    note(RECV, count, type);
    return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}

int MPI_Recv_c(void *buffer, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status *status)
{
    note(RECV, count, type);
    return PMPI_Recv_c(buffer, count, type, from, tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    tally_count[BARRIER]++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tally_write(rank);
    return PMPI_Finalize();
}
