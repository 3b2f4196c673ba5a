/* Modules that exchange messages; they keep nothing of their own, for ranks may be threads of one process. */
#include <coven.h>
#include <string.h>
#include <time.h>

//@ coven module ring(in f64 x[n], out f64 left[n])
int ring(const double *x, double *left, int64_t n)
{
    int64_t me = coven_partition(), all = coven_partitions();
    coven_send((me + 1) % all, 4, x, (size_t)n, COVEN_F64);
    return coven_receive((me + all - 1) % all, 4, left, (size_t)n, COVEN_F64);
}

//@ coven module total(in f64 x[n], out f64 sum, out f64 all[n])
int total(const double *x, double *sum, double *all, int64_t n)
{
    *sum = 0;
    for (int64_t i = 0; i < n; i++)
        *sum += x[i];
    coven_allreduce(sum, sum, 1, COVEN_F64, COVEN_SUM);
    return coven_scan(x, all, (size_t)n, COVEN_F64, COVEN_SUM);
}

/* left + right + left * right, written down in an order that tells whether it was kept. */
static void joined(const void *left, const void *right, void *into, size_t count)
{
    const double *a = left, *b = right;
    double *c = into;
    for (size_t i = 0; i < count; i++)
        c[i] = a[i] * 0.5 + b[i];
}

//@ coven module join(in f64 x[n], out f64 y[n])
int join(const double *x, double *y, int64_t n)
{
    return coven_allreduce_by(x, y, (size_t)n, COVEN_F64, joined);
}

//@ coven module wrong(in i64 what, inout f64 x[n])
int wrong(int64_t what, double *x, int64_t n)
{
    int64_t me = coven_partition(), all = coven_partitions(), next = (me + 1) % all;
    switch (what) {
    case 0: /* no such partition */
        return coven_send(all + 1, 0, x, 1, COVEN_F64);
    case 1: /* sizes differ */
        coven_send(next, 7, x, 1, COVEN_F64);
        return coven_receive((me + all - 1) % all, 7, x, (size_t)n, COVEN_F64);
    case 2: /* a cycle */
        return coven_receive(next, 3, x, 1, COVEN_F64);
    case 3: /* one does not come */
        return me != 1 ? coven_barrier() : 0;
    case 4: /* nobody sends */
        return me == 0 ? coven_receive(1, 5, x, 1, COVEN_F64) : 0;
    case 5: /* nobody receives */
        return me == 0 ? coven_send(1, 5, x, 1, COVEN_F64) : 0;
    default: /* two collectives at once */
        return me == 0 ? coven_barrier() : coven_allreduce(x, x, 1, COVEN_F64, COVEN_SUM);
    }
}

/* Partition 0 keeps the others waiting; longer than it takes to suspect a deadlock. */
static void be_late(void)
{
    struct timespec nap = {.tv_sec = 1};
    if (coven_partition() == 0)
        nanosleep(&nap, NULL);
}

//@ coven module slow(inout f64 x[n])
int slow(double *x, int64_t n)
{
    be_late();
    return coven_bcast(x, (size_t)n, COVEN_F64, 0);
}

/* In even turns partition 0 sends to the last one, which receives in odd ones. */
//@ coven module later(in i64 turn, inout f64 x[n])
int later(int64_t turn, double *x, int64_t n)
{
    int64_t me = coven_partition(), last = coven_partitions() - 1;
    if (turn % 2 == 0 && me == 0)
        return coven_send(last, 6, x, (size_t)n, COVEN_F64);
    return turn % 2 == 1 && me == last ? coven_receive(0, 6, x, (size_t)n, COVEN_F64) : 0;
}

//@ coven module pass_on(in i64 turn, in f64 x[n])
int pass_on(int64_t turn, const double *x, int64_t n)
{
    be_late();
    return coven_send((coven_partition() + 1) % coven_partitions(), (int32_t)turn, x, (size_t)n, COVEN_F64);
}

//@ coven module take_over(in i64 turn, inout f64 x[n])
int take_over(int64_t turn, double *x, int64_t n)
{
    int64_t me = coven_partition(), all = coven_partitions();
    return coven_receive((me + all - 1) % all, (int32_t)turn, x, (size_t)n, COVEN_F64);
}
