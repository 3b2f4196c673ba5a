/* Heat conduction by explicit steps in a plate of cells [z, y, x], whose axes y and x are cut. */
#include <coven.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Cold, or the slowest mode that differs along all axes: it is 0 at the edges and level at the faces. */
//@ coven module begin(in bool mode, in i64 NY, in i64 NX, out f64 T[l, m+2, n+2])
int begin(bool mode, int64_t NY, int64_t NX, double *T, int64_t l, int64_t m, int64_t n)
{
    const double pi = acos(-1.0);
    const int64_t first = coven_first(0, NY), left = coven_first(1, NX), row = n + 2, layer = (m + 2) * row;
    memset(T, 0, (size_t)(l * layer) * sizeof *T);
    for (int64_t k = 0; k < l && mode; k++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double x = ((double)(left + j) + 0.5) / (double)NX,
                       y = ((double)(first + i) + 0.5) / (double)NY;
                double z = ((double)k + 0.5) / (double)l;
                T[k * layer + (i + 1) * row + j + 1] = sin(pi * x) * sin(pi * y) * cos(pi * z);
            }
    return 0;
}

/* The mean with what is beyond an edge is 0. */
static void fill_ghosts(double *T, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    for (int64_t j = 1; j <= n && coven_coordinate(0) == 0; j++)
        T[j] = -T[row + j];
    for (int64_t j = 1; j <= n && coven_coordinate(0) == coven_grid(0) - 1; j++)
        T[(m + 1) * row + j] = -T[m * row + j];
    for (int64_t i = 1; i <= m && coven_coordinate(1) == 0; i++)
        T[i * row] = -T[i * row + 1];
    for (int64_t i = 1; i <= m && coven_coordinate(1) == coven_grid(1) - 1; i++)
        T[i * row + n + 1] = -T[i * row + n];
}

/* What part of a cell's temperature is lost between its centre and beyond the face: what flows through the
 * half cell is what the air takes from the face. */
static double drop_at_face(double conductivity, double cooling, double dz)
{
    return 2.0 * cooling * dz / (2.0 * conductivity + cooling * dz);
}

/* One step of `dt`; `change` is the fastest change of temperature. */
//@ coven module conduct(inout f64 T[l, m+2, n+2], in f64 q[l, m, n], in f64 power, in f64 conductivity,
//@     in f64 capacity, in f64 cooling, in f64 dx, in f64 dy, in f64 dz, in f64 dt,
//@     out f64 next[l, m+2, n+2], out f64 change)
int conduct(double *T, const double *q, double power, double conductivity, double capacity, double cooling,
            double dx, double dy, double dz, double dt, double *next, double *change, int64_t l, int64_t m,
            int64_t n)
{
    const int64_t row = n + 2, layer = (m + 2) * row;
    const double face = drop_at_face(conductivity, cooling, dz);
    double largest = 0.0;
    memset(next, 0, (size_t)(l * layer) * sizeof *next);
    for (int64_t k = 0; k < l; k++) {
        fill_ghosts(T + k * layer, m, n);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t at = k * layer + (i + 1) * row + j + 1;
                const double *here = T + at;
                double up = k > 0 ? here[-layer] - *here : -face * *here;
                double down = k < l - 1 ? here[layer] - *here : -face * *here;
                double flow = (here[1] + here[-1] - 2.0 * *here) / (dx * dx) +
                              (here[row] + here[-row] - 2.0 * *here) / (dy * dy) + (up + down) / (dz * dz);
                double rate = (conductivity * flow + power * q[(k * m + i) * n + j]) / capacity;
                next[at] = *here + dt * rate;
                largest = fmax(largest, fabs(rate));
            }
    }
    *change = largest;
    return 0;
}

/* The power that leaves the partition's cells through edges and faces. */
//@ coven module loss(in f64 T[l, m+2, n+2] interior, in f64 conductivity, in f64 cooling,
//@     in f64 dx, in f64 dy, in f64 dz, out f64 lost)
int loss(const double *T, double conductivity, double cooling, double dx, double dy, double dz, double *lost,
         int64_t l, int64_t m, int64_t n)
{
    const int64_t row = n + 2, layer = (m + 2) * row;
    const int64_t top = coven_coordinate(0) == 0, bottom = coven_coordinate(0) == coven_grid(0) - 1;
    const int64_t left = coven_coordinate(1) == 0, right = coven_coordinate(1) == coven_grid(1) - 1;
    const double face = drop_at_face(conductivity, cooling, dz);
    double sum = 0.0;
    for (int64_t k = 0; k < l; k++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double across = 2.0 * (double)(top * (i == 0) + bottom * (i == m - 1)) / (dy * dy);
                double along = 2.0 * (double)(left * (j == 0) + right * (j == n - 1)) / (dx * dx);
                double through = face * (double)((k == 0) + (k == l - 1)) / (dz * dz);
                sum += (across + along + through) * T[k * layer + (i + 1) * row + j + 1];
            }
    *lost = conductivity * dx * dy * dz * sum;
    return 0;
}
