/* Gravitating bodies, G = 1: a body is its position and mass (x, y, z, m). */
#include <math.h>
#include <stdint.h>

/* Add to `acc` what the visiting bodies do to ours; a body does nothing to itself. */
//@ coven module forces(in f64 xm[n, 4], in f64 visiting[m, 4], inout f64 acc[n, 3])
int forces(const double *xm, const double *visiting, double *acc, int64_t n, int64_t m)
{
    for (int64_t i = 0; i < n; i++) {
        const double *body = xm + 4 * i;
        double a[3] = {0.0, 0.0, 0.0};
        for (int64_t j = 0; j < m; j++) {
            const double *other = visiting + 4 * j;
            double d[3] = {other[0] - body[0], other[1] - body[1], other[2] - body[2]};
            double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            double weight = r2 > 0.0 ? other[3] / (r2 * sqrt(r2)) : 0.0;
            for (int axis = 0; axis < 3; axis++)
                a[axis] += weight * d[axis];
        }
        for (int axis = 0; axis < 3; axis++)
            acc[3 * i + axis] += a[axis];
    }
    return 0;
}

//@ coven module kick(inout f64 vel[n, 3], in f64 acc[n, 3], in f64 dt)
int kick(double *vel, const double *acc, double dt, int64_t n)
{
    for (int64_t i = 0; i < 3 * n; i++)
        vel[i] += dt * acc[i];
    return 0;
}

//@ coven module drift(inout f64 xm[n, 4], in f64 vel[n, 3], in f64 dt)
int drift(double *xm, const double *vel, double dt, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int axis = 0; axis < 3; axis++)
            xm[4 * i + axis] += dt * vel[3 * i + axis];
    return 0;
}

/* Kinetic energy of our bodies. */
//@ coven module energy(in f64 xm[n, 4], in f64 vel[n, 3], out f64 e)
int energy(const double *xm, const double *vel, double *e, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double *v = vel + 3 * i;
        sum += 0.5 * xm[4 * i + 3] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    *e = sum;
    return 0;
}
