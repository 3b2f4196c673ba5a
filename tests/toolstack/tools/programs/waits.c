/* Rank 0 waits for a message of rank 1, which waits until it is received. */
#include <mpi.h>

int main(int count, char **words)
{
    int rank, one = 1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Recv(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Ssend(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
