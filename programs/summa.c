/* Matrix product by SUMMA (van de Geijn and Watts, Concurrency 9 (1997) 255-274): the partitions are a grid,
 * and for one strip of inner indices after the other, who has columns of A shows them to its row of the grid,
 * who has rows of B shows them to its column, and everybody adds the product of the two to its block of C.
 */
#include <stdint.h>
#include <string.h>

#include "coven.h"

enum { COLUMNS_OF_A = 1, ROWS_OF_B = 2 };

/* Where block `index` of `parts` over `extent` begins: the first ones have one more where they can't be
 * equal. */
static int64_t begin_of(int64_t extent, int64_t parts, int64_t index)
{
    int64_t larger = extent % parts;
    return index * (extent / parts) + (index < larger ? index : larger);
}

/* What a block has of the strip that begins at `first` and has `width` indices. */
static int64_t shared(int64_t extent, int64_t parts, int64_t index, int64_t first, int64_t width,
                      int64_t *begin)
{
    int64_t end = begin_of(extent, parts, index + 1);
    *begin = begin_of(extent, parts, index);
    if (*begin < first)
        *begin = first;
    if (end > first + width)
        end = first + width;
    return end > *begin ? end - *begin : 0;
}

/* Show what we have of a strip to `mates` partitions, `step` apart from partition `corner` on, and take what
 * they have.  The strip lies in `strip` index by index, each with `count` numbers. */
static void spread(double *strip, int64_t count, int64_t extent, int64_t mates, int64_t mine, int64_t corner,
                   int64_t step, int64_t first, int64_t width, int32_t tag)
{
    int64_t begin, own = shared(extent, mates, mine, first, width, &begin);
    for (int64_t mate = 0; mate < mates && own > 0; mate++)
        if (mate != mine)
            coven_send(corner + mate * step, tag, strip + (begin - first) * count, (size_t)(own * count),
                       COVEN_F64);
    for (int64_t mate = 0; mate < mates; mate++) {
        int64_t theirs = shared(extent, mates, mate, first, width, &begin);
        if (mate != mine && theirs > 0)
            coven_receive(corner + mate * step, tag, strip + (begin - first) * count,
                          (size_t)(theirs * count), COVEN_F64);
    }
}

/* One strip of A and of B, for our rows and columns; the columns of A lie one after the other. */
//@ coven module share(in i64 first, in i64 inner, in i64 down, in i64 across, in f64 a[m, ka], in f64 b[kb, n], out f64 columns[m, w], out f64 rows[v, n])
int share(int64_t first, int64_t inner, int64_t down, int64_t across, const double *a, const double *b,
          double *columns, double *rows, int64_t m, int64_t ka, int64_t kb, int64_t n, int64_t w, int64_t v)
{
    int64_t i = coven_partition() / across, j = coven_partition() % across, begin;
    memset(columns, 0, (size_t)(m * w) * sizeof *columns);
    memset(rows, 0, (size_t)(v * n) * sizeof *rows);
    int64_t own = shared(inner, across, j, first, w, &begin);
    for (int64_t k = begin; k < begin + own; k++)
        for (int64_t row = 0; row < m; row++)
            columns[(k - first) * m + row] = a[row * ka + k - begin_of(inner, across, j)];
    own = shared(inner, down, i, first, v, &begin);
    if (own > 0 && kb > 0)
        memcpy(rows + (begin - first) * n, b + (begin - begin_of(inner, down, i)) * n,
               (size_t)(own * n) * sizeof *rows);
    spread(columns, m, inner, across, j, i * across, 1, first, w, COLUMNS_OF_A);
    spread(rows, n, inner, down, i, j, across, first, v, ROWS_OF_B);
    return 0;
}

/* Add a strip's product, index by index: every element of C is summed in the same order on any grid. */
//@ coven module multiply(in f64 columns[m, w], in f64 rows[v, n], inout f64 c[m, n])
int multiply(const double *columns, const double *rows, double *c, int64_t m, int64_t w, int64_t v, int64_t n)
{
    for (int64_t row = 0; row < m; row++)
        for (int64_t k = 0; k < w && k < v; k++)
            for (int64_t column = 0; column < n; column++)
                c[row * n + column] += columns[k * m + row] * rows[k * n + column];
    return 0;
}
