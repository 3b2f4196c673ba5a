/* Matrix product by hand: rows of all matrices among ranks; strips of rows of B are shown to all, one by one.
 *
 * With overlap the next strip travels while a strip is multiplied, in parts, between which MPI gets its
 * chance.
 */
#include "peer.h"

#include <string.h>

int multiply(const double *columns, const double *rows, double *c, int64_t m, int64_t w, int64_t v,
             int64_t n);

enum { PARTS = 4, LINE = 8 };

static int64_t n, width, rows;
static double *a, *b, *c, *columns, *strip, *next;

void prepare(char **arguments)
{
    n = atoll(arguments[0]);
    width = atoll(arguments[1]);
    rows = n / size;
    a = numbers(rows * n);
    b = numbers(rows * n);
    c = numbers(rows * n);
    columns = numbers(rows * width);
    strip = numbers(width * n);
    next = numbers(width * n);
    fill_whole_numbers(a, rows, n, rank * rows, 0, 1);
    fill_whole_numbers(b, rows, n, rank * rows, 0, 2);
}

static int64_t height(int64_t first)
{
    int64_t end = first + width < n ? first + width : n;
    if (end > (first / rows + 1) * rows)
        end = (first / rows + 1) * rows;
    return end - first;
}

/* Begin to show the strip that begins at a row; its owner sends it from where it lies. */
static void show(int64_t first, double **where, MPI_Request *request)
{
    const int owner = (int)(first / rows);
    if (rank == owner)
        *where = b + (first - owner * rows) * n;
    MPI_Ibcast(*where, (int)(height(first) * n), MPI_DOUBLE, owner, MPI_COMM_WORLD, request);
}

/* Lay columns of A one after the other, a line of the cache at a time. */
static void take_columns(const double *from, int64_t m, int64_t h)
{
    for (int64_t k0 = 0; k0 < h; k0 += LINE)
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = k0; k < k0 + LINE && k < h; k++)
                columns[k * m + i] = from[i * n + k];
}

/* Add the product of a strip with our columns of A, the parts' rows of them one after the other. */
static void add_product(int64_t first, const double *of_b, MPI_Request *request, int parts)
{
    const int64_t h = height(first);
    int done;
    for (int64_t part = 0; part < parts; part++) {
        const int64_t begin = rows * part / parts, m = rows * (part + 1) / parts - begin;
        take_columns(a + begin * n + first, m, h);
        multiply(columns, of_b, c + begin * n, m, h, h, n);
        if (request != NULL)
            MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static void run_blocking(void)
{
    for (int64_t first = 0; first < n; first += height(first)) {
        const int owner = (int)(first / rows);
        double *of_b = rank == owner ? b + (first - owner * rows) * n : strip;
        MPI_Bcast(of_b, (int)(height(first) * n), MPI_DOUBLE, owner, MPI_COMM_WORLD);
        add_product(first, of_b, NULL, 1);
    }
}

static void run_overlapping(void)
{
    MPI_Request request;
    double *here = strip, *there;
    show(0, &here, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int64_t first = 0; first < n;) {
        const int64_t following = first + height(first);
        there = next;
        request = MPI_REQUEST_NULL;
        if (following < n)
            show(following, &there, &request);
        add_product(first, here, &request, PARTS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        exchange_pointers(&strip, &next);
        here = there;
        first = following;
    }
}

void run(bool overlap)
{
    memset(c, 0, (size_t)(rows * n) * sizeof *c);
    if (overlap)
        run_overlapping();
    else
        run_blocking();
}

int64_t sum_results(void)
{
    return digest(c, rows, n, n, rank * rows, 0, n);
}
