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

/* The run of rows before the `i`-th one that leaves, or behind the last one; where it goes is `i` rows less
 * far. */
static void move_run(char *kept, const char *x, size_t width, int64_t rows, const int64_t *leaving,
                     int64_t count, int64_t i)
{
    int64_t first = i > 0 ? leaving[i - 1] + 1 : 0, end = i < count ? leaving[i] : rows;
    memmove(kept + (size_t)(first - i) * width, x + (size_t)first * width, (size_t)(end - first) * width);
}

void pse_kernels_rows_keep(char *kept, const char *x, size_t width, int64_t rows, const int64_t *leaving,
                           int64_t count)
{
    int64_t up = 0; /* So many runs go to a higher address: the last of them first. */
    while (up <= count && (uintptr_t)kept > (uintptr_t)x + (size_t)up * width)
        up++;
    for (int64_t i = up - 1; i >= 0; i--)
        move_run(kept, x, width, rows, leaving, count, i);
    for (int64_t i = up; i <= count; i++)
        move_run(kept, x, width, rows, leaving, count, i);
}
