/* What a message takes to and fro between two ranks, as OSU's benchmark of latency exchanges it: separate buffers
 * at the begin of pages, which were written to, and blocking calls.  A library, for a job that runs something
 * else in turn.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 10, PAGE = 4096, NO_MEMORY = -1 };

static void round_trips(int rank, char *out, char *in, int size, int rounds, double *seconds)
{
    double begin = MPI_Wtime();
    for (int round = -WARM_UP; round < rounds; round++) {
        for (int way = 0; way < 2; way++)
            if (way == rank)
                MPI_Send(out, size, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(in, size, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double end = MPI_Wtime();
        if (round >= 0)
            seconds[round] = end - begin;
        begin = end;
    }
}

/* Fill seconds[rounds] with round trips; gives 0, or -1 if there is no memory. */
int exchange(int size, int rounds, double *seconds)
{
    const size_t pages = (size_t)(size / PAGE + 1) * PAGE;
    char *out = aligned_alloc(PAGE, pages), *in = aligned_alloc(PAGE, pages);
    if (out && in) {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        memset(out, 1, pages);
        memset(in, 1, pages);
        round_trips(rank, out, in, size, rounds, seconds);
    }
    const int status = out && in ? 0 : NO_MEMORY;
    free(out);
    free(in);
    return status;
}
