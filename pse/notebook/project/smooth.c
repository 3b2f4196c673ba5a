/* A module in C. The line with the @ is its interface; dimension names such as n come last. */
#include <stdint.h>

/* Smooth x with the weights 1/4, 1/2, 1/4, so many rounds; `energy` is the sum of its squares afterwards. */
//@ coven module smooth(inout f64 x[n] @ block(0), in i64 rounds, out f64 energy)
int smooth(double *x, int64_t rounds, double *energy, int64_t n)
{
    for (int64_t round = 0; round < rounds; round++) {
        double left = x[0];
        for (int64_t i = 1; i + 1 < n; i++) {
            double here = x[i];
            x[i] = 0.25 * left + 0.5 * here + 0.25 * x[i + 1];
            left = here;
        }
    }
    *energy = 0.0;
    for (int64_t i = 0; i < n; i++)
        *energy += x[i] * x[i];
    return 0; /* Another code means that something is wrong: it ends the run, and is reported. */
}
