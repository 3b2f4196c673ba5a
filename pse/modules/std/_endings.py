"""The endings of names of files: which there are, and which packages `save` and `load` need for them.

Loads no NumPy: the launcher of a run asks before there are ranks.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any, Final

from pse.modules._errors import ModuleError
from pse.text import ending_text

READERS: Final = {
    ".npy": None,
    ".h5": "h5py",
    ".hdf5": "h5py",
    ".tif": "rasterio",
    ".tiff": "rasterio",
    ".nc": "netCDF4",
    ".raw": None,
    ".zarr": "zarr",
}
"""The package that reads files of each ending, where one must be installed."""

WRITERS: Final = READERS | {".nc": "h5py"}

STORES: Final = {".zarr"}
"""Endings of what is a directory."""

_EXTRAS: Final = {"h5py": "hdf5", "rasterio": "scenes", "netCDF4": "scenes", "zarr": "zarr"}


def require_format(file: str, verb: str) -> None:
    """Refuse to `save` or `load` a file whose name says no format, or one whose package is not installed.

    Parameters
    ----------
    file : str
        Its name; how it ends is enough.
    verb : str
        ``save`` or ``load``.

    Raises
    ------
    ModuleError
        With what to do.

    Examples
    --------
    >>> require_format("field.npy", "save")
    """
    name = (WRITERS if verb == "save" else READERS)[ending_of(file, verb)]
    if name is not None and importlib.util.find_spec(name) is None:
        raise _missing(file, name)


def require_shape(file: str) -> None:
    """Refuse to `load` an array of which the program leaves open how many rows it has from a raw file.

    Parameters
    ----------
    file : str
        Its name; how it ends is enough.

    Raises
    ------
    ModuleError
        With what to do.

    Examples
    --------
    >>> require_shape("field.npy")
    """
    if ending_of(file, "load") == ".raw":
        message = f"load: {file} does not say how many elements an array has"
        raise ModuleError(message, help="declare all extents of the array, or keep it as .npy")


def ending_of(file: str, verb: str) -> str:
    """Give the ending that chooses the format; others are refused."""
    ending = os.path.splitext(file)[1].lower()
    if os.path.isdir(file) and ending not in STORES:
        raise ModuleError(
            f"{verb}: {file} is a directory", help=f'name a file in it: "{os.path.join(file, "a.npy")}"'
        )
    if ending not in READERS:
        known = [one for one in READERS if one not in (".hdf5", ".tiff")]
        raise ModuleError(f"{verb}: {ending_text(file, known)}", help="for example:  field.npy")
    return ending


def package(file: str, name: str) -> Any:
    """Import an optional package; where it is not installed, say which file needs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise _missing(file, name) from None


def _missing(file: str, name: str) -> ModuleError:
    help = f"pip install 'pse[{_EXTRAS[name]}]', or use .npy"
    return ModuleError(f"{file} needs the package {name}", help=help)
