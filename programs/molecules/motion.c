/* How particles move: velocity Verlet, with friction and noise in the middle of a step (Langevin; Leimkuhler
 * and Matthews, Applied Mathematics Research eXpress 2013, 34-56).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { FLOWN = 1 };

static _Thread_local char text[200];

const char *coven_error(int code)
{
    return code == FLOWN ? text : "unknown";
}

/* Bits that depend on all of a number's (Steele, Lea and Flood's SplitMix64). */
static uint64_t mixed(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t key)
{
    return ((double)(mixed(key) >> 11) + 0.5) * 0x1p-53;
}

/* A normally distributed number that depends on particle, step and axis only: not on where it is computed. */
static double normal(int64_t seed, int64_t step, int64_t particle, int axis)
{
    uint64_t key = mixed(mixed(mixed((uint64_t)seed) ^ (uint64_t)step) ^ (uint64_t)(4 * particle + axis));
    return sqrt(-2.0 * log(uniform(key))) * cos(2.0 * acos(-1.0) * uniform(key ^ 1u));
}

/* Whether a particle is where it can be after one step; if it is not, say which one. */
static int stays(const double *from, const double *x, double farthest, int64_t id, int64_t step)
{
    const double d[3] = {x[0] - from[0], x[1] - from[1], x[2] - from[2]};
    const double moved = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (moved <= farthest)
        return 1;
    snprintf(text, sizeof text,
             "particle %lld flies from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g) in step %lld: "
             "the time step is too long, or particles are too close to each other",
             (long long)id, from[0], from[1], from[2], x[0], x[1], x[2], (long long)step);
    return 0;
}

/* Half a kick, and the whole way; `moved` is the square of how far a particle is from where it was listed. */
//@ coven module advance(inout f64 x[n, 3], inout f64 v[n, 3], in i64 id[n], in f64 f[n, 3],
//@     in f64 listed[n, 3], in f64 dt, in f64 friction, in f64 temperature, in f64 farthest,
//@     in i64 seed, in i64 step, out f64 moved)
int advance(double *x, double *v, const int64_t *id, const double *f, const double *listed, double dt,
            double friction, double temperature, double farthest, int64_t seed, int64_t step, double *moved,
            int64_t n)
{
    const double keep = exp(-friction * dt), noise = sqrt((1.0 - keep * keep) * temperature);
    *moved = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double from[3], far = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            const int64_t k = 3 * i + axis;
            from[axis] = x[k];
            v[k] += 0.5 * dt * f[k];
            x[k] += 0.5 * dt * v[k];
            if (friction > 0.0)
                v[k] = keep * v[k] + noise * normal(seed, step, id[i], axis);
            x[k] += 0.5 * dt * v[k];
            far += (x[k] - listed[k]) * (x[k] - listed[k]);
        }
        if (!stays(from, x + 3 * i, farthest, id[i], step))
            return FLOWN;
        *moved = fmax(*moved, far);
    }
    return 0;
}

//@ coven module kick(inout f64 v[n, 3], in f64 f[n, 3], in f64 dt)
int kick(double *v, const double *f, double dt, int64_t n)
{
    for (int64_t k = 0; k < 3 * n; k++)
        v[k] += dt * f[k];
    return 0;
}

/* Our share of the kinetic energy; those of the potential energy and the virial are passed on. */
//@ coven module measure(in f64 v[n, 3], in f64 e, in f64 w, out f64 kinetic, out f64 energy, out f64 virial)
int measure(const double *v, double e, double w, double *kinetic, double *energy, double *virial, int64_t n)
{
    *kinetic = 0.0;
    for (int64_t k = 0; k < 3 * n; k++)
        *kinetic += 0.5 * v[k] * v[k];
    *energy = e;
    *virial = w;
    return 0;
}

/* How many of our particles are in each column of the box along its last axis. */
//@ coven module columns(in f64 x[n, 3], in f64 side, in i64 pixels, out f64 seen[pixels, pixels])
int columns(const double *x, double side, int64_t pixels, double *seen, int64_t n)
{
    for (int64_t k = 0; k < pixels * pixels; k++)
        seen[k] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t place[2];
        for (int axis = 0; axis < 2; axis++) {
            double at = x[3 * i + axis] / side;
            place[axis] = (int64_t)((at - floor(at)) * (double)pixels) % pixels;
        }
        seen[place[0] * pixels + place[1]] += 1.0;
    }
    return 0;
}
