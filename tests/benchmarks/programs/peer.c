/* Programs of MPI by hand: PROGRAM blocking|overlap single|multiple TURNS ARGUMENTS…
 *
 * A turn is timed from when the first rank begins to when the last one has ended, after a barrier.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>

int rank, size;
void (*release)(void);

double *numbers(int64_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (size_t)count * sizeof(double)) != 0) {
        fputs("there is no memory for the arrays\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memset(memory, 0, (size_t)count * sizeof(double));
}

static void take_turn(bool overlap)
{
    double times[2], all[2];
    int64_t sum, total;
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = -(double)turn_clock();
    run(overlap);
    times[1] = (double)turn_clock();
    sum = sum_results();
    MPI_Reduce(times, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &total, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        turn_tell(-all[0], all[1], total);
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 4)
        return 2;
    const int level = strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prepare(argv + 4);
    for (int left = atoi(argv[3]); left > 0 && turn_await(rank); left--)
        take_turn(strcmp(argv[1], "overlap") == 0);
    if (release != NULL)
        release();
    MPI_Finalize();
    return 0;
}
