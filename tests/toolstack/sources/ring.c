/* The program that the tools watch; ring.py makes the same calls. */
#include <mpi.h>
#include <stddef.h>

int main(void)
{
    int rank, size, out[4], in[4], sum;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 3 && size > 1; round++) {
        MPI_Status status;
        if (rank > 0)
            MPI_Recv(in, 4, MPI_INT, rank - 1, round, MPI_COMM_WORLD, &status);
        if (rank < size - 1)
            MPI_Send(out, 4, MPI_INT, rank + 1, round, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Bcast(out, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
