/* An allreduce of 8 bytes among the partitions, again and again, and when each began. */
#include "stamps.h"

#include <coven.h>

enum { MOST = 1 << 16 };

static double mine = 1, all_of_us, kept[MOST];
static int64_t count;

enum { TOO_MANY = 1, WRONG = 2 };

const char *coven_error(int code)
{
    return code == TOO_MANY ? "more rounds than there is room for times" : "the sum is wrong";
}

/* The sum is there when the partition's next module is called. */
//@ coven module sum()
int sum(void)
{
    if (count == MOST)
        return TOO_MANY;
    if (count > 0 && all_of_us != (double)coven_partitions())
        return WRONG;
    all_of_us = 0;
    kept[count++] = (double)stamp();
    return coven_allreduce(&mine, &all_of_us, 1, COVEN_F64, COVEN_SUM);
}

//@ coven module begins(out f64 t[n])
int begins(double *t, int64_t n)
{
    if (n > count)
        return TOO_MANY;
    for (int64_t i = 0; i < n; i++)
        t[i] = kept[i];
    return 0;
}
