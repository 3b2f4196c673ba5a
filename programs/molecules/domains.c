/* Which particles are where: the box is cut into domains, one for each partition, and is periodic. */
#include <coven.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static int64_t domain_along(double x, double side, int64_t domains)
{
    int64_t index = (int64_t)(x / side * (double)domains);
    return index < domains ? index : domains - 1;
}

static int64_t domain_of(const double *x, double side)
{
    int64_t index = 0;
    for (int axis = 0; axis < 3; axis++)
        index = index * coven_grid(axis) + domain_along(x[axis], side, coven_grid(axis));
    return index;
}

/* Bring a coordinate into the box. */
static double wrap(double x, double side)
{
    double inside = x - side * floor(x / side);
    return inside < side ? inside : 0.0; /* A tiny negative number is rounded to the side itself. */
}

/* Take the particles of our domain out of all. */
//@ coven module settle(in f64 all[m, 3], in f64 speeds[m, 3], in f64 side,
//@     out f64 x[?n <= m, 3], out f64 v[?n <= m, 3], out i64 id[?n <= m])
int settle(const double *all, const double *speeds, double side, double *x, double *v, int64_t *id, int64_t m,
           int64_t *n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < m; i++) {
        const double *from = all + 3 * i;
        double at[3] = {wrap(from[0], side), wrap(from[1], side), wrap(from[2], side)};
        if (domain_of(at, side) != coven_partition())
            continue;
        for (int axis = 0; axis < 3; axis++) {
            x[3 * found + axis] = at[axis];
            v[3 * found + axis] = speeds[3 * i + axis];
        }
        id[found++] = i;
    }
    *n = found;
    return 0;
}

/* Bring particles into the box, and say whose domain each is in. */
//@ coven module owners(inout f64 x[n, 3], in f64 side, out i64 owner[n])
int owners(double *x, double side, int64_t *owner, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int axis = 0; axis < 3; axis++)
            x[3 * i + axis] = wrap(x[3 * i + axis], side);
        owner[i] = domain_of(x + 3 * i, side);
    }
    return 0;
}

/* Images of our particles that other domains, or our own one from its other side, are to see. */
typedef struct {
    double side, reach, width[3];
    int64_t grid[3], own[3];
    int64_t *which, *to; /* NULL: only count them. */
    double *offset;
    int64_t count;
} images;

static images images_of(double side, double reach)
{
    images seen = {.side = side, .reach = reach};
    for (int axis = 0; axis < 3; axis++) {
        seen.grid[axis] = coven_grid(axis);
        seen.own[axis] = coven_coordinate(axis);
        seen.width[axis] = side / (double)seen.grid[axis];
    }
    return seen;
}

static void add(images *seen, int64_t row, int64_t to, const double *offset)
{
    if (seen->which != NULL) {
        seen->which[seen->count] = row;
        seen->to[seen->count] = to;
        for (int axis = 0; axis < 3; axis++)
            seen->offset[3 * seen->count + axis] = offset[axis];
    }
    seen->count++;
}

static bool is_near(const images *seen, double x, int axis, int64_t domain)
{
    double low = (double)domain * seen->width[axis];
    return x >= low - seen->reach && x <= low + seen->width[axis] + seen->reach;
}

/* Find, axis by axis, the domains that an image of a particle is near to; `to` is what is known of their
 * number. */
static void show(images *seen, int64_t row, const double *x, int axis, int64_t to, double *offset, bool other)
{
    if (axis == 3) {
        if (other)
            add(seen, row, to, offset);
        return;
    }
    for (int64_t domain = 0; domain < seen->grid[axis]; domain++)
        for (int shift = -1; shift <= 1; shift++) {
            offset[axis] = shift * seen->side;
            if (is_near(seen, x[axis] + offset[axis], axis, domain))
                show(seen, row, x, axis + 1, to * seen->grid[axis] + domain, offset,
                     other || shift != 0 || domain != seen->own[axis]);
        }
}

/* Whether a particle is too deep in its domain to be seen from elsewhere. */
static bool is_inside(const images *seen, const double *x)
{
    for (int axis = 0; axis < 3; axis++) {
        double depth = x[axis] - (double)seen->own[axis] * seen->width[axis];
        if (depth <= seen->reach || depth >= seen->width[axis] - seen->reach)
            return false;
    }
    return true;
}

static void show_all(images *seen, const double *x, int64_t n)
{
    double offset[3];
    for (int64_t i = 0; i < n; i++)
        if (!is_inside(seen, x + 3 * i))
            show(seen, i, x + 3 * i, 0, 0, offset, false);
}

//@ coven module count_images(in f64 x[n, 3], in f64 side, in f64 reach, out i64 count)
int count_images(const double *x, double side, double reach, int64_t *count, int64_t n)
{
    images seen = images_of(side, reach);
    show_all(&seen, x, n);
    *count = seen.count;
    return 0;
}

/* Which of our particles are to be seen where, and what is to be added to their positions there. */
//@ coven module border(in f64 x[n, 3], in f64 side, in f64 reach, in i64 count,
//@     out i64 which[?k <= count], out i64 to[?k <= count], out f64 offset[?k <= count, 3])
int border(const double *x, double side, double reach, int64_t count, int64_t *which, int64_t *to,
           double *offset, int64_t n, int64_t *k)
{
    images seen = images_of(side, reach);
    seen.which = which;
    seen.to = to;
    seen.offset = offset;
    if (count > 0)
        show_all(&seen, x, n);
    *k = seen.count;
    return 0;
}

//@ coven module image(in f64 x[n, 3], in i64 which[k], in f64 offset[k, 3], out f64 seen[k, 3])
int image(const double *x, const int64_t *which, const double *offset, double *seen, int64_t n, int64_t k)
{
    (void)n;
    for (int64_t i = 0; i < k; i++)
        for (int axis = 0; axis < 3; axis++)
            seen[3 * i + axis] = x[3 * which[i] + axis] + offset[3 * i + axis];
    return 0;
}
