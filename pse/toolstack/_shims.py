"""The C text for one MPI library: what is known of its routines, and the shims for large counts.

A shim for ``X_c`` calls a tool's ``X`` where all counts fit an int, and the next lower ``X_c`` where one
doesn't.  Its text follows from the two prototypes alone, but for the lengths of arrays, which no prototype
tells (`_length`), and for routines whose outputs may be too large (`_QUERIES`).  ``shims/shims.h`` says
how a shim knows its layer.
"""

from collections.abc import Collection, Iterator
from dataclasses import field

from pse.records import dataclass
from pse.toolstack._mpi_header import Header, Parameter, Prototype

# The counts of these pass through functions that the caller hands over: too late to choose.
WITHOUT_SHIM = frozenset({"MPI_Op_create_c", "MPI_Register_datarep_c"})

# Routines without effect that say MPI_UNDEFINED where their answer doesn't fit: X_c is asked then.
_QUERIES = frozenset(
    {"MPI_Get_count", "MPI_Get_elements", "MPI_Pack_size", "MPI_Type_size", "MPI_Win_shared_query"}
)

# Where X_c has a parameter more, which X can't do without: it must be this for X to be called.
_EXTRA = {
    "max_large_counts": "max_large_counts != 0",
    "array_of_large_counts": "",
    "num_large_counts": "pse_toolstack_type_is_large(layer->below, datatype)",
}
_WIDE = ("MPI_Count", "MPI_Aint")


def text(header: Header, exported: Collection[str]) -> str:
    """Write the C text for the routines that are both declared and exported."""
    routines = [header.prototypes[name] for name in sorted(set(exported) & set(header.prototypes))]
    pairs = [
        (large, header.prototypes[large.name.removesuffix("_c")])
        for large in routines
        if has_shim(large, header)
    ]
    shims = "\n".join(_shim(large, small) for large, small in pairs)
    rows = "\n".join(_row(routine, header) for routine in routines)
    return (
        f'#include "shims_mpi.h"\n\n{shims}\n'
        f"const struct routine_signature pse_toolstack_signatures[] = {{\n{rows}\n}};\n"
        f"const int pse_toolstack_signature_count = {len(routines)};\n"
    )


def has_shim(routine: Prototype, header: Header) -> bool:
    """Whether a routine is a large-count form that can be turned into the other one."""
    small = routine.name.removesuffix("_c")
    return routine.name != small and small in header.prototypes and routine.name not in WITHOUT_SHIM


def _row(routine: Prototype, header: Header) -> str:
    communicator = -1 if routine.communicator is None else routine.communicator
    shim = f"(pse_function)shim_{routine.name}" if has_shim(routine, header) else "NULL"
    lasting = str(has_shim(routine, header) and _lasts(routine)).lower()
    return f'    {{"{routine.name}", "{header.letters(routine)}", {communicator}, {shim}, {lasting}}},'


def _lasts(routine: Prototype) -> bool:
    """Whether MPI may read arrays of counts after the call has returned."""
    arrays = any(_is_input_array(parameter) for parameter in routine.parameters)
    return arrays and len(routine.requests) > 0


def _is_input_array(parameter: Parameter) -> bool:
    return parameter.base in _WIDE and parameter.type.startswith("const ") and parameter.is_pointer


@dataclass
class _Conversion:
    """How the arguments of X_c become those of X, in C."""

    arguments: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # declarations, which may set narrow.refused
    after: list[str] = field(default_factory=list)  # outputs on their way up
    unknown: list[str] = field(default_factory=list)  # outputs that X may have found too large

    def scalar(self, parameter: Parameter) -> None:
        self.arguments.append(f"pse_{parameter.name}")
        self.before.append(f"int pse_{parameter.name} = pse_toolstack_int(&narrow, {parameter.name});")

    def array(self, parameter: Parameter, length: str) -> None:
        self.arguments.append(f"pse_{parameter.name}")
        self.before.append(
            f"const int *pse_{parameter.name} = pse_toolstack_ints(&narrow, {parameter.name}, {length});"
        )

    def output(self, parameter: Parameter) -> None:
        name, local = parameter.name, f"pse_{parameter.name}"
        start = f"{name} ? pse_toolstack_int(&narrow, *{name}) : 0" if name == "position" else "0"
        self.arguments.append(f"{name} ? &{local} : NULL")
        self.before.append(f"int {local} = {start};")
        self.after.append(f"if ({name})\n        *{name} = {local};")
        self.unknown.append(f"{local} == MPI_UNDEFINED")


