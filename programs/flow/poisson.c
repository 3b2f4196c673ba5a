/* Conjugate gradients for the pressure p of a staggered grid: the sum over a cell's neighbours of p -
 * p[neighbour] is -scale times what flows out of the cell. Beyond a wall p is what it is before it.
 *
 * The preconditioner is a modified incomplete Cholesky factorization of the part of the matrix that has to do
 * with the partition alone (Gustafsson, BIT 18 (1978) 142-156), with zeros where the matrix has them; `pivot`
 * is its diagonal's inverse.
 */
#include <coven.h>
#include <math.h>

static double square(double x)
{
    return x * x;
}

/* Give the cells beyond the box the values of those before. */
static void mirror(double *p, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    for (int64_t j = 1; j <= n && coven_coordinate(0) == 0; j++)
        p[j] = p[row + j];
    for (int64_t j = 1; j <= n && coven_coordinate(0) == coven_grid(0) - 1; j++)
        p[(m + 1) * row + j] = p[m * row + j];
    for (int64_t i = 1; i <= m && coven_coordinate(1) == 0; i++)
        p[i * row] = p[i * row + 1];
    for (int64_t i = 1; i <= m && coven_coordinate(1) == coven_grid(1) - 1; i++)
        p[i * row + n + 1] = p[i * row + n];
}

/* How many neighbours a cell has in the box. */
static double neighbours(int64_t i, int64_t j, int64_t m, int64_t n)
{
    return 4.0 - (i == 0 && coven_coordinate(0) == 0) -
           (i == m - 1 && coven_coordinate(0) == coven_grid(0) - 1) - (j == 0 && coven_coordinate(1) == 0) -
           (j == n - 1 && coven_coordinate(1) == coven_grid(1) - 1);
}

/* What is dropped counts with the weight 0.97 on the diagonal; a pivot that gets too small is the matrix's
 * own. */
//@ coven module factor(out f64 pivot[m, n])
int factor(double *pivot, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double above = i > 0 ? square(pivot[(i - 1) * n + j]) : 0.0;
            double before = j > 0 ? square(pivot[i * n + j - 1]) : 0.0;
            double dropped = above * (j < n - 1) + before * (i < m - 1);
            double diagonal = neighbours(i, j, m, n), rest = diagonal - above - before - 0.97 * dropped;
            pivot[i * n + j] = 1.0 / sqrt(rest < 0.25 * diagonal ? diagonal : rest);
        }
    return 0;
}

/* z = r, preconditioned; gives their product. Rows of z begin `row` elements apart. */
static double precondition(const double *r, const double *pivot, double *z, int64_t row, int64_t m, int64_t n)
{
    double product = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0, k = i * n; j < n; j++, k++) {
            double above = i > 0 ? pivot[k - n] * z[(i - 1) * row + j] : 0.0;
            double before = j > 0 ? pivot[k - 1] * z[i * row + j - 1] : 0.0;
            z[i * row + j] = pivot[k] * (r[k] + above + before);
        }
    for (int64_t i = m - 1; i >= 0; i--)
        for (int64_t j = n - 1, k = i * n + j; j >= 0; j--, k--) {
            double below = i < m - 1 ? z[(i + 1) * row + j] : 0.0,
                   after = j < n - 1 ? z[i * row + j + 1] : 0.0;
            z[i * row + j] = pivot[k] * (z[i * row + j] + pivot[k] * (below + after));
            product += r[k] * z[i * row + j];
        }
    return product;
}

/* The matrix at a point of an array with a frame. */
static double laplacian(const double *p, int64_t row)
{
    return 4.0 * p[0] - p[1] - p[-1] - p[row] - p[-row];
}

/* r is what is missing in the equation, `error` its largest element, d the first direction. */
//@ coven module residual(inout f64 p[m+2, n+2], in f64 u[m+2, n+2], in f64 v[m+2, n+2],
//@     in f64 pivot[m, n], in f64 scale,
//@     out f64 r[m, n], out f64 d[m+2, n+2], out f64 rz, out f64 error)
int residual(double *p, const double *u, const double *v, const double *pivot, double scale, double *r,
             double *d, double *rz, double *error, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    mirror(p, m, n);
    *error = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t k = (i + 1) * row + j + 1;
            double outflow = u[k] - u[k - 1] + v[k] - v[k - row];
            r[i * n + j] = -scale * outflow - laplacian(p + k, row);
            *error = fmax(*error, fabs(r[i * n + j]));
        }
    *rz = precondition(r, pivot, d + row + 1, row, m, n);
    return 0;
}

/* q is the matrix times d, `curvature` their product. */
//@ coven module apply(inout f64 d[m+2, n+2], out f64 q[m, n], out f64 curvature)
int apply(double *d, double *q, double *curvature, int64_t m, int64_t n)
{
    const int64_t row = n + 2;
    double sum = 0.0;
    mirror(d, m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *here = d + (i + 1) * row + j + 1;
            q[i * n + j] = laplacian(here, row);
            sum += *here * q[i * n + j];
        }
    *curvature = sum;
    return 0;
}

