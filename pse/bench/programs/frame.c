/* Frames to transform, and when each was ready and its spectrum was there. */
#include "stamps.h"

#include <complex.h>

enum { MOST = 1024 };

static double ready[MOST], done[MOST], first[MOST];
static int64_t begun, ended;

const char *coven_error(int code)
{
    (void)code;
    return "more frames than there is room for times";
}

//@ coven module frame(in i64 k, in i64 n, out c128 image[n, n])
int frame(int64_t k, int64_t n, double complex *image)
{
    if (begun == MOST)
        return 1;
    for (int64_t i = 0; i < n * n; i++)
        image[i] = (double)((i * 2654435761u + k) % 1024) / 1024.0;
    ready[begun++] = (double)stamp();
    return 0;
}

/* Keeps the spectrum's first number too: the sum of the frame, for a check. */
//@ coven module mark(in c128 spectrum[n, n])
int mark(const double complex *spectrum, int64_t n)
{
    (void)n;
    if (ended == MOST)
        return 1;
    first[ended] = creal(spectrum[0]);
    done[ended++] = (double)stamp();
    return 0;
}

//@ coven module times(in i64 frames, out f64 t[frames, 3])
int times(int64_t frames, double *t)
{
    if (frames > ended)
        return 1;
    for (int64_t k = 0; k < frames; k++) {
        t[3 * k] = ready[k];
        t[3 * k + 1] = done[k];
        t[3 * k + 2] = first[k];
    }
    return 0;
}
