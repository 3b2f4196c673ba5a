/* An array that changes hands, and how long that takes.  Every thread keeps the time of its own hand-overs.
 */
#include <stdint.h>
#include <time.h>

static int64_t left; /* When this thread last gave the array away, ns. */
static double sum;   /* Of the times, in µs, that it was away. */
static int64_t count;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

//@ coven module make(in i64 n, out f64 x[n])
int make(int64_t n, double *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 0;
    left = now();
    return 0;
}

/* Takes the array, marks both its ends, gives it back at once. */
//@ coven module touch(inout f64 x[n])
int touch(double *x, int64_t n)
{
    int64_t here = now();
    if (left != 0) {
        sum += (double)(here - left) / 1000.0;
        count++;
    }
    x[0] += 1;
    x[n - 1] += 1;
    left = now();
    return 0;
}

/* Mean time of a hand-over: half of what it takes until the array is back.  `marks` is how often it was
 * taken. */
//@ coven module pace(in f64 x[n], out f64 microseconds, out f64 marks)
int pace(const double *x, double *microseconds, double *marks, int64_t n)
{
    *microseconds = count > 0 ? sum / (double)count / 2.0 : 0.0;
    *marks = x[0] == x[n - 1] || n == 1 ? x[0] : -1.0;
    return 0;
}
