/* Three arrays that change in every round, and when each round ended. */
#include <stdlib.h>

#include "stamps.h"
#include "steps.h"

static double *times; /* Seconds; the first is that of the beginning. */
static int64_t passed;

static void note_time(void)
{
    times[passed++] = (double)stamp() / 1e9;
}

//@ coven module begin(in i64 rounds, out f64 u[m, n], out f64 v[m, n], out f64 w[m])
int begin(int64_t rounds, double *u, double *v, double *w, int64_t m, int64_t n)
{
    times = malloc((size_t)(rounds + 1) * sizeof *times);
    if (!times)
        return 1;
    for (int64_t i = 0; i < m * n; i++)
        u[i] = v[i] = (double)i;
    for (int64_t i = 0; i < m; i++)
        w[i] = 0.0;
    note_time();
    return 0;
}

//@ coven module change(inout f64 u[m, n], inout f64 v[m, n], inout f64 w[m], in i64 steps)
int change(double *u, double *v, double *w, int64_t steps, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m * n; i++) {
        u[i] += 1.0;
        v[i] -= 1.0;
    }
    for (int64_t i = 0; i < m; i++)
        w[i] += 1.0;
    do_steps(steps);
    note_time();
    return 0;
}

/* The arrays make it wait for the last round. */
//@ coven module ends(in f64 u[m, n], in f64 v[m, n], in f64 w[m], in i64 rounds, out f64 t[rounds + 1])
int ends(const double *u, const double *v, const double *w, int64_t rounds, double *t, int64_t m, int64_t n)
{
    (void)u, (void)v, (void)w, (void)m, (void)n;
    for (int64_t i = 0; i <= rounds; i++)
        t[i] = times[i];
    return 0;
}
