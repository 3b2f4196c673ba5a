/* Gravitating bodies by hand: blocks of them go round the ranks, all of them visit all.
 *
 * With overlap a block travels on while its forces are computed, in parts, between which MPI gets its chance.
 */
#include "peer.h"

#include <string.h>

int forces(const double *xm, const double *visiting, double *acc, int64_t n, int64_t m);
int kick(double *vel, const double *acc, double dt, int64_t n);
int drift(double *xm, const double *vel, double dt, int64_t n);

enum { PARTS = 8 };

static const double dt = 1e-3;
static int64_t steps, bodies;
static double *xm, *vel, *acc, *visiting, *next;

static void hop_blocking(bool last)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    forces(xm, visiting, acc, bodies, bodies);
    if (last)
        return;
    MPI_Sendrecv(visiting, (int)(4 * bodies), MPI_DOUBLE, to, 0, next, (int)(4 * bodies), MPI_DOUBLE, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void hop_overlapping(bool last)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int done = last;
    if (!last) {
        MPI_Irecv(next, (int)(4 * bodies), MPI_DOUBLE, from, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(visiting, (int)(4 * bodies), MPI_DOUBLE, to, 0, MPI_COMM_WORLD, &requests[1]);
    }
    for (int64_t part = 0; part < PARTS; part++) {
        const int64_t begin = bodies * part / PARTS, end = bodies * (part + 1) / PARTS;
        forces(xm + 4 * begin, visiting, acc + 3 * begin, end - begin, bodies);
        if (!done)
            MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void ring(bool overlap)
{
    memcpy(visiting, xm, (size_t)(4 * bodies) * sizeof *xm);
    memset(acc, 0, (size_t)(3 * bodies) * sizeof *acc);
    for (int hop = 0; hop < size; hop++) {
        (overlap ? hop_overlapping : hop_blocking)(hop == size - 1);
        exchange_pointers(&visiting, &next);
    }
}

void prepare(char **arguments)
{
    const int64_t all = atoll(arguments[0]);
    steps = atoll(arguments[1]);
    bodies = all / size;
    xm = numbers(4 * bodies);
    vel = numbers(3 * bodies);
    acc = numbers(3 * bodies);
    visiting = numbers(4 * bodies);
    next = numbers(4 * bodies);
    fill_bodies(xm, vel, bodies, rank * bodies, all);
    ring(false);
}

void run(bool overlap)
{
    for (int64_t left = steps; left > 0; left--) {
        kick(vel, acc, 0.5 * dt, bodies);
        drift(xm, vel, dt, bodies);
        ring(overlap);
        kick(vel, acc, 0.5 * dt, bodies);
    }
}

int64_t sum_results(void)
{
    return digest(vel, bodies, 3, 3, rank * bodies, 0, 3);
}
