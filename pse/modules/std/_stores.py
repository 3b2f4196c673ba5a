"""Zarr stores: directories with a file for each chunk of an array.

A partition writes whole chunks: their sizes follow the pieces, so that none has elements of two partitions.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse.modules._errors import ModuleError
from pse.modules.std._endings import package
from pse.modules.std._formats import DATASET, ArrayFile, Cells, Format, Store, no_such_array
from pse.text import exception_text, size_text

_LARGEST: Final = 16 << 20
"""Chunks have at most so many bytes, or one element."""

_SMALL: Final = 64 << 10
_MOST_SMALL: Final = 256
"""More than so many chunks must have so many bytes: a store of tiny files helps nobody."""

_METADATA: Final = {"zarr.json", ".zarray", ".zgroup"}
"""Files by which a store is known."""

_ELEMENTS: Final = "biufc"


def _whole_chunks(array: ArrayFile, cells: Iterable[Cells]) -> tuple[int, ...]:
    """Give the shape of the largest chunks that each belong to one partition; tiny ones are refused."""
    fitting = [0] * len(array.shape)
    for piece in cells:
        for axis, indices in enumerate(piece):
            fitting[axis] = math.gcd(fitting[axis], *_edges(indices, array.shape[axis]))
    chunk = [max(1, each or extent) for each, extent in zip(fitting, array.shape, strict=True)]
    for axis, each in enumerate(fitting):
        most = max(1, _LARGEST // (array.dtype.itemsize * math.prod(chunk[axis + 1 :])))
        chunk[axis] = _largest_divisor(each, most) if each else min(chunk[axis], most)
    _refuse_tiny(array, chunk)
    return tuple(chunk)


def _largest_divisor(number: int, most: int) -> int:
    return next(each for each in range(min(number, most), 0, -1) if number % each == 0)


def _refuse_tiny(array: ArrayFile, chunk: Sequence[int]) -> None:
    number = math.prod(-(-extent // each) for extent, each in zip(array.shape, chunk, strict=True))
    size = array.dtype.itemsize * math.prod(chunk)
    if number > _MOST_SMALL and size < _SMALL:
        raise ModuleError(
            f"{array.file}: chunks of one partition each would be {number:,}, of {size_text(size)}",
            help="let the number of partitions divide the array's extent along the axes that are cut, "
            "redistribute the array to @ block(0), or save it as .npy",
        )


def _edges(indices: NDArray[np.int64], extent: int) -> list[int]:
    """Give where runs of indices begin and end; the array's own end needs not be the end of a chunk."""
    if not indices.size:
        return []
    breaks = np.flatnonzero(np.diff(indices) != 1)
    edges = {int(indices[0]), int(indices[-1]) + 1, *indices[breaks + 1].tolist()}
    edges |= set((indices[breaks] + 1).tolist())
    return sorted(edges - {extent})


def _begin(store: str, array: ArrayFile) -> int:
    """Make a store without chunks."""
    if array.dtype.kind not in _ELEMENTS:
        message = f"{array.file}: zarr has no elements of type {array.dtype}"
        raise ModuleError(message, help="save it as .npy")
    if os.path.isdir(array.file) and not _is_store(array.file):
        help = "save to another name, or remove the directory"
        raise ModuleError(f"{array.file} can't be saved: it is a directory, and no zarr store", help=help)
    zarr = package(array.file, "zarr")
    zarr.create_array(store, shape=array.shape, dtype=array.dtype.str, chunks=array.chunk, zarr_format=3)
    return 0


def _is_store(directory: str) -> bool:
    return bool(_METADATA & set(os.listdir(directory)))


def _write(store: str, own: NDArray[Any], cells: Cells) -> None:
    """Write a piece, which has the elements of these indices along each axis: whole chunks."""
    made = package(store, "zarr").open_array(store, mode="r+")
    for places, box in _boxes(cells):
        made[box] = own[places]


def _boxes(cells: Cells) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Give the parts of a piece that are contiguous: where they are in it, and where in the array."""
    for parts in itertools.product(*(_runs(indices) for indices in cells)):
        yield (
            tuple(slice(first, end) for first, end, _ in parts),
            tuple(slice(at, at + end - first) for first, end, at in parts),
        )


def _runs(indices: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    ends = [0, *(np.flatnonzero(np.diff(indices) != 1) + 1).tolist(), indices.size]
    return [(first, end, int(indices[first])) for first, end in itertools.pairwise(ends) if end > first]


@contextmanager
def _opened(array: ArrayFile) -> Iterator[Any]:
    zarr = package(array.file, "zarr")
    try:
        content = zarr.open(array.file, mode="r")
        if isinstance(content, zarr.Group):
            content = _member(array, content)
    except (ModuleError, FileNotFoundError):  # zarr says of what is no store that there is no group.
        if os.path.isdir(array.file) and not _is_store(array.file):
            help = "a store has zarr.json in it: is it complete?"
            raise ModuleError(f"{array.file} can't be loaded: it is no zarr store", help=help) from None
        raise
    except Exception as failure:  # zarr raises what it happens on in metadata: KeyError, TypeError, …
        raise _damaged(array.file, "its metadata", failure) from None
    yield _Chunks(array.file, content)


def _member(array: ArrayFile, group: Any) -> Any:
    """Give the array of a group that the program wants."""
    names = sorted(group.array_keys())
    name = array.name or (names[0] if len(names) == 1 else DATASET)
    if name not in names:
        raise no_such_array(array, names, "array")
    return group[name]


class _Chunks:
    """An array whose damaged chunks are named."""

    def __init__(self, file: str, content: Any) -> None:
        self.file, self.content = file, content
        self.shape, self.dtype = tuple(content.shape), np.dtype(content.dtype)

    def __getitem__(self, box: tuple[slice, ...]) -> NDArray[Any]:
        try:
            return np.asarray(self.content[box])
        except Exception as failure:  # Each codec has errors of its own.
            parts = (part.indices(extent) for part, extent in zip(box, self.shape, strict=True))
            where = ", ".join(f"{first}:{end}" for first, end, _ in parts)
            raise _damaged(self.file, f"a chunk of [{where}]", failure) from None


def _damaged(file: str, what: str, failure: Exception) -> ModuleError:
    message = f"{file} can't be read: {what} is damaged ({exception_text(failure)})"
    return ModuleError(message, help="is it complete? Fetch it anew, or write it again")


ZARR: Final = Format(_opened, _begin, named=True, store=Store(_whole_chunks, _write))
