"""The text of a new module whose interface is known: it compiles as it is, and does nothing yet.

Pure text.  Fortran takes its arrays as they come, without extents: an extent of a directive may be an
expression.
"""

from __future__ import annotations

from collections.abc import Iterator

from pse.errors import UsageError
from pse.language.types import DYNAMIC, Direction, Parameter, Signature
from pse.modules.build._compiler_messages import prototype
from pse.modules.build._module_list import directive_text
from pse.modules.build._reserved_words import require_function_name, require_source_names
from pse.modules.directives._interface import FORTRAN_TYPES, impossible, takes_communicator


def module_text(signature: Signature, language: str) -> str:
    """Give the text of a module's source file.

    Parameters
    ----------
    signature : Signature
        The module's interface.
    language : str
        ``c``, ``c++``, ``cython``, ``fortran`` or ``python``.

    Returns
    -------
    str
        A file with the directive, and a function that fits it.

    Raises
    ------
    UsageError
        If that language can't have such a module, or not with these names.

    Examples
    --------
    >>> from pse.modules.build import choose_modules
    >>> step, = choose_modules("heat.c:step")
    >>> print(module_text(step.signature, "python"))
    \"\"\"step: one sentence on what this module computes.\"\"\"
    <BLANKLINE>
    <BLANKLINE>
    #@ coven module step(in f64 u[nx + 2, ny + 2], out f64 v[nx + 2, ny + 2], out f64 residual)
    def step(u, v):
        return 0
    <BLANKLINE>
    """
    writers = {"c": _c, "c++": _cpp, "cython": _cython, "fortran": _fortran, "python": _python}
    if language not in writers:
        help = f"choose {', '.join(writers)}, or start from the template: pse module new -l {language}"
        raise UsageError(f"there is no module in {language} for given ports", help=help)
    require_function_name(signature.name, language)
    require_source_names(_names(signature), language)
    for _, wrong, help in impossible(signature, language, arrays=language == "python"):
        raise UsageError(wrong, help=help)
    return writers[language](signature)


def _names(signature: Signature) -> list[str]:
    """Give the names that a source has of its directive."""
    dimensions = [name.removeprefix(DYNAMIC) for name in signature.dimensions]
    return [signature.name, *(parameter.name for parameter in signature.parameters), *dimensions]


def _sentence(signature: Signature) -> str:
    return f"{signature.name}: one sentence on what this module computes."


def _c(signature: Signature) -> str:
    return _braces(signature, "c", ("complex.h", "stdbool.h", "stdint.h"))


def _cpp(signature: Signature) -> str:
    return _braces(signature, "c++", ("complex", "cstdint"))


def _braces(signature: Signature, language: str, headers: tuple[str, ...]) -> str:
    needed = (*headers, "mpi.h") if takes_communicator(signature) else headers
    includes = "".join(f"#include <{name}>\n" for name in needed)
    body = "  // Return 0, or a code whose text `const char *coven_error(int code)` gives.\n  return 0;"
    directive = f"//@ coven module {directive_text(signature)}"
    function = f"{prototype(signature, language)} {{\n{body}\n}}\n"
    return f"// {_sentence(signature)}\n{includes}\n{directive}\n{function}"


def _cython(signature: Signature) -> str:
    head = f'"""{_sentence(signature)}"""\nfrom libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t\n\n\n'
    function = f"cdef {prototype(signature, 'cython')} noexcept nogil:\n    return 0\n"
    return f"{head}#@ coven module {directive_text(signature)}\n{function}"


def _python(signature: Signature) -> str:
    arrays = [p.name for p in signature.outputs if p.name not in _returned(signature)]
    given = ", ".join([*(p.name for p in signature.inputs), *arrays])
    result = ", ".join(_returned(signature).values()) or "None"
    function = f"def {signature.name}({given}):\n    return {result}\n"
    return f'"""{_sentence(signature)}"""\n\n\n#@ coven module {directive_text(signature)}\n{function}'


def _returned(signature: Signature) -> dict[str, str]:
    """Give what a Python function returns, by output: scalars, and arrays whose size it decides."""
    empty = {p.name: "[]" for p in signature.outputs if p.decided}
    return {p.name: empty.get(p.name, "0") for p in signature.outputs if p.type.scalar or p.decided}


def _fortran(signature: Signature) -> str:
    names = ", ".join(_names(signature)[1:])
    head = f'function {signature.name}({names}) result(code) bind(C, name="{signature.name}")'
    lines = [head, "  use, intrinsic :: iso_c_binding", "  implicit none", *_declarations(signature)]
    lines += ["  integer(c_int) :: code", "  code = 0", "end function"]
    directive = f"!@ coven module {directive_text(signature)}"
    return "\n".join([f"! {_sentence(signature)}", "", directive, *lines, ""])


def _declarations(signature: Signature) -> Iterator[str]:
    for parameter in signature.parameters:
        yield _declaration(parameter)
    for name in signature.dimensions:
        how = "intent(inout)" if name.startswith(DYNAMIC) else "value"
        yield f"  integer(c_int64_t), {how} :: {name.removeprefix(DYNAMIC)}"


def _declaration(parameter: Parameter) -> str:
    element = FORTRAN_TYPES.get(parameter.type.element) if parameter.type.element else None
    if element is None:
        label = parameter.type.element.label if parameter.type.element else "T"
        help = "write the module in C, or start from the template"
        raise UsageError(f"Fortran has no type for {label} here", help=help)
    if parameter.type.scalar and parameter.direction is Direction.IN:
        return f"  {element}, value :: {parameter.name}"
    intent = parameter.direction.value
    return f"  {element}, intent({intent}) :: {parameter.name}{'' if parameter.type.scalar else '(*)'}"
