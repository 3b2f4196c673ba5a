/* Trace: the flow of water through an aquifer, storage * dh/dt = div(k grad h) + source, with Darcy's law.
 *
 * Cells are cubes of length 1. Heads are given one cell beyond both ends of x; the walls along x are closed,
 * or have the head 0 one cell beyond. A cycle is one implicit time step, which conjugate gradients solve.
 *
 * Each of Trace's processors has some planes of constant x, and works on copies with a frame of one more cell
 * at all sides: the first and last plane are the neighbours' (or 0 at the ends), the rest of the frame is 0.
 * So a plane with its frame is one contiguous message, and no loop needs to know where the aquifer ends.
 *
 * Sums are added up plane by plane, each plane by its owner, and then in the order of planes on all
 * processors. So they have the same bits however planes are dealt out.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY = 1, DIVERGED = 2, NOT_JOINED = 3 };
enum { TO_THE_RIGHT = 1, TO_THE_LEFT = 2 };

static MPI_Comm trace = MPI_COMM_NULL; /* Trace's processors, in the order of their planes. */
static int left, right;                /* Our neighbours; MPI_PROC_NULL beyond the ends. */
static int64_t first_plane, all_planes;

const char *coven_error(int code)
{
    switch (code) {
    case NO_MEMORY:
        return "there is no memory for Trace's arrays";
    case DIVERGED:
        return "conjugate gradients found no solution: conductivity and storage must not be negative";
    case NOT_JOINED:
        return "join_trace and conduct have not been called by this process";
    default:
        return NULL;
    }
}

/* Who has planes belongs to Trace; the others return at once from everything in this file. */
//@ coven module join_trace(in f64 head[m, ny, nz], in comm c) collective
int join_trace(const double *head, MPI_Comm c, int64_t m, int64_t ny, int64_t nz)
{
    int rank, size;
    (void)head, (void)ny, (void)nz;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_split(c, m > 0 ? 0 : MPI_UNDEFINED, rank, &trace);
    if (m == 0)
        return 0;
    MPI_Comm_rank(trace, &rank);
    MPI_Comm_size(trace, &size);
    left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Scan(&m, &first_plane, 1, MPI_INT64_T, MPI_SUM, trace);
    first_plane -= m;
    MPI_Allreduce(&m, &all_planes, 1, MPI_INT64_T, MPI_SUM, trace);
    return 0;
}

/* Our planes and the equations in them. A conductance is that between a cell and the one before it. */
typedef struct {
    int64_t planes, rows, columns; /* Without the frame. */
    int64_t row, plane, cells;     /* Cells of a row, of a plane and of all, with the frame. */
    double *cx, *cy, *cz, *diagonal;
    double *sums; /* For two sums of all planes. */
} Grid;

static Grid own; /* What `conduct` makes and the other modules use. */

static double *new_cells(const Grid *g)
{
    return calloc((size_t)g->cells, sizeof(double));
}

static int64_t cell(const Grid *g, int64_t i, int64_t j, int64_t k)
{
    return i * g->plane + j * g->row + k;
}

/* Copy an array into one with a frame, or back. */
static void into_frame(const Grid *g, const double *array, double *framed)
{
    for (int64_t i = 0; i < g->planes; i++)
        for (int64_t j = 0; j < g->rows; j++)
            memcpy(framed + cell(g, i + 1, j + 1, 1), array + (i * g->rows + j) * g->columns,
                   (size_t)g->columns * sizeof *array);
}

static void out_of_frame(const Grid *g, const double *framed, double *array)
{
    for (int64_t i = 0; i < g->planes; i++)
        for (int64_t j = 0; j < g->rows; j++)
            memcpy(array + (i * g->rows + j) * g->columns, framed + cell(g, i + 1, j + 1, 1),
                   (size_t)g->columns * sizeof *array);
}

/* Version 1: planes travel to the right from neighbour to neighbour, then to the left. Nobody sends before it
 * has received, so that messages that wait for their receiver can't deadlock. */
static void exchange_in_turn(const Grid *g, double *v)
{
    int n = (int)g->plane;
    MPI_Recv(v, n, MPI_DOUBLE, left, TO_THE_RIGHT, trace, MPI_STATUS_IGNORE);
    MPI_Send(v + g->planes * g->plane, n, MPI_DOUBLE, right, TO_THE_RIGHT, trace);
    MPI_Recv(v + (g->planes + 1) * g->plane, n, MPI_DOUBLE, right, TO_THE_LEFT, trace, MPI_STATUS_IGNORE);
    MPI_Send(v + g->plane, n, MPI_DOUBLE, left, TO_THE_LEFT, trace);
}

