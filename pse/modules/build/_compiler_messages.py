"""What the compilers say, in the user's terms: own file and line, and the directive where the two don't fit.

A compiler sees generated files beside the user's; this turns its output into a message in which those don't
appear. Text in, text out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from pse.language.types import DYNAMIC, Signature
from pse.modules._errors import BuildError
from pse.modules.build._build_rules import BuildRule, Source, Step
from pse.modules.build._trampolines import Layout, Place
from pse.modules.directives._interface import declared, passed_as, struct_text
from pse.records import dataclass

MOST_LINES = 60
"""Lines of a compiler's output that a message keeps."""

_HEAD = re.compile(
    r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$"
)
_CONTEXT = re.compile(r"^[^\s:][^:\n]*: (?:In|At) ")
_CYTHON_HEAD = re.compile(r"^(?P<path>[^\s:]+\.pyx):(?P<line>\d+):\d+: (?P<text>.*)$", re.MULTILINE)
_MISTAKE = re.compile(
    r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?:(?:fatal )?error: |(?!note|warning))(?P<text>.*)$"
)
_CYTHON_FRAME = re.compile(r"^(?:-{20,}|\.\.\.|Error compiling Cython file:)$")
_UNDEFINED = re.compile(r"undefined reference to [`'‘](?P<name>[^'’]+)['’]")

_MISSING_FILE = re.compile(r"fatal error: '?(?P<name>[^':\n]+)'?(?:: No such file| file not found)")
_CYTHON_NAME = re.compile(r"'(?P<module>\w+)' is not declared|undeclared name not builtin: (?P<name>\w+)")
_CIMPORTS = {"np": "cimport numpy as np", "numpy": "cimport numpy", "cython": "cimport cython"}
_C_MATH = frozenset(dir(math)) - {"dist", "fsum", "gcd", "lcm", "perm", "comb", "prod", "factorial", "isqrt"}
_MPI_MODULE = re.compile(r"'mpi(?:_f08)?\.mod'")
_FORTRANS_MPI = (
    "this MPI has no Fortran interface: declare MPI's C functions with bind(C), or give the communicator to C"
)
_NO_END = (
    "end what begins in this file and has no end: a `}`, `)` or `;` is missing, mostly in the last lines"
)


@dataclass(frozen=True)
class _Mismatch:
    place: Place
    detail: tuple[str, ...]


def failed_build(source: Source, rule: BuildRule, step: Step, output: str, code: int) -> BuildError:
    """Turn a failed command into an error.

    Parameters
    ----------
    source, rule, step
        What was being built, and the command that failed.
    output : str
        What the command printed.
    code : int
        Its exit code; negative for a signal.
    """
    if code < 0:
        return BuildError(
            f"{source.shown} can't be built: the compiler was killed by signal {-code}",
            help="signal 9 often means that memory ran out: free some, and build again",
        )
    mismatches = [] if _own_errors(source, rule, output) else _mismatches(rule, output)
    if layouts := [mismatch for mismatch in mismatches if mismatch.place.layout is not None]:
        return _other_layout(source, layouts)
    if mismatches:
        text = "\n".join(_explain(source, group) for group in _grouped(mismatches))
        return BuildError(text, help="change the directive or the function so that they agree")
    lines = _directive_lines(source.signatures, source.shown)
    undefined = dict.fromkeys(match["name"] for match in _UNDEFINED.finditer(output))
    if undefined:
        names = ", ".join(undefined)
        mpi = source.language == "fortran" and all(name.startswith("mpi_") for name in undefined)
        what = "it" if len(undefined) == 1 else "them"
        define = f"define {what} in this file, or name the library that has {what} in a directive"
        advice = _FORTRANS_MPI if mpi else f"{define}: coven link LIBRARY"
        return BuildError(f"{source.shown} can't be linked: nothing defines {names}\n{lines}", help=advice)
    if (first := _first_behind(source, rule, output)) is not None:
        number = len(source.text.rstrip().split("\n"))
        words = f"{source.shown}:{number}:1: error: {first} (of what the compiler reads behind this file)"
        return BuildError(f"{source.shown} doesn't compile\n{lines}\n{words}", help=_NO_END)
    words = (
        translate_output(source, rule, output)
        or f"the compiler printed nothing and ended with exit code {code}"
    )
    return BuildError(f"{source.shown} doesn't compile\n{lines}\n{words}", help=_compile_help(output))


def _compile_help(output: str) -> str:
    if _MPI_MODULE.search(output):
        return _FORTRANS_MPI
    if missing := _MISSING_FILE.search(output):
        where = "coven link LIBRARY adds the directories that pkg-config knows"
        return f"correct the name {missing['name']}, or install the package that has this file ({where})"
    if (unknown := _CYTHON_NAME.search(output)) and (line := _cimport(unknown["module"] or unknown["name"])):
        return f"write at the top of the file:  {line}"
    return "correct the first mistake that the compiler names: others may follow from it"


