/* How long operations take that have to wait: through the tool coopwait, and in MPI's own way past it, in
 * turn.
 *
 *     waits BATCHES ROUNDS    prints "allreduce, MPI's allreduce", and for two ranks "ping-pong, MPI's
 * ping-pong": medians in ns at rank 0, of a ping-pong half a round
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

static int rank;

static void allreduce(void)
{
    double mine = 1, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void plain_allreduce(void)
{
    double mine = 1, sum;
    PMPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void to_and_fro(void)
{
    double data = 0;
    for (int way = 0; way < 2; way++)
        if (way == rank)
            MPI_Send(&data, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void plain_to_and_fro(void)
{
    double data = 0;
    for (int way = 0; way < 2; way++)
        if (way == rank)
            PMPI_Send(&data, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            PMPI_Recv(&data, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure(void (*operation)(void), int rounds, double *times)
{
    operation();
    for (int i = 0; i < rounds; i++) {
        const double begin = now();
        operation();
        times[i] = now() - begin;
    }
}

int main(int argc, char **argv)
{
    static void (*const operations[])(void) = {allreduce, plain_allreduce, to_and_fro, plain_to_and_fro};
    double *times[4];
    int size, batches = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int kinds = size == 2 ? 4 : 2;
    for (int kind = 0; kind < kinds; kind++)
        times[kind] = malloc((size_t)(batches * rounds) * sizeof(double));
    for (int batch = 0; batch < batches; batch++)
        for (int kind = 0; kind < kinds; kind++)
            measure(operations[kind], rounds, times[kind] + batch * rounds);
    for (int kind = 0; kind < kinds && rank == 0; kind++)
        printf("%g ", median(times[kind], batches * rounds) / (kind < 2 ? 1 : 2));
    MPI_Finalize();
    return 0;
}
