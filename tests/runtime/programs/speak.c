#include <stdint.h>
#include <stdio.h>

//@ coven module in_c(in i64 k, in f64 x[n], out f64 y[n])
int in_c(int64_t k, const double *x, double *y, int64_t n)
{
    (void)k;
    printf("C has %d", 1);
    fprintf(stderr, "C complains\n");
    printf(" line\nand a part");
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i];
    return 0;
}