def _cimport(name: str) -> str | None:
    """Give the line by which Cython knows a name that programs often use without it."""
    return f"from libc.math cimport {name}" if name in _C_MATH else _CIMPORTS.get(name)


def first_mistake(words: Iterable[str], shown: str) -> tuple[int, int, str] | None:
    """Find the first error that has a place in the user's file: line, column (1 if there is none), text."""
    for word in words:
        found = _MISTAKE.match(word.strip())
        if found is not None and found["path"] == shown:
            return int(found["line"]), int(found["column"] or 1), found["text"]
    return None


def _directive_lines(signatures: Iterable[Signature], shown: str) -> str:
    places = [f"{s.name} ({shown}:{s.span.line})" for s in signatures if s.span is not None]
    return f" its modules: {', '.join(places)}"


def _own_errors(source: Source, rule: BuildRule, output: str) -> bool:
    """Say whether the user's file is wrong in itself; messages about trampolines only follow from that."""
    if rule.extension and rule.trampolines is not None:  # Trampolines follow a Cython source's own text.
        first = min(rule.trampolines.lines, default=0)
        return any(int(head["line"]) < first for head in _CYTHON_HEAD.finditer(output))
    heads = (_HEAD.match(line) for line in output.split("\n"))
    return any(head and head["path"] == str(source.path) and "error" in head["kind"] for head in heads)


def _first_behind(source: Source, rule: BuildRule, output: str) -> str | None:
    """Give the first error, if it is in what a compiler reads behind the user's file, which includes that."""
    if rule.extension or not rule.trampoline_file or _own_errors(source, rule, output):
        return None
    lines = output.split("\n")
    for number, line in enumerate(lines):
        head = _HEAD.match(line)
        if head is not None and "error" in head["kind"]:
            said = "\n".join(lines[: number + 1])
            # A header of the user's is included from the user's file.
            is_behind = rule.trampoline_file in said and f"from {source.path}:" not in said
            return head["text"] if is_behind else None
    return None


def translate_output(source: Source, rule: BuildRule, output: str) -> str:
    """Take the generated files out of a compiler's output, and print the user's path as the user typed it."""
    kept: list[str] = []
    ours = False
    for line in output.split("\n"):
        if (head := _HEAD.match(line)) is not None and head["kind"] != "note":
            ours = _is_trampoline(head["path"], rule)
        elif _CONTEXT.match(line):
            ours = _is_trampoline(line.split(":")[0], rule)
        if not ours and not _is_scaffolding(line, rule) and not _CYTHON_FRAME.match(line):
            kept.append(line)
    if len(kept) > MOST_LINES:
        kept = [*kept[:MOST_LINES], f"… ({len(kept) - MOST_LINES} more lines)"]
    text = "\n".join(kept).strip("\n").replace(str(source.path), source.shown)
    return (
        text.replace(rule.trampoline_file, source.shown) if rule.extension and rule.trampoline_file else text
    )


def _is_trampoline(path: str, rule: BuildRule) -> bool:
    """Say whether a path is a file of trampolines alone (a Cython source's follow its own text)."""
    return bool(rule.trampoline_file) and not rule.extension and path.endswith(rule.trampoline_file)


def _is_scaffolding(line: str, rule: BuildRule) -> bool:
    included = line.lstrip().startswith(("In file included from", "from "))
    names_trampolines = bool(rule.trampoline_file) and rule.trampoline_file in line
    return (included and names_trampolines) or line.startswith(
        ("compilation terminated", "cc1", "collect2: error")
    )


def _mismatches(rule: BuildRule, output: str) -> list[_Mismatch]:
    """Find the messages about lines of the trampolines."""
    found: list[_Mismatch] = []
    place: Place | None = None
    elsewhere = ""  # An error that may be one of a macro that a trampoline uses.
    for line in output.split("\n") if rule.trampolines is not None else ():
        head = _HEAD.match(line) or _CYTHON_HEAD.match(line)
        if head is None:
            continue
        kind, text = head.groupdict().get("kind", "error"), re.sub(r" \[-W[^]]*\]$", "", head["text"])
        here = _place(rule, head)
        if kind == "note" and place is not None:
            if note := _note(text):
                found[-1] = _Mismatch(place, (*found[-1].detail, note))
        elif kind == "note" and elsewhere and here is not None:
            place = here
            found.append(_Mismatch(here, (elsewhere,)))
        elif kind != "note":
            place, elsewhere = (here, text) if "error" in kind else (None, "")
            found += [_Mismatch(place, (text,))] if place is not None else []
    return found


def _place(rule: BuildRule, head: re.Match[str]) -> Place | None:
    """Give what the line of a message is about, if it is one of the trampolines."""
    ours = head["path"].endswith(rule.trampoline_file) and rule.trampolines is not None
    return rule.trampolines.lines.get(int(head["line"])) if ours and rule.trampolines else None


def _note(text: str) -> str:
    return (
        text
        if re.match(r"expected |.*no known conversion|declared here", text) and "declared here" not in text
        else ""
    )


