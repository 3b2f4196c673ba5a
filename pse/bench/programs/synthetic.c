/* Modules of the compute-and-communicate application. */
#include "steps.h"

const char *coven_error(int code)
{
    (void)code;
    return "what came is not of the unit that the neighbour sent";
}

/* Only the ends of the result are written: its bytes are there to be sent. */
//@ coven module compute(in i64 unit, in i64 steps, out f64 x[n])
int compute(int64_t unit, int64_t steps, double *x, int64_t n)
{
    do_steps(steps);
    x[0] = x[n - 1] = (double)unit;
    return 0;
}

//@ coven module check(in i64 unit, in f64 x[n])
int check(int64_t unit, const double *x, int64_t n)
{
    return x[0] == (double)unit && x[n - 1] == (double)unit ? 0 : 1;
}
