/* The lid-driven cavity by hand: rows among ranks, conjugate gradients with two combinations of all in each
 * iteration.
 *
 * The kernels need all halos, so nothing can be computed meanwhile. With overlap messages to both neighbours
 * travel at once, those of both velocities too, and what all combine by sums and by maxima is one message.
 */
#include "peer.h"

int begin(bool vortex, int64_t all, double *u, double *v, int64_t m, int64_t n);
int predict(double *u, double *v, double *fu, double *fv, double lid, bool slip, bool first, double nu,
            double h, double dt, double *u1, double *v1, int64_t m, int64_t n);
int project(const double *u, const double *v, double *u1, double *v1, const double *p, double dt, double h,
            double *change, int64_t m, int64_t n);
int factor(double *pivot, int64_t m, int64_t n);
int residual(double *p, const double *u, const double *v, const double *pivot, double scale, double *r,
             double *d, double *rz, double *error, int64_t m, int64_t n);
int apply(double *d, double *q, double *curvature, int64_t m, int64_t n);
int descend(double *p, double *r, const double *d, const double *q, const double *pivot, double length,
            double *z, double *rz, double *error, int64_t m, int64_t n);
int turn(double *d, const double *z, double share, int64_t m, int64_t n);

enum { MOST = 2 };

static int64_t side, steps, rows, row;
static double *u, *v, *u1, *v1, *fu, *fv, *p, *pivot, *r, *d, *q, *z;
static int above, below;
static bool moves;
static MPI_Op sum_and_largest;

static void combine_pair(void *given, void *into, int *count, MPI_Datatype *type)
{
    const double *from = given;
    double *to = into;
    (void)count, (void)type;
    to[0] += from[0];
    to[1] = from[1] > to[1] ? from[1] : to[1];
}

void prepare(char **arguments)
{
    side = atoll(arguments[0]);
    steps = atoll(arguments[1]);
    rows = side / size;
    row = side + 2;
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double **framed[] = {&u, &v, &u1, &v1, &p, &d}, **plain[] = {&fu, &fv, &pivot, &r, &q, &z};
    for (size_t i = 0; i < sizeof framed / sizeof *framed; i++)
        *framed[i] = numbers((rows + 2) * row);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        *plain[i] = numbers(rows * side);
    MPI_Op_create(combine_pair, 1, &sum_and_largest);
    partitions_are_ranks(2);
    begin(false, side, u, v, rows, side);
    factor(pivot, rows, side);
}

static void exchange_blocking(double *a)
{
    MPI_Sendrecv(a + row, (int)row, MPI_DOUBLE, above, 0, a + (rows + 1) * row, (int)row, MPI_DOUBLE, below,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(a + rows * row, (int)row, MPI_DOUBLE, below, 1, a, (int)row, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(bool overlap, double **arrays, int count)
{
    MPI_Request requests[4 * MOST];
    for (int i = 0; i < count; i++) {
        double *a = arrays[i];
        MPI_Request *its = requests + 4 * i;
        if (!overlap) {
            exchange_blocking(a);
            continue;
        }
        MPI_Irecv(a, (int)row, MPI_DOUBLE, above, 2 * i + 1, MPI_COMM_WORLD, its);
        MPI_Irecv(a + (rows + 1) * row, (int)row, MPI_DOUBLE, below, 2 * i, MPI_COMM_WORLD, its + 1);
        MPI_Isend(a + row, (int)row, MPI_DOUBLE, above, 2 * i, MPI_COMM_WORLD, its + 2);
        MPI_Isend(a + rows * row, (int)row, MPI_DOUBLE, below, 2 * i + 1, MPI_COMM_WORLD, its + 3);
    }
    if (overlap)
        MPI_Waitall(4 * count, requests, MPI_STATUSES_IGNORE);
}

/* The sum of all first numbers, and the largest of all second ones. */
static void combine(bool overlap, double pair[2])
{
    if (overlap) {
        MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_DOUBLE, sum_and_largest, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, pair + 1, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void find_pressure(bool overlap, double scale, double tolerance)
{
    double now[2], fresh[2], curvature;
    exchange(overlap, &p, 1);
    residual(p, u1, v1, pivot, scale, r, d, &now[0], &now[1], rows, side);
    combine(overlap, now);
    while (now[1] > tolerance) {
        exchange(overlap, &d, 1);
        apply(d, q, &curvature, rows, side);
        MPI_Allreduce(MPI_IN_PLACE, &curvature, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        descend(p, r, d, q, pivot, now[0] / curvature, z, &fresh[0], &fresh[1], rows, side);
        combine(overlap, fresh);
        turn(d, z, fresh[0] / now[0], rows, side);
        now[0] = fresh[0];
        now[1] = fresh[1];
    }
}

void run(bool overlap)
{
    const double h = 1.0 / (double)side, dt = 0.4 * h;
    double change;
    for (int64_t left = steps; left > 0; left--) {
        exchange(overlap, (double *[]){u, v}, 2);
        predict(u, v, fu, fv, 1.0, false, !moves, 1e-3, h, dt, u1, v1, rows, side);
        moves = true;
        exchange(overlap, (double *[]){u1, v1}, 2);
        find_pressure(overlap, h / dt, 1e-7 * h * h / dt);
        exchange(overlap, &p, 1);
        project(u, v, u1, v1, p, dt, h, &change, rows, side);
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        exchange_pointers(&u, &u1);
        exchange_pointers(&v, &v1);
    }
}

int64_t sum_results(void)
{
    return digest(u + row + 1, rows, side, row, rank * rows, 0, side);
}
