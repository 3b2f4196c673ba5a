/* How long MPI's blocking routines take, for every size: see pse/bench/subjects/coopwait.py.
 *
 *     waits LEVEL BATCHES MILLISECONDS    a line "routine bytes ns" for each: the mean of all rounds
 *
 * A batch is as many rounds as fit into MILLISECONDS, and its time that of the rank that is last.  The
 * batches of all routines and sizes take turns.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"

enum { LARGEST = 4 << 20, FIRST = 2, MOST = 20000, PARTS = 4 };

static int rank, size;
static char *ours, *theirs;

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int bytes)
{
    MPI_Bcast(ours, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(int bytes)
{
    MPI_Reduce(ours, theirs, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(ours, theirs, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(int bytes)
{
    const int each = bytes / size < 8 ? 8 : bytes / size;
    MPI_Alltoall(ours, each, MPI_BYTE, theirs, each, MPI_BYTE, MPI_COMM_WORLD);
}

static void sendrecv(int bytes)
{
    MPI_Sendrecv(ours, bytes, MPI_BYTE, (rank + 1) % size, 0, theirs, bytes, MPI_BYTE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Half of the bytes to each neighbour of the ring, and from it. */
static void start_both(int bytes, MPI_Request requests[4])
{
    const int half = bytes / 2, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Irecv(theirs, half, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(theirs + half, half, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(ours, half, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(ours + half, half, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[3]);
}

static void waitany(int bytes)
{
    MPI_Request requests[4];
    start_both(bytes, requests);
    for (int i = 0, which; i < 4; i++)
        MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE);
}

static void waitsome(int bytes)
{
    MPI_Request requests[4];
    start_both(bytes, requests);
    for (int done = 0, some, which[4]; done < 4; done += some)
        MPI_Waitsome(4, requests, &some, which, MPI_STATUSES_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(int bytes);
} routines[] = {{"barrier", barrier},     {"bcast", bcast},       {"reduce", reduce},
                {"allreduce", allreduce}, {"alltoall", alltoall}, {"sendrecv", sendrecv},
                {"waitany", waitany},     {"waitsome", waitsome}};
static const int sizes[] = {8, 1 << 10, 64 << 10, 1 << 20, LARGEST};
enum { ROUTINES = sizeof routines / sizeof *routines, SIZES = sizeof sizes / sizeof *sizes };

/* What is known of a cell: rounds that fit into a batch, and the ns and rounds of all batches. */
struct cell {
    int fit;
    double ns, rounds;
};

/* The ns of some rounds, at the rank that is last. */
static double measure(int routine, int bytes, int rounds)
{
    double mine, last;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    for (int i = 0; i < rounds; i++)
        routines[routine].run(bytes);
    mine = now() - begin;
    MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last;
}

/* One batch, in parts, so that one that takes much longer than the last can end. */
static void measure_batch(int routine, int bytes, double longest, struct cell *cell)
{
    const int part = cell->fit / PARTS ? cell->fit / PARTS : 1;
    double took = 0;
    for (int done = 0; done < cell->fit && took < 3 * longest; done += part) {
        took += measure(routine, bytes, part);
        cell->rounds += part;
    }
    cell->ns += took;
}

/* Find how many rounds fit into a batch, from the quicker one of two tries. */
static void prepare(int routine, int bytes, double longest, struct cell *cell)
{
    const double first = measure(routine, bytes, FIRST), second = measure(routine, bytes, FIRST);
    const double round = (first < second ? first : second) / FIRST;
    cell->fit = round * MOST < longest ? MOST : round > longest ? 1 : (int)(longest / round);
}

int main(int argc, char **argv)
{
    static struct cell cells[ROUTINES][SIZES];
    int provided;
    if (argc != 4)
        return 2;
    const int batches = atoi(argv[2]);
    const double longest = atof(argv[3]) * 1e6;
    MPI_Init_thread(&argc, &argv, atoi(argv[1]), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    ours = malloc(LARGEST), theirs = malloc(LARGEST);
    memset(ours, 0, LARGEST), memset(theirs, 0, LARGEST);
    for (int batch = -1; batch < batches; batch++)
        for (int routine = 0; routine < ROUTINES; routine++)
            for (int i = 0; i < SIZES && (routine || !i); i++) {
                if (batch < 0)
                    prepare(routine, sizes[i], longest, &cells[routine][i]);
                else
                    measure_batch(routine, sizes[i], longest, &cells[routine][i]);
            }
    for (int routine = 0; routine < ROUTINES && rank == 0; routine++)
        for (int i = 0; i < SIZES && (routine || !i); i++)
            printf("%s %d %g\n", routines[routine].name, routine ? sizes[i] : 0,
                   cells[routine][i].ns / cells[routine][i].rounds);
    MPI_Finalize();
    return 0;
}