/* From version 2 on: all planes are on their way at once, and MPI_Waitall completes them. */
static void begin_exchange(const Grid *g, double *v, MPI_Request request[4])
{
    int n = (int)g->plane;
    MPI_Irecv(v, n, MPI_DOUBLE, left, TO_THE_RIGHT, trace, &request[0]);
    MPI_Irecv(v + (g->planes + 1) * g->plane, n, MPI_DOUBLE, right, TO_THE_LEFT, trace, &request[1]);
    MPI_Isend(v + g->planes * g->plane, n, MPI_DOUBLE, right, TO_THE_RIGHT, trace, &request[2]);
    MPI_Isend(v + g->plane, n, MPI_DOUBLE, left, TO_THE_LEFT, trace, &request[3]);
}

static void exchange(const Grid *g, double *v, _Bool overlap)
{
    MPI_Request request[4];
    if (overlap) {
        begin_exchange(g, v, request);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    } else {
        exchange_in_turn(g, v);
    }
}

/* The harmonic mean: half the way through one conductivity, half through the other. */
static double between(double a, double b)
{
    return a > 0 && b > 0 ? 2 * a * b / (a + b) : 0;
}

/* Beyond the ends of x, and beyond walls that aren't closed, conductivity is that of the cell before. */
static void continue_conductivity(const Grid *g, double *k, _Bool closed)
{
    size_t bytes = (size_t)g->plane * sizeof *k;
    if (left == MPI_PROC_NULL)
        memcpy(k, k + g->plane, bytes);
    if (right == MPI_PROC_NULL)
        memcpy(k + (g->planes + 1) * g->plane, k + g->planes * g->plane, bytes);
    for (int64_t i = 1; i <= g->planes && !closed; i++) {
        memcpy(k + cell(g, i, 0, 0), k + cell(g, i, 1, 0), (size_t)g->row * sizeof *k);
        memcpy(k + cell(g, i, g->rows + 1, 0), k + cell(g, i, g->rows, 0), (size_t)g->row * sizeof *k);
        for (int64_t j = 1; j <= g->rows; j++) {
            k[cell(g, i, j, 0)] = k[cell(g, i, j, 1)];
            k[cell(g, i, j, g->columns + 1)] = k[cell(g, i, j, g->columns)];
        }
    }
}

/* Find the conductances of all faces, and the diagonal of the matrix, once for all cycles. */
//@ coven module conduct(in f64 k[m, ny, nz], in f64 storage, in bool closed, in bool overlap)
int conduct(const double *conductivity, double storage, _Bool closed, _Bool overlap, int64_t m, int64_t ny,
            int64_t nz)
{
    if (m == 0)
        return 0;
    Grid *g = &own;
    *g = (Grid){.planes = m, .rows = ny, .columns = nz};
    g->row = nz + 2;
    g->plane = (ny + 2) * g->row;
    g->cells = (m + 2) * g->plane;
    double *k = new_cells(g);
    g->cx = new_cells(g), g->cy = new_cells(g), g->cz = new_cells(g), g->diagonal = new_cells(g);
    g->sums = calloc(2 * (size_t)all_planes, sizeof *g->sums);
    if (!k || !g->cx || !g->cy || !g->cz || !g->diagonal || !g->sums)
        return NO_MEMORY;
    into_frame(g, conductivity, k);
    exchange(g, k, overlap);
    continue_conductivity(g, k, closed);
    for (int64_t c = g->plane; c < g->cells; c++) {
        g->cx[c] = between(k[c], k[c - g->plane]);
        g->cy[c] = between(k[c], k[c - g->row]);
        g->cz[c] = between(k[c], k[c - 1]);
    }
    for (int64_t c = g->plane; c < g->cells - g->plane; c++)
        g->diagonal[c] =
            storage + g->cx[c] + g->cx[c + g->plane] + g->cy[c] + g->cy[c + g->row] + g->cz[c] + g->cz[c + 1];
    free(k);
    return 0;
}

/* Multiply the planes from `begin` to `end` (without it) by the matrix: q = A p. */
static void multiply(const Grid *g, const double *p, double *q, int64_t begin, int64_t end)
{
    const double *cx = g->cx, *cy = g->cy, *cz = g->cz;
    const int64_t plane = g->plane, row = g->row;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 1; j <= g->rows; j++)
            for (int64_t c = cell(g, i, j, 1); c < cell(g, i, j, g->columns + 1); c++)
                q[c] = g->diagonal[c] * p[c] - cx[c] * p[c - plane] - cx[c + plane] * p[c + plane] -
                       cy[c] * p[c - row] - cy[c + row] * p[c + row] - cz[c] * p[c - 1] -
                       cz[c + 1] * p[c + 1];
}

