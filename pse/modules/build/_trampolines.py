"""Trampolines: for each module of a compiled source a function `int pse_call_NAME(void **)` for the engine.

`pse_a[i]` is: for an array the pointer to its data; for a scalar that is only read a pointer to its value;
for other scalars the pointer that the function gets; for a string its characters; for a communicator a
pointer to its handle (Fortran's: an integer); then, for each dimension name, a pointer to an `int64_t`: the
function gets the value, and where it decides how many rows there are, the pointer.
The trampoline is compiled together with the user's source, so the compiler checks the user's prototype
against the directive; every argument has a line of its own, and `Trampolines.lines` says which, so that a
mismatch can be told in the directive's terms (`_compiler_messages.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pse.language.types import DYNAMIC, Element, Parameter, Record, Signature, record_of
from pse.modules.directives._interface import (
    by_value,
    field_type,
    passed_as,
    takes_communicator,
)
from pse.records import dataclass

PREFIX: Final = "pse_call_"
ERROR_TEXT: Final = "pse_error_text"
EXCEPTION_CODE: Final = -(2**31)
"""What a trampoline returns for an exception of C++; `pse_error_text` has its message."""


@dataclass(frozen=True)
class Layout:
    """What a line of a trampoline says of a struct: where a field is, its type, or the size of the whole."""

    record: Record
    field: str = ""
    offset: int = 0
    type: str = ""


@dataclass(frozen=True)
class Place:
    """What a line of a trampoline is about: an argument (or dimension name), a struct, or the call itself."""

    signature: Signature
    parameter: Parameter | None = None
    dimension: str | None = None
    result: bool = False
    layout: Layout | None = None


@dataclass(frozen=True)
class Trampolines:
    """The text of a trampoline file, and what its lines (from 1) are about."""

    text: str
    lines: dict[int, Place]


class _Writer:
    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines = list(lines)
        self.places: dict[int, Place] = {}

    def add(self, line: str, place: Place | None = None) -> None:
        self.lines.append(line)
        if place is not None:
            self.places[len(self.lines)] = place

    def finish(self) -> Trampolines:
        return Trampolines("\n".join(self.lines) + "\n", self.places)


_STRICT: Final = (
    "incompatible-pointer-types",
    "int-conversion",
    "pointer-sign",
    "discarded-qualifiers",
    "incompatible-pointer-types-discards-qualifiers",
    "conversion",
    "float-conversion",
)
"""Warnings that are errors in a trampoline (GCC's and Clang's names)."""


def write_c(signatures: Iterable[Signature], include: str, *, language: str, error_text: bool) -> Trampolines:
    """Write the trampolines of a C, C++ or Fortran source.

    Parameters
    ----------
    signatures : iterable of Signature
        The modules of the file.
    include : str
        What to include: the user's source, or the prototypes of a Fortran source.
    language : str
        "c", "c++" or "fortran" (whose trampolines are C).
    error_text : bool
        Whether the source defines `coven_error`.
    """
    cpp = language == "c++"
    signatures = tuple(signatures)
    writer = _Writer([f'#include "{include}"', "#include <stdint.h>"])
    if language != "fortran" and any(map(takes_communicator, signatures)):
        writer.add("#include <mpi.h>")
    for header in ("complex", "cxxabi.h", "exception", "string") if cpp else ():
        writer.add(f"#include <{header}>")
    writer.add('#pragma GCC diagnostic ignored "-Wpragmas"')
    writer.add('#pragma GCC diagnostic ignored "-Wunknown-warning-option"')
    for name in _STRICT:
        writer.add(f'#pragma GCC diagnostic error "-W{name}"')
    for name in ("sign-conversion", "unused-variable", "invalid-offsetof"):
        writer.add(f'#pragma GCC diagnostic ignored "-W{name}"')
    _layouts(writer, signatures, language)
    if cpp:
        writer.add("static thread_local std::string pse_exception_text;")
        writer.add('extern "C" {')
    for signature in signatures:
        _function_c(writer, signature, language)
    _error_text_c(writer, defined=error_text, cpp=cpp)
    if cpp:
        writer.add("}")
    return writer.finish()


def _records(signatures: Iterable[Signature]) -> list[tuple[Record, Signature]]:
    """Give the records of a file's directives, each with the first that has it."""
    used = [(record_of(p.type.element), s) for s in signatures for p in s.parameters]
    users = {record.name: (record, signature) for record, signature in reversed(used) if record is not None}
    return list(users.values())


