// Points of a plane that take very different numbers of steps: the modules of uneven.coven.
#include <math.h>
#include <stdint.h>

// How many steps each point takes: most of them the first few.
//@ coven module profile(in i64 points, in i64 steps, out i64 cost[points])
int profile(int64_t points, int64_t steps, int64_t *cost)
{
    for (int64_t i = 0; i < points; i++)
        cost[i] = 1 + steps / (1 + 16 * i / points);
    return 0;
}

//@ coven module start(in i64 cost[n], out f64 x[n])
int start(const int64_t *cost, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 1.0 / (double)(1 + cost[i] + i);
    return 0;
}

//@ coven module advance(in i64 cost[n], inout f64 x[n])
int advance(const int64_t *cost, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t step = 0; step < cost[i]; step++)
            x[i] = 3.9 * x[i] * (1.0 - x[i]);
    return 0;
}

//@ coven module sum(in f64 x[n], out f64 total)
int sum(const double *x, double *total, int64_t n)
{
    *total = 0.0;
    for (int64_t i = 0; i < n; i++)
        *total += x[i];
    return 0;
}
