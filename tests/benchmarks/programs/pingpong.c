/* An array to and fro by hand: sent and received; or, "overlap", in a shared window, with messages that say
 * whose turn it is.
 */
#include "peer.h"

static int64_t count, rounds;
static double *x, *shared;
static MPI_Win window;

static void make_window(void)
{
    MPI_Aint bytes = rank == 0 ? (MPI_Aint)(count * (int64_t)sizeof(double)) : 0;
    int unit;
    MPI_Win_allocate_shared(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    for (int64_t i = 0; rank == 0 && i < count; i++)
        shared[i] = 0;
}

static void free_window(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

void prepare(char **arguments)
{
    count = atoll(arguments[0]);
    rounds = atoll(arguments[1]);
    x = numbers(count);
    make_window();
    release = free_window;
}

static void touch(double *array)
{
    array[0] += 1;
    array[count - 1] += 1;
}

/* Give the array to the other one, or take it. */
static void hand_over(bool give, bool in_window)
{
    const int other = 1 - rank, length = in_window ? 0 : (int)count;
    if (in_window)
        MPI_Win_sync(window);
    if (give)
        MPI_Send(x, length, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(x, length, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in_window)
        MPI_Win_sync(window);
}

void run(bool overlap)
{
    for (int64_t left = rounds; left > 0; left--) {
        hand_over(rank == 0, overlap);
        if (rank == 1)
            touch(overlap ? shared : x);
        hand_over(rank == 1, overlap);
        if (rank == 0)
            touch(overlap ? shared : x);
    }
}

int64_t sum_results(void)
{
    return rank == 0 ? digest(shared[0] > 0 ? shared : x, 1, count, count, 0, 0, count) : 0;
}
