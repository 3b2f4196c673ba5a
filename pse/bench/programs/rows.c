/* Rows that migrate and are gathered, and the least that migrating could take.  `after` makes a module wait
 * for its turn. */
#include <coven.h>
#include <stdlib.h>
#include <string.h>

#include "stamps.h"

enum { NO_MEMORY = 1, WIDTH = 3, MOVING = 100 }; /* One row of so many moves. */

const char *coven_error(int code)
{
    (void)code;
    return "there is no memory for the rows that move";
}

//@ coven module particles(out f64 x[n, 3])
int particles(double *x, int64_t n)
{
    for (int64_t i = 0; i < WIDTH * n; i++)
        x[i] = (double)i;
    return 0;
}

/* Rows go to the next partition, others each time. */
//@ coven module owners(in f64 after, in i64 turn, in f64 x[n, 3], out i64 owner[n])
int owners(double after, int64_t turn, const double *x, int64_t *owner, int64_t n)
{
    const int64_t here = coven_partition(), next = (here + 1) % coven_partitions();
    (void)after, (void)x;
    for (int64_t i = 0; i < n; i++)
        owner[i] = (uint64_t)(i + 7 * turn) * 2654435761u / 65536 % MOVING == 0 ? next : here;
    return 0;
}

/* A pass over the owners, and a copy of what moves; and when it is done. */
//@ coven module least(in f64 x[n, 3], in i64 owner[n], out f64 took, out f64 now)
int least(const double *x, const int64_t *owner, double *took, double *now, int64_t n)
{
    const int64_t here = coven_partition();
    int64_t moving = 0;
    double *copy = malloc((size_t)(WIDTH * n + 1) * sizeof *copy);
    if (copy == NULL)
        return NO_MEMORY;
    memset(copy, 0, (size_t)(WIDTH * n / MOVING) * sizeof *copy);
    const int64_t begin = stamp();
    for (int64_t i = 0; i < n; i++)
        if (owner[i] != here)
            memcpy(copy + WIDTH * moving++, x + WIDTH * i, WIDTH * sizeof *copy);
    *took = (double)(stamp() - begin) + 0.0 * copy[0];
    free(copy);
    *now = (double)stamp();
    return 0;
}

/* When rows are there that have just been made. */
//@ coven module again(in f64 after, in f64 x[n, 3], out f64 y[n, 3], out f64 now)
int again(double after, const double *x, double *y, double *now, int64_t n)
{
    (void)after;
    memcpy(y, x, (size_t)(WIDTH * n) * sizeof *y);
    *now = (double)stamp();
    return 0;
}

/* How long it took until rows were here. */
//@ coven module arrived(in f64 since, in f64 x[n, 3], out f64 took)
int arrived(double since, const double *x, double *took, int64_t n)
{
    (void)x, (void)n;
    *took = (double)stamp() - since;
    return 0;
}

//@ coven module note(in i64 turn, in f64 migrated, in f64 floor, in f64 dense, in f64 ragged,
//@     inout f64 times[turns, 4])
int note(int64_t turn, double migrated, double floor, double dense, double ragged, double *times,
         int64_t turns)
{
    (void)turns;
    memcpy(times + 4 * turn, (double[]){migrated, floor, dense, ragged}, 4 * sizeof *times);
    return 0;
}
