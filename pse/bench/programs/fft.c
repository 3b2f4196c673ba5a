/* FFTs of the rows of an array, in place, on FFTW.  Program and hand-written peer load this very file.
 *
 * The plan is measured once and its wisdom kept, so that both use the same plan.
 */
//@ coven link fftw3
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct fftw_plan_s *fftw_plan;
extern fftw_plan fftw_plan_dft_1d(int n, double complex *in, double complex *out, int sign, unsigned flags);
extern void fftw_execute_dft(fftw_plan plan, double complex *in, double complex *out);
extern void *fftw_malloc(size_t bytes);
extern void fftw_free(void *memory);
extern int fftw_import_wisdom_from_filename(const char *name);
extern int fftw_export_wisdom_to_filename(const char *name);

static const char wisdom[] = PSE_CACHE_DIR "/bench.wisdom";
static fftw_plan plan;
static int64_t plan_length;

enum { FORWARD = -1, UNALIGNED = 2 };

const char *coven_error(int code)
{
    (void)code;
    return "FFTW made no plan for this size, or there is no memory for one";
}

static void make_plan(int64_t n)
{
    double complex *scratch = fftw_malloc((size_t)n * sizeof *scratch);
    if (scratch == NULL)
        return;
    fftw_import_wisdom_from_filename(wisdom);
    plan = fftw_plan_dft_1d((int)n, scratch, scratch, FORWARD, UNALIGNED);
    plan_length = n;
    fftw_export_wisdom_to_filename(wisdom);
    fftw_free(scratch);
}

//@ coven module rows(inout c128 a[m, n] @ block(0))
int rows(double complex *a, int64_t m, int64_t n)
{
    if (plan == NULL || plan_length != n)
        make_plan(n);
    if (plan == NULL)
        return 1;
    for (int64_t row = 0; row < m; row++)
        fftw_execute_dft(plan, a + row * n, a + row * n);
    return 0;
}