def _layouts(writer: _Writer, signatures: Iterable[Signature], language: str) -> None:
    """Have the compiler compare the structs of the source with the records of its directives.

    Pointers to arrays of so many bytes differ in their types, which the compiler's message tells.
    """
    used = _records(signatures)
    if used:
        writer.add("#include <stddef.h>")
    for record, signature in used:
        name = record.name.lower() if language == "fortran" else record.name
        for layout in _all(record, language):
            field = layout.field.lower() if language == "fortran" else layout.field
            place = Place(signature, layout=layout)
            if layout.type:
                line = f"{layout.type} *pse_of_{name}_{field} = &(({name} *)0)->{field};"
            else:
                have = f"offsetof({name}, {field})" if field else f"sizeof({name})"
                line = f"char (*pse_at_{name}_{field})[{layout.offset + 1}] = (char (*)[{have} + 1])0;"
            writer.add(f"static {line}", place)


def _all(record: Record, language: str = "cython") -> Iterator[Layout]:
    """Give what is compared: where each field is, and its type in C; then the size of the whole."""
    for (field, element), offset in zip(record.fields, record.offsets, strict=True):
        yield Layout(record, field, offset)
        yield Layout(record, field, type=field_type(element, language))
    yield Layout(record, offset=record.size)


def _function_c(writer: _Writer, signature: Signature, language: str) -> None:
    cpp = language == "c++"
    name = f"{PREFIX}{signature.name}"
    writer.add(f"int {name}(void **pse_a);")
    writer.add(f"int {name}(void **pse_a) {{")
    writer.add("  (void)pse_a;")
    if cpp:
        writer.add("  try {")
    writer.add(f"  {'auto' if cpp else '__auto_type'} pse_code = {signature.name}(", Place(signature))
    arguments = _arguments(signature, language)
    for position, (text, place) in enumerate(arguments):
        writer.add(f"    {text}{',' if position + 1 < len(arguments) else ''}", place)
    writer.add("  );", Place(signature))
    writer.add("  int *pse_result = &pse_code;", Place(signature, result=True))
    writer.add("  return *pse_result;")
    if cpp:
        # Else pthread_exit() is taken for an exception that is not thrown on, which aborts.
        writer.add("#ifdef __GLIBCXX__")
        writer.add("  } catch (const abi::__forced_unwind &) { throw;")
        writer.add("#endif")
        writer.add("  } catch (const std::exception &pse_error) { pse_exception_text = pse_error.what(); }")
        writer.add('  catch (...) { pse_exception_text = "an exception that is not a std::exception"; }')
        writer.add("  return INT32_MIN;")
    writer.add("}")


def _arguments(signature: Signature, language: str) -> list[tuple[str, Place]]:
    listed = []
    for index, parameter in enumerate(signature.parameters):
        spelled = passed_as(parameter, language)
        read = by_value(parameter) and parameter.type.element is not Element.STRING
        text = f"*({spelled} const *)pse_a[{index}]" if read else f"({spelled})pse_a[{index}]"
        listed.append((text, Place(signature, parameter)))
    for index, dimension in enumerate(signature.dimensions, len(signature.parameters)):
        text = f"*(int64_t const *)pse_a[{index}]"
        if dimension.startswith(DYNAMIC):  # The function says how many rows it has filled.
            text = f"(int64_t *)pse_a[{index}]"
        listed.append((text, Place(signature, dimension=dimension)))
    return listed


def _error_text_c(writer: _Writer, *, defined: bool, cpp: bool) -> None:
    if not (defined or cpp):
        return
    writer.add(f"const char *{ERROR_TEXT}(int code);")
    writer.add(f"const char *{ERROR_TEXT}(int code) {{")
    if cpp:
        writer.add("  if (code == INT32_MIN) return pse_exception_text.c_str();")
    writer.add("  return (const char *)coven_error(code);" if defined else "  return nullptr;")
    writer.add("}")


