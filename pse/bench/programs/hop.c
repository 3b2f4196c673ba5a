/* Modules for hops: a token that is passed on, and when it came and went.  Each rank keeps its own times. */
#define _GNU_SOURCE
#include "stamps.h"

#include <sched.h>
#include <string.h>

enum { MOST = 1 << 18 };

static double came[MOST], went[MOST];
static int64_t count;

enum { TOO_MANY = 1, NO_CORE = 2 };

const char *coven_error(int code)
{
    return code == TOO_MANY ? "more hops than there is room for times" : "the core can't be used";
}

//@ coven module pin(in i64 core)
int pin(int64_t core)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((int)core, &only);
    return sched_setaffinity(0, sizeof only, &only) == 0 ? 0 : NO_CORE;
}

//@ coven module token(in i64 n, out f64 x[n])
int token(int64_t n, double *x)
{
    memset(x, 0, (size_t)n * sizeof *x);
    return 0;
}

//@ coven module bounce(inout f64 x[n], in i64 linger)
int bounce(double *x, int64_t linger, int64_t n)
{
    int64_t now = stamp();
    if (count == MOST)
        return TOO_MANY;
    came[count] = (double)now;
    x[n - 1] += 1;
    if (linger > 0)
        compute_until(now + linger);
    went[count++] = linger > 0 ? (double)stamp() : (double)now;
    return 0;
}

//@ coven module times(in i64 hops, out f64 t[hops, 2])
int times(int64_t hops, double *t)
{
    if (hops > count)
        return TOO_MANY;
    for (int64_t hop = 0; hop < hops; hop++) {
        t[2 * hop] = came[hop];
        t[2 * hop + 1] = went[hop];
    }
    return 0;
}
