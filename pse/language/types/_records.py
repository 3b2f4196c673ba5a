"""Record types: a struct of scalars, laid out in memory as C lays it out; arrays have them as elements.

A record stands wherever an element type does, and has the same `name`, `value` and `label`.
"""

from __future__ import annotations

from typing import Any, cast

from pse.language.types._types import Element
from pse.records import dataclass

FIELD_BYTES = {
    Element.I32: 4,
    Element.I64: 8,
    Element.F32: 4,
    Element.F64: 8,
    Element.C64: 8,
    Element.C128: 16,
    Element.U8: 1,
    Element.U16: 2,
    Element.BOOL: 1,
}
"""What a field can be, and its size."""
_COMPLEX = (Element.C64, Element.C128)


@dataclass(frozen=True)
class Record:
    """A record type: its name, and the names and types of its fields in their order.

    Parameters
    ----------
    name : str
        What programs and modules call it.
    fields : tuple of (str, Element)
        Name and type of each field.

    Examples
    --------
    >>> body = record_type("Body", (("kind", Element.I32), ("mass", Element.F64)))
    >>> body.label, body.offsets, body.size
    ('Body', (0, 8), 16)
    """

    name: str
    fields: tuple[tuple[str, Element], ...]

    @property
    def label(self) -> str:
        """Spelling in a program."""
        return self.name

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each field begins, in bytes: each at a multiple of its alignment."""
        found, end = [], 0
        for _, element in self.fields:
            begin = _rounded(end, _alignment(element))
            found.append(begin)
            end = begin + FIELD_BYTES[element]
        return tuple(found)

    @property
    def size(self) -> int:
        """Bytes of a record, with what fills it up to its alignment."""
        end = self.offsets[-1] + FIELD_BYTES[self.fields[-1][1]]
        return _rounded(end, max(_alignment(element) for _, element in self.fields))

    @property
    def value(self) -> Any:
        """What `numpy.dtype` makes of it."""
        names, elements = zip(*self.fields, strict=True)
        formats = [element.value for element in elements]
        return {
            "names": list(names),
            "formats": formats,
            "offsets": list(self.offsets),
            "itemsize": self.size,
        }


_KNOWN: dict[tuple[object, ...], Record] = {}


def record_type(name: str, fields: tuple[tuple[str, Element], ...]) -> Element:
    """Give the one record type of a name and fields, so that element types are compared by `is`.

    Parameters
    ----------
    name : str
        What programs and modules call it.
    fields : tuple of (str, Element)
        Name and type of each field.

    Returns
    -------
    Element
        The `Record`.

    Examples
    --------
    >>> record_type("Point", (("x", Element.F64),)) is record_type("Point", (("x", Element.F64),))
    True
    """
    found = _KNOWN.setdefault((name, fields), Record(name, fields))
    return cast(Element, found)  # Signatures of the language say Element, and few ask for more than it has.


def record_of(element: Element | None) -> Record | None:
    """Give the record that an element type is.

    Parameters
    ----------
    element : Element or None
        The type.

    Returns
    -------
    Record or None
        None if it is no record.

    Examples
    --------
    >>> record_of(record_type("Point", (("x", Element.F64),))).label, record_of(Element.F64)
    ('Point', None)
    """
    found: object = element
    return found if isinstance(found, Record) else None


def difference(one: Element | None, other: Element | None) -> str | None:
    """Say where two record types of one name differ; None for other types."""
    first, second = record_of(one), record_of(other)
    if first is None or second is None or first.name != second.name:
        return None
    for place in range(max(len(first.fields), len(second.fields))):
        here, there = (r.fields[place] if place < len(r.fields) else None for r in (first, second))
        if here != there:
            return f"field {place + 1} is {_field(here)} in the one and {_field(there)} in the other"
    return None


def _field(field: tuple[str, Element] | None) -> str:
    return f"`{field[1].label} {field[0]}`" if field else "missing"


def _alignment(element: Element) -> int:
    return FIELD_BYTES[element] // 2 if element in _COMPLEX else FIELD_BYTES[element]


def _rounded(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
