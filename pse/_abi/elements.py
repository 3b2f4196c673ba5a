"""Element types, what they are in C, C++, Cython, NumPy and the buffer protocol, and limits of arrays.

Made from cext/abi/elements.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import Enum

MAX_DIMS = 8  # The most axes of an array.
MAX_TEXT = 65536  # Longest string that an expression may build, in characters.
SMALLEST_ARENA = 262144  # Bytes that an arena needs at least for its own accounting.


class Element(Enum):
    """Element types of tags; the value is the name of NumPy's dtype, `label` the spelling in a program."""

    I32 = "int32"
    I64 = "int64"
    F32 = "float32"
    F64 = "float64"
    C64 = "complex64"
    C128 = "complex128"
    U8 = "uint8"
    U16 = "uint16"
    BOOL = "bool"
    STRING = "str"
    OBJECT = "object"  # stored as bytes
    COMM = "comm"

    @property
    def label(self) -> str:
        """Spelling in a program (`c128`)."""
        return self.name.lower()


ELEMENT_CODES = {
    Element.I32: 1,
    Element.I64: 2,
    Element.F32: 3,
    Element.F64: 4,
    Element.C64: 5,
    Element.C128: 6,
    Element.U8: 7,
    Element.U16: 8,
    Element.BOOL: 9,
    Element.OBJECT: 10,
}
"""Numbers of enum pse_dtype in C."""

TYPE_CODES = {
    "i4": 1,
    "i8": 2,
    "f4": 3,
    "f8": 4,
    "c8": 5,
    "c16": 6,
    "u1": 7,
    "u2": 8,
    "b1": 9,
}
"""The same, by NumPy's short names."""

FORMATS = (b"B", b"i", b"q", b"f", b"d", b"Zf", b"Zd", b"B", b"H", b"?", b"B")
"""Formats of the buffer protocol, by number."""

C_TYPES = {
    Element.I32: "int32_t",
    Element.I64: "int64_t",
    Element.F32: "float",
    Element.F64: "double",
    Element.C64: "float _Complex",
    Element.C128: "double _Complex",
    Element.U8: "uint8_t",
    Element.U16: "uint16_t",
    Element.BOOL: "_Bool",
    Element.COMM: "MPI_Comm",
}
"""What they are in C."""

CPP_TYPES = {
    Element.I32: "int32_t",
    Element.I64: "int64_t",
    Element.F32: "float",
    Element.F64: "double",
    Element.C64: "std::complex<float>",
    Element.C128: "std::complex<double>",
    Element.U8: "uint8_t",
    Element.U16: "uint16_t",
    Element.BOOL: "bool",
    Element.COMM: "MPI_Comm",
}
"""What they are in C++."""

CYTHON_TYPES = {
    Element.I32: "int32_t",
    Element.I64: "int64_t",
    Element.F32: "float",
    Element.F64: "double",
    Element.C64: "float complex",
    Element.C128: "double complex",
    Element.U8: "uint8_t",
    Element.U16: "uint16_t",
    Element.BOOL: "uint8_t",
    Element.COMM: "MPI_Comm",
}
"""What they are in Cython."""
