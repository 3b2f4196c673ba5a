#include "border.h"

#include <math.h>
#include <stdbool.h>

#define MOST_PERIODS 100.0

/* A range of coordinates along each axis. */
typedef struct range {
    double low[PSE_BORDER_AXES], high[PSE_BORDER_AXES];
} range;

/* A partition, and the periods by which our positions are moved to where it may see them. */
typedef struct cursor {
    const pse_border *border;
    const range *all;
    int64_t partition;
    int64_t periods[PSE_BORDER_AXES], first[PSE_BORDER_AXES], last[PSE_BORDER_AXES];
} cursor;

static const double *box_of(const pse_border *b, int64_t partition)
{
    return b->boxes + partition * (3 * b->axes + 1);
}

/* The range of all positions; false: one is not finite. */
static bool range_of(const pse_border *b, range *all)
{
    for (int64_t axis = 0; axis < b->axes; axis++) {
        all->low[axis] = INFINITY;
        all->high[axis] = -INFINITY;
    }
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t axis = 0; axis < b->axes; axis++) {
            double x = b->x[i * b->axes + axis];
            if (!isfinite(x))
                return false;
            all->low[axis] = x < all->low[axis] ? x : all->low[axis];
            all->high[axis] = x > all->high[axis] ? x : all->high[axis];
        }
    return true;
}

/* Whether the range, moved by the cursor's periods, comes within the partition's distance of its box.
 * Rounding is monotonic: no position is nearer than a range that contains it. */
static bool is_near(const cursor *at, const double *low, const double *high)
{
    const int64_t axes = at->border->axes;
    const double *box = box_of(at->border, at->partition), reach = box[3 * axes];
    double far2 = 0.0;
    for (int64_t axis = 0; axis < axes; axis++) {
        double moved = (double)at->periods[axis] * box[2 * axes + axis];
        double before = box[axis] - (high[axis] + moved), behind = low[axis] + moved - box[axes + axis];
        double far = before > behind ? before : behind;
        if (far > 0.0)
            far2 += far * far;
    }
    return far2 <= reach * reach;
}

/* By how many periods positions may be moved to come near the partition's box; false: its box is empty. */
static bool find_periods(cursor *at)
{
    const int64_t axes = at->border->axes;
    const double *box = box_of(at->border, at->partition), reach = box[3 * axes];
    for (int64_t axis = 0; axis < axes; axis++) {
        double low = box[axis], high = box[axes + axis], period = box[2 * axes + axis];
        if (!(low <= high))
            return false;
        /* A little wider, for rounding. */
        double least = period > 0.0 ? ceil((low - reach - at->all->high[axis]) / period - 1e-6) : 0.0;
        double most = period > 0.0 ? floor((high + reach - at->all->low[axis]) / period + 1e-6) : 0.0;
        if (least > most)
            return false;
        at->periods[axis] = at->first[axis] = (int64_t)least;
        at->last[axis] = (int64_t)most;
    }
    return true;
}

/* Whether none of the periods by which positions would be moved is beyond a limit: they lie in their box, or
 * not far from it. */
static bool are_within_limits(const pse_border *b, const range *all)
{
    for (int64_t partition = 0; partition < b->partitions; partition++) {
        const double *box = box_of(b, partition), reach = box[3 * b->axes];
        for (int64_t axis = 0; axis < b->axes; axis++) {
            double period = box[2 * b->axes + axis], low = box[axis], high = box[b->axes + axis];
            if (period > 0.0 && low <= high &&
                fmax(high + reach - all->low[axis], all->high[axis] - low + reach) > MOST_PERIODS * period)
                return false;
        }
    }
    return true;
}

static void next_partition(cursor *at)
{
    do
        at->partition++;
    while (at->partition < at->border->partitions && !find_periods(at));
}