def _other_layout(source: Source, mismatches: list[_Mismatch]) -> BuildError:
    """Tell how a struct differs from the record of the directives, field by field."""
    first = mismatches[0].place.layout
    assert first is not None, "chosen by the caller"
    record = first.record
    told = [_told(m.place.layout, m.detail) for m in mismatches if m.place.layout is not None]
    text = f"{source.shown}: the struct `{record.name}` has another layout than the record `{record.name}`"
    if re.search(r"unknown type|not declared|undeclared|does not name|not a type", mismatches[0].detail[0]):
        text = f"{source.shown}: there is no type `{record.name}` in this file"
        told = []
    help = f"declare it so, or change the record:  {struct_text(record, source.language)}"
    return BuildError("\n".join([text, *dict.fromkeys(filter(None, told))]), help=help)


def _told(layout: Layout, detail: tuple[str, ...]) -> str:
    """Say of one field, or of the whole, what the record says and what the struct says."""
    name = f"field `{layout.field}`" if layout.field else "the whole"
    if re.search(r"[Nn]o member|has no", detail[0]):
        return f"  {name} is missing in the struct"
    if layout.type:
        return f"  {name} is `{layout.type}` in the record; in the struct: {_pointed(layout, detail[0])}"
    sizes = {int(size) - 1 for text in detail for size in re.findall(r"\[(\d+)\]", text)} - {layout.offset}
    found = next(iter(sizes), None)
    if found is None:
        return ""
    if layout.field:
        return f"  {name} begins at byte {layout.offset} in the record, at byte {found} in the struct"
    return f"  {name} has {layout.offset} bytes in the record, {found} in the struct"


def _pointed(layout: Layout, text: str) -> str:
    """Find the type that a message about pointers names beside the record's; the message if it names none."""
    named = re.findall(r"[‘'\"]([\w ]+?) ?\*", re.sub(r"\{aka [^}]*\}", "", text))
    return next((f"`{name}`" for name in named if name != layout.type), text)


def _grouped(mismatches: list[_Mismatch]) -> list[list[_Mismatch]]:
    groups: dict[str, list[_Mismatch]] = {}
    for mismatch in mismatches:
        groups.setdefault(mismatch.place.signature.name, []).append(mismatch)
    return list(groups.values())


def _explain(source: Source, mismatches: list[_Mismatch]) -> str:
    signature = mismatches[0].place.signature
    line = f":{signature.span.line}" if signature.span else ""
    lines = [f"{source.shown}{line}: the directive of `{signature.name}` doesn't fit the function"]
    for mismatch in mismatches:
        what = f"  {_what(mismatch, source.language)}"
        if what not in lines and "pse_code' undeclared" not in mismatch.detail[0]:
            lines += [what, *(f"    compiler: {text}" for text in mismatch.detail)]
    return "\n".join([*lines, f"  the directive asks for:  {prototype(signature, source.language)}"])


_WHOLE_CALL = (
    (r"arguments to function|[Ww]rong number of arguments", "the number of arguments differs"),
    (r"declared void|void value|incomplete type", "the function must {result}: 0, or a code"),
    (r"implicit declaration|not declared|undeclared", "there is no such function{bound}"),
    (r"without gil", "the function must be `noexcept nogil` (or `def`, to get NumPy arrays)"),
)
"""What a compiler's message about a call as a whole means."""


def _what(mismatch: _Mismatch, language: str) -> str:
    place = mismatch.place
    result = "be an integer(c_int) function, no subroutine" if language == "fortran" else "return int"
    if place.result:
        return f"the function must {result}: 0, or a code whose text coven_error() gives"
    if place.dimension is not None:
        spelled = "int64_t *" if place.dimension.startswith(DYNAMIC) else "int64_t"
        return f"the dimension `{place.dimension}` is passed as `{spelled}`"
    if place.parameter is not None:
        return f"`{declared(place.parameter)}` is passed as `{passed_as(place.parameter, language).strip()}`"
    bound = " with bind(C)" if language == "fortran" else ""
    known = (text for pattern, text in _WHOLE_CALL if re.search(pattern, mismatch.detail[0]))
    return next(known, "the function can't be called as the directive says").format(
        bound=bound, result=result
    )


def dimension_as(name: str) -> str:
    """Write the parameter that a compiled function has for a dimension: of what it decides, the address."""
    return f"int64_t *{name.removeprefix(DYNAMIC)}" if name.startswith(DYNAMIC) else f"int64_t {name}"


def prototype(signature: Signature, language: str) -> str:
    """Write the prototype that a directive asks of a compiled function (in C's terms for Fortran)."""
    arguments = []
    for parameter in signature.parameters:
        spelled = passed_as(parameter, language)
        arguments.append(f"{spelled}{'' if spelled.endswith('*') else ' '}{parameter.name}")
    arguments += map(dimension_as, signature.dimensions)
    return f"int {signature.name}({', '.join(arguments) or 'void'})"
