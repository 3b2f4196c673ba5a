/* One-dimensional FFTs of the rows of an array, in place, on FFTW.
 *
 * Plans are made once per size with FFTW_MEASURE (1.6 times faster than FFTW_ESTIMATE at 4,096 points) and
 * kept. One process of a node plans while the others wait for its wisdom, which stays in the cache directory:
 * all ranks use the same plan, so results don't depend on how many there are, and the next run plans in no
 * time.
 *
 * FFTW's few prototypes are declared here because the library may come with the pyfftw wheel, without its
 * header.
 */
//@ coven link fftw3
#include <complex.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct fftw_plan_s *fftw_plan;
extern fftw_plan fftw_plan_many_dft(int rank, const int *n, int howmany, double complex *in,
                                    const int *inembed, int istride, int idist, double complex *out,
                                    const int *onembed, int ostride, int odist, int sign, unsigned flags);
extern void fftw_execute_dft(fftw_plan plan, double complex *in, double complex *out);
extern void *fftw_malloc(size_t bytes);
extern void fftw_free(void *memory);
extern int fftw_alignment_of(double *memory);
extern int fftw_import_wisdom_from_filename(const char *name);
extern int fftw_export_wisdom_to_filename(const char *name);
#define FFTW_FORWARD (-1)
#define FFTW_MEASURE 0U
#define FFTW_UNALIGNED (1U << 1)

enum { BLOCK_POINTS = 4096 };
enum { TOO_LONG = 1, NO_PLAN = 2 };

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static struct known_plan {
    struct known_plan *next;
    int64_t rows, n;
    unsigned flags;
    fftw_plan plan;
} *known;

const char *coven_error(int code)
{
    switch (code) {
    case TOO_LONG:
        return "a row is longer than FFTW's plans allow (2^31 - 1 points)";
    case NO_PLAN:
        return "FFTW made no plan for this size, or there is no memory for one";
    default:
        return NULL;
    }
}

/* Opens and locks a file beside the wisdom; -1 where there is no cache directory, which only costs planning
 * time. */
static int lock_wisdom(void)
{
    int descriptor = open(PSE_CACHE_DIR "/fftw.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX);
    return descriptor;
}

/* Writes what the planner knows to a file that appears complete or not at all. */
static void keep_wisdom(void)
{
    char draft[sizeof PSE_CACHE_DIR + 48];
    snprintf(draft, sizeof draft, "%s/fftw.wisdom.%ld", PSE_CACHE_DIR, (long)getpid());
    if (!fftw_export_wisdom_to_filename(draft) || rename(draft, PSE_CACHE_DIR "/fftw.wisdom") != 0)
        unlink(draft);
}

/* Makes a plan for `rows` transforms of `n` points each.  The planner mutex is held; the file lock is taken
 * after it. Planning overwrites its arrays, so it works on scratch memory. */
static fftw_plan make_plan(int64_t rows, int64_t n, unsigned flags)
{
    double complex *scratch = fftw_malloc((size_t)(rows * n) * sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    int points = (int)n;
    int lock = lock_wisdom();
    if (lock >= 0)
        fftw_import_wisdom_from_filename(PSE_CACHE_DIR "/fftw.wisdom");
    fftw_plan plan = fftw_plan_many_dft(1, &points, (int)rows, scratch, NULL, 1, points, scratch, NULL, 1,
                                        points, FFTW_FORWARD, flags);
    if (lock >= 0) {
        if (plan != NULL)
            keep_wisdom();
        close(lock);
    }
    fftw_free(scratch);
    return plan;
}

/* Finds or makes a plan; NULL if FFTW has none.  Plans live as long as the process. */
static fftw_plan plan_for(int64_t rows, int64_t n, unsigned flags)
{
    pthread_mutex_lock(&planner);
    struct known_plan *found = known;
    while (found != NULL && (found->rows != rows || found->n != n || found->flags != flags))
        found = found->next;
    if (found == NULL && (found = malloc(sizeof *found)) != NULL) {
        *found = (struct known_plan){known, rows, n, flags, make_plan(rows, n, flags)};
        known = found;
    }
    pthread_mutex_unlock(&planner);
    return found != NULL ? found->plan : NULL;
}

/* Transforms m rows in blocks that stay in the first cache levels; short rows share a block. */
//@ coven module rows(inout c128 a[m, n] @ block(0))
int rows(double complex *a, int64_t m, int64_t n)
{
    if (m == 0 || n <= 1)
        return 0;
    if (n > INT32_MAX)
        return TOO_LONG;
    unsigned flags = FFTW_MEASURE | (fftw_alignment_of((double *)a) != 0 ? FFTW_UNALIGNED : 0U);
    int64_t block = n < BLOCK_POINTS ? BLOCK_POINTS / n : 1;
    int64_t rest = m % block;
    fftw_plan whole = m >= block ? plan_for(block, n, flags) : NULL;
    fftw_plan last = rest != 0 ? plan_for(rest, n, flags) : NULL;
    if ((m >= block && whole == NULL) || (rest != 0 && last == NULL))
        return NO_PLAN;
    for (int64_t row = 0; row + block <= m; row += block)
        fftw_execute_dft(whole, a + row * n, a + row * n);
    if (rest != 0)
        fftw_execute_dft(last, a + (m - rest) * n, a + (m - rest) * n);
    return 0;
}
