/* Three arrays that change in every round, and how long all rounds took. */
#include "stamps.h"
#include "steps.h"

static int64_t began;

//@ coven module begin(out f64 u[m, n], out f64 v[m, n], out f64 w[m])
int begin(double *u, double *v, double *w, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m * n; i++)
        u[i] = v[i] = (double)i;
    for (int64_t i = 0; i < m; i++)
        w[i] = 0.0;
    began = stamp();
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
    return 0;
}

/* Seconds since the first round; the arrays make it wait for the last one. */
//@ coven module span(in f64 u[m, n], in f64 v[m, n], in f64 w[m], out f64 t)
int span(const double *u, const double *v, const double *w, double *t, int64_t m, int64_t n)
{
    (void)u, (void)v, (void)w, (void)m, (void)n;
    *t = (double)(stamp() - began) / 1e9;
    return 0;
}

//@ coven module kept(in f64 took, out f64 seconds[1])
int kept(double took, double *seconds)
{
    seconds[0] = took;
    return 0;
}
