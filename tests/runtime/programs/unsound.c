#include <stdint.h>
#include <stdlib.h>
#include <string.h>

//@ coven module unsound(in f64 x[n], in string how, out f64 y[n])
int unsound(const double *x, const char *how, double *y, int64_t n)
{
    double *work = malloc((size_t)n * sizeof *work);
    int64_t written = strcmp(how, "overflow") == 0 ? n + 1 : n;
    for (int64_t i = 0; i < written; i++)
        work[i] = x[i % n]; // overflow
    if (strcmp(how, "crash") == 0)
        *(volatile double *)(uintptr_t)(n * 8) = 1; // crash
    int shift = strcmp(how, "shift") == 0 ? 40 : 1;
    int64_t last = 1 << shift; // shift
    for (int64_t i = 0; i < n; i++)
        y[i] = last > 0 ? work[i] : 0;
    free(work);
    return 0;
}
