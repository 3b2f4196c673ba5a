/* A step of the flow on a staggered grid, apart from its pressure.
 *
 * u[i, j] is on the right face of cell (i, j), v[i, j] on its lower face; rows go down. An array has one more
 * cell at either side: the neighbours', or, at the box's own edge, what makes the wall's condition come true.
 */
#include <coven.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
    bool top, bottom, left, right; /* Is the partition at this wall? */
} walls;

static walls own_walls(void)
{
    int64_t row = coven_coordinate(0), column = coven_coordinate(1);
    return (walls){row == 0, row == coven_grid(0) - 1, column == 0, column == coven_grid(1) - 1};
}

/* Still fluid, or a vortex that fills the box. */
//@ coven module begin(in bool vortex, in i64 N, out f64 u[m+2, n+2], out f64 v[m+2, n+2])
int begin(bool vortex, int64_t N, double *u, double *v, int64_t m, int64_t n)
{
    const int64_t row = n + 2, top = coven_first(0, N), left = coven_first(1, N);
    const double h = acos(-1.0) / (double)N;
    memset(u, 0, (size_t)((m + 2) * row) * sizeof *u);
    memset(v, 0, (size_t)((m + 2) * row) * sizeof *v);
    for (int64_t i = 1; i <= m && vortex; i++)
        for (int64_t j = 1; j <= n; j++) {
            double y = h * (double)(top + i), x = h * (double)(left + j); /* The cell's lower right corner. */
            u[i * row + j] = sin(x) * cos(y - 0.5 * h) * (left + j < N);
            v[i * row + j] = -cos(x - 0.5 * h) * sin(y) * (top + i < N);
        }
    return 0;
}

/* What is beyond a wall: the mean with what is inside is the wall's own velocity, or both are the same. */
static void fill_ghosts(double *u, double *v, double lid, bool slip, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    const double sign = slip ? 1.0 : -1.0, above = slip ? 0.0 : 2.0 * lid;
    const walls wall = own_walls();
    for (int64_t j = 0; j < row; j++) {
        if (wall.top)
            u[j] = above + sign * u[row + j];
        if (wall.bottom)
            u[(m + 1) * row + j] = sign * u[m * row + j];
    }
    for (int64_t i = 0; i < m + 2; i++) {
        if (wall.left)
            v[i * row] = sign * v[i * row + 1];
        if (wall.right)
            v[i * row + n + 1] = sign * v[i * row + n];
    }
}

static double mean(double a, double b)
{
    return 0.5 * (a + b);
}

/* Advection and friction of the component along `along`; the other component lies along `across`. */
static double force_on(const double *u, const double *v, int64_t along, int64_t across, double nu, double h)
{
    double ahead = mean(u[0], u[along]), behind = mean(u[-along], u[0]);
    double left = mean(u[-across], u[0]) * mean(v[-across], v[along - across]);
    double right = mean(u[0], u[across]) * mean(v[0], v[along]);
    double advection = (ahead * ahead - behind * behind + right - left) / h;
    return nu * (u[along] + u[-along] + u[across] + u[-across] - 4.0 * u[0]) / (h * h) - advection;
}

/* Velocities after a step without pressure; `fu`, `fv` are the forces, at first those of the step before. */
//@ coven module predict(inout f64 u[m+2, n+2], inout f64 v[m+2, n+2],
//@     inout f64 fu[m, n], inout f64 fv[m, n], in f64 lid, in bool slip, in bool first,
//@     in f64 nu, in f64 h, in f64 dt, out f64 u1[m+2, n+2], out f64 v1[m+2, n+2])
int predict(double *u, double *v, double *fu, double *fv, double lid, bool slip, bool first, double nu,
            double h, double dt, double *u1, double *v1, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    const double before = first ? 0.0 : 0.5;
    const walls wall = own_walls();
    fill_ghosts(u, v, lid, slip, m, n);
    memset(u1, 0, (size_t)((m + 2) * row) * sizeof *u1); /* Nothing passes a wall. */
    memset(v1, 0, (size_t)((m + 2) * row) * sizeof *v1);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0, k = (i + 1) * row + 1; j < n; j++, k++) {
            double fx = force_on(u + k, v + k, 1, row, nu, h), fy = force_on(v + k, u + k, row, 1, nu, h);
            if (!(wall.right && j == n - 1))
                u1[k] = u[k] + dt * ((1.0 + before) * fx - before * fu[i * n + j]);
            if (!(wall.bottom && i == m - 1))
                v1[k] = v[k] + dt * ((1.0 + before) * fy - before * fv[i * n + j]);
            fu[i * n + j] = fx;
            fv[i * n + j] = fy;
        }
    return 0;
}

/* Subtract the pressure's gradient; `change` is how fast a velocity changes at most. */
//@ coven module project(in f64 u[m+2, n+2] interior, in f64 v[m+2, n+2] interior,
//@     inout f64 u1[m+2, n+2] interior, inout f64 v1[m+2, n+2] interior,
//@     in f64 p[m+2, n+2], in f64 dt, in f64 h, out f64 change)
int project(const double *u, const double *v, double *u1, double *v1, const double *p, double dt, double h,
            double *change, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    const walls wall = own_walls();
    double largest = 0.0;
    for (int64_t i = 1; i <= m; i++) {
        for (int64_t k = i * row + 1; k <= i * row + n - wall.right; k++) {
            u1[k] -= dt / h * (p[k + 1] - p[k]);
            largest = fmax(largest, fabs(u1[k] - u[k]));
        }
        for (int64_t k = i * row + 1; k <= i * row + n && !(wall.bottom && i == m); k++) {
            v1[k] -= dt / h * (p[k + row] - p[k]);
            largest = fmax(largest, fabs(v1[k] - v[k]));
        }
    }
    *change = largest / dt;
    return 0;
}

//@ coven module energy(in f64 u[m+2, n+2] interior, in f64 v[m+2, n+2] interior, in f64 h, out f64 kinetic)
int energy(const double *u, const double *v, double h, double *kinetic, int64_t m, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 1; i <= m; i++)
        for (int64_t k = i * (n + 2) + 1; k <= i * (n + 2) + n; k++)
            sum += u[k] * u[k] + v[k] * v[k];
    *kinetic = 0.5 * h * h * sum;
    return 0;
}
