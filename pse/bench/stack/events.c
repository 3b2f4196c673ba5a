/* What tools add to calls that they record: a message of a rank to itself, and a look for one that isn't
 * there.
 *
 *     events BATCHES ROUNDS    prints "through direct", medians in ns a round
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

static int out, in, flag;
static MPI_Request requests[2];

static double through(int rounds)
{
    const double begin = now();
    for (int i = 0; i < rounds; i++) {
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    return (now() - begin) / rounds;
}

static double direct(int rounds)
{
    const double begin = now();
    for (int i = 0; i < rounds; i++) {
        PMPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
        PMPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
        PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        PMPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    return (now() - begin) / rounds;
}

int main(int argc, char **argv)
{
    const int batches = argc > 2 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 1;
    double *with = malloc((size_t)batches * sizeof *with),
           *without = malloc((size_t)batches * sizeof *without);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < batches; i++) {
        with[i] = through(rounds);
        without[i] = direct(rounds);
    }
    printf("%g %g\n", median(with, batches), median(without, batches));
    MPI_Finalize();
    return 0;
}
