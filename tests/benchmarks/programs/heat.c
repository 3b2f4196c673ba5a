/* Heat conduction by hand: rows among ranks, a residual of all in each step.
 *
 * With overlap the rows that need no neighbour are computed while halos travel, by the same kernel; then the
 * first and the last one, each as a plate of one row.
 */
#include "peer.h"

#include <string.h>

int init(double *u, int64_t nx, int64_t ny);
int step(const double *u, double *v, double *residual, int64_t nx, int64_t ny);

static int64_t side, steps, rows, row;
static double *u, *v, *edge;
static int above, below;

void prepare(char **arguments)
{
    side = atoll(arguments[0]);
    steps = atoll(arguments[1]);
    rows = side / size;
    row = side + 2;
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    u = numbers((rows + 2) * row);
    v = numbers((rows + 2) * row);
    edge = numbers(3 * row);
    init(u, rows, side);
}

static double blocking_step(void)
{
    double residual;
    MPI_Sendrecv(u + row, (int)row, MPI_DOUBLE, above, 0, u + (rows + 1) * row, (int)row, MPI_DOUBLE, below,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + rows * row, (int)row, MPI_DOUBLE, below, 1, u, (int)row, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    step(u, v, &residual, rows, side);
    return residual;
}

static double edge_step(int64_t number, double largest)
{
    double residual;
    step(u + (number - 1) * row, edge, &residual, 1, side);
    memcpy(v + number * row, edge + row, (size_t)row * sizeof *v);
    return residual > largest ? residual : largest;
}

static double overlapping_step(void)
{
    double residual = 0;
    MPI_Request requests[4];
    MPI_Irecv(u, (int)row, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(u + (rows + 1) * row, (int)row, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(u + row, (int)row, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(u + rows * row, (int)row, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
    if (rows > 2)
        step(u + row, v + row, &residual, rows - 2, side);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    residual = edge_step(1, residual);
    return rows > 1 ? edge_step(rows, residual) : residual;
}

void run(bool overlap)
{
    double residual = 1e30;
    for (int64_t left = steps; left > 0 && residual > 0; left--) {
        double largest = overlap ? overlapping_step() : blocking_step();
        MPI_Allreduce(&largest, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        exchange_pointers(&u, &v);
    }
}

int64_t sum_results(void)
{
    return digest(u + row + 1, rows, side, row, rank * rows, 0, side);
}
