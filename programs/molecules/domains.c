/* Which particles are where: the box is cut into domains, one for each partition, and is periodic. */
#include <coven.h>
#include <math.h>

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

/* Where our domain lies in the box, and that all axes are periodic. */
//@ coven module domain(in f64 side, out f64 box[3, 3])
int domain(double side, double *box)
{
    for (int axis = 0; axis < 3; axis++) {
        double width = side / (double)coven_grid(axis);
        box[axis] = (double)coven_coordinate(axis) * width;
        box[3 + axis] = box[axis] + width;
        box[6 + axis] = side;
    }
    return 0;
}