/* q = A p with the neighbours' planes of p. Version 2 works on inner planes while these are on their way. */
static void exchange_and_multiply(const Grid *g, double *p, double *q, _Bool overlap)
{
    MPI_Request request[4];
    if (!overlap) {
        exchange_in_turn(g, p);
        multiply(g, p, q, 1, g->planes + 1);
        return;
    }
    begin_exchange(g, p, request);
    multiply(g, p, q, 2, g->planes);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    multiply(g, p, q, 1, 2);
    if (g->planes > 1)
        multiply(g, p, q, g->planes, g->planes + 1);
}

/* Add up a * b in each of our planes. The frame of one of them is 0. */
static void dot_planes(const Grid *g, const double *a, const double *b, double *sums)
{
    memset(sums, 0, (size_t)all_planes * sizeof *sums);
    for (int64_t i = 1; i <= g->planes; i++) {
        double sum = 0;
        for (int64_t c = i * g->plane; c < (i + 1) * g->plane; c++)
            sum += a[c] * b[c];
        sums[first_plane + i - 1] = sum;
    }
}

/* What others leave at 0 is exact in a sum, whatever its order; so all processors know the sum of each plane.
 */
static void share_planes(const Grid *g, int count, double result[])
{
    MPI_Allreduce(MPI_IN_PLACE, g->sums, count * (int)all_planes, MPI_DOUBLE, MPI_SUM, trace);
    for (int n = 0; n < count; n++) {
        result[n] = 0;
        for (int64_t i = 0; i < all_planes; i++)
            result[n] += g->sums[n * all_planes + i];
    }
}

/* One Gauss-Seidel step of a cell with the others of its plane. */
static inline double relax(const Grid *g, const double *r, const double *z, int64_t c)
{
    return (r[c] + g->cy[c] * z[c - g->row] + g->cy[c + g->row] * z[c + g->row] + g->cz[c] * z[c - 1] +
            g->cz[c + 1] * z[c + 1]) /
           g->diagonal[c];
}

/* The preconditioner: symmetric Gauss-Seidel sweeps in each plane by itself, from z = 0. No messages, and the
 * same however planes are dealt out. */
static void precondition(const Grid *g, const double *r, double *z, int64_t sweeps)
{
    if (sweeps == 0)
        memcpy(z, r, (size_t)g->cells * sizeof *z);
    else
        memset(z, 0, (size_t)g->cells * sizeof *z);
    for (int64_t i = 1; i <= g->planes; i++)
        for (int64_t sweep = 0; sweep < sweeps; sweep++) {
            for (int64_t j = 1; j <= g->rows; j++)
                for (int64_t c = cell(g, i, j, 1); c < cell(g, i, j, g->columns + 1); c++)
                    z[c] = relax(g, r, z, c);
            for (int64_t j = g->rows; j >= 1; j--)
                for (int64_t c = cell(g, i, j, g->columns); c > cell(g, i, j, 0); c--)
                    z[c] = relax(g, r, z, c);
        }
}

/* The right side: what was stored, the source, and the heads beyond the ends of x (0 at the far one). */
static void right_side(const Grid *g, const double *head, double *b, double level, double source,
                       double storage)
{
    for (int64_t i = 1; i <= g->planes; i++)
        for (int64_t j = 1; j <= g->rows; j++)
            for (int64_t c = cell(g, i, j, 1); c < cell(g, i, j, g->columns + 1); c++) {
                b[c] = source + storage * head[c];
                if (i == 1 && left == MPI_PROC_NULL)
                    b[c] += g->cx[c] * level;
            }
}

/* What conjugate gradients work with: solution, residual, its preconditioned form, direction, A times it. */
typedef struct {
    double *x, *r, *z, *p, *q;
} Vectors;

/* One iteration; `rho` is (r, z) and (r, r). */
static int cgiteration(const Grid *g, Vectors v, double rho[2], int64_t sweeps, _Bool overlap)
{
    double pq, old = rho[0];
    exchange_and_multiply(g, v.p, v.q, overlap);
    dot_planes(g, v.p, v.q, g->sums);
    share_planes(g, 1, &pq);
    if (!(pq > 0))
        return DIVERGED;
    double alpha = old / pq;
    for (int64_t c = g->plane; c < g->cells - g->plane; c++) {
        v.x[c] += alpha * v.p[c];
        v.r[c] -= alpha * v.q[c];
    }
    precondition(g, v.r, v.z, sweeps);
    dot_planes(g, v.r, v.z, g->sums);
    dot_planes(g, v.r, v.r, g->sums + all_planes);
    share_planes(g, 2, rho);
    double beta = rho[0] / old;
    for (int64_t c = g->plane; c < g->cells - g->plane; c++)
        v.p[c] = v.z[c] + beta * v.p[c];
    return 0;
}

