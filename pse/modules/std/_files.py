"""Arrays in files, for `save` and `load` of the standard library: .npy, and .h5 with h5py.

A file appears under its name complete or not at all: it is written beside it and renamed.  Pickled content is
never read.  Every failure names the file and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from pse.errors import DISK_FULL
from pse.modules._errors import ModuleError
from pse.modules.std._drafts import appearing, draft_name
from pse.text import ending_text

DATASET: Final = "data"
"""Name of the dataset in an HDF5 file."""

NPY: Final = {".npy"}

HDF5: Final = {".h5", ".hdf5"}


def save(file: str, array: np.ndarray) -> None:
    """Write an array.

    Parameters
    ----------
    file : str
        Its ending chooses the format: .npy, or .h5 (dataset ``data``).
    array : ndarray
        What to write, of any shape.

    Raises
    ------
    ModuleError
        If the file can't be written.
    """
    ending = ending_of(file, "save")
    with explained(file, "saved"), appearing(file) as number:
        draft = draft_name(file, number)
        if ending in HDF5:
            with h5py_for(file).File(draft, "w", locking=False) as opened:
                opened.create_dataset(DATASET, data=array)
        else:
            with open(draft, "wb") as opened:
                np.save(opened, array, allow_pickle=False)


def load_into(file: str, array: np.ndarray) -> None:
    """Read a file into an array.

    Parameters
    ----------
    file : str
        A .npy or .h5 file (its dataset ``data``, or the only one).
    array : ndarray
        Filled; its shape and element type must be the file's.

    Raises
    ------
    ModuleError
        If the file is missing, can't be read, or holds another shape or element type.
    """
    ending = ending_of(file, "load")
    with explained(file, "loaded"), opened(file, ending) as stored:
        compare(file, stored.shape, stored.dtype, array.shape, array.dtype)
        if ending not in HDF5:
            array[...] = stored
        elif array.size:
            stored.read_direct(array)


@contextmanager
def opened(file: str, ending: str) -> Iterator[Any]:
    """Open what a file holds: an array, or an HDF5 dataset, whose parts are read as they are asked for."""
    if ending not in HDF5:
        yield np.lib.format.open_memmap(file, mode="r")
        return
    with h5py_for(file).File(file, "r") as content:
        yield _dataset(file, content)


def ending_of(file: str, verb: str) -> str:
    """Give the ending that chooses the format; others are refused."""
    if os.path.isdir(file):
        raise ModuleError(
            f"{verb}: {file} is a directory", help=f'name a file in it: "{os.path.join(file, "a.npy")}"'
        )
    ending = os.path.splitext(file)[1].lower()
    if ending not in NPY | HDF5:
        raise ModuleError(f"{verb}: {ending_text(file, ['.npy', '.h5'])}", help="for example:  field.npy")
    return ending


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
        elif reason is None and done == "loaded":
            advice = "is it complete, and of the format that its ending says?"
        raise ModuleError(f"{file} can't be {done}: {reason or failure}", help=advice) from None


def _is_disk_full(failure: Exception) -> bool:
    """Say whether a file can't grow; errors of NumPy and h5py say it in their text only."""
    text = str(failure)
    if isinstance(failure, OSError):
        return failure.errno in DISK_FULL or text.endswith("written")
    return any(f"errno = {number}," in text for number in DISK_FULL)


def h5py_for(file: str) -> Any:
    """Give h5py; where it is not installed, say which file needs it."""
    try:
        import h5py
    except ImportError:
        raise ModuleError(
            f"{file} needs the package h5py", help="pip install 'pse[hdf5]', or use .npy"
        ) from None
    return h5py


def _dataset(file: str, opened: Any) -> Any:
    names = list(opened)
    name = DATASET if DATASET in names else names[0] if len(names) == 1 else None
    if name is None or not hasattr(opened[name], "read_direct"):
        listed = ", ".join(names[:10]) or "nothing"
        raise ModuleError(
            f"{file} has no dataset `{DATASET}`; it holds: {listed}",
            help=f'name one of them "{DATASET}", or keep only one in the file',
        )
    return opened[name]


def compare(
    file: str, shape: tuple[int, ...], dtype: np.dtype, due: tuple[int, ...], element: np.dtype
) -> None:
    """Refuse a file of another shape or element type than the program's."""
    stored = f"{dtype}[{', '.join(map(str, shape))}]"
    wanted = f"{element}[{', '.join(map(str, due))}]"
    if shape != due:
        help = f"declare the tag with the file's shape, [{', '.join(map(str, shape))}], or name another file"
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}", help=help)
    if dtype != element:
        help = "convert it with NumPy, or declare the tag with the file's element type"
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}", help=help)
