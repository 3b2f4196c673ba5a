"""How arrays lie in memory.

Made from cext/abi/memory.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MAX_DIMS = 8  # The most axes of an array.

# What the bytes of a block are.  Strides are in bytes.
LAYOUT_DTYPE = np.dtype(
    [
        ("dtype", "u1"),  # number of the element type: pse_dtype
        ("ndim", "u1"),
        ("reserved", "<u2"),
        ("itemsize", "<u4"),
        ("shape", "<i8", 8),
        ("strides", "<i8", 8),
    ]
)


class LayoutRow(NamedTuple):
    """What the bytes of a block are.  Strides are in bytes."""

    dtype: int
    ndim: int
    reserved: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
