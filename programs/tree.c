/* Gravity by a tree of cubes (Barnes and Hut, Nature 324 (1986) 446-449), G = 1; a body is its position and
 * mass.
 *
 * The cubes stand in an array, each before those in it. `next` is the first cube that is not in it, so that a
 * walk needs no stack: it goes into a cube by the following element, and past it by `next`.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY = 1, NOT_FINITE = 2 };
enum {
    FEW = 8,
    DEEPEST = 48
}; /* Bodies that are not worth a division; bodies in one place cannot be divided. */

typedef struct {
    double centre[4]; /* of mass, and the mass */
    double side;
    int64_t next, first,
        last; /* first is -1 where the cube is divided; else its bodies are order[first..last-1] */
} cube;

typedef struct {
    const double *bodies;
    int64_t *order, *spare;
    cube *cubes;
    int64_t count, room;
} tree;

const char *coven_error(int code)
{
    return code == NO_MEMORY ? "there is no memory for the tree"
                             : "a body's position or mass is not a finite number";
}

/* Add a cube at the end; -1 if there is no memory. */
static int64_t add_cube(tree *t, double side)
{
    if (t->count == t->room) {
        int64_t room = 2 * t->room + 64;
        cube *cubes = realloc(t->cubes, (size_t)room * sizeof *cubes);
        if (cubes == NULL)
            return -1;
        t->cubes = cubes;
        t->room = room;
    }
    t->cubes[t->count] = (cube){.side = side, .first = -1};
    return t->count++;
}

static int octant(const double *body, const double *middle)
{
    return (body[0] >= middle[0]) | (body[1] >= middle[1]) << 1 | (body[2] >= middle[2]) << 2;
}

/* Order the bodies of a cube by octants, which begin at starts[0..8]. */
static void divide(tree *t, int64_t first, int64_t last, const double *middle, int64_t *starts)
{
    int64_t place[8];
    memset(starts, 0, 9 * sizeof *starts);
    for (int64_t i = first; i < last; i++)
        starts[octant(t->bodies + 4 * t->order[i], middle) + 1]++;
    starts[0] = first;
    for (int k = 0; k < 8; k++) {
        starts[k + 1] += starts[k];
        place[k] = starts[k];
    }
    for (int64_t i = first; i < last; i++)
        t->spare[place[octant(t->bodies + 4 * t->order[i], middle)]++] = t->order[i];
    memcpy(t->order + first, t->spare + first, (size_t)(last - first) * sizeof *t->order);
}

static void weigh(double *centre, const double *body)
{
    for (int axis = 0; axis < 3; axis++)
        centre[axis] += body[3] * body[axis];
    centre[3] += body[3];
}

/* Make the cube of order[first..last-1] and all in it. */
static int grow(tree *t, int64_t first, int64_t last, const double *middle, double side, int depth)
{
    const int64_t own = add_cube(t, side);
    double centre[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t starts[9];
    if (own < 0)
        return NO_MEMORY;
    for (int64_t i = first; i < last; i++)
        weigh(centre, t->bodies + 4 * t->order[i]);
    for (int axis = 0; axis < 3 && centre[3] > 0.0; axis++)
        centre[axis] /= centre[3];
    memcpy(t->cubes[own].centre, centre, sizeof centre);
    if (last - first <= FEW || depth == DEEPEST) {
        t->cubes[own].first = first;
        t->cubes[own].last = last;
    } else {
        divide(t, first, last, middle, starts);
        for (int k = 0; k < 8; k++) {
            double inner[3];
            for (int axis = 0; axis < 3; axis++)
                inner[axis] = middle[axis] + (k >> axis & 1 ? 0.25 : -0.25) * side;
            if (starts[k] < starts[k + 1] && grow(t, starts[k], starts[k + 1], inner, 0.5 * side, depth + 1))
                return NO_MEMORY;
        }
    }
    t->cubes[own].next = t->count;
    return 0;
}

/* Begin with a cube around all bodies. */
static int plant(tree *t, int64_t n)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, middle[3];
    double side = 0.0;
    for (int64_t i = 0; i < n; i++) {
        t->order[i] = i;
        for (int axis = 0; axis < 4; axis++)
            if (!isfinite(t->bodies[4 * i + axis]))
                return NOT_FINITE;
        for (int axis = 0; axis < 3; axis++) {
            low[axis] = fmin(low[axis], t->bodies[4 * i + axis]);
            high[axis] = fmax(high[axis], t->bodies[4 * i + axis]);
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        middle[axis] = 0.5 * (low[axis] + high[axis]);
        side = fmax(side, high[axis] - low[axis]);
    }
    return n > 0 ? grow(t, 0, n, middle, side, 0) : 0;
}

/* Add what a mass does to a body: three accelerations and the potential; a body does nothing to itself. */
static void attract(const double *body, const double *other, double softening, double *pull)
{
    const double d[3] = {other[0] - body[0], other[1] - body[1], other[2] - body[2]};
    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], soft = r2 + softening * softening;
    const double weight = r2 > 0.0 ? other[3] / sqrt(soft) : 0.0;
    for (int axis = 0; axis < 3 && r2 > 0.0; axis++)
        pull[axis] += weight / soft * d[axis];
    pull[3] -= weight;
}

/* Whether a cube seen from a body is small enough to count as one mass. */
static int is_far(const cube *c, const double *body, double theta)
{
    const double d[3] = {c->centre[0] - body[0], c->centre[1] - body[1], c->centre[2] - body[2]};
    return c->side * c->side < theta * theta * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static void walk(const tree *t, const double *body, double theta, double softening, double *pull)
{
    for (int64_t at = 0; at < t->count;) {
        const cube *c = t->cubes + at;
        if (is_far(c, body, theta)) {
            attract(body, c->centre, softening, pull);
            at = c->next;
        } else if (c->first >= 0) {
            for (int64_t i = c->first; i < c->last; i++)
                attract(body, t->bodies + 4 * t->order[i], softening, pull);
            at = c->next;
        } else {
            at++;
        }
    }
}

/* What all bodies do to ours: `theta` is how large a cube may look, its side over its distance, to count as
 * one mass. */
//@ coven module attraction(in f64 xm[n, 4], in f64 all[m, 4], in f64 theta, in f64 softening,
//@     out f64 acc[n, 3], out f64 phi[n])
int attraction(const double *xm, const double *all, double theta, double softening, double *acc, double *phi,
               int64_t n, int64_t m)
{
    tree t = {.bodies = all, .order = malloc((size_t)(2 * m) * sizeof *t.order)};
    t.spare = t.order + m;
    int code = t.order == NULL && m > 0 ? NO_MEMORY : plant(&t, m);
    for (int64_t i = 0; i < n && code == 0; i++) {
        double pull[4] = {0.0, 0.0, 0.0, 0.0};
        walk(&t, xm + 4 * i, theta, softening, pull);
        memcpy(acc + 3 * i, pull, 3 * sizeof *pull);
        phi[i] = pull[3];
    }
    free(t.order);
    free(t.cubes);
    return code;
}

/* Potential energy of our bodies; each pair counts half at either of them. */
//@ coven module potential(in f64 xm[n, 4], in f64 phi[n], out f64 e)
int potential(const double *xm, const double *phi, double *e, int64_t n)
{
    *e = 0.0;
    for (int64_t i = 0; i < n; i++)
        *e += 0.5 * xm[4 * i + 3] * phi[i];
    return 0;
}
