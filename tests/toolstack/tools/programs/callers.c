/* Functions that call MPI from places that look alike on the stack, and a named region around some. */
#include <mpi.h>
#include <pse_regions.h>

/* Neither inlined nor left by a jump. */
#define APART __attribute__((noinline)) static void
#define RETURN __asm__ volatile("")

APART ring(int rank, int size)
{
    int in, out = rank;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    RETURN;
}

APART first(int rank, int size)
{
    ring(rank, size);
    RETURN;
}

APART second(int rank, int size)
{
    ring(rank, size);
    RETURN;
}

APART recursive(int depth, int rank, int size)
{
    if (depth)
        recursive(depth - 1, rank, size);
    else
        ring(rank, size);
    RETURN;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 10; i++) {
        first(rank, size);
        second(rank, size);
    }
    recursive(2, rank, size);
    for (int i = 0; i < 5; i++) {
        PSE_REGION("exchange");
        first(rank, size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
