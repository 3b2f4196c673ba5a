/* Modules for hand-overs: one fills an array, the other passes over it twice.  Each rank keeps its own
 * records. */
#include "stamps.h"

#include <sys/resource.h>

enum { MOST = 1 << 12, COLUMNS = 4 };

static double kept[MOST][COLUMNS];
static int64_t count;

const char *coven_error(int code)
{
    (void)code;
    return "more hand-overs than there is room for records";
}

static double faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_minflt;
}

static double pass(const double *x, int64_t n)
{
    double sums[8] = {0};
    for (int64_t i = 0; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; lane++)
            sums[lane] += x[i + lane];
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

/* Takes at least `hold` ns, so that whoever waits for the array is asleep by then.  `go` makes it wait its
 * turn. */
//@ coven module fill(in i64 n, in i64 hold, in f64 go, out f64 x[n])
int fill(int64_t n, int64_t hold, double go, double *x)
{
    int64_t begin = stamp();
    (void)go;
    if (count == MOST)
        return 1;
    for (int64_t i = 0; i < n; i++)
        x[i] = 1.0;
    compute_until(begin + hold);
    kept[count++][0] = (double)stamp();
    return 0;
}

//@ coven module read(in f64 x[n], out f64 sum)
int read(const double *x, double *sum, int64_t n)
{
    int64_t begin = stamp();
    if (count == MOST)
        return 1;
    double before = faults();
    int64_t first = stamp();
    *sum = pass(x, n);
    int64_t second = stamp();
    double after = faults();
    int64_t third = stamp();
    *sum += pass(x, n);
    double *row = kept[count++];
    row[0] = (double)begin;
    row[1] = (double)(second - first);
    row[2] = (double)(stamp() - third);
    row[3] = after - before;
    return 0;
}

//@ coven module records(in i64 number, out f64 t[number, 4])
int records(int64_t number, double *t)
{
    if (number > count)
        return 1;
    for (int64_t row = 0; row < number; row++)
        for (int column = 0; column < COLUMNS; column++)
            t[row * COLUMNS + column] = kept[row][column];
    return 0;
}