/* Go down by `length` along d; z is the new residual, preconditioned. */
//@ coven module descend(inout f64 p[m+2, n+2] interior, inout f64 r[m, n], in f64 d[m+2, n+2] interior,
//@     in f64 q[m, n], in f64 pivot[m, n], in f64 length, out f64 z[m, n], out f64 rz, out f64 error)
int descend(double *p, double *r, const double *d, const double *q, const double *pivot, double length,
            double *z, double *rz, double *error, int64_t m, int64_t n)
{
    *error = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t k = (i + 1) * (n + 2) + j + 1;
            p[k] += length * d[k];
            r[i * n + j] -= length * q[i * n + j];
            *error = fmax(*error, fabs(r[i * n + j]));
        }
    *rz = precondition(r, pivot, z, n, m, n);
    return 0;
}

/* The next direction. */
//@ coven module turn(inout f64 d[m+2, n+2] interior, in f64 z[m, n], in f64 share)
int turn(double *d, const double *z, double share, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double *here = d + (i + 1) * (n + 2) + j + 1;
            *here = z[i * n + j] + share * *here;
        }
    return 0;
}

/* Multigrid (multigrid.coven): the matrix times p is to be f, on grids each half as fine as the one before.
 */

/* Sources and sinks that look random, and that are equal on the two sides of the middle row but for their
 * sign. */
//@ coven module charges(in i64 cells, out f64 f[m, n])
int charges(int64_t cells, double *f, int64_t m, int64_t n)
{
    const int64_t top = coven_first(0, cells), left = coven_first(1, cells);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t row = top + i, mirrored = cells - 1 - row, k = row < mirrored ? row : mirrored;
            const double charge = (double)((k * 131 + (left + j) * 71 + k * (left + j)) % 97) - 48.0;
            f[i * n + j] = row < mirrored ? charge : row > mirrored ? -charge : 0.0;
        }
    return 0;
}

/* Half a sweep of Gauss and Seidel: the cells of one colour of a chessboard, which need those of the other
 * only. */
//@ coven module relax(inout f64 p[m+2, n+2], in f64 f[m, n], in i64 cells, in i64 colour)
int relax(double *p, const double *f, int64_t cells, int64_t colour, int64_t m, int64_t n)
{
    const int64_t row = n + 2, first = coven_first(0, cells) + coven_first(1, cells) + colour;
    mirror(p, m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = (first + i) % 2; j < n; j += 2) {
            double *here = p + (i + 1) * row + j + 1;
            *here += (f[i * n + j] - laplacian(here, row)) / neighbours(i, j, m, n);
        }
    return 0;
}

/* What is missing in the equation, added up over the four cells in each of the next grid, where `next` is 0.
 */
//@ coven module coarsen(inout f64 p[m+2, n+2], in f64 f[m, n],
//@     inout f64 coarse[k, l], inout f64 next[k+2, l+2] interior)
int coarsen(double *p, const double *f, double *coarse, double *next, int64_t m, int64_t n, int64_t k,
            int64_t l)
{
    if (m != 2 * k || n != 2 * l)
        return 1;
    mirror(p, m, n);
    for (int64_t i = 0; i < k * l; i++)
        coarse[i] = 0.0;
    for (int64_t i = 0; i < (k + 2) * (l + 2); i++)
        next[i] = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            coarse[i / 2 * l + j / 2] += f[i * n + j] - laplacian(p + (i + 1) * (n + 2) + j + 1, n + 2);
    return 0;
}

/* What the next grid has found, interpolated from the three cells there that are nearest. */
//@ coven module refine(inout f64 coarse[k+2, l+2], inout f64 p[m+2, n+2] interior)
int refine(double *coarse, double *p, int64_t k, int64_t l, int64_t m, int64_t n)
{
    const int64_t row = l + 2;
    if (m != 2 * k || n != 2 * l)
        return 1;
    mirror(coarse, k, l);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *c = coarse + (i / 2 + 1) * row + j / 2 + 1;
            p[(i + 1) * (n + 2) + j + 1] += (2.0 * *c + c[i % 2 ? row : -row] + c[j % 2 ? 1 : -1]) / 4.0;
        }
    return 0;
}

/* The largest element of what is missing in the equation. */
//@ coven module defect(inout f64 p[m+2, n+2], in f64 f[m, n], out f64 error)
int defect(double *p, const double *f, double *error, int64_t m, int64_t n)
{
    mirror(p, m, n);
    *error = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            *error = fmax(*error, fabs(f[i * n + j] - laplacian(p + (i + 1) * (n + 2) + j + 1, n + 2)));
    return 0;
}

const char *coven_error(int code)
{
    return code == 1 ? "a grid is not half as fine as the one before it: N and rows do not fit" : "unknown";
}
