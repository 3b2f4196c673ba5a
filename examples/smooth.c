/* A smoothing step on a grid with a border: each inner point becomes the mean of its four neighbours.
 *
 * The directive below is the module's interface.  nx and ny are dimension names: the engine takes them from
 * the arrays and passes them last, as int64_t.  The arrays have two more points along each axis than nx and
 * ny.
 */
#include <math.h>
#include <stdint.h>

enum { NOT_FINITE = 1 };

/* Texts of the codes that modules of this file return; the report of a failed run shows them. */
const char *coven_error(int code)
{
    return code == NOT_FINITE ? "a value is infinite or not a number" : "unknown code";
}

//@ coven module smooth(in f64 u[nx+2, ny+2], out f64 v[nx+2, ny+2], out f64 residual)
int smooth(const double *u, double *v, double *residual, int64_t nx, int64_t ny)
{
    const int64_t row = ny + 2;
    double largest = 0.0;
    for (int64_t i = 0; i < nx + 2; i++) {
        for (int64_t j = 0; j < row; j++) {
            const int64_t at = i * row + j;
            if (i == 0 || i == nx + 1 || j == 0 || j == ny + 1) {
                v[at] = u[at];
                continue;
            }
            v[at] = 0.25 * (u[at - row] + u[at + row] + u[at - 1] + u[at + 1]);
            largest = fmax(largest, fabs(v[at] - u[at]));
            if (!isfinite(v[at]))
                return NOT_FINITE;
        }
    }
    *residual = largest;
    return 0;
}