/* Begin with the head of the last cycle: r = b - A x, p = z. The norm of b is what residuals are compared
 * with. */
static void begin_solve(const Grid *g, Vectors v, double rho[2], double *norm, int64_t sweeps, _Bool overlap)
{
    dot_planes(g, v.r, v.r, g->sums);
    share_planes(g, 1, norm);
    *norm = sqrt(*norm);
    exchange_and_multiply(g, v.x, v.q, overlap);
    for (int64_t c = g->plane; c < g->cells - g->plane; c++)
        v.r[c] -= v.q[c];
    precondition(g, v.r, v.z, sweeps);
    memcpy(v.p, v.z, (size_t)g->cells * sizeof *v.p);
    dot_planes(g, v.r, v.z, g->sums);
    dot_planes(g, v.r, v.r, g->sums + all_planes);
    share_planes(g, 2, rho);
}

/* Solve for the head at the end of the cycle. */
//@ coven module solve(inout f64 head[m, ny, nz], inout f64 history[one, cycles, two], in i64 cycle, in f64 level, in f64 source, in f64 storage, in f64 tolerance, in i64 limit, in i64 sweeps, in bool overlap)
int solve(double *head, double *history, int64_t cycle, double level, double source, double storage,
          double tolerance, int64_t limit, int64_t sweeps, _Bool overlap, int64_t m, int64_t ny, int64_t nz,
          int64_t one, int64_t cycles, int64_t two)
{
    (void)ny, (void)nz, (void)one, (void)cycles;
    if (m == 0)
        return 0;
    const Grid *g = &own;
    if (g->cells == 0)
        return NOT_JOINED;
    Vectors v = {new_cells(g), new_cells(g), new_cells(g), new_cells(g), new_cells(g)};
    int code = v.x && v.r && v.z && v.p && v.q ? 0 : NO_MEMORY;
    if (code == 0) {
        double rho[2], norm;
        int64_t iteration = 0;
        into_frame(g, head, v.x);
        right_side(g, v.x, v.r, level, source, storage);
        begin_solve(g, v, rho, &norm, sweeps, overlap);
        for (; code == 0 && iteration < limit && sqrt(rho[1]) > tolerance * norm; iteration++)
            code = cgiteration(g, v, rho, sweeps, overlap);
        out_of_frame(g, v.x, head);
        history[cycle * two] = (double)iteration;
        history[cycle * two + 1] = norm > 0 ? sqrt(rho[1]) / norm : 0;
    }
    free(v.x), free(v.r), free(v.z), free(v.p), free(v.q);
    return code;
}

/* Darcy's law: the velocity in a cell is the mean of the flows through opposite faces, over the porosity. */
//@ coven module darcy(in f64 head[m, ny, nz], inout f64 velocity[m, ny, nz, 3], in f64 level, in f64 porosity, in bool overlap)
int darcy(const double *head, double *velocity, double level, double porosity, _Bool overlap, int64_t m,
          int64_t ny, int64_t nz)
{
    if (m == 0)
        return 0;
    const Grid *g = &own;
    if (g->cells == 0)
        return NOT_JOINED;
    double *h = new_cells(g);
    if (!h)
        return NO_MEMORY;
    into_frame(g, head, h);
    exchange(g, h, overlap);
    for (int64_t c = 0; c < g->plane && left == MPI_PROC_NULL; c++)
        h[c] = level;
    const double *conductance[3] = {g->cx, g->cy, g->cz};
    const int64_t step[3] = {g->plane, g->row, 1};
    for (int64_t i = 1; i <= m; i++)
        for (int64_t j = 1; j <= ny; j++)
            for (int64_t c = cell(g, i, j, 1); c < cell(g, i, j, nz + 1); c++)
                for (int axis = 0; axis < 3; axis++) {
                    int64_t s = step[axis];
                    double in = conductance[axis][c] * (h[c - s] - h[c]);
                    double out = conductance[axis][c + s] * (h[c] - h[c + s]);
                    *velocity++ = (in + out) / 2 / porosity;
                }
    free(h);
    return 0;
}
