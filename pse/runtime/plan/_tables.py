"""The plan's tables as NumPy arrays: the layout of cext/engine/plan.h, and a builder that fills them.

`projection` decides what goes in; this file only knows how it is stored. `test_tables` compares every
item size with the C side's.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pse._abi.elements import Element
from pse.runtime._sequencer import Plan
from pse.runtime.distribution._strided_copies import MAX_DIMS
from pse.runtime.plan._rows import TABLES, Row

_LAYOUT = np.dtype(
    [("dtype", "u1"), ("ndim", "u1"), ("reserved", "u2"), ("itemsize", "u4"),
     ("shape", "i8", MAX_DIMS), ("strides", "i8", MAX_DIMS)],
    align=True,
)  # fmt: skip

DTYPES = {
    "instructions": np.dtype([(name, "i4") for name in ("operation", "a", "b", "c")]),
    "terms": np.dtype(
        [("kind", "i4"), ("slot", "i4"), ("axis", "i4"), ("reserved", "i4"), ("bits", "i8")], align=True
    ),
    "expressions": np.dtype([("first", "i4"), ("count", "i4")]),
    "arguments": np.dtype(
        [("kind", "i4"), ("slot", "i4"), ("expression", "i4"), ("dtype", "u2"), ("ndim", "u2"),
         ("itemsize", "u4"), ("shape", "i4", MAX_DIMS), ("parts", "u4"), ("checked", "u4"),
         ("share_bytes", "u8"), ("share_offset", "u8"), ("text", "u8")],
        align=True,
    ),
    "moves": np.dtype(
        [("from", "u8"), ("to", "u8"), ("ndim", "u4"), ("itemsize", "u4"), ("shape", "i8", MAX_DIMS),
         ("from_strides", "i8", MAX_DIMS), ("to_strides", "i8", MAX_DIMS)],
        align=True,
    ),
    "parts": np.dtype(
        [("first_move", "i4"), ("moves", "i4"), ("bytes", "u8"), ("layout", _LAYOUT)], align=True
    ),
    "pushes": np.dtype(
        [("slot", "i4"), ("edge", "u4"), ("rank", "u4"), ("index", "u4"), ("part", "i4"), ("remote", "u1"),
         ("throttled", "u1"), ("contiguous", "u1"), ("again", "u1"), ("depth", "u4"), ("sharers", "u4")],
        align=True,
    ),
    "calls": np.dtype(
        [("kind", "i4"), ("site", "u4"), ("first_argument", "i4"), ("arguments", "i4"), ("first_push", "i4"),
         ("pushes", "i4"), ("first_release", "i4"), ("releases", "i4"), ("source", "i4"), ("target", "i4"),
         ("first_part", "i4"), ("parts", "i4"), ("combination", "i4"), ("alias", "u1"), ("silent", "u1"),
         ("ordered", "u1"), ("region", "u1"), ("clear", "u1"), ("lend", "u1"),
         ("function", "u8"), ("text", "u8")],
        align=True,
    ),
    "loops": np.dtype(
        [("id", "u4"), ("counter", "i4"), ("lower", "i4"), ("upper", "i4"), ("inflight", "i4"),
         ("body", "i4"), ("nested", "u1")],
        align=True,
    ),
    "countings": np.dtype(
        [(name, "u4") for name in ("first", "watched", "counted", "told", "relayed", "speaker", "top")]
    ),
    "regions": np.dtype([("partitions", "u4"), ("first_owner", "u4")]),
    "fibers": np.dtype([("body", "i4"), ("partition", "u4"), ("load", "u4"), ("reserved", "u4")]),
}  # fmt: skip


class Operation(enum.IntEnum):
    """Instructions (enum pse_operation)."""

    CALL, EXPECT, ASSIGN, DROP, SWAP, JUMP, JUMP_UNLESS, FORK, END, SPREAD, PAUSE = range(11)


class ArgumentKind(enum.IntEnum):
    """What a call's argument is (enum pse_argument_kind)."""

    READ, CHANGE, MAKE, SCALAR, RESULT, UPDATE, DIMENSION, TEXT, COMM = range(9)


class CallKind(enum.IntEnum):
    """Who executes a call (enum pse_call_kind)."""

    NATIVE, PYTHON, PUBLISH, ASSEMBLE, DUPLICATE, ZERO, COMBINE, FILL = range(8)


NO_LOAD = 0xFFFFFFFF
"""Where a fiber's CPU time is counted that belongs to no partition."""


class Tables:
    """A plan under construction: rows by table, and lists of numbers."""

    def __init__(self) -> None:
        self.rows: dict[type, list[Any]] = {kind: [] for kind in TABLES}
        self.releases: list[int] = []
        self.participants: list[int] = []
        self.forwards: dict[int, list[int]] = {}
        self.credits: dict[int, list[int]] = {}
        self.owners: list[int] = []
        self._texts: list[Any] = []

    def add(self, row: Row) -> int:
        """Append a row; gives its index in its table."""
        rows = self.rows[type(row)]
        rows.append(row)
        return len(rows) - 1

    def extend(self, kind: type, rows: Iterable[Row]) -> tuple[int, int]:
        """Append rows of one type; gives the index of the first, and their number."""
        table = self.rows[kind]
        first = len(table)
        table.extend(rows)
        return first, len(table) - first

    def text(self, text: str) -> int:
        """Keep a string for the life of the plan; gives its address."""
        buffer = ctypes.create_string_buffer(text.encode())
        self._texts.append(buffer)
        return ctypes.addressof(buffer)

    def release(self, slots: Sequence[int]) -> tuple[int, int]:
        """Append the slots that a call gives up; gives the index of the first, and their number."""
        first = len(self.releases)
        self.releases.extend(slots)
        return first, len(slots)

    def plan(
        self,
        numbers: dict[str, int],
        edge_sites: Sequence[int],
        edge_depths: Sequence[int],
        remote: Sequence[bool],
        ensemble: Sequence[int] = (),
    ) -> Plan:
        """Freeze the tables into a plan that the engine runs."""
        tables: dict[str, Any] = {
            name: _array(self.rows[kind], DTYPES[name]) for kind, name in TABLES.items()
        }
        tables["releases"] = _array(self.releases, np.dtype("i4"))
        tables["participants"] = _array(self.participants, np.dtype("u4"))
        tables["owners"] = _array(self.owners, np.dtype("u4"))
        tables["edge_sites"] = np.array(edge_sites, dtype="u4")
        for name, ranks in (("forward", self.forwards), ("credit", self.credits)):
            rows = [ranks.get(edge, []) for edge in range(len(edge_sites))]
            tables[f"{name}_first"] = np.cumsum([0, *map(len, rows)], dtype="u4")
            tables[f"{name}s"] = np.array(list(chain.from_iterable(rows)), dtype="u4")
        tables["edge_depths"] = np.array(edge_depths, dtype="u4")
        tables["remote"] = np.array(remote, dtype="u1")
        tables["ensemble"] = np.array(ensemble, dtype="u4")
        place = ensemble.index(numbers["rank"]) if ensemble else 0
        return Plan({**numbers, "place": place}, tables, self._texts)


def _array(rows: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.array(rows, dtype=dtype) if rows else np.empty(0, dtype=dtype)


def padded(values: Sequence[int]) -> tuple[int, ...]:
    """Fill up one number per axis to the largest number of axes."""
    return (*values, *(0,) * (MAX_DIMS - len(values)))


def itemsize(element: Element) -> int:
    """Bytes of one element; an object is stored as bytes."""
    return 1 if element is Element.OBJECT else np.dtype(element.value).itemsize
