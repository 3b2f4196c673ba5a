/* Pairs of particles that are close to each other, and what they do to each other: the Lennard-Jones
 * potential, cut off, in its own units.
 *
 * A particle's neighbours in the list are first our own, each pair once, and then images from elsewhere,
 * whose pairs count half here. Those are from first[2 i] up to first[2 i + 1], these from there up to
 * first[2 i + 2].
 */
#include <coven.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY = 1, TOO_CLOSE = 2, ON_TOP = 3 };

static _Thread_local char text[200];

const char *coven_error(int code)
{
    return code == NO_MEMORY   ? "there is no memory for positions"
           : code == TOO_CLOSE ? "particles are packed too closely: there is no room for their pairs"
                               : text;
}

/* Cells that are not smaller than the reach, over our domain and what is seen around it. */
typedef struct {
    double low[3], size[3];
    int64_t cells[3];
    int64_t *start, *order; /* Particles of cell c: order[start[c]] to order[start[c + 1]]. */
} grid;

static int64_t cell_along(const grid *g, const double *x, int axis)
{
    int64_t index = (int64_t)((x[axis] - g->low[axis]) / g->size[axis]);
    return index < 0 ? 0 : index < g->cells[axis] ? index : g->cells[axis] - 1;
}

static int64_t cell_of(const grid *g, const double *x)
{
    return (cell_along(g, x, 0) * g->cells[1] + cell_along(g, x, 1)) * g->cells[2] + cell_along(g, x, 2);
}

static int sort_into_cells(grid *g, const double *all, int64_t count, double side, double reach)
{
    for (int axis = 0; axis < 3; axis++) {
        double width = side / (double)coven_grid(axis);
        g->low[axis] = (double)coven_coordinate(axis) * width - reach;
        g->cells[axis] = (int64_t)((width + 2.0 * reach) / reach);
        g->size[axis] = (width + 2.0 * reach) / (double)g->cells[axis];
    }
    int64_t cells = g->cells[0] * g->cells[1] * g->cells[2];
    g->start = calloc((size_t)(cells + 2), sizeof *g->start);
    g->order = malloc((size_t)(count + 1) * sizeof *g->order);
    if (g->start == NULL || g->order == NULL)
        return NO_MEMORY;
    for (int64_t i = 0; i < count; i++)
        g->start[cell_of(g, all + 3 * i) + 2]++;
    for (int64_t c = 0; c < cells; c++)
        g->start[c + 2] += g->start[c + 1];
    for (int64_t i = 0; i < count; i++)
        g->order[g->start[cell_of(g, all + 3 * i) + 1]++] = i;
    return 0;
}

