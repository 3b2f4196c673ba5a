"""What a directive asks of a function in each host language: argument order, C types, what isn't possible.

The order of the trampoline's arguments is fixed here: the declared parameters, then the dimension names. Pure
functions over ``pse.language`` types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pse._abi.elements import C_TYPES, CPP_TYPES, CYTHON_TYPES
from pse.language.types import (
    Direction,
    Element,
    Name,
    Parameter,
    Record,
    Signature,
    record_of,
    render_expression,
)

FORTRAN_TYPES: Final = {
    Element.I32: "integer(c_int32_t)",
    Element.I64: "integer(c_int64_t)",
    Element.F32: "real(c_float)",
    Element.F64: "real(c_double)",
    Element.C64: "complex(c_float_complex)",
    Element.C128: "complex(c_double_complex)",
    Element.BOOL: "logical(c_bool)",
}
"""What element types are in Fortran, which has no unsigned ones."""
_UNSIGNED: Final = {Element.U8: "integer(c_int8_t)", Element.U16: "integer(c_int16_t)"}
_SIGNED: Final = {Element.U8: "int8_t", Element.U16: "int16_t"}
"""What has their place in a derived type of Fortran: there, and in C."""


def host_type(element: Element, language: str) -> str:
    """Spell an element type in a host language (Fortran's trampoline is C, where names are in lower case)."""
    if (record := record_of(element)) is not None:
        return record.name.lower() if language == "fortran" else record.name
    if element is Element.COMM and language == "fortran":
        return "int"  # Fortran's handles are integers.
    return {"c++": CPP_TYPES, "cython": CYTHON_TYPES}.get(language, C_TYPES)[element]


def field_type(element: Element, language: str) -> str:
    """Spell in C the type of a struct's field, as a host language's compiler makes it."""
    if language == "cython":
        return CYTHON_TYPES[element] if element is Element.BOOL else C_TYPES[element]
    return _SIGNED.get(element, C_TYPES[element]) if language == "fortran" else host_type(element, language)


def struct_text(record: Record, language: str) -> str:
    """Write the struct that a record is in a host language."""
    if language == "fortran":
        types = FORTRAN_TYPES | _UNSIGNED
        fields = [f"{types[element]} :: {name}" for name, element in record.fields]
        return "; ".join([f"type, bind(c) :: {record.name}", *fields, "end type"])
    fields = [f"{host_type(element, language)} {name}" for name, element in record.fields]
    if language == "cython":
        return "\n    ".join([f"cdef struct {record.name}:", *fields])
    return f"typedef struct {{ {'  '.join(f'{field};' for field in fields)} }} {record.name};"


def takes_communicator(signature: Signature) -> bool:
    """Say whether a module gets a communicator from the engine."""
    return any(parameter.type.element is Element.COMM for parameter in signature.parameters)


def by_value(parameter: Parameter) -> bool:
    """Say whether a compiled function gets this parameter by value (scalars that it only reads)."""
    return parameter.type.scalar and parameter.direction is Direction.IN


def passed_as(parameter: Parameter, language: str) -> str:
    """Spell the C type in which a compiled function gets a parameter (`const double *`, `int64_t`)."""
    element = parameter.type.element
    assert element is not None, "refused by impossible()"
    if element is Element.STRING:
        return "const char *"
    spelled = host_type(element, language)
    if by_value(parameter):
        return spelled
    # Fortran has no const in its prototypes; intent(in) is the programmer's word there.
    const = "const " if parameter.direction is Direction.IN and language != "fortran" else ""
    return f"{const}{spelled} *"


def declared(parameter: Parameter) -> str:
    """Write a parameter as its directive does, without distribution and default: `out f64 v[nx + 2]`."""
    element = "T" if parameter.type.element is None else parameter.type.element.label
    shape = parameter.written
    axes = (
        "[...]"
        if shape is None
        else f"[{', '.join(render_expression(axis) for axis in shape)}]"
        if shape
        else ""
    )
    return f"{parameter.direction.value} {element} {parameter.name}{axes}"


def impossible(signature: Signature, language: str, *, arrays: bool) -> Iterator[tuple[Parameter, str, str]]:
    """Yield the parameters that a host language can't have, with what is wrong and what to do.

    Parameters
    ----------
    signature : Signature
        The directive.
    language : str
        Of the file.
    arrays : bool
        Whether the function is called with NumPy arrays (Python, pybind11, `def` in Cython).
    """
    for parameter in signature.parameters:
        if not arrays:
            yield from _impossible_compiled(parameter)


_TWO_AXES = (Name("m"), Name("n"))


def _impossible_compiled(parameter: Parameter) -> Iterator[tuple[Parameter, str, str]]:
    name, kind = parameter.name, parameter.type
    shape = _TWO_AXES if kind.shape is None else kind.shape
    compiled = declared(
        replace(parameter, type=replace(kind, element=kind.element or Element.F64, shape=shape))
    )
    if kind.element is None:
        yield (
            parameter,
            f"`{name}` is of any element type (T): a compiled module must name one",
            f"write for example:  {compiled}",
        )
    elif kind.element is Element.OBJECT:
        yield (
            parameter,
            f"`{name}` is an object: only modules in Python can have one",
            "declare an array or a scalar instead, or write this module in Python",
        )
    elif kind.shape is None:
        yield (
            parameter,
            f"`{name}` has any number of axes: a compiled module must name them",
            f"write for example:  {compiled}",
        )
    elif parameter.decided and parameter.capacity is None:
        yield (
            parameter,
            f"`{name}` has no capacity: a compiled module fills an array that is there already",
            f"say how many rows it has at most:  {name}[{parameter.decided} <= n]",
        )
    elif kind.element is Element.STRING and (kind.shape or parameter.direction is not Direction.IN):
        wrong = f"`{name}`: a compiled module can only read a string, and only a single one"
        yield parameter, wrong, "return strings from a module in Python"
