/* Heat conduction on a plate, 5-point stencil; the frame around a piece is its halo or the plate's cold edge.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

//@ coven module init(out f64 u[nx+2, ny+2])
int init(double *u, int64_t nx, int64_t ny)
{
    memset(u, 0, (size_t)((nx + 2) * (ny + 2)) * sizeof *u);
    for (int64_t i = 1; i <= nx; i++)
        for (int64_t j = 1; j <= ny; j++)
            u[i * (ny + 2) + j] = 1.0;
    return 0;
}

/* One explicit step with the largest stable time step; `residual` is the largest change. */
//@ coven module step(in f64 u[nx+2, ny+2], out f64 v[nx+2, ny+2], out f64 residual)
int step(const double *u, double *v, double *residual, int64_t nx, int64_t ny)
{
    const int64_t row = ny + 2;
    double largest = 0.0;
    memcpy(v, u, (size_t)((nx + 2) * row) * sizeof *u); /* Keeps the frame. */
    for (int64_t i = 1; i <= nx; i++) {
        for (int64_t j = 1; j <= ny; j++) {
            const double *here = u + i * row + j;
            double mean = 0.25 * (here[-row] + here[row] + here[-1] + here[1]);
            largest = fmax(largest, fabs(mean - *here));
            v[i * row + j] = mean;
        }
    }
    *residual = largest;
    return 0;
}
