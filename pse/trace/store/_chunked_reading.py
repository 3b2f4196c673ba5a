"""The records of a rank in chunks, of which only one is in memory at a time.

A mapped page counts as the process's memory once it was looked at.  Whoever goes once over a trace that is
larger than memory says so here, and what was read is given back behind the reader.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from pse.trace.format._field_values import Array

CHUNK = 1 << 18
"""Records in a chunk: 12 MiB."""
_POPULATE_READ = 22  # Linux 5.14: map a range at once instead of by faults.


def chunks(records: Array) -> Iterator[Array]:
    """Go over a contiguous array of records, at most `CHUNK` at a time.

    Pages of a mapped file are given back after each chunk; the array stays valid.

    Parameters
    ----------
    records : structured array, shape (records,)
        Of a mapped file, or in memory.

    Returns
    -------
    iterator of structured arrays
        Views of consecutive parts.

    Examples
    --------
    >>> sum(len(chunk) for chunk in chunks(trace.events(0))) == len(trace.events(0))
    True
    """
    mapping = _mapping(records)
    begin = _address(records) - _address(np.frombuffer(mapping, "u1")) if mapping is not None else 0
    for at in range(0, len(records), CHUNK):
        chunk = records[at : at + CHUNK]
        first = begin + at * records.itemsize
        if mapping is not None:
            _advise(mapping, _POPULATE_READ, first, chunk.nbytes)
        yield chunk
        if mapping is not None:
            _advise(mapping, mmap.MADV_DONTNEED, first, chunk.nbytes)


def _mapping(records: Array) -> mmap.mmap | None:
    """The mapped file that an array lies in, as `numpy.memmap` made it; None for memory of its own."""
    base: Any = records
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _advise(mapping: mmap.mmap, advice: int, begin: int, length: int) -> None:
    """Pages that only a part of lies in the range belong to it."""
    page = mmap.PAGESIZE
    first = begin // page * page
    with contextlib.suppress(OSError):  # An older kernel; it is only advice.
        mapping.madvise(advice, first, min(begin + length, len(mapping)) - first)
