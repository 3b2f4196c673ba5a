"""Stubs for the routines of one MPI library, written in assembly.

What a library exports says everything: a routine has a stub if the library has it under both of its names,
``MPI_x`` and ``PMPI_x`` (in Fortran ``mpi_x_`` and ``pmpi_x_``).  No header is read and no prototype is
needed, since a stub is one indirect jump that touches no argument.  A name that the library lacks must not be
exported: programs test for optional routines by weak symbols (mpi4py does).

Each stub jumps through an entry of a table.  Entries begin at a few instructions that bring the routine's
number to ``pse_toolstack_first_call`` (cext/toolstack/core/first_call.c), which links the stack and
overwrites the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pse.toolstack._elf import Shared

_X86_STUB = "    jmp *pse_toolstack_table+{offset}(%rip)"
_X86_FIRST = "    movl ${number}, %r11d\n    jmp pse_toolstack_first_call"
_ARM_STUB = """    hint #34
    adrp x16, pse_toolstack_table+{offset}
    ldr x16, [x16, #:lo12:pse_toolstack_table+{offset}]
    br x16"""
_ARM_FIRST = "    hint #34\n    mov w16, #{number}\n    b pse_toolstack_first_call"
_FORMS = {"x86_64": (_X86_STUB, _X86_FIRST, "@"), "aarch64": (_ARM_STUB, _ARM_FIRST, "%")}


def routines(library: Shared) -> list[str]:
    """Name the routines that a library has under both names, in the order of their numbers."""
    names = library.functions
    return sorted(
        name
        for name in names
        if name[:3].upper() == "MPI" and (("P" + name) in names or ("p" + name) in names)
    )


def assembly(
    names: Sequence[str],
    machine: str,
    soname: str,
    libraries: Sequence[Path],
    shipped: str,
    missing: str = "",
) -> str:
    """Write the stubs.

    Parameters
    ----------
    names : sequence of str
        The routines, sorted.
    machine : str
        "x86_64" or "aarch64".
    soname : str
        The name by which programs ask for the library.
    libraries : sequence of path
        Where it is, and those that have the rest of the routines (Fortran's).
    shipped : str
        The directory of the tools that are made for it.
    missing : str, optional
        Why there are none, and what to do.
    """
    stub, first, kind = _FORMS[machine]
    text = [f"# Stubs for {len(names)} routines of {soname}.", ".text"]
    for number, name in enumerate(names):
        text += [
            ".p2align 4",
            f".globl {name}",
            f".type {name}, {kind}function",
            f"{name}:",
            f".Lstub{number}:",
        ]
        text += [stub.format(offset=8 * number), f".size {name}, .-{name}"]
    for number in range(len(names)):
        text += [f".Lfirst{number}:", first.format(number=number)]
    text += [".data", *_object("table", kind, 4096)]
    text += [f"    .quad .Lfirst{number}" for number in range(len(names))]
    text += [".section .rodata", *_object("routine_count", kind, 4), f"    .long {len(names)}"]
    text += [*_object("stub_at", kind, 4)]
    text += [f"    .long .Lstub{number} - pse_toolstack_stub_at" for number in range(len(names))]
    text += [*_object("name_at", kind, 4)]
    text += [f"    .long {offset}" for offset in _offsets(names)]
    text += [*_object("names", kind, 1), *(f'    .asciz "{name}"' for name in names)]
    text += [*_object("soname", kind, 1), f'    .asciz "{soname}"']
    text += [*_object("library_path", kind, 1), f'    .asciz "{_escaped(str(libraries[0]))}"']
    others = [*map(str, libraries[1:]), ""]
    text += [
        *_object("fortran_paths", kind, 1),
        *(f'    .asciz "{_escaped(path)}"' for path in others),
    ]
    text += [*_object("shipped", kind, 1), f'    .asciz "{_escaped(shipped)}"']
    text += [*_object("missing_tools", kind, 1), f'    .asciz "{_escaped(missing)}"']
    text += [f'.section .note.GNU-stack,"",{kind}progbits', ""]
    return "\n".join(text)


def _object(name: str, kind: str, alignment: int) -> list[str]:
    name = f"pse_toolstack_{name}"
    return [
        f".balign {alignment}",
        f".globl {name}",
        f".hidden {name}",
        f".type {name}, {kind}object",
        f"{name}:",
    ]


def _offsets(names: Sequence[str]) -> list[int]:
    offsets, end = [], 0
    for name in names:
        offsets.append(end)
        end += len(name) + 1
    return offsets


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
