"""The plan's tables as NumPy arrays, with the rows of cext/abi/plan.def, and a builder that fills them.

`projection` decides what goes in; this file only knows how it is stored.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pse._abi.elements import ELEMENT_CODES, MAX_DIMS, Element
from pse._abi.plan import DTYPES, PLAN_DTYPE, TABLES, Row
from pse.runtime._sequencer import Plan
from pse.text import text_bytes


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
        buffer = ctypes.create_string_buffer(text_bytes(text))
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
        record = np.zeros(1, PLAN_DTYPE)
        for name, table in tables.items():
            record[name] = table.ctypes.data
        for name, number in numbers.items():
            record[name] = number
        for name in ("pushes", "instructions", "ensemble"):
            record[f"{name}_count"] = len(tables[name])
        record["edges"] = len(edge_sites)
        record["place"] = ensemble.index(numbers["rank"]) if ensemble else 0
        return Plan(record, (tables, self._texts))


def _array(rows: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.array(rows, dtype=dtype) if rows else np.empty(0, dtype=dtype)


def padded(values: Sequence[int]) -> tuple[int, ...]:
    """Fill up one number per axis to the largest number of axes."""
    return (*values, *(0,) * (MAX_DIMS - len(values)))


def element_code(element: Element) -> int:
    """The element's number in C; the engine takes records for so many bytes."""
    return ELEMENT_CODES.get(element, 0)


def itemsize(element: Element) -> int:
    """Bytes of one element; an object is stored as bytes."""
    return 1 if element is Element.OBJECT else np.dtype(element.value).itemsize