def write_cython(signatures: Iterable[Signature], text: str, *, error_text: bool) -> Trampolines:
    """Append trampolines for `cdef` functions of a Cython source to its text (lines keep their numbers)."""
    writer = _Writer(text.rstrip("\n").split("\n"))
    writer.add("")
    writer.add(f"from libc.stdint cimport {', '.join(f'{name} as pse_{name}' for name in _STDINT)}")
    signatures = tuple(signatures)
    if any(map(takes_communicator, signatures)):
        writer.add("from mpi4py.libmpi cimport MPI_Comm as pse_MPI_Comm")
    _layouts_cython(writer, signatures)
    for signature in signatures:
        writer.add(
            f"cdef public int {PREFIX}{signature.name}(void **pse_a) noexcept nogil:", Place(signature)
        )
        writer.add(f"    return {signature.name}(", Place(signature))
        for line, place in _cython_arguments(signature):
            writer.add(f"        {line},", place)
        writer.add("    )", Place(signature))
    if error_text:
        writer.add(f"cdef public const char *{ERROR_TEXT}(int code) noexcept nogil:")
        writer.add("    return coven_error(code)")
    return writer.finish()


_COMPARED: Final = """
    #include <stddef.h>
    #define PSE_BYTES(have, want) (void)_Generic((char (*)[(have) + 1])0, char (*)[(want) + 1]: 0)
    #define PSE_SIZE(record, none, want) PSE_BYTES(sizeof(record), want)
    #define PSE_AT(record, field, want) PSE_BYTES(offsetof(__typeof__(record), field), want)
    #define PSE_OF(record, field, type) (void)_Generic(&((__typeof__(record) *)0)->field, type *: 0)
    """
"""Comparisons that the compiler refuses where they fail; its message has the type that there is."""


def _layouts_cython(writer: _Writer, signatures: Iterable[Signature]) -> None:
    """Have the C compiler compare structs with records, as macros get them from Cython."""
    places = [Place(s, layout=layout) for record, s in _records(signatures) for layout in _all(record)]
    if not places:
        return
    for line in ("cdef extern from * nogil:", *f'    """{_COMPARED}"""'.split("\n")):
        writer.add(line)
    for number, place in enumerate(places):
        layout = place.layout
        assert layout is not None, "made above"
        macro = "OF" if layout.type else "AT" if layout.field else "SIZE"
        writer.add(f'    void pse_same{number} "PSE_{macro}"({layout.record.name}, int, int)', place)
        writer.add(f'    int pse_field{number} "{layout.field or 0}"')
        writer.add(f'    int pse_want{number} "{layout.type or layout.offset}"')
    writer.add("cdef void pse_layouts() noexcept nogil:")
    for number, place in enumerate(places):
        one = f"(<{place.layout.record.name} *>NULL)[0]"  # type: ignore[union-attr]
        writer.add(f"    pse_same{number}({one}, pse_field{number}, pse_want{number})", place)


_STDINT: Final = ("int32_t", "int64_t", "uint8_t", "uint16_t")


def _cython_arguments(signature: Signature) -> list[tuple[str, Place]]:
    listed = []
    for index, parameter in enumerate(signature.parameters):
        spelled = passed_as(parameter, "cython")
        for name in (*_STDINT, "MPI_Comm"):
            spelled = spelled.replace(name, f"pse_{name}")
        read = by_value(parameter) and parameter.type.element is not Element.STRING
        text = f"(<{spelled} *>pse_a[{index}])[0]" if read else f"<{spelled}>pse_a[{index}]"
        listed.append((text, Place(signature, parameter)))
    for index, dimension in enumerate(signature.dimensions, len(signature.parameters)):
        text = f"<pse_int64_t *>pse_a[{index}]"
        text = text if dimension.startswith(DYNAMIC) else f"({text})[0]"
        listed.append((text, Place(signature, dimension=dimension)))
    return listed
