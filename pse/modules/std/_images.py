"""Real input for programs: the images and arrays of a directory, in grey, resampled to a square.

Resampling is NumPy's alone: the mean over the covered area where the picture shrinks, linear interpolation
where it grows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from pse.modules._errors import ModuleError
from pse.modules.std._image_folder import PICTURES, listing, pillow_missing

_LUMINANCE: Final = (0.299, 0.587, 0.114)


def read(where: str, k: int, n: int) -> np.ndarray:
    """Read the k-th image or array of a directory.

    Parameters
    ----------
    where : str
        A directory, or ``samples``.
    k : int
        Which one, from 0, in natural order; past the end it starts over.
    n : int
        The size to resample to.

    Returns
    -------
    ndarray, shape (n, n), float64 or complex128
        Values as stored (0 to 255 in 8-bit images).

    Raises
    ------
    ModuleError
        If the directory or its file can't be used.
    """
    if n < 1:
        raise ModuleError(
            f"source: the size of the image is {n} × {n} points; expected at least 1 × 1",
            help='give a size from 1:  source("frames", k, 256) -> image',
        )
    found = listing(where)
    return resample(grey(found[k % len(found)]), n)


def grey(path: Path) -> np.ndarray:
    """Read one file as an array with two axes, float64 or complex128.

    Raises
    ------
    ModuleError
        If it can't be read as an image or array.
    """
    try:
        array = _picture(path) if path.suffix.lower() in PICTURES else _array(path)
    except (OSError, ValueError, EOFError, SyntaxError, KeyError) as failure:
        raise ModuleError(
            f"source: {path} can't be read: {failure}",
            help="replace the file by a whole image or array, or take it out of the directory",
        ) from None
    if array.ndim == 3 and array.shape[2] in (1, 2, 3, 4):
        weights = _LUMINANCE if array.shape[2] >= 3 else (1.0,)
        array = array[..., : len(weights)] @ np.array(weights)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biufc":
        described = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
        raise ModuleError(
            f"source: {path} holds {described}; expected numbers with two axes, or three with colours",
            help="store each image as an array of numbers with two axes, or three with 1 to 4 colours",
        )
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _picture(path: Path) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError:
        raise pillow_missing(path) from None
    try:
        with Image.open(path) as image:
            return np.asarray(
                image.convert("RGB") if image.mode in ("P", "CMYK", "YCbCr", "LAB", "HSV") else image
            )
    except Image.DecompressionBombError as failure:
        raise ValueError(str(failure)) from None


def _array(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    with np.load(path, allow_pickle=False) as stored:
        arrays = [array for array in (stored[name] for name in stored.files) if array.dtype.kind in "biufc"]
    return max(arrays, key=lambda array: (min(array.ndim, 2), array.size), default=np.empty(0))


def resample(array: np.ndarray, n: int) -> np.ndarray:
    """Resample an array with two axes to n × n points."""
    return _resample_rows(_resample_rows(array, n).T, n).T


def _resample_rows(array: np.ndarray, n: int) -> np.ndarray:
    m = array.shape[0]
    if m == n:
        return array
    if (
        n < m
    ):  # Means over the covered stretch: differences of the running sum, which is linear between points.
        total = np.concatenate([np.zeros_like(array[:1]), np.cumsum(array, axis=0)])
        edges = _interpolate(total, np.arange(n + 1) * (m / n))
        return np.asarray(np.diff(edges, axis=0) * (n / m))
    return _interpolate(array, (np.arange(n) + 0.5) * (m / n) - 0.5)


def _interpolate(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Interpolate linearly along the first axis; past the ends the outermost value holds."""
    last = array.shape[0] - 1
    places = np.clip(places, 0, last)
    lower = np.minimum(places.astype(np.intp), max(last - 1, 0))
    fraction = (places - lower)[:, np.newaxis]
    return np.asarray(array[lower] * (1 - fraction) + array[np.minimum(lower + 1, last)] * fraction)


def as_elements(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert to an element type; integers are rounded and clipped, a real type gets the real part."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        array = np.clip(np.rint(array), limits.min, limits.max)
    return array.astype(dtype)
