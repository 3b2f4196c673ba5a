#include "rows.h"

#include <stdbool.h>
#include <string.h>

/* Most rows stay: so many are looked at together, without a branch for each. */
#define BATCH 16

static bool all_stay(const int64_t *owner, int64_t here)
{
    int64_t others = 0;
    for (int i = 0; i < BATCH; i++)
        others |= owner[i] ^ here;
    return others == 0;
}

int64_t pse_kernels_rows_leaving(const int64_t *owner, int64_t rows, int64_t partitions, int64_t here,
                                 int64_t *leaving, int64_t *sent)
{
    int64_t count = 0, next = 0;
    while (next < rows) {
        if (next + BATCH <= rows && all_stay(owner + next, here)) {
            next += BATCH;
            continue;
        }
        for (int64_t end = next + BATCH < rows ? next + BATCH : rows; next < end; next++) {
            if (owner[next] == here)
                continue;
            if (owner[next] < 0 || owner[next] >= partitions)
                return -1 - next;
            sent[owner[next]]++;
            leaving[count++] = next;
        }
    }
    return count;
}

void pse_kernels_rows_pack(char *packed, const char *x, size_t width, const int64_t *owner,
                           const int64_t *leaving, int64_t count, int64_t *place)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(packed + (size_t)place[owner[leaving[i]]]++ * width, x + (size_t)leaving[i] * width, width);
}

typedef struct rows_kept {
    char *kept;
    const char *x;
    size_t width;
    int64_t rows;
    const int64_t *leaving;
    int64_t count;
} rows_kept;

/* The `i`-th run of rows that stay ends with the `i`-th one that leaves, or with the last row; where it goes
 * is `i` rows less far. */
static int64_t run_begin(const rows_kept *all, int64_t i)
{
    return i > 0 ? all->leaving[i - 1] + 1 : 0;
}

static int64_t run_end(const rows_kept *all, int64_t i)
{
    return i < all->count ? all->leaving[i] : all->rows;
}

static char *place_of_run(const rows_kept *all, int64_t i)
{
    return all->kept + (size_t)(run_begin(all, i) - i) * all->width;
}

static void move_runs(const rows_kept *all, int64_t i, int64_t end)
{
    for (; i < end; i++) {
        const int64_t first = run_begin(all, i), rows = run_end(all, i) - first;
        memmove(place_of_run(all, i), all->x + (size_t)first * all->width, (size_t)rows * all->width);
    }
}

/* Of runs that go to higher addresses and end before the `end`-th: the first one that, with all behind it,
 * goes to where none of them is.  Memory is read fastest upwards. */
static int64_t first_of_runs(const rows_kept *all, int64_t end)
{
    const uintptr_t above = (uintptr_t)(all->x + (size_t)run_end(all, end - 1) * all->width);
    int64_t first = end - 1;
    while (first > 0 && (uintptr_t)place_of_run(all, first - 1) >= above)
        first--;
    return first;
}

void pse_kernels_rows_keep(char *kept, const char *x, size_t width, int64_t rows, const int64_t *leaving,
                           int64_t count)
{
    const rows_kept all = {kept, x, width, rows, leaving, count};
    int64_t up = 0; /* So many runs go to a higher address: the last of them first. */
    while (up <= count && (uintptr_t)kept > (uintptr_t)x + (size_t)up * width)
        up++;
    for (int64_t end = up, first; end > 0; end = first) {
        first = first_of_runs(&all, end);
        move_runs(&all, first, end);
    }
    move_runs(&all, up, count + 1);
}