/* The last axis varies fastest. */
static void next_image(cursor *at)
{
    for (int64_t axis = at->border->axes - 1; axis >= 0; axis--) {
        if (++at->periods[axis] <= at->last[axis])
            return;
        at->periods[axis] = at->first[axis];
    }
    next_partition(at);
}

/* Whether these are our own positions where they are. */
static bool is_itself(const cursor *at)
{
    bool moved = at->partition != at->border->here;
    for (int64_t axis = 0; axis < at->border->axes; axis++)
        moved |= at->periods[axis] != 0;
    return !moved;
}

static cursor first_image(const pse_border *b, const range *all)
{
    cursor at = {.border = b, .all = all, .partition = -1};
    next_partition(&at);
    return at;
}

static bool is_interesting(const cursor *at, const range *positions)
{
    return !is_itself(at) && is_near(at, positions->low, positions->high);
}

/* The inner part of our own box, if nobody sees what is in it; else nothing, which is nowhere. */
static range unseen_part(const pse_border *b, const range *all)
{
    const double *own = box_of(b, b->here);
    range inner = *all;
    double reach = 0.0;
    for (int64_t partition = 0; partition < b->partitions; partition++)
        reach = fmax(reach, box_of(b, partition)[3 * b->axes]);
    for (int64_t axis = 0; axis < b->axes; axis++) {
        inner.low[axis] = fmax(all->low[axis], own[axis] + reach * (1.0 + 1e-9));
        inner.high[axis] = fmin(all->high[axis], own[b->axes + axis] - reach * (1.0 + 1e-9));
    }
    for (cursor at = first_image(b, all); at.partition < b->partitions; next_image(&at))
        if (is_interesting(&at, &inner))
            inner.low[0] = INFINITY;
    return inner;
}

static bool contains(const pse_border *b, const range *part, const double *x)
{
    for (int64_t axis = 0; axis < b->axes; axis++)
        if (!(x[axis] >= part->low[axis] && x[axis] <= part->high[axis]))
            return false;
    return true;
}

static int64_t count_near(const cursor *at, const int64_t *candidates, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const double *x = at->border->x + candidates[i] * at->border->axes;
        found += is_near(at, x, x);
    }
    return found;
}

int64_t pse_kernels_border_count(const pse_border *border, int64_t *candidates, int64_t *shown)
{
    range all;
    int64_t count = 0;
    if (!range_of(border, &all))
        return PSE_BORDER_NOT_FINITE;
    if (border->rows == 0)
        return 0;
    if (!are_within_limits(border, &all))
        return PSE_BORDER_TOO_FAR;
    const range unseen = unseen_part(border, &all);
    for (int64_t i = 0; i < border->rows; i++)
        if (!contains(border, &unseen, border->x + i * border->axes))
            candidates[count++] = i;
    for (cursor at = first_image(border, &all); at.partition < border->partitions; next_image(&at))
        if (is_interesting(&at, &all))
            shown[at.partition] += count_near(&at, candidates, count);
    return count;
}

/* Gives where the next entry belongs. */
static int64_t *list_near(const cursor *at, const int64_t *candidates, int64_t count, int64_t *list)
{
    const int64_t axes = at->border->axes;
    for (int64_t i = 0; i < count; i++) {
        const double *x = at->border->x + candidates[i] * axes;
        if (!is_near(at, x, x))
            continue;
        list[0] = candidates[i];
        list[1] = at->partition;
        for (int64_t axis = 0; axis < axes; axis++)
            list[2 + axis] = at->periods[axis];
        list += 2 + axes;
    }
    return list;
}

void pse_kernels_border_list(const pse_border *border, const int64_t *candidates, int64_t count,
                             int64_t *list)
{
    range all;
    if (count == 0 || !range_of(border, &all))
        return;
    for (cursor at = first_image(border, &all); at.partition < border->partitions; next_image(&at)) {
        if (is_interesting(&at, &all))
            list = list_near(&at, candidates, count, list);
    }
}