def _convert(large: Prototype, small: Prototype) -> _Conversion:
    conversion = _Conversion()
    known = _counterparts(large, small)
    for parameter in large.parameters:
        if parameter.name not in known:
            _leave_out(conversion, parameter)
        elif known[parameter.name].base != "int" or parameter.base == "int":
            cast = parameter.base in _WIDE and parameter.is_pointer
            conversion.arguments.append(f"({known[parameter.name].type})" * cast + parameter.name)
        elif not parameter.is_pointer:
            conversion.scalar(parameter)
        elif _is_input_array(parameter):
            conversion.array(parameter, _length(large, parameter.name))
        else:
            conversion.output(parameter)
    return conversion


def _counterparts(large: Prototype, small: Prototype) -> dict[str, Parameter]:
    """Find the parameter of X for each one of X_c: by place, or by name where X_c has some more."""
    if len(large.parameters) == len(small.parameters):
        return {of.name: to for of, to in zip(large.parameters, small.parameters, strict=True)}
    return {parameter.name: parameter for parameter in small.parameters}


def _leave_out(conversion: _Conversion, parameter: Parameter) -> None:
    if condition := _EXTRA[parameter.name]:
        conversion.before.append(f"narrow.refused |= {condition};")
    if parameter.name.startswith("num_"):
        conversion.after.append(f"if ({parameter.name})\n        *{parameter.name} = 0;")


def _length(large: Prototype, array: str) -> str:
    """How long an array of counts or displacements is, in C; 0 where MPI doesn't read it."""
    names = {parameter.name for parameter in large.parameters}
    kind = large.name.removeprefix("MPI_").removeprefix("I").lower()
    if large.communicator is None:
        return "ndims" if "ndims" in names else "count"
    comm = large.parameters[large.communicator].name
    if kind.startswith("neighbor_"):
        return (
            f"pse_toolstack_destinations({comm})"
            if array.startswith("s")
            else f"pse_toolstack_sources({comm})"
        )
    if kind.startswith("reduce_scatter"):
        return f"pse_toolstack_members({comm})"
    if "root" in names:
        return f"pse_toolstack_peers_of_root({comm}, root)"
    in_place = (
        "sendbuf == MPI_IN_PLACE ? 0 : " if kind.startswith("alltoall") and array.startswith("s") else ""
    )
    return f"{in_place}pse_toolstack_peers({comm})"


def _shim(large: Prototype, small: Prototype) -> str:
    conversion = _convert(large, small)
    declarations = ", ".join(parameter.declaration for parameter in large.parameters)
    passed = ", ".join(parameter.name for parameter in large.parameters)
    return "\n".join(
        [
            f"static int shim_{large.name}({declarations})",
            "{",
            "    const struct layer_shim *layer = pse_toolstack_shim;",
            "    struct narrowed_call narrow = {0};",
            *(f"    {line}" for line in conversion.before),
            "    if (narrow.refused) {",
            "        pse_toolstack_narrow_end(&narrow);",
            f"        return (({_pointer(large)})layer->below)({passed});",
            "    }",
            f"    int result = (({_pointer(small)})layer->upper)({', '.join(conversion.arguments)});",
            *(f"    {line}" for line in _after(large, small, conversion, passed)),
            "    return result;",
            "}",
            "",
        ]
    )


def _pointer(routine: Prototype) -> str:
    return f"__typeof__(&{routine.name})"


def _after(large: Prototype, small: Prototype, conversion: _Conversion, passed: str) -> Iterator[str]:
    yield from conversion.after
    if small.name in _QUERIES:
        yield f"if (result == MPI_SUCCESS && ({' || '.join(conversion.unknown)}))"
        yield f"    return (({_pointer(large)})layer->below)({passed});"
    if _lasts(large):
        yield "if (result == MPI_SUCCESS)"
        request = large.parameters[large.requests[0]].name
        yield f"    pse_toolstack_narrow_keep(&narrow, PSE_HANDLE(*{request}));"
    yield "pse_toolstack_narrow_end(&narrow);"
