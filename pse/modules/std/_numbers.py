"""Standard modules that compute with arrays: fill, random numbers, sums, products, norms, Fourier transforms.

Outside PARALLEL they see whole arrays on the root; inside, and where a program applies them to a distributed
tag, the piece of one partition, in which ghost cells don't count.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.modules._errors import ModuleError
from pse.modules.std._piece_layout import Pieces, runs

Array = NDArray[Any]
BLOCK = 1 << 16
"""Elements that are multiplied before they are added up."""
_SMALLEST_SQUARES = 1e-280
"""Below this, squares that are lost for being too small may count."""


def fill(value: Any, a: Array) -> None:
    """Give every element a value, ghost cells too."""
    a[...] = value


def random(seed: int, k: int, a: Array, *, pieces: Pieces | None = None) -> None:
    """Fill an array with numbers from 0 to 1 that depend on their place in the whole array only.

    They are those of ``numpy.random.Generator(numpy.random.Philox(key=[seed, k])).random(shape)``.
    """
    _fill_by_place(a, pieces, functools.partial(_uniform, seed, k, 0))


def random_normal(seed: int, k: int, a: Array, *, pieces: Pieces | None = None) -> None:
    """Fill an array with normally distributed numbers, mean 0 and variance 1, likewise.

    Two uniform numbers make two of them (Box and Muller's method).  The uniform ones are none of those that
    `random` gives: their counter begins where its own never comes.
    """
    _fill_by_place(a, pieces, functools.partial(_normal, seed, k))


def _fill_by_place(a: Array, pieces: Pieces | None, numbers: Callable[[int, int], Array]) -> None:
    """Fill an array from a sequence, of which `numbers` gives a first number and so many from there on."""
    shape, own = a.shape, a
    cells: Sequence[NDArray[np.int64]] = [np.arange(extent, dtype=np.int64) for extent in a.shape]
    if pieces is not None:
        a[...] = 0
        shape, cells, own = pieces.shape, pieces.mine, a[pieces.own]
    for place, first, offsets in runs(shape, cells):
        if offsets.size:
            made = numbers(first + int(offsets[0]), int(offsets[-1] - offsets[0]) + 1)
            own[place] = made[offsets - offsets[0]].reshape(own[place].shape)


def _uniform(seed: int, k: int, high: int, first: int, count: int) -> Array:
    """Give numbers `first` to `first + count` of the sequence; the counter makes four at a time."""
    key = np.array([seed, k], np.int64).view(np.uint64)
    bits = np.random.Philox(key=key, counter=[0, 0, 0, high])
    bits.advance(first // 4)
    return np.random.Generator(bits).random(first % 4 + count)[first % 4 :]


def _normal(seed: int, k: int, first: int, count: int) -> Array:
    pairs = _uniform(seed, k, 1, first - first % 2, count + first % 2 + (first + count) % 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log1p(-pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    made = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return made.ravel()[first % 2 :][:count]


def total(x: Array, *, pieces: Pieces | None = None) -> Any:
    """Add all elements: integers in 64 bits, reals and complex numbers in twice as many."""
    return _wide(_own(x, pieces)).sum()


def smallest(x: Array, *, pieces: Pieces | None = None) -> Any:
    """Find the smallest element; a NaN stays."""
    own = _own(x, pieces)
    _some("smallest", x, pieces)
    return own.min() if own.size else _limits(x.dtype)[1]


def largest(x: Array, *, pieces: Pieces | None = None) -> Any:
    """Find the largest element; a NaN stays."""
    own = _own(x, pieces)
    _some("largest", x, pieces)
    return own.max() if own.size else _limits(x.dtype)[0]


def dot(x: Array, y: Array, *, pieces: Pieces | None = None) -> Any:
    """Add the products of elements; those of `x` are conjugated."""
    _alike("dot", x, y)
    one, other = (_wide(_own(array, pieces)).ravel() for array in (x, y))
    starts = range(0, one.size, BLOCK)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [(one[i : i + BLOCK].conj() * other[i : i + BLOCK]).sum() for i in starts]
    return sum(parts, start=one.dtype.type(0))


def norm(x: Array, *, pieces: Pieces | None = None) -> float:
    """Give the Euclidean norm; where squares are too large or too small for a number, of scaled elements."""
    own = _own(x, pieces)
    squares = float(np.real(dot(own, own)))
    if not own.size or _SMALLEST_SQUARES < squares < math.inf:
        return math.sqrt(squares)
    sizes = np.abs(_wide(own))
    scale = float(sizes.max())
    return scale * math.sqrt(dot(sizes / scale, sizes / scale)) if 0 < scale < math.inf else scale


def histogram(
    x: Array, low: float, high: float, bins: int, counts: Array, *, pieces: Pieces | None = None
) -> None:
    """Count the elements in each bin; `high` is in the last one, and what is beyond the ends in none."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        message = f"histogram: there are no bins from {low:g} to {high:g}"
        raise ModuleError(message, help="give two numbers, the smaller one first")
    if bins < 1:
        raise ModuleError(f"histogram: there are no {bins:,} bins", help="give a number of at least 1")
    counts[...] = np.histogram(_own(x, pieces), bins, (low, high))[0]


def axpy(a: float, x: Array, y: Array) -> None:
    """Add a multiple of an array to another one, block by block: no array of that size is made."""
    _alike("axpy", x, y)
    for place in np.ndindex(x.shape[:-1]):
        for start in range(0, x.shape[-1], BLOCK):
            some = (*place, slice(start, start + BLOCK))
            y[some] += x.dtype.type(a) * x[some]


def _alike(name: str, x: Array, y: Array) -> None:
    """Refuse arrays of which modules have decided that they are not equally long."""
    if x.shape != y.shape:
        shapes = " and ".join(str(list(array.shape)) for array in (x, y))
        raise ModuleError(f"{name}: the arrays have the shapes {shapes}", help="give arrays of one shape")


def sum_along(x: Array, axis: int, y: Array) -> None:
    """Add along an axis."""
    x.sum(axis=axis, dtype=y.dtype, out=y)


def smallest_along(x: Array, axis: int, y: Array) -> None:
    """Find the smallest elements along an axis."""
    _some_along("smallest_along", x, axis)
    x.min(axis=axis, out=y)


def largest_along(x: Array, axis: int, y: Array) -> None:
    """Find the largest elements along an axis."""
    _some_along("largest_along", x, axis)
    x.max(axis=axis, out=y)


def _some_along(name: str, x: Array, axis: int) -> None:
    if x.shape[axis] == 0:
        raise ModuleError(f"{name}: the axis has no elements", help="give it an extent of at least 1")


def sort(x: Array, axis: int, y: Array) -> None:
    """Sort along an axis."""
    y[...] = x
    y.sort(axis=axis)


def matmul(a: Array, b: Array, c: Array) -> None:
    """Multiply matrices, by the BLAS that NumPy has."""
    np.matmul(a, b, out=c)


def fft(x: Array, axis: int, b: Array) -> None:
    """Transform along an axis, as `numpy.fft.fft` does."""
    _transform("fft", x.astype(b.dtype, copy=False), axis, b)


def ifft(x: Array, axis: int, b: Array) -> None:
    """Transform back along an axis, as `numpy.fft.ifft` does."""
    _transform("ifft", x.astype(b.dtype, copy=False), axis, b)


def rfft(x: Array, axis: int, b: Array) -> None:
    """Give half the spectrum of real numbers along an axis, as `numpy.fft.rfft` does."""
    _transform("rfft", x.astype(b.real.dtype, copy=False), axis, b)


def irfft(x: Array, n: int, axis: int, b: Array) -> None:
    """Give the `n` real numbers whose half spectrum is along an axis, as `numpy.fft.irfft` does."""
    _transform("irfft", x, axis, b)


def _transform(name: str, x: Array, axis: int, b: Array) -> None:
    if x.size == 0 or b.size == 0:
        b[...] = 0  # Half a spectrum of no numbers has a frequency.
        return
    try:
        from pse.modules.std._fftw import transform
    except ImportError:
        n = (b if name == "irfft" else x).shape[axis]
        getattr(np.fft, name)(x, n=n, axis=axis, out=b)
        return
    transform(np.ascontiguousarray(x), b, axis, "FFTW_BACKWARD" if name.startswith("i") else "FFTW_FORWARD")


def _own(x: Array, pieces: Pieces | None) -> Array:
    return x if pieces is None else x[pieces.own]


def _wide(x: Array) -> Array:
    """Give an array of the widest type of its kind."""
    wide = {"c": np.complex128, "f": np.float64}.get(x.dtype.kind, np.int64)
    return np.ascontiguousarray(x, wide)


def _some(name: str, x: Array, pieces: Pieces | None) -> None:
    if math.prod(x.shape if pieces is None else pieces.shape) == 0:
        raise ModuleError(f"{name}: the array has no elements", help="give it an extent of at least 1")


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Give what is not larger, and what is not smaller, than any value of a type."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min), dtype.type(limits.max)
