/* Which positions other partitions are to see: those within a distance of their boxes.
 *
 * No allocation: the caller owns all arrays.  Positions have `axes` coordinates, one behind the other.
 */
#ifndef PSE_BORDER_H
#define PSE_BORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_BORDER_AXES 8

/* `boxes` has, for each partition, the least and the greatest coordinates, the periods (0: not periodic), and
 * the distance: 3 * axes + 1 numbers.  A box whose least coordinate is beyond its greatest one is empty. */
typedef struct pse_border {
    const double *x, *boxes;
    int64_t rows, axes, partitions, here;
} pse_border;

enum { PSE_BORDER_NOT_FINITE = -1, PSE_BORDER_TOO_FAR = -2 };

/* List in `candidates` the rows that can be near any box, and count in `shown`, which is zero at first, how
 * many images each partition sees.  Returns how many candidates there are, or: a coordinate is not finite; or
 * some are so far out that more than 100 periods lie between them and a box. */
int64_t pse_kernels_border_count(const pse_border *border, int64_t *candidates, int64_t *shown);

/* Write an entry for each image: the row, the partition that sees it, and the periods by which it is moved
 * along each axis; by partition, then by these periods, then by row. */
void pse_kernels_border_list(const pse_border *border, const int64_t *candidates, int64_t count,
                             int64_t *list);

#ifdef __cplusplus
}
#endif
#endif
