/* What a call costs through the stack, and without it: batches of both in turn, in one process.
 *
 *     calls BATCHES CALLS [FILE…]     one rank: prints "through direct first", ns a call and ns of the first
 * call; with files, loads them and prints "0 0 ns of loading" two ranks: the first prints ns of a ping-pong's
 * half round instead
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "batches.h"

static double through(int calls)
{
    int rank;
    const double begin = now();
    for (int i = 0; i < calls; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return (now() - begin) / calls;
}

static double direct(int calls)
{
    int rank;
    const double begin = now();
    for (int i = 0; i < calls; i++)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return (now() - begin) / calls;
}

static double through_to_and_fro(int calls)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double begin = now();
    for (int i = 0; i < 2 * calls; i++)
        if (i % 2 == rank)
            MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (now() - begin) / (2 * calls);
}

static double direct_to_and_fro(int calls)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double begin = now();
    for (int i = 0; i < 2 * calls; i++)
        if (i % 2 == rank)
            PMPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            PMPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (now() - begin) / (2 * calls);
}

static double load(char **files)
{
    const double begin = now();
    for (; *files; files++)
        if (!dlopen(*files, RTLD_NOW | RTLD_LOCAL))
            fprintf(stderr, "%s\n", dlerror());
    return now() - begin;
}

static double first_call(void)
{
    int version, subversion;
    const double begin = now();
    MPI_Get_version(&version, &subversion);
    return now() - begin;
}

int main(int argc, char **argv)
{
    const int batches = atoi(argv[1]), calls = atoi(argv[2]);
    double *with = malloc((size_t)batches * sizeof *with),
           *without = malloc((size_t)batches * sizeof *without);
    int rank, size;
    if (argc > 3) {
        printf("0 0 %g\n", load(argv + 3));
        return 0;
    }
    const double first = first_call();
    MPI_Init(NULL, NULL);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < batches; i++) {
        with[i] = size > 1 ? through_to_and_fro(calls) : through(calls);
        without[i] = size > 1 ? direct_to_and_fro(calls) : direct(calls);
    }
    if (rank == 0)
        printf("%g %g %g\n", median(with, batches), median(without, batches), first);
    MPI_Finalize();
    return 0;
}
