"""The plan's tables as NumPy arrays: the layout of cext/engine/plan.h, and a builder that fills them.

`projection` decides what goes in; this file only knows how it is stored. `test_tables` compares every
item size with the C side's.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pse._abi.elements import ELEMENT_CODES, Element
from pse.language.types import Apply, Binary, Expression, Name, Number, Unary
from pse.runtime._sequencer import Plan
from pse.runtime.distribution._strided_copies import MAX_DIMS, Move, strides

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

_INTEGER, _REAL, _SLOT, EXTENT = range(4)
_UNARY = {"-": 4, "not": 5}
_BINARY = {
    "+": 6, "-": 7, "*": 8, "/": 9, "%": 10, "**": 11, "<": 12, "<=": 13, ">": 14, ">=": 15, "==": 16,
    "!=": 17,
    "and": 18, "or": 19,
}  # fmt: skip
_FUNCTIONS = {
    "min": 20, "max": 21, "abs": 22, "sqrt": 23, "floor": 24, "ceil": 25, "log2": 26, "i64": 27, "f64": 28,
}  # fmt: skip


_SKIPS = {"and": 29, "or": 30}


class Tables:
    """A plan under construction: rows by table; each `add_…` returns the new row's index."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in DTYPES}
        self.releases: list[int] = []
        self.participants: list[int] = []
        self.forwards: dict[int, list[int]] = {}
        self.credits: dict[int, list[int]] = {}
        self.owners: list[int] = []
        self.regions: dict[str, int] = {}  # row of every set of partitions
        self._texts: list[Any] = []
        self._constants: dict[int | float, int] = {}

    def add(self, table: str, *row: Any) -> int:
        """Append a row as it is."""
        self.rows[table].append(row)
        return len(self.rows[table]) - 1

    def text(self, words: str) -> int:
        """Keep a string for the life of the plan; returns its address."""
        buffer = ctypes.create_string_buffer(words.encode())
        self._texts.append(buffer)
        return ctypes.addressof(buffer)

    def constant(self, value: int | float) -> int:
        """Give the expression that is a constant."""
        key = value if isinstance(value, int) else float(value)
        if isinstance(value, float) or key not in self._constants:
            index = self.expression(Number(value), lambda name: (_INTEGER, 0, 0))
            if isinstance(value, float):
                return index
            self._constants[key] = index
        return self._constants[key]

    def expression(self, tree: Expression, load: Callable[[str], tuple[int, int, int | float]]) -> int:
        """Store an expression; `load` gives (term kind, slot, constant) for a name."""
        first = len(self.rows["terms"])
        self._terms(tree, load)
        return self.add("expressions", first, len(self.rows["terms"]) - first)

    def _terms(self, tree: Expression, load: Callable[[str], tuple[int, int, int | float]]) -> None:
        match tree:
            case Number():
                self._number(tree.value)
            case Name():
                kind, slot, value = load(tree.id)
                if kind == _SLOT:
                    self.add("terms", _SLOT, slot, 0, 0, 0)
                elif kind == EXTENT:
                    self.add("terms", EXTENT, slot, int(value), 0, 0)
                else:
                    self._number(value)
            case Unary():
                self._terms(tree.operand, load)
                self.add("terms", _UNARY[tree.operator], 0, 0, 0, 0)
            case Binary():
                self._binary(tree, load)
            case Apply():
                self._apply(tree, load)
            case _:
                raise TypeError(f"no scalar expression: {tree}")

    def _binary(self, tree: Binary, load: Callable[[str], tuple[int, int, int | float]]) -> None:
        """Left, right, operator; before what `and` or `or` may leave out, a term that says how much it is."""
        self._terms(tree.left, load)
        skip = len(self.rows["terms"])
        if tree.operator in _SKIPS:
            self.add("terms", _SKIPS[tree.operator], 0, 0, 0, 0)
        self._terms(tree.right, load)
        last = self.add("terms", _BINARY[tree.operator], 0, 0, 0, 0)
        if tree.operator in _SKIPS:
            self.rows["terms"][skip] = (_SKIPS[tree.operator], last - skip, 0, 0, 0)

    def _apply(self, tree: Apply, load: Callable[[str], tuple[int, int, int | float]]) -> None:
        for place, argument in enumerate(tree.arguments):
            self._terms(argument, load)
            if len(tree.arguments) == 1 or place > 0:
                self.add("terms", _FUNCTIONS[tree.function], 0, 0, 0, 0)

    def _number(self, value: int | float) -> None:
        if isinstance(value, float):
            self.add("terms", _REAL, 0, 0, 0, np.float64(value).view(np.int64))
        else:
            self.add("terms", _INTEGER, 0, 0, 0, int(value))

    def part(self, moves: Sequence[Move], element: Element, shape: Sequence[int]) -> int:
        """Store what one buffer gives to another; the shape is that of the array which travels."""
        size, first = itemsize(element), len(self.rows["moves"])
        for move in moves:
            dims = (_padded(move.shape), _padded(move.source_strides), _padded(move.target_strides))
            self.add("moves", move.source, move.target, len(move.shape), size, *dims)
        layout = (
            ELEMENT_CODES[element], len(shape), 0, size, _padded(shape), _padded(strides(shape, size))
        )  # fmt: skip
        moved = size * sum(move.elements for move in moves)
        return self.add("parts", first, len(moves), moved, layout)

    def release(self, slots: Sequence[int]) -> tuple[int, int]:
        """Store the slots that a call gives up; returns (first, count)."""
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
        """Freeze the tables into a plan that the sequencer runs."""
        tables: dict[str, Any] = {name: _array(rows, DTYPES[name]) for name, rows in self.rows.items()}
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


def _padded(values: Sequence[int]) -> tuple[int, ...]:
    return (*values, *(0,) * (MAX_DIMS - len(values)))


def itemsize(element: Element) -> int:
    """Bytes of one element; an object is stored as bytes."""
    return 1 if element is Element.OBJECT else np.dtype(element.value).itemsize
