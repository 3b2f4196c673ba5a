/* Modules that do nothing but be called, and marks in time around them. */
#include "stamps.h"

enum { MOST = 16 };

static double marks[MOST];
static int64_t count;

const char *coven_error(int code)
{
    (void)code;
    return "more marks than there is room for";
}

//@ coven module mark()
int mark(void)
{
    if (count == MOST)
        return 1;
    marks[count++] = (double)stamp();
    return 0;
}

//@ coven module begin(in i64 n, out f64 y[n])
int begin(int64_t n, double *y)
{
    (void)n;
    (void)y;
    return 0;
}

//@ coven module step(in f64 x[n], out f64 y[n])
int step(const double *x, double *y, int64_t n)
{
    (void)x;
    (void)y;
    (void)n;
    return 0;
}

//@ coven module end(in f64 x[n])
int end(const double *x, int64_t n)
{
    (void)x;
    (void)n;
    return 0;
}

//@ coven module times(in i64 number, out f64 t[number])
int times(int64_t number, double *t)
{
    if (number > count)
        return 1;
    for (int64_t i = 0; i < number; i++)
        t[i] = marks[i];
    return 0;
}
