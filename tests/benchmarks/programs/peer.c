/* Programs of MPI by hand: PROGRAM blocking|overlap single|multiple TURNS ARGUMENTS…
 *
 * A turn is timed from when the first rank begins to when the last one has ended, after a barrier.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "coven.h"

int rank, size;
void (*release)(void);

static uint32_t grid_axes;

static int64_t own_partition(void)
{
    return rank;
}

static int64_t all_partitions(void)
{
    return size;
}

static int64_t along(uint32_t axis)
{
    return axis == 0 ? size : axis < grid_axes;
}

static const coven_services services = {
    .version = COVEN_VERSION, .partition = own_partition, .partitions = all_partitions, .grid = along};

/* Each library has a variable of its own, as when the engine loads it. */
static int offer_services(struct dl_phdr_info *info, size_t length, void *none)
{
    void *library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    const coven_services **engine = library != NULL ? dlsym(library, "coven_engine") : NULL;
    (void)length, (void)none;
    if (engine != NULL)
        *engine = &services;
    return 0;
}

void partitions_are_ranks(uint32_t axes)
{
    grid_axes = axes;
    dl_iterate_phdr(offer_services, NULL);
}

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