static double distance2(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* Which particles a row of the list may have: those from `least` up to `end`. */
typedef struct {
    int64_t least, end, room;
    double reach2;
} choice;

/* Add a particle's neighbours in the cells around it; -1 if there is no room for them. */
static int64_t add_neighbours(const grid *g, const double *all, int64_t i, choice wanted, int32_t *list,
                              int64_t found)
{
    int64_t at[3], least[3], most[3];
    for (int axis = 0; axis < 3; axis++) {
        at[axis] = cell_along(g, all + 3 * i, axis);
        least[axis] = at[axis] > 0 ? at[axis] - 1 : 0;
        most[axis] = at[axis] + 1 < g->cells[axis] ? at[axis] + 1 : at[axis];
    }
    for (int64_t cx = least[0]; cx <= most[0]; cx++)
        for (int64_t cy = least[1]; cy <= most[1]; cy++) {
            int64_t row = (cx * g->cells[1] + cy) * g->cells[2];
            for (int64_t k = g->start[row + least[2]]; k < g->start[row + most[2] + 1]; k++) {
                int64_t j = g->order[k];
                if (j < wanted.least || j >= wanted.end ||
                    distance2(all + 3 * i, all + 3 * j) >= wanted.reach2)
                    continue;
                if (found == wanted.room)
                    return -1;
                list[found++] = (int32_t)j;
            }
        }
    return found;
}

static double *joined(const double *x, const double *images, int64_t n, int64_t m)
{
    double *all = malloc((size_t)(3 * (n + m) + 1) * sizeof *all);
    if (all != NULL) {
        memcpy(all, x, (size_t)(3 * n) * sizeof *all);
        memcpy(all + 3 * n, images, (size_t)(3 * m) * sizeof *all);
    }
    return all;
}

/* List the pairs that are closer than the reach. */
//@ coven module neighbours(in f64 x[n, 3], in f64 images[m, 3], in f64 side, in f64 reach, in i64 most,
//@     out i64 first[2 * n + 1], out i32 list[?p <= n * most])
int neighbours(const double *x, const double *images, double side, double reach, int64_t most, int64_t *first,
               int32_t *list, int64_t n, int64_t m, int64_t *p)
{
    grid g = {.start = NULL};
    double *all = joined(x, images, n, m);
    int code = all == NULL ? NO_MEMORY : sort_into_cells(&g, all, n + m, side, reach);
    int64_t found = 0;
    first[0] = 0;
    for (int64_t i = 0; i < n && code == 0; i++)
        for (int part = 0; part < 2 && code == 0; part++) {
            choice wanted = {part ? n : i + 1, part ? n + m : n, n * most, reach * reach};
            found = add_neighbours(&g, all, i, wanted, list, found);
            first[2 * i + part + 1] = found;
            code = found < 0 ? TOO_CLOSE : 0;
        }
    *p = code == 0 ? found : 0;
    free(all);
    free(g.start);
    free(g.order);
    return code;
}

typedef struct {
    double cutoff2, shift; /* of the energy, at the cut-off */
    double energy, virial;
} potential;

/* Add what neighbours from..to do to a particle, and it to them: `f` has room for images, too. */
static inline void add_forces(potential *lj, const double *all, double *f, int64_t i, const int32_t *from,
                              const int32_t *to, double weight)
{
    const double *x = all + 3 * i;
    double fx = 0.0, fy = 0.0, fz = 0.0, energy = 0.0, virial = 0.0;
    for (; from < to; from++) {
        const double *other = all + 3 * *from;
        const double dx = x[0] - other[0], dy = x[1] - other[1], dz = x[2] - other[2];
        const double r2 = dx * dx + dy * dy + dz * dz;
        if (r2 >= lj->cutoff2)
            continue;
        const double inverse2 = 1.0 / r2, inverse6 = inverse2 * inverse2 * inverse2;
        const double pull = 48.0 * inverse6 * (inverse6 - 0.5), push = pull * inverse2;
        double *back = f + 3 * *from;
        fx += push * dx;
        fy += push * dy;
        fz += push * dz;
        back[0] -= push * dx;
        back[1] -= push * dy;
        back[2] -= push * dz;
        energy += 4.0 * inverse6 * (inverse6 - 1.0) - lj->shift;
        virial += pull;
    }
    f[3 * i] += fx;
    f[3 * i + 1] += fy;
    f[3 * i + 2] += fz;
    lj->energy += weight * energy;
    lj->virial += weight * virial;
}

/* Whether all forces are numbers; if they are not, say where. */
static int are_finite(const double *x, const double *f, int64_t n)
{
    for (int64_t i = 0; i < n; i++, x += 3, f += 3)
        if (!isfinite(f[0] + f[1] + f[2])) {
            snprintf(text, sizeof text, "particles are on top of each other at (%.4g, %.4g, %.4g)", x[0],
                     x[1], x[2]);
            return 0;
        }
    return 1;
}

/* Forces on our particles, and our share of the potential energy and of the virial (the sum of r · f). */
//@ coven module forces(in f64 x[n, 3], in f64 images[m, 3], in i64 first[q], in i32 list[p],
//@     in f64 cutoff, in bool shifted, out f64 f[n, 3], out f64 energy, out f64 virial)
int forces(const double *x, const double *images, const int64_t *first, const int32_t *list, double cutoff,
           bool shifted, double *f, double *energy, double *virial, int64_t n, int64_t m, int64_t q,
           int64_t p)
{
    (void)q, (void)p;
    const double inverse6 = pow(cutoff, -6.0);
    potential lj = {cutoff * cutoff, shifted ? 4.0 * inverse6 * (inverse6 - 1.0) : 0.0, 0.0, 0.0};
    double *all = joined(x, images, n, m), *sums = calloc((size_t)(3 * (n + m) + 1), sizeof *sums);
    int code = all == NULL || sums == NULL ? NO_MEMORY : 0;
    for (int64_t i = 0; i < n && code == 0; i++) {
        const int32_t *own = list + first[2 * i], *others = list + first[2 * i + 1];
        add_forces(&lj, all, sums, i, own, others, 1.0);
        add_forces(&lj, all, sums, i, others, list + first[2 * i + 2], 0.5);
    }
    if (code == 0) {
        memcpy(f, sums, (size_t)(3 * n) * sizeof *f);
        code = are_finite(x, f, n) ? 0 : ON_TOP;
    }
    *energy = lj.energy;
    *virial = lj.virial;
    free(all);
    free(sums);
    return code;
}

/* Count pairs by their distances, in shells of one thickness up to the cut-off; each once in all partitions
 * together. */
//@ coven module distances(in f64 x[n, 3], in f64 images[m, 3], in i64 first[q], in i32 list[p],
//@     in f64 cutoff, in i64 shells, out f64 counts[shells])
int distances(const double *x, const double *images, const int64_t *first, const int32_t *list, double cutoff,
              int64_t shells, double *counts, int64_t n, int64_t m, int64_t q, int64_t p)
{
    (void)q, (void)p, (void)m;
    memset(counts, 0, (size_t)shells * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = first[2 * i]; k < first[2 * i + 2]; k++) {
            const int64_t j = list[k];
            const double *other = j < n ? x + 3 * j : images + 3 * (j - n);
            const int64_t shell = (int64_t)(sqrt(distance2(x + 3 * i, other)) / cutoff * (double)shells);
            if (shell < shells)
                counts[shell] += j < n ? 1.0 : 0.5;
        }
    return 0;
}
