/* Rows that go to the partitions that a number for each of them names, apart from those that stay.
 *
 * No allocation: the caller owns all arrays.  Rows have `width` bytes, one behind the other.
 */
#ifndef PSE_ROWS_H
#define PSE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* List the rows whose owner is not `here` in `leaving`, in their order, and count them in `sent` by owner,
 * which is zero at first.  `leaving` has room for all rows, `sent` for all partitions.  Returns how many
 * leave; -1 - i if row i is the first whose owner is none of the partitions. */
int64_t pse_kernels_rows_leaving(const int64_t *owner, int64_t rows, int64_t partitions, int64_t here,
                                 int64_t *leaving, int64_t *sent);

/* Put the `count` rows that leave one behind the other, each at the place that `place` has for its owner: the
 * first place of each partition, which is counted up. */
void pse_kernels_rows_pack(char *packed, const char *x, size_t width, const int64_t *owner,
                           const int64_t *leaving, int64_t count, int64_t *place);

/* Copy the others, in their order, in runs.  `kept` may lie in `x`, or before or behind it. */
void pse_kernels_rows_keep(char *kept, const char *x, size_t width, int64_t rows, const int64_t *leaving,
                           int64_t count);

#ifdef __cplusplus
}
#endif
#endif
