"""What the 64 bits of a record's field hold: two numbers, or the value of a counter."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from pse.trace.format._events import ValueKind

Array = npt.NDArray[Any]


def low32(values: Array) -> Array:
    """Low 32 bits of a field that holds two numbers.

    Parameters
    ----------
    values : array of uint64, shape (n,)
        Fields.

    Returns
    -------
    array of uint32, shape (n,)
        Their low halves.

    See Also
    --------
    high32
    """
    return (values & 0xFFFFFFFF).astype("<u4")


def high32(values: Array) -> Array:
    """High 32 bits of a field that holds two numbers.

    Parameters
    ----------
    values : array of uint64, shape (n,)
        Fields.

    Returns
    -------
    array of uint32, shape (n,)
        Their high halves.

    Examples
    --------
    >>> from pse.trace import pair
    >>> fields = np.array([pair(7, 3)], "<u8")
    >>> low32(fields), high32(fields)
    (array([7], dtype=uint32), array([3], dtype=uint32))
    """
    return (values >> 32).astype("<u4")


def distinct(values: Array) -> Array:
    """Different values, ascending: by sorting, which for long arrays is faster than NumPy's way.

    Parameters
    ----------
    values : array, shape (n,)
        Any that can be sorted.

    Returns
    -------
    array, shape (different values,)
        Each once.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: Array = ordered[is_first]
    return found


def bits_of(value: float) -> int:
    """Give the bits of a value of kind FLOATING.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    int
        Its 8 bytes as an unsigned number.

    Examples
    --------
    >>> hex(bits_of(1.0))
    '0x3ff0000000000000'
    """
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


def value_of(bits: int, kind: int) -> float:
    """Read bits as the kind says; what is of no known kind counts as UNSIGNED.

    Parameters
    ----------
    bits : int
        The 8 bytes as an unsigned number.
    kind : int
        A `ValueKind`.

    Returns
    -------
    int or float
        The value.

    Examples
    --------
    >>> value_of(bits_of(0.25), ValueKind.FLOATING), value_of(2**64 - 1, ValueKind.SIGNED)
    (0.25, -1)
    """
    if kind == ValueKind.FLOATING:
        value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
        return value
    return bits - 2**64 if kind == ValueKind.SIGNED and bits >> 63 else bits
