/* Frames that every processor makes its band of, and when each was begun and its spectrum was there. */
#include "stamps.h"

#include <complex.h>

enum { MOST = 1 << 8, COLUMNS = 3 };

static double kept[MOST][COLUMNS];
static int64_t begun, ended;

const char *coven_error(int code)
{
    (void)code;
    return "more frames than there is room for times, or fewer than are asked for";
}

/* All bands are alike; `ready` makes it wait for whatever gives that. */
//@ coven module band(in i64 k, in i64 ready, out c128 a[m, n])
int band(int64_t k, int64_t ready, double complex *a, int64_t m, int64_t n)
{
    (void)ready;
    if (begun == MOST)
        return 1;
    kept[begun++][0] = (double)stamp();
    for (int64_t i = 0; i < m * n; i++)
        a[i] = (double)((i * 2654435761u + k) % 1024) / 1024.0;
    return 0;
}

/* Keeps the first number too: at the first processor it is the sum of the frame. */
//@ coven module spectrum(in c128 a[m, n])
int spectrum(const double complex *a, int64_t m, int64_t n)
{
    (void)m;
    (void)n;
    if (ended == MOST)
        return 1;
    kept[ended][1] = (double)stamp();
    kept[ended++][2] = creal(a[0]);
    return 0;
}

//@ coven module frames(out f64 t[number, 3])
int frames(double *t, int64_t number)
{
    if (number > ended)
        return 1;
    for (int64_t row = 0; row < number; row++)
        for (int column = 0; column < COLUMNS; column++)
            t[row * COLUMNS + column] = kept[row][column];
    return 0;
}
