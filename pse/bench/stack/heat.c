/* Heat conduction on a plate, as an MPI program does it: rows among ranks, halos by requests, a residual of
 * all.
 *
 *     heat BATCHES STEPS N     prints the median of a step in ns, and what was computed
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

static int rank, size, n, rows;
static double *u, *v;

static void exchange(void)
{
    MPI_Request requests[4];
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Irecv(u, n, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(u + (rows + 1) * n, n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(u + n, n, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(u + rows * n, n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double step(void)
{
    double largest = 0, all;
    exchange();
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < n - 1; j++) {
            const double *here = u + i * n + j, mean = 0.25 * (here[-n] + here[n] + here[-1] + here[1]);
            largest = fmax(largest, fabs(mean - *here));
            v[i * n + j] = mean;
        }
    double *next = v;
    v = u;
    u = next;
    MPI_Allreduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    double residual = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int batches = atoi(argv[1]), steps = atoi(argv[2]);
    n = atoi(argv[3]);
    rows = n / size;
    double *times = calloc((size_t)batches, sizeof *times);
    u = calloc((size_t)((rows + 2) * n), sizeof *u);
    v = calloc((size_t)((rows + 2) * n), sizeof *v);
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < n - 1; j++)
            u[i * n + j] = 1;
    for (int batch = 0; batch < batches; batch++) {
        const double begin = now();
        for (int i = 0; i < steps; i++)
            residual = step();
        times[batch] = (now() - begin) / steps;
    }
    if (rank == 0)
        printf("%g %.9g\n", median(times, batches), residual);
    MPI_Finalize();
    return 0;
}
