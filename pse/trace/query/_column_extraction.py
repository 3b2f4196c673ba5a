"""Rows of tables from records: which field goes where, said once; a kernel in C does it."""

from __future__ import annotations

import numpy as np

from pse.trace._reading import MOVE_BITS, MOVE_TIME, extract
from pse.trace.format._events import EVENT_DTYPE, EventType
from pse.trace.format._field_values import Array
from pse.trace.store._chunked_reading import chunks
from pse.trace.store._rank_file import MOST_TYPES, as_bytes
from pse.trace.store._trace_files import TraceFiles


class Extraction:
    """How records become the rows of a table.

    Parameters
    ----------
    dtype : numpy.dtype
        Of a row.  Fields that nothing is said about are 0.
    sources : str
        For each field of a row what it is made of: a field of the record, ``c.low`` or ``c.high`` for its
        halves, ``flags&N`` for whether any bit of N is set, ``time(b)`` for a time of the rank's clock.
    """

    def __init__(self, dtype: np.dtype[np.void], **sources: str) -> None:
        self.dtype = dtype
        self._times = [field for field, source in sources.items() if source.startswith("time(")]
        self._moves = np.array([_move(dtype, *item) for item in sources.items()], "<u2").reshape(-1, 4)

    def rows(self, trace: TraceFiles, *types: EventType, of_writer: str = "rank", **constants: int) -> Array:
        """The rows of all ranks' records of these types, by rank, then in the order of writing.

        Parameters
        ----------
        trace : TraceFiles
            Where the records are.
        types : EventType
            Which become rows.
        of_writer : str
            The field that gets the rank that recorded it.
        constants : int
            Fields that are the same in all rows.
        """
        row, wanted = np.zeros(1, self.dtype), np.zeros(MOST_TYPES, "u1")
        for name, value in constants.items():
            row[name] = value
        wanted[list(types)] = 1
        counts = record_counts(trace, *types)
        rows, begin = np.empty(sum(counts), self.dtype), 0
        for rank, count in zip(trace.ranks, counts, strict=True):
            row[of_writer] = rank
            self._fill(trace, rank, wanted, row, rows[begin : begin + count])
            begin += count
        return rows

    def _fill(self, trace: TraceFiles, rank: int, wanted: Array, row: Array, rows: Array) -> None:
        file, shift, at, made = trace.files[rank], trace.clock.shift(rank), 0, 0
        for chunk in chunks(file.events) if len(rows) else ():
            types, room = file.types[at : at + len(chunk)], as_bytes(rows[made:])
            made += extract(as_bytes(chunk), types, wanted, as_bytes(row), self._moves, shift or 0, room)
            at += len(chunk)
        if shift is None:
            for field in self._times:
                rows[field] = trace.run_times(rank, rows[field])


def record_counts(trace: TraceFiles, *types: EventType) -> list[int]:
    """How many records of these types each rank has."""
    return [sum(trace.files[rank].counts[kind] for kind in types) for rank in trace.ranks]


def _move(dtype: np.dtype[np.void], field: str, source: str) -> tuple[int, int, int, int]:
    """What the kernel does for one field: kind, offset in the record, offset in the row, mask."""
    width, to = dtype[field].itemsize, _offset(dtype, field)
    if source.startswith("time("):
        return MOVE_TIME, _offset(EVENT_DTYPE, source[5:-1]), to, 0
    if "&" in source:
        name, mask = source.split("&")
        return MOVE_BITS, _offset(EVENT_DTYPE, name), to, int(mask)
    name, _, half = source.partition(".")
    return width, _offset(EVENT_DTYPE, name) + (4 if half == "high" else 0), to, 0


def _offset(dtype: np.dtype[np.void], field: str) -> int:
    assert dtype.fields is not None
    return dtype.fields[field][1]
