"""Arrays in files, for `save` and `load` of the standard library: .npy, and .h5 with h5py.

A file appears under its name complete or not at all: it is written beside it and renamed.  Pickled content is
never read.  Every failure names the file and what to do.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from pse.modules._errors import ModuleError

DATASET: Final = "data"
"""Name of the dataset in an HDF5 file."""

_NPY: Final = {".npy"}
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_HDF5: Final = {".h5", ".hdf5"}


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
    ending = _ending(file, "save")
    with _explained(file, "saved"), _appearing(file) as draft:
        if ending in _HDF5:
            with _h5py(file).File(draft, "w") as opened:
                opened.create_dataset(DATASET, data=array)
        else:
            with draft.open("wb") as opened:
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
    ending = _ending(file, "load")
    with _explained(file, "loaded"):
        if ending in _HDF5:
            with _h5py(file).File(file, "r") as opened:
                stored = _dataset(file, opened)
                _compare(file, stored.shape, stored.dtype, array)
                if array.size:
                    stored.read_direct(array)
        else:
            stored = np.lib.format.open_memmap(file, mode="r")
            _compare(file, stored.shape, stored.dtype, array)
            array[...] = stored


def _ending(file: str, verb: str) -> str:
    if os.path.isdir(file):
        raise ModuleError(
            f"{verb}: {file} is a directory", help=f'name a file in it: "{os.path.join(file, "a.npy")}"'
        )
    ending = os.path.splitext(file)[1].lower()
    if ending not in _NPY | _HDF5:
        what = f"`{ending}` is not a known ending" if ending else "the name has no ending"
        raise ModuleError(f"{verb}: the format of {file} is unknown: {what}", help="use .npy or .h5")
    return ending


@contextmanager
def _explained(file: str, done: str) -> Iterator[None]:
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
        return failure.errno in _FULL or text.endswith("written")
    return any(f"errno = {number}," in text for number in _FULL)


@contextmanager
def _appearing(file: str) -> Iterator[Path]:
    """Give the name of a draft beside a file; rename it when it is complete, remove it when it fails."""
    descriptor, draft = tempfile.mkstemp(
        prefix=f".{os.path.basename(file)}.", dir=os.path.dirname(file) or "."
    )
    os.close(descriptor)
    try:
        yield Path(draft)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o666 & ~mask)
        os.replace(draft, file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _h5py(file: str) -> Any:
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
        raise ModuleError(f"{file} has no dataset `{DATASET}`; it holds: {listed}")
    return opened[name]


def _compare(file: str, shape: tuple[int, ...], dtype: np.dtype, array: np.ndarray) -> None:
    stored = f"{dtype}[{', '.join(map(str, shape))}]"
    wanted = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
    if shape != array.shape:
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}")
    if dtype != array.dtype:
        help = "convert it with NumPy, or declare the tag with the file's element type"
        raise ModuleError(f"{file} holds {stored}; the program expects {wanted}", help=help)
