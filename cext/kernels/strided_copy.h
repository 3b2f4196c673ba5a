/* Copy one strided array to another of the same shape and element size.
 *
 * No allocation, no error: whatever the strides are, it only takes longer. */
#ifndef PSE_STRIDED_COPY_H
#define PSE_STRIDED_COPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dst[i, j, …] = src[i, j, …] for `ndim` (0 to 8) axes of extents `shape` (0 or more).  Strides are in bytes,
 * may be negative, and zero in `src`.  `dst` and `src` are the addresses of the first elements, aligned or
 * not.  The arrays don't overlap, nor do two elements of `dst`. */
void pse_kernels_strided_copy(char *dst, const int64_t *dst_strides, const char *src,
                              const int64_t *src_strides, const int64_t *shape, int ndim, size_t itemsize);

#ifdef __cplusplus
}
#endif
#endif
