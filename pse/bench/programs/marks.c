/* Marks in time that every rank takes for itself, and hands over at the end; and a way to meet before. */
#include "stamps.h"

enum { MOST = 1 << 10 };

static double kept[MOST];
static int64_t count;

const char *coven_error(int code)
{
    (void)code;
    return "more marks than there is room for, or fewer were taken than are asked for";
}

/* Reduced over all partitions: nobody has the result before all have been here. */
//@ coven module meet(in i64 before, out i64 after)
int meet(int64_t before, int64_t *after)
{
    *after = before;
    return 0;
}

/* `before` makes it wait for whatever gives that. */
//@ coven module mark(in i64 before)
int mark(int64_t before)
{
    (void)before;
    if (count == MOST)
        return 1;
    kept[count++] = (double)stamp();
    return 0;
}

//@ coven module marks(out f64 t[number])
int marks(double *t, int64_t number)
{
    if (number > count)
        return 1;
    for (int64_t i = 0; i < number; i++)
        t[i] = kept[i];
    return 0;
}
