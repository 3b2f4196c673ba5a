/* Modules that compute and modules that wait.  Each rank keeps when its first one began and its last one
 * ended. */
#define _GNU_SOURCE
#include "stamps.h"
#include "steps.h"

#include <errno.h>

static int64_t began, ended;

enum { NOT_BEGUN = 1, WRONG_UNIT = 2 };

const char *coven_error(int code)
{
    return code == NOT_BEGUN ? "nothing was timed yet" : "what came is not what was sent";
}

static void begin(void)
{
    if (began == 0)
        began = stamp();
}

//@ coven module burn(in i64 steps)
int burn(int64_t steps)
{
    begin();
    do_steps(steps);
    ended = stamp();
    return 0;
}

/* A result of some work: n numbers that say of which unit it is. */
//@ coven module compute(in i64 unit, in i64 steps, in i64 n, out f64 x[n])
int compute(int64_t unit, int64_t steps, int64_t n, double *x)
{
    begin();
    do_steps(steps);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)unit;
    ended = stamp();
    return 0;
}

/* All of a transfer that a core sees while the network card has the work: time goes by, and the core is free.
 */
//@ coven module transfer(in i64 unit, in f64 x[n], in f64 seconds)
int transfer(int64_t unit, const double *x, double seconds, int64_t n)
{
    begin();
    int64_t until = stamp() + (int64_t)(seconds * 1e9);
    struct timespec time = {until / 1000000000, until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        continue;
    ended = stamp();
    return x[0] == (double)unit && x[n - 1] == (double)unit ? 0 : WRONG_UNIT;
}

//@ coven module span(out f64 t[2])
int span(double *t)
{
    t[0] = (double)began;
    t[1] = (double)ended;
    return began != 0 ? 0 : NOT_BEGUN;
}
