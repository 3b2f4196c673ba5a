"""Formats of files of arrays: how elements are found in one, and how one is begun.

A format has two functions.  `opened` gives what a file holds as something with `shape` and `dtype`, whose
parts are read as they are indexed: a window costs no more than the window.  `begin` makes a file that is as
long as it will be and gives where its elements begin: they follow each other in C order, uncompressed, in the
machine's byte order, so that ranks write them side by side without the format's library.  Where they don't,
the format has a `Store`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pse.modules._errors import ModuleError
from pse.modules.std._endings import package
from pse.records import dataclass

DATASET: Final = "data"
"""Name of the array in a file of named arrays, where the program names none."""


@dataclass(frozen=True)
class ArrayFile:
    """An array of the program, and the file that has it or will.

    Attributes
    ----------
    file : str
        Its name, as the program has it.
    shape, dtype
        What the program expects, or writes.
    name : str
        Which array of the file, where it holds several; empty: the only one.
    like : str
        Another file, whose georeference a new one gets; empty: none.
    chunk : tuple of int
        The shape of the parts that are written as a whole, in a `Store`.
    """

    file: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str = ""
    like: str = ""
    chunk: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """The size of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize


Cells = Sequence[NDArray[np.int64]]
"""The indices that a piece has along each axis."""


@dataclass(frozen=True)
class Store:
    """What a format has whose files are directories with a file for each chunk of the array.

    Attributes
    ----------
    chunk : callable
        Gives the shape of chunks that each belong to one partition, of whose cells it is told.
    write : callable
        Writes a piece into the directory.
    """

    chunk: Callable[[ArrayFile, Iterable[Cells]], tuple[int, ...]]
    write: Callable[[str, NDArray[Any], Cells], None]


@dataclass(frozen=True)
class Format:
    """How files of a format are read and begun; whether they have names of arrays, and a georeference."""

    opened: Callable[[ArrayFile], AbstractContextManager[Any]]
    begin: Callable[[str, ArrayFile], int]
    named: bool = False
    located: bool = False
    store: Store | None = None


def no_such_array(array: ArrayFile, names: list[str], what: str = "dataset") -> ModuleError:
    """Give the error of a file that has no array of the name, or several where none is named."""
    listed = ", ".join(names[:10]) or "nothing"
    wanted = array.name or DATASET
    one = f'name one of them:  load("{os.path.basename(array.file)}", "{names[0]}")' if names else None
    return ModuleError(
        f"{array.file} has no {what} `{wanted}`; it holds: {listed}", help=one or "is it the right file?"
    )


@contextmanager
def _opened_npy(array: ArrayFile) -> Iterator[Any]:
    yield np.lib.format.open_memmap(array.file, mode="r")


def _begin_npy(draft: str, array: ArrayFile) -> int:
    described = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    with open(draft, "wb") as opened:
        np.lib.format.write_array_header_1_0(opened, described)
        opened.truncate(opened.tell() + array.nbytes)
        return opened.tell()


@contextmanager
def _opened_raw(array: ArrayFile) -> Iterator[Any]:
    """Elements alone: shape and type are the program's."""
    size = os.path.getsize(array.file)
    if size != array.nbytes:
        message = f"{array.file} has {size} bytes; what the program expects has {array.nbytes}"
        help = "declare the tag with shape and element type of what was saved: a .raw file doesn't tell"
        raise ModuleError(message, help=help)
    empty = np.empty(array.shape, array.dtype) if not size else None
    yield np.memmap(array.file, array.dtype, "r", shape=array.shape) if empty is None else empty


def _begin_raw(draft: str, array: ArrayFile) -> int:
    os.truncate(draft, array.nbytes)
    return 0


@contextmanager
def _opened_hdf5(array: ArrayFile) -> Iterator[Any]:
    with package(array.file, "h5py").File(array.file, "r") as content:
        names = list(content)
        name = array.name or (names[0] if len(names) == 1 else DATASET)
        if name not in content or not hasattr(content[name], "read_direct"):
            raise no_such_array(array, names)
        yield content[name]


def _begin_hdf5(draft: str, array: ArrayFile) -> int:
    """Make a contiguous dataset, whose elements have places that are known."""
    h5py = package(array.file, "h5py")
    with h5py.File(draft, "w", locking=False) as opened:
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        kind, space = h5py.h5t.py_create(array.dtype, logical=True), h5py.h5s.create_simple(array.shape)
        made = h5py.h5d.create(opened.id, DATASET.encode(), kind, space, layout)
        return int(made.get_offset() or 0)


NPY: Final = Format(_opened_npy, _begin_npy)

RAW: Final = Format(_opened_raw, _begin_raw)

HDF5: Final = Format(_opened_hdf5, _begin_hdf5, named=True)
