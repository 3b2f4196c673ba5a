"""Where the fields of structs lie: sizes and offsets as the C ABIs of x86-64 and aarch64 have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from abigen.model import Field, Struct, Table, TableError

NUMBERS = {
    "char": "S1", "int8_t": "i1", "uint8_t": "u1", "int16_t": "i2", "uint16_t": "u2", "int32_t": "i4",
    "uint32_t": "u4", "int64_t": "i8", "uint64_t": "u8", "double": "f8", "size_t": "u8", "int": "i4",
}  # fmt: skip
"""NumPy's code of every number that a field may be; it ends in the bytes."""


@dataclass(frozen=True)
class Place:
    """Where a field lies, in bytes."""

    offset: int
    size: int
    alignment: int


class Layouts:
    """Lays out the structs of all tables."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = list(tables)
        self._structs = {struct.name: (struct, table) for table in self.tables for struct in table.structs}
        self._constants = {row.name: row.value for table in self.tables for row in table.constants}
        self._pointers = {
            entry.name
            for table in self.tables
            for entry in table.entries
            if getattr(entry, "kind", "") == "pointer"
        }

    def home(self, ctype: str) -> Table:
        """Give the table of a struct."""
        return self._structs[ctype][1]

    def struct(self, ctype: str) -> Struct | None:
        """Give the struct that a type is, None for numbers and pointers."""
        return self._structs[ctype][0] if ctype in self._structs else None

    def code(self, ctype: str) -> str:
        """Give NumPy's code of a number or a pointer."""
        if ctype.endswith("*") or ctype in self._pointers:
            return "u8"
        if ctype not in NUMBERS:
            raise TableError(f"no type of a field: {ctype}")
        return NUMBERS[ctype]

    def length(self, field: Field) -> int:
        """Count the elements of a field."""
        return int(self._constants.get(field.length, field.length) or 1)

    def places(self, struct: Struct) -> dict[str, Place]:
        """Lay out a struct's fields."""
        found: dict[str, Place] = {}
        end = 0
        for field in struct.fields:
            size, alignment = self._extent(field)
            start = 0 if struct.kind == "union" else -(-end // alignment) * alignment
            found[field.name] = Place(start, size, alignment)
            end = start + size
        return found

    def size(self, struct: Struct) -> int:
        """Give the bytes of a struct."""
        places = self.places(struct).values()
        alignment = max(place.alignment for place in places)
        return -(-max(place.offset + place.size for place in places) // alignment) * alignment

    def _extent(self, field: Field) -> tuple[int, int]:
        """Give the bytes and the alignment of a field."""
        inner = self.struct(field.bare)
        if inner is None:
            size = alignment = int(self.code(field.bare)[1:])
        else:
            size = self.size(inner)
            alignment = max(place.alignment for place in self.places(inner).values())
        return size * self.length(field), max(alignment, field.alignment)


def numpy_type(field: Field, layouts: Layouts) -> str:
    """Give the type of a field's elements as NumPy writes it; characters are one text."""
    if field.bare == "char":
        return f"S{layouts.length(field)}"
    code = layouts.code(field.bare)
    return code if code.endswith("1") else f"<{code}"
