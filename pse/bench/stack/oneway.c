/* What a message takes one way between two ranks, as OSU's benchmark of latency measures it.
 *
 *     oneway BATCHES SIZE...    prints for each size the median of the batches' means, in ns: one line each
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

enum { LARGE = 65536, ROUNDS = 100, FEW_ROUNDS = 20, WARM_UP = 10 };

static double one_way(char *data, int size, int rank, int rounds)
{
    double begin = 0;
    for (int round = -WARM_UP; round < rounds; round++) {
        if (round == 0)
            begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(data, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(data, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(data, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    return 1e9 * (MPI_Wtime() - begin) / (2 * rounds);
}

int main(int argc, char **argv)
{
    int rank, batches = atoi(argv[1]);
    double *times = malloc((size_t)batches * sizeof *times);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 2; i < argc; i++) {
        const int size = atoi(argv[i]);
        char *data = calloc((size_t)size + 1, 1);
        for (int batch = 0; batch < batches; batch++)
            times[batch] = one_way(data, size, rank, size > LARGE ? FEW_ROUNDS : ROUNDS);
        if (rank == 0)
            printf("%.3f\n", median(times, batches));
        free(data);
    }
    MPI_Finalize();
    free(times);
    return 0;
}
