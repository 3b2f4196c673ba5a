"""Arrays in files, for `save` and `load` of the standard library; the ending of a name chooses the format.

A file appears under its name complete or not at all: it is written beside it and renamed.  Pickled content is
never read.  Every failure names the file and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pse.errors import DISK_FULL, system_help
from pse.modules._errors import ModuleError
from pse.modules.std._drafts import appearing, appearing_folder, draft_name
from pse.modules.std._endings import ending_of, require_shape
from pse.modules.std._formats import HDF5, NPY, RAW, ArrayFile, Cells, Format
from pse.modules.std._geodata import GEOTIFF, NETCDF
from pse.modules.std._stores import ZARR

FORMATS: Final = {
    ".npy": NPY,
    ".h5": HDF5,
    ".hdf5": HDF5,
    ".tif": GEOTIFF,
    ".tiff": GEOTIFF,
    ".nc": NETCDF,
    ".raw": RAW,
    ".zarr": ZARR,
}

_WIDENED: Final = {"int8", "int16", "uint32"}
"""Element types that programs don't have."""


def save(file: str, array: np.ndarray, like: str = "") -> None:
    """Write an array.

    Parameters
    ----------
    file : str
        Its ending chooses the format, one of `FORMATS`.
    array : ndarray
        What to write, of any shape.
    like : str
        A file whose georeference a GeoTIFF or NetCDF file gets.

    Raises
    ------
    ModuleError
        If the file can't be written.
    """
    cells = [np.arange(extent) for extent in array.shape]
    due = ArrayFile(file, array.shape, array.dtype, like=like)
    format = format_of(due, "save")
    made = in_chunks(due, format, [cells])
    with explained(file, "saved"), appears(file, format) as number:
        draft = draft_name(file, number, format.store is not None)
        begin = format.begin(draft, made)
        if format.store:
            format.store.write(draft, array, cells)
        else:
            _write_whole(draft, array, begin)


def _write_whole(draft: str, array: np.ndarray, begin: int) -> None:
    with writable(draft) as descriptor:
        write(descriptor, np.ascontiguousarray(array), begin)


def appears(file: str, format: Format) -> AbstractContextManager[int]:
    """Begin a draft as the format needs it, a file or a directory; gives its number."""
    return appearing_folder(file) if format.store else appearing(file)


def in_chunks(array: ArrayFile, format: Format, cells: Iterable[Cells]) -> ArrayFile:
    """Add how large chunks are, if the format has some, to what is saved; `cells` are each partition's."""
    return replace(array, chunk=format.store.chunk(array, cells)) if format.store else array


def load_into(file: str, array: np.ndarray, name: str = "") -> None:
    """Read a file into an array.

    Parameters
    ----------
    file : str
        Its ending says its format, one of `FORMATS`.
    array : ndarray
        Filled; its shape and element type must be the file's.
    name : str
        Which array of the file, where it has several: ``data`` or the only one where none is named.

    Raises
    ------
    ModuleError
        If the file is missing, can't be read, or holds another shape or element type.
    """
    with loaded(ArrayFile(file, array.shape, array.dtype, name)) as stored:
        if array.size:
            array[...] = stored[tuple(slice(0, extent) for extent in array.shape)]


def load(file: str, name: str = "") -> np.ndarray:
    """Read the array of a file, whatever its shape.

    Parameters
    ----------
    file : str
        Its ending says its format, one of `FORMATS`, but not raw: such a file doesn't say what it holds.
    name : str
        Which array of the file, where it has several: ``data`` or the only one where none is named.

    Raises
    ------
    ModuleError
        If the file is missing, can't be read, or doesn't say its shape.
    """
    with as_it_is(file, name) as stored:
        found: np.ndarray = stored[(slice(None),) * len(stored.shape)]
        return found


@contextmanager
def as_it_is(file: str, name: str) -> Iterator[Any]:
    """Open what a file holds, whatever that is: see `load`."""
    unknown = ArrayFile(file, (), np.dtype(np.uint8), name)
    require_shape(file)
    format = format_of(unknown, "load")
    with explained(file, "loaded"), format.opened(unknown) as stored:
        yield stored


@contextmanager
def loaded(array: ArrayFile) -> Iterator[Any]:
    """Open what a file holds, if it is what is expected; parts of it are read as they are indexed."""
    format = format_of(array, "load")
    with explained(array.file, "loaded"), format.opened(array) as stored:
        compare(array.file, stored.shape, stored.dtype, array.shape, array.dtype)
        yield stored


@contextmanager
def writable(draft: str) -> Iterator[int]:
    """Open a draft for `write`."""
    descriptor = os.open(draft, os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write(descriptor: int, values: np.ndarray, at: int) -> None:
    """Write the elements of a contiguous array from a place on."""
    left = values.reshape(-1).view(np.uint8).data
    while left:
        done = os.pwrite(descriptor, left, at)
        left, at = left[done:], at + done


def format_of(array: ArrayFile, verb: str) -> Format:
    """Give the format that a name's ending says; others are refused, and what the format has not."""
    format = FORMATS[ending_of(array.file, verb)]
    if array.name and not format.named:
        message = f"load: {array.file} has one array, without names: there is no `{array.name}`"
        raise ModuleError(message, help=f'leave the name out:  load("{array.file}")')
    if array.like and not format.located:
        message = f"save: {array.file} has no georeference that could be that of {array.like}"
        raise ModuleError(message, help="save it as .tif or .nc, or leave `like` out")
    return format


@contextmanager
def explained(file: str, done: str) -> Iterator[None]:
    """Say of what fails which file it is, and what to do."""
    try:
        yield
    except FileNotFoundError:
        folder = os.path.dirname(file)
        missing = (
            f"there is no folder {folder}"
            if folder and not os.path.isdir(folder)
            else "there is no such file"
        )
        help = f"names of files are relative to where the program is run: {os.getcwd()}"
        raise ModuleError(f"{file} can't be {done}: {missing}", help=help) from None
    except (OSError, ValueError, EOFError, RuntimeError) as failure:
        reason, advice = getattr(failure, "strerror", None), None
        if done == "saved" and _is_disk_full(failure):
            reason = reason or "there is no space left for it"
            advice = "free some space there, or save to another disk"
        elif reason is not None:
            advice = system_help(failure, file, writing=done == "saved")
        elif "Python objects" in str(failure):
            advice = "arrays of Python objects are no data of other programs: save it with numbers in it"
        elif done == "loaded":
            advice = "is it complete, and of the format that its ending says?"
        raise ModuleError(f"{file} can't be {done}: {reason or failure}", help=advice) from None


def _is_disk_full(failure: Exception) -> bool:
    """Say whether a file can't grow; errors of NumPy and h5py say it in their text only."""
    text = str(failure)
    if isinstance(failure, OSError):
        return failure.errno in DISK_FULL or text.endswith("written")
    return any(f"errno = {number}," in text for number in DISK_FULL)


def compare(
    file: str, shape: tuple[int, ...], dtype: np.dtype, due: tuple[int, ...], element: np.dtype
) -> None:
    """Refuse a file of another shape or element type than the program's.

    What programs have no type for goes into one that has all of its values.
    """
    stored = f"{dtype}[{', '.join(map(str, shape))}]"
    wanted = f"{element}[{', '.join(map(str, due))}]"
    if shape != due:
        help = f"declare the tag with the file's shape, [{', '.join(map(str, shape))}], or name another file"
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}", help=help)
    if dtype != element and not (dtype.name in _WIDENED and np.can_cast(dtype, element)):
        help = "convert it with NumPy, or declare the tag with the file's element type"
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}", help=help)
