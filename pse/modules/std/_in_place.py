"""Modules of `pse:fft.coven` that transform complex numbers where they are, along axes that are not cut."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


# @ coven module forward(inout T a[...], in i64 axis, in i64 axes = 1)
def forward(a: Array, axis: int, axes: int) -> None:
    """Transform along an axis, or several from there on, as `numpy.fft.fftn` does."""
    _transform("fftn", a, axis, axes)


# @ coven module backward(inout T a[...], in i64 axis, in i64 axes = 1)
def backward(a: Array, axis: int, axes: int) -> None:
    """Transform back likewise, as `numpy.fft.ifftn` does."""
    _transform("ifftn", a, axis, axes)


def _transform(name: str, a: Array, axis: int, axes: int) -> None:
    if a.size == 0:
        return
    try:
        from pse.modules.std._fftw import transform
    except ImportError:
        a[...] = getattr(np.fft, name)(a, axes=range(axis, axis + axes))
        return
    transform(a, a, axis, "FFTW_FORWARD" if name == "fftn" else "FFTW_BACKWARD", axes)
