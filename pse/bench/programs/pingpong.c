/* Modules for the to-and-fro: each adds to every element, and keeps when it had the array. */
#include "stamps.h"

enum { MOST = 1 << 10, COLUMNS = 3 };

static double kept[MOST][COLUMNS];
static int64_t count;

enum { TOO_MANY = 1, WRONG = 2 };

const char *coven_error(int code)
{
    return code == TOO_MANY ? "more rounds than there is room for records" : "an element lost count";
}

static int keep(int64_t begin, double mark)
{
    if (count == MOST)
        return TOO_MANY;
    double *row = kept[count++];
    row[0] = (double)begin;
    row[1] = (double)stamp();
    row[2] = mark;
    return 0;
}

//@ coven module make(in i64 n, out f64 x[n])
int make(int64_t n, double *x)
{
    int64_t begin = stamp();
    for (int64_t i = 0; i < n; i++)
        x[i] = 0;
    return keep(begin, 0);
}

//@ coven module work(inout f64 x[n], in i64 passes)
int work(double *x, int64_t passes, int64_t n)
{
    int64_t begin = stamp();
    for (int64_t pass = 0; pass < passes; pass++)
        for (int64_t i = 0; i < n; i++)
            x[i] += 1;
    return keep(begin, x[n / 2]);
}

/* When this thread took the array, when it was done with it, and the mark it left: f8[number, 3]. */
//@ coven module records(in i64 number, in f64 x[n], out f64 t[number, 3])
int records(int64_t number, const double *x, double *t, int64_t n)
{
    if (number > count)
        return TOO_MANY;
    if (x[0] != x[n - 1])
        return WRONG;
    for (int64_t row = 0; row < number; row++)
        for (int column = 0; column < COLUMNS; column++)
            t[row * COLUMNS + column] = kept[row][column];
    return 0;
}
