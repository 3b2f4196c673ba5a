// Modules that read or write just outside of their arrays.
#include <stdint.h>

//@ coven module ones(in i64 n, out f64 a[n])
int ones(int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = 1;
    return 0;
}

//@ coven module overrun(in f64 a[n], in i64 how, out f64 b[n])
int overrun(const double *a, int64_t how, double *b, int64_t n)
{
    volatile double sink;
    for (int64_t i = 0; i < n; i++)
        b[i] = a[i];
    if (how == 1)
        b[n] = 1; // line of 1
    if (how == 2)
        sink = a[n]; // line of 2
    if (how == 3)
        sink = b[-1]; // line of 3
    if (how == 4)
        b[-2] = 1;
    if (how == 5)
        ((double *)a)[n - 1] = 1; // line of 5
    (void)sink;
    return 0;
}
