/* Partrace: particles that water carries along. Each of its processors has some of the particles and the
 * whole velocity field, of which the link brings it a share.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "shares.h"

enum { NO_MEMORY = 1 };

static MPI_Comm partrace = MPI_COMM_NULL; /* Partrace's processors. */
static int rank, size;

const char *coven_error(int code)
{
    return code == NO_MEMORY ? "there is no memory for the shares of the velocity field" : NULL;
}

/* Who has particles belongs to Partrace; the others return at once from everything in this file. */
//@ coven module join_partrace(in f64 position[n, 3], in comm c) collective
int join_partrace(const double *position, MPI_Comm c, int64_t n)
{
    (void)position;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_split(c, n > 0 ? 0 : MPI_UNDEFINED, rank, &partrace);
    if (n > 0) {
        MPI_Comm_rank(partrace, &rank);
        MPI_Comm_size(partrace, &size);
    }
    return 0;
}

/* Versions 1 and 2, a systolic loop: shares go around from neighbour to neighbour, one step at a time. The
 * first processor sends before it receives, the others afterwards. */
static void systolic_loop(double *field, const int *count, const int *begin)
{
    int before = (rank + size - 1) % size, behind = (rank + 1) % size;
    for (int hop = 1; hop < size; hop++) {
        int given = (rank - hop + 1 + size) % size, taken = (rank - hop + size) % size;
        if (rank == 0)
            MPI_Send(field + begin[given], count[given], MPI_DOUBLE, behind, hop, partrace);
        MPI_Recv(field + begin[taken], count[taken], MPI_DOUBLE, before, hop, partrace, MPI_STATUS_IGNORE);
        if (rank != 0)
            MPI_Send(field + begin[given], count[given], MPI_DOUBLE, behind, hop, partrace);
    }
}

/* Give all processors the whole field. */
//@ coven module distribute(inout f64 field[nx, ny, nz, 3], in bool together)
int distribute(double *field, _Bool together, int64_t nx, int64_t ny, int64_t nz)
{
    if (partrace == MPI_COMM_NULL)
        return 0;
    int *count = malloc((size_t)size * sizeof *count), *begin = malloc((size_t)size * sizeof *begin);
    for (int r = 0; r < size && count && begin; r++) {
        begin[r] = (int)(share_begin(nx, size, r) * ny * nz * 3);
        count[r] = (int)(share_begin(nx, size, r + 1) * ny * nz * 3) - begin[r];
    }
    int code = count && begin ? 0 : NO_MEMORY;
    if (code == 0 && together)
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, field, count, begin, MPI_DOUBLE, partrace);
    else if (code == 0)
        systolic_loop(field, count, begin);
    free(count), free(begin);
    return code;
}

/* Where a coordinate lies between the centres of two cells: the first of them, and the weight of the second.
 */
static int64_t locate(double x, int64_t cells, double *weight)
{
    double place = x - 0.5;
    if (place < 0)
        place = 0;
    int64_t index = (int64_t)place;
    if (index > cells - 2)
        index = cells - 2;
    *weight = place - (double)index < 1 ? place - (double)index : 1;
    return index;
}

/* The velocity at a point, linear between the centres of cells. */
static void interpolate(const double *field, const int64_t shape[3], const double x[3], double v[3])
{
    int64_t base = 0, step[3] = {shape[1] * shape[2] * 3, shape[2] * 3, 3};
    double weight[3];
    for (int axis = 0; axis < 3; axis++)
        base += locate(x[axis], shape[axis], &weight[axis]) * step[axis];
    v[0] = v[1] = v[2] = 0;
    for (int corner = 0; corner < 8; corner++) {
        int64_t place = base;
        double share = 1;
        for (int axis = 0; axis < 3; axis++) {
            int upper = corner >> axis & 1;
            share *= upper ? weight[axis] : 1 - weight[axis];
            place += upper ? step[axis] : 0;
        }
        for (int axis = 0; axis < 3; axis++)
            v[axis] += share * field[place + axis];
    }
}

static _Bool is_inside(const double x[3], int64_t nx)
{
    return x[0] >= 0 && x[0] < (double)nx;
}

/* One time step by the midpoint rule. Walls along x keep particles in; who has left at an end stays there. */
static void advance(double x[3], const double *field, const int64_t shape[3], double dt)
{
    double v[3], middle[3];
    interpolate(field, shape, x, v);
    for (int axis = 0; axis < 3; axis++)
        middle[axis] = x[axis] + v[axis] * dt / 2;
    interpolate(field, shape, middle, v);
    for (int axis = 0; axis < 3; axis++)
        x[axis] += v[axis] * dt;
    for (int axis = 1; axis < 3; axis++) {
        double wall = (double)shape[axis];
        x[axis] = x[axis] < 0 ? 0 : x[axis] > wall ? wall : x[axis];
    }
}

/* Move particles through a cycle. */
//@ coven module move(inout f64 position[n, 3], in f64 field[nx, ny, nz, 3], in f64 dt, in i64 steps)
int move(double *position, const double *field, double dt, int64_t steps, int64_t n, int64_t nx, int64_t ny,
         int64_t nz)
{
    const int64_t shape[3] = {nx, ny, nz};
    for (double *x = position; x < position + 3 * n; x += 3)
        for (int64_t step = 0; step < steps && is_inside(x, nx); step++)
            advance(x, field, shape, dt);
    return 0;
}

/* How many particles are still in the aquifer. */
//@ coven module count(in f64 position[n, 3], in i64 nx, out i64 inside)
int count(const double *position, int64_t nx, int64_t *inside, int64_t n)
{
    *inside = 0;
    for (const double *x = position; x < position + 3 * n; x += 3)
        *inside += is_inside(x, nx);
    return 0;
}
