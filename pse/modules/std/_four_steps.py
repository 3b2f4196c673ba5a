"""Modules of the one-dimensional transforms of `pse:fft.coven`, which work on a matrix of the numbers.

Of n = r * c numbers, number j1 * c + j2 is in row j1 and column j2.  Columns are transformed, then multiplied
by the factors that `twiddle` has, then rows: row k1 and column k2 is frequency k1 + r * k2 [1]_.  Of real
numbers rows 0 to r / 2 are enough, since frequency n - k is the conjugate of frequency k.

References
----------
.. [1] D. H. Bailey, "FFTs in external or hierarchical memory", Journal of Supercomputing 4 (1990) 23-35.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse import partition
from pse.language.types import block_range

Array = NDArray[Any]


def _own(extent: int) -> NDArray[np.int64]:
    """Give the indices that the partition has of the only axis that is cut, also where there is a grid."""
    return np.array(block_range(extent, partition.count, partition.index), np.int64)


# @ coven module twiddle(inout T a[h, m], in i64 r, in i64 c, in i64 sign)
def twiddle(a: Array, r: int, c: int, sign: int) -> None:
    """Multiply row k1 and column j2 by exp(sign * 2 pi i * k1 * j2 / n); the partition has some columns.

    Factors are products of those of some first rows and those of every so many rows: few exponentials.
    """
    columns, some = _own(c) * (sign * 2j * np.pi / (r * c)), math.isqrt(len(a)) + 1
    factors = np.exp(np.arange(some)[:, None] * columns)
    for first in range(0, len(a), some):
        rows = a[first : first + some]
        rows *= np.exp(first * columns) * factors[: len(rows)]


# @ coven module pair(in T b[h, c], in i64 m, out T e[h, 2 * m])
def pair(b: Array, m: int, e: Array) -> None:
    """Put the first m frequencies of row k1 beside those of row r - k1, which is its mirror image."""
    e[:, :m], e[:, m:] = b[:, :m], b[:, ::-1][:, :m].conj()


# @ coven module unfold(in T t[m, k], in i64 r, out T d[m, r])
def unfold(t: Array, r: int, d: Array) -> None:
    """Put columns k1 and r - k1, which stand beside each other, in their order."""
    half = r // 2 + 1
    d[:, :half] = t[:, ::2]
    d[:, half:] = t[:, 1::2][:, (r - 1) // 2 : 0 : -1]


# @ coven module fold(in T d[m, r], in i64 k, out T t[m, k])
def fold(d: Array, k: int, t: Array) -> None:
    """Put columns k1 and r - k1 beside each other."""
    r, first = d.shape[1], np.arange(k // 2)
    t[:, ::2], t[:, 1::2] = d[:, first], d[:, -first % r]


# @ coven module complete(in T e[h, k], in i64 r, in i64 c, out T b[h, c])
def complete(e: Array, r: int, c: int, b: Array) -> None:
    """Make whole rows of frequencies of the first ones of rows k1 and r - k1; the partition has some rows."""
    m = c // 2 + 1
    for row, k1 in enumerate(_own(r // 2 + 1)):
        given = (r * c // 2 - k1) // r + 1  # Frequencies above the middle are those of the mirror image.
        mirror = e[row, m:] if k1 else e[row, 1:m]
        b[row, :given] = e[row, :given]
        b[row, given:] = mirror[: c - given][::-1].conj()
