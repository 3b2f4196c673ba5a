/* Small kernels on whole numbers below 8191, exact in every element type: their results have no rounding.
 *
 * ELEMENT and CTYPE stand for the element type; `oracle.py` has the same functions on NumPy arrays.  With
 * PSE_TEST_SPIN=n in the environment every call takes a random time of up to n microseconds.
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { MODULUS = 8191 };

static int64_t wrap(int64_t x)
{
    return ((x % MODULUS) + MODULUS) % MODULUS;
}

static int64_t whole(double x)
{
    return (int64_t)fmod(floor(fabs(x)), MODULUS);
}

#define GET(x) ((int64_t)creal(x))

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void spin(void)
{
    static _Atomic uint64_t state = 88172645463325252u;
    const char *longest = getenv("PSE_TEST_SPIN");
    if (longest == NULL)
        return;
    uint64_t x = state;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    state = x;
    int64_t until = nanoseconds() + (int64_t)(x % (uint64_t)(atoll(longest) * 1000 + 1));
    while (nanoseconds() < until)
        continue;
}

//@ coven module fill(in i64 seed, in i64 m, in i64 n, out ELEMENT a[m, n])
int fill(int64_t seed, int64_t m, int64_t n, CTYPE *a)
{
    spin();
    for (int64_t i = 0; i < m * n; i++)
        a[i] = wrap(seed * 31 + i * 7 + 1);
    return 0;
}

//@ coven module make(in i64 seed, out ELEMENT a[m, n])
int make(int64_t seed, CTYPE *a, int64_t m, int64_t n)
{
    return fill(seed + 1, m, n, a);
}

//@ coven module step(in ELEMENT a[m, n], in f64 s, out ELEMENT b[m, n])
int step(const CTYPE *a, double s, CTYPE *b, int64_t m, int64_t n)
{
    spin();
    for (int64_t i = 0; i < m * n; i++)
        b[i] = wrap(3 * GET(a[i]) + whole(s) + i);
    return 0;
}

//@ coven module add(in ELEMENT a[m, n], in ELEMENT b[m, n], out ELEMENT c[m, n])
int add(const CTYPE *a, const CTYPE *b, CTYPE *c, int64_t m, int64_t n)
{
    spin();
    for (int64_t i = 0; i < m * n; i++)
        c[i] = wrap(GET(a[i]) + 2 * GET(b[i]) + 1);
    return 0;
}

//@ coven module bump(inout ELEMENT a[m, n], in f64 s)
int bump(CTYPE *a, double s, int64_t m, int64_t n)
{
    spin();
    for (int64_t i = 0; i < m * n; i++)
        a[i] = wrap(5 * GET(a[i]) + whole(s) + i);
    return 0;
}

//@ coven module mix(in ELEMENT a[m, n], inout ELEMENT b[m, n])
int mix(const CTYPE *a, CTYPE *b, int64_t m, int64_t n)
{
    return add(a, b, b, m, n);
}

//@ coven module split(in ELEMENT a[m, n], out ELEMENT b[m, n], out ELEMENT c[m, n])
int split(const CTYPE *a, CTYPE *b, CTYPE *c, int64_t m, int64_t n)
{
    spin();
    for (int64_t i = 0; i < m * n; i++) {
        b[i] = wrap(GET(a[i]) + 1);
        c[i] = wrap(2 * GET(a[i]) + 3);
    }
    return 0;
}

static int64_t sum(const CTYPE *a, int64_t count)
{
    int64_t total = 0;
    spin();
    for (int64_t i = 0; i < count; i++)
        total = wrap(total + GET(a[i]) * (i % 5 + 1));
    return total;
}

//@ coven module blend(in ELEMENT a[m, n], in ELEMENT e[p, q], out ELEMENT b[m, n])
int blend(const CTYPE *a, const CTYPE *e, CTYPE *b, int64_t m, int64_t n, int64_t p, int64_t q)
{
    return step(a, (double)sum(e, p * q), b, m, n);
}

//@ coven module turn(in ELEMENT a[m, n], out ELEMENT b[n, m])
int turn(const CTYPE *a, CTYPE *b, int64_t m, int64_t n)
{
    spin();
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            b[j * m + i] = wrap(GET(a[i * n + j]) + j);
    return 0;
}

//@ coven module total(in ELEMENT a[m, n], out f64 t)
int total(const CTYPE *a, double *t, int64_t m, int64_t n)
{
    *t = (double)sum(a, m * n);
    return 0;
}

//@ coven module count(in ELEMENT a[m, n], out i64 k)
int count(const CTYPE *a, int64_t *k, int64_t m, int64_t n)
{
    *k = sum(a, m * n) % 97;
    return 0;
}

//@ coven module small(in ELEMENT a[m, n], out i32 k)
int small(const CTYPE *a, int32_t *k, int64_t m, int64_t n)
{
    *k = (int32_t)(sum(a, m * n) % 101) - 50;
    return 0;
}

//@ coven module tiny(in ELEMENT a[m, n], out u8 k)
int tiny(const CTYPE *a, uint8_t *k, int64_t m, int64_t n)
{
    *k = (uint8_t)(sum(a, m * n) % 5);
    return 0;
}

//@ coven module half(in ELEMENT a[m, n], out f32 x)
int half(const CTYPE *a, float *x, int64_t m, int64_t n)
{
    *x = (float)(sum(a, m * n) % 103) + 0.5f;
    return 0;
}

//@ coven module even(in ELEMENT a[m, n], out bool e)
int even(const CTYPE *a, bool *e, int64_t m, int64_t n)
{
    *e = sum(a, m * n) % 3 != 0;
    return 0;
}

//@ coven module phase(in ELEMENT a[m, n], out c128 z)
int phase(const CTYPE *a, double complex *z, int64_t m, int64_t n)
{
    int64_t total = sum(a, m * n);
    *z = (double)(total % 11) + (double)(total % 7 - 3) * I;
    return 0;
}

//@ coven module gain(in ELEMENT a[m, n], inout f64 x)
int gain(const CTYPE *a, double *x, int64_t m, int64_t n)
{
    *x = (double)wrap(whole(*x) * 2 + sum(a, m * n));
    return 0;
}
