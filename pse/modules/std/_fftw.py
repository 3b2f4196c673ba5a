"""Fourier transforms along axes by FFTW, in blocks that stay in the cache levels.

The first transform of a kind measures how FFTW computes it fastest; what FFTW has learnt (its wisdom) is kept
in the cache directory, in a file for each kind of processor.  One process learns at a time, and others wait
for what it finds, so that the ranks of a node compute alike; where the cache can't be used, nobody measures.
Transforms that are longer than a block are not measured: that takes seconds, and gains little.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyfftw
from numpy.typing import NDArray
from pyfftw import FFTW

from pse import _cache
from pse._proc import processor_identity
from pse.files import replace_file
from pse.memory import strided_copy

Array = NDArray[Any]
Make = Callable[[], FFTW]
Place = tuple[slice, ...]

POINTS = 1 << 16
"""Numbers of a block, about."""
_NEAR = 1 << 13
"""Numbers of columns that are copied together: so few that they stay in the second cache."""
_ALIGNMENT = 32
"""Bytes at whose multiples the fastest plans want arrays to begin."""
_PAGE = 1 << 12
_CACHE_LINE = 1 << 6
_LINES = 1 << 25
"""Bytes of lines that columns are copied to: so many that whole pages are read, and that they are written
back past the caches."""
_PLANNER = threading.Lock()


def transform(x: Array, b: Array, axis: int, direction: str, axes: int = 1) -> None:
    """Transform contiguous arrays of the types that FFTW has, from `x` to `b`, which may be the same one."""
    first = axis % x.ndim
    several = range(first, first + axes)
    if axes > 1 and math.prod(x.shape[along] for along in several) > POINTS:
        for along in several:
            transform(x if along == first else b, b, along, direction)
        return
    source, target = (a.reshape(math.prod(a.shape[:first]), *a.shape[first:][:axes], -1) for a in (x, b))
    if _is_scattered(source) and source.dtype == target.dtype:
        _transform_lines(source, target, direction)
        return
    if source.ndim == 3 and _columns(*source.shape[1:]) < source.shape[-1] and source.dtype == target.dtype:
        _transform_near(source, target, direction)
        return
    plans: dict[object, FFTW] = {}
    for place in _blocks(source.shape, target.shape):
        one = source[place]
        other = one if b is x else target[place]
        kind = (one.shape, _aligned(one), _aligned(other))
        if kind not in plans:
            plans[kind] = _plan(one, other, direction)
        plans[kind](one, other)


def _is_scattered(array: Array) -> bool:
    """Whether each number of a column is on another page, of which a block has only a part."""
    n, behind, size = array.shape[1], array.shape[-1], array.itemsize
    return array.ndim == 3 and _columns(n, behind) * size < _PAGE <= behind * size


def _transform_lines(source: Array, target: Array, direction: str) -> None:
    """Transform columns as lines of another array: FFTW would go through all pages again and again."""
    n, behind = source.shape[1:]
    many = min(behind, max(_LINES // (n * source.itemsize), 1))
    apart = n + _CACHE_LINE // source.itemsize  # Else numbers of a column want the same places of a cache.
    lines = pyfftw.empty_aligned((many, apart), source.dtype, n=_CACHE_LINE)[:, :n]
    for one, other in zip(source, target, strict=True):
        for first in range(0, behind, many):
            columns, some = slice(first, first + many), lines[: behind - first]
            strided_copy(some, one[:, columns].T)
            transform(some, some, 1, direction)
            strided_copy(other[:, columns].T, some)


def _transform_near(source: Array, target: Array, direction: str) -> None:
    """Transform columns where they lie close together: far apart, all may want the same places of a cache."""
    n, behind = source.shape[1:]
    many = _columns(n, behind, _NEAR)
    memory = pyfftw.empty_aligned(n * many, source.dtype, n=_CACHE_LINE)
    for width in {many, behind % many or many}:
        block = memory[: n * width].reshape(1, n, width)
        near, plan = block[0], _plan(block, block, direction)
        plan.update_arrays(block, block)
        begins = range(0, behind - behind % many, many) if width == many else [behind - width]
        for one, other in zip(source, target, strict=True):
            for first in begins:
                strided_copy(near, one[:, first : first + width])
                plan()  # Backward, it divides as well.
                strided_copy(other[:, first : first + width], near)


def _columns(n: int, behind: int, points: int = POINTS) -> int:
    """Give how many columns of so many numbers are in a block."""
    return min(behind, max(points // n // 8 * 8, 8))


def _blocks(*shapes: tuple[int, ...]) -> Iterator[Place]:
    """Cut [before, …, behind] along the first axis and, where that is still too much, along the last one."""
    before, *_, behind = shapes[0]
    n, axes = max(math.prod(shape[1:-1]) for shape in shapes), (slice(None),) * (len(shapes[0]) - 2)
    columns = _columns(n, behind)
    rows = max(POINTS // (n * columns), 1) if columns == behind else 1
    for row in range(0, before, rows):
        for column in range(0, behind, columns):
            yield (slice(row, row + rows), *axes, slice(column, column + columns))


def _aligned(array: Array) -> int:
    """Give the largest power of two, as far as it counts, at whose multiple an array begins."""
    address = int(array.__array_interface__["data"][0])
    return min(address & -address, _ALIGNMENT)


def _plan(one: Array, other: Array, direction: str) -> FFTW:
    """Make a plan for arrays of this form: by what is known, else by measuring, which overwrites arrays."""
    make = functools.partial(_made, one, other, direction)
    if max(math.prod(array.shape[1:-1]) for array in (one, other)) > POINTS:
        return make("FFTW_ESTIMATE")
    known = functools.partial(make, "FFTW_MEASURE", "FFTW_WISDOM_ONLY")
    with contextlib.suppress(RuntimeError):
        return known()
    try:
        return _learnt(known, lambda: _measured(one, other, direction))
    except OSError:  # Each rank would measure for itself, and compute other last bits.
        return make("FFTW_ESTIMATE")


def _made(one: Array, other: Array, direction: str, *flags: str) -> FFTW:
    axes = range(1, one.ndim - 1)
    with _PLANNER:
        return FFTW(one, other, axes=axes, direction=direction, flags=flags)


def _measured(one: Array, other: Array, direction: str) -> FFTW:
    """Make a plan on other arrays of this form, which measuring overwrites."""
    source = _like(one)
    return _made(source, source if other is one else _like(other), direction, "FFTW_MEASURE")


def _like(array: Array) -> Array:
    """Make an array of another's form, which begins at a multiple of the same number of bytes."""
    size = array.dtype.itemsize
    span = 1 + sum(
        (extent - 1) * stride // size for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    first = _aligned(array) % _ALIGNMENT // size
    memory = pyfftw.empty_aligned(first + span, array.dtype, n=_CACHE_LINE)[first:]
    return np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)


def _learnt(known: Make, measure: Make) -> FFTW:
    """Plan by what other processes have learnt; else measure, and keep that."""
    folder = _cache.directory() / "fftw"
    folder.mkdir(parents=True, exist_ok=True)
    with _cache.locked(folder):
        kind = hashlib.sha256(processor_identity().encode()).hexdigest()[:16]
        _load(folder / kind)
        with contextlib.suppress(RuntimeError):
            return known()
        plan = measure()
        replace_file(folder / kind, b"\0".join(pyfftw.export_wisdom()))
        return plan


def _load(path: Path) -> None:
    """Take in what is kept; FFTW takes nothing of a part that is damaged."""
    usable = path.exists() and not _cache.distrust(path)
    parts = tuple(path.read_bytes().split(b"\0")) if usable else ()
    with _PLANNER:
        if len(parts) == len(pyfftw.export_wisdom()):
            pyfftw.import_wisdom(parts)
