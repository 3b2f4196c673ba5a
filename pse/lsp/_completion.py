"""What can be written at a place, and how the call around it is written.

Both are answered from the tokens before the place and from the last analysis: they need not wait until
what is being typed is checked.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence

from lsprotocol import types

from pse.language.check import PROCS, REDUCTIONS, ModuleReference
from pse.language.syntax import BUILTINS
from pse.language.types import LANGUAGES, OPTIONS, Element, Signature, render_signature, render_type
from pse.lsp._analysis import Analysis, Lines, OpenFiles
from pse.lsp._calls import OpenCall, is_comment, is_open_string, open_call, tokens_before
from pse.lsp._hover import describe, parameter_text
from pse.lsp._symbols import Symbol
from pse.modules import module_comment

Kind = types.CompletionItemKind

_KINDS = {
    "tag": Kind.Variable,
    "counter": Kind.Variable,
    "parameter": Kind.Constant,
    "partition": Kind.Enum,
    "import": Kind.Module,
    "module": Kind.Function,
    "segment": Kind.Method,
    "bundle": Kind.Struct,
    "record": Kind.Struct,
}
DISTRIBUTIONS = {
    "root": "root",
    "replicated": "replicated",
    "block": "block(${1:0})",
    "cyclic": "cyclic(${1:0})",
    "block_cyclic": "block_cyclic(${1:0}, ${2:64})",
}
_BEFORE_VALUES = {*"=+-*/%<>", "in", "..", "if", "while", "max", "step", "inflight", "and", "or"}
"""Behind these words stands an expression."""
BLOCKS = {
    "for": "for ${1:k} in ${2:0} .. ${3:N} {\n  $0\n}",
    "for inflight": "for ${1:k} in ${2:0} .. ${3:N} inflight ${4:2} {\n  $0\n}",
    "for step": "for ${1:k} in ${2:N} - 1 .. -1 step ${3:-1} {\n  $0\n}",
    "while": "while ${1:residual > tol} max ${2:1000} {\n  $0\n}",
    "if": "if ${1:condition} {\n  $0\n}",
    "break": "break",
    "PARALLEL": "PARALLEL {\n  $0\n}",
    "PARALLEL over": "PARALLEL over ${1:P} {\n  $0\n}",
    "let": "let ${1:x} = $0",
    "var": "var ${1:f64} ${2:x} = $0",
    "var in": "var ${1:f64}[${2:N}] ${3:x}[${4:l} in ${5:0} .. ${6:4}]",
}
ITEMS = {
    "import as": 'import "${1:kernels.c}" as ${2:k}',
    "import": 'import "${1:kernels.c}" { $0 }',
    "param": "param ${1:i64} ${2:N} = ${3:1024}",
    "partition": "partition ${1:P} = ${2:procs}",
    "threads": "threads ${1:thread_A}, ${2:thread_B}",
    "options": "options { $0 }",
    "segment": "segment ${1:name}(${2}) -> (${3}) {\n  $0\n}",
    "bundle": "bundle ${1:Fluid} { $0 }",
    "record": "record ${1:Body} { $0 }",
    "program": "program ${1:name} {\n  $0\n}",
}

_MOST_KEPT = 4096
_type_text = functools.lru_cache(_MOST_KEPT)(render_type)
"""Texts of types, and what is offered, are kept: one completion follows another, and most of it stays."""


def complete(
    lines: Lines, analysis: Analysis, finder: OpenFiles, position: types.Position
) -> list[types.CompletionItem]:
    """Offer what can be written at a position of the present text.

    Parameters
    ----------
    lines : Lines
        The present text.
    analysis : Analysis
        The last one that was made, perhaps of an older text.
    finder : OpenFiles
        Finds modules' files.
    position : Position
        Where it is asked for.
    """
    line, column = lines.place(position)
    tokens = tokens_before(lines.lines, line, column)
    if (
        tokens
        and is_comment(tokens[-1])
        and "\n" not in tokens[-1]
        and _is_last(lines, line, column, tokens[-1])
    ):
        return []
    text = lines.lines[line - 1][: column - 1]
    inside = tokens and is_open_string(tokens[-1]) and text.endswith(tokens[-1])
    typed = None if inside else re.search(r"[A-Za-z_][\w.]*$", text)
    before = tokens[:-1] if typed and tokens and tokens[-1].endswith(typed[0]) else tokens
    return list(_offered(lines, analysis, finder, (line, column), before, typed[0] if typed else ""))


def _is_last(lines: Lines, line: int, column: int, token: str) -> bool:
    return lines.lines[line - 1][: column - 1].endswith(token)


def _offered(
    lines: Lines, analysis: Analysis, finder: OpenFiles, place: tuple[int, int], before: list[str], typed: str
) -> Iterator[types.CompletionItem]:
    last = before[-1] if before else ""
    text = lines.lines[place[0] - 1][: place[1] - 1]
    if re.fullmatch(r"\s*import\s+\w*", text):
        yield from (_item(f'"{file.label}"', Kind.File) for file in _files(analysis.path, ""))
    elif imported := re.match(r'\s*import\s+"([^"]*)("\s*\{[^}]*)?$', text):
        yield from _imported(analysis, finder, imported[1], named=imported[2] is not None)
    elif last.startswith('"') and not typed:
        return
    elif last == "var" and "." in typed:
        yield from _record_members(analysis, typed)
    elif last in _BEHIND:
        yield from _BEHIND[last](analysis)
    elif "." in typed:
        yield from _members(analysis, typed)
    elif _inside_options(before):
        yield from _options(analysis, before)
    else:
        yield from _in_body(lines, analysis, place, before, typed)


def _in_body(
    lines: Lines, analysis: Analysis, place: tuple[int, int], before: list[str], typed: str
) -> Iterator[types.CompletionItem]:
    """Offer what fits in a call, else what begins an item or a statement."""
    last, above = before[-1] if before else "", "\n".join(lines.lines[: place[0] - 1])
    if len(before) > 2 and before[-3] == "reduce" and last == "(":
        yield from (_item(name, Kind.Operator) for name in REDUCTIONS)
    elif last in ("(", ",") and _in_segment_head(before):
        yield from _types(analysis)
    elif last == "->" or (last == "," and "->" in before and open_call(before) is None):
        yield from (_symbol(analysis, s) for s in _usable(analysis, place) if s.kind == "tag")
        yield from _types(analysis)
    elif (call := open_call(before)) is not None:
        yield from _arguments(analysis, call, place)
    elif re.search(r"\bparam\b[^{}]*=[^{}]*[\w.)]\s+\w*$", lines.lines[place[0] - 1][: place[1] - 1]):
        yield from (_item(word, Kind.Keyword) for word in ("live", "where"))
    elif above.count("{") <= above.count("}") and lines.lines[place[0] - 1][: place[1] - 1].strip() == typed:
        yield from (_snippet(name, body, Kind.Snippet) for name, body in ITEMS.items())
    else:
        yield from _statement(analysis, place, before)


def _imported(
    analysis: Analysis, finder: OpenFiles, path: str, *, named: bool
) -> Iterator[types.CompletionItem]:
    if named:
        return (_item(name, Kind.Function) for name in finder.modules_of(path, analysis.path))
    return _files(analysis.path, path)


def _distributions(analysis: Analysis) -> Iterator[types.CompletionItem]:
    yield from (_snippet(name, body, Kind.EnumMember) for name, body in DISTRIBUTIONS.items())
    for symbol in analysis.symbols.of_kind("module"):
        if symbol.span and analysis.module(symbol.name) is None:
            yield _symbol(analysis, symbol)  # A pattern: it has no directive.


def _partitions(analysis: Analysis) -> Iterator[types.CompletionItem]:
    return (_symbol(analysis, symbol) for symbol in analysis.symbols.of_kind("partition"))


def _types(analysis: Analysis) -> Iterator[types.CompletionItem]:
    yield from (_item(element.label, Kind.TypeParameter) for element in Element)
    for kind in ("bundle", "record"):
        yield from (_symbol(analysis, symbol) for symbol in analysis.symbols.of_kind(kind))
    yield from (_item(name, Kind.Struct, "record") for name in analysis.inspection.records if "." in name)


_BEHIND = {"@": _distributions, "over": _partitions, "var": _types, "param": _types}
"""What is offered behind these words, whatever is around them."""


def _statement(
    analysis: Analysis, place: tuple[int, int], before: list[str]
) -> Iterator[types.CompletionItem]:
    """Offer what begins a statement, or continues an expression."""
    last = before[-1] if before else ""
    if last in _BEFORE_VALUES:
        yield from _values(analysis, place)
        yield from (_item(name, Kind.Function) for name in BUILTINS)
        return
    labels = analysis.symbols.of_kind("thread")
    if last not in {label.name for label in labels}:
        yield from (_snippet(name, body, Kind.Keyword) for name, body in BLOCKS.items())
        yield from (_item(label.name, Kind.Event, "thread") for label in labels)
    yield from _callables(analysis)
    yield from _values(analysis, place)


def _usable(analysis: Analysis, place: tuple[int, int]) -> Iterator[Symbol]:
    """Give what is visible at a place, of tags those that are made above it."""
    for symbol in analysis.symbols.visible(*place):
        if symbol.kind != "tag" or symbol.span is None or (symbol.span.line, symbol.span.column) < place:
            yield symbol


def _values(analysis: Analysis, place: tuple[int, int]) -> Iterator[types.CompletionItem]:
    seen: set[str] = set()
    for symbol in _usable(analysis, place):
        if symbol.kind in ("tag", "counter", "parameter", "partition") and symbol.name not in seen:
            seen.add(symbol.name)
            yield _symbol(analysis, symbol)
    if PROCS not in seen:
        yield _item(PROCS, Kind.Constant, "the number of processors")


def _arguments(analysis: Analysis, call: OpenCall, place: tuple[int, int]) -> Iterator[types.CompletionItem]:
    reference = analysis.module(call.name)
    yield from _values(analysis, place)
    for parameter in reference.signature.inputs if reference else ():
        yield types.CompletionItem(
            f"{parameter.name} = ",
            kind=Kind.Field,
            detail=render_type(parameter.type),
            sort_text=f"~{parameter.name}",
        )


def _callables(analysis: Analysis) -> Iterator[types.CompletionItem]:
    for name, reference in analysis.inspection.modules.items():
        yield _module(name, reference)
    for symbol in analysis.symbols.of_kind("segment"):
        yield _symbol(analysis, symbol)


def _members(analysis: Analysis, typed: str) -> Iterator[types.CompletionItem]:
    yield from _record_members(analysis, typed)
    prefix = typed.rpartition(".")[0] + "."
    for name, reference in analysis.inspection.modules.items():
        if name.startswith(prefix):
            yield _module(name.removeprefix(prefix), reference)


def _record_members(analysis: Analysis, typed: str) -> Iterator[types.CompletionItem]:
    """Offer the records of a file that is imported as a whole."""
    prefix = typed.rpartition(".")[0] + "."
    for name in analysis.inspection.records:
        if name.startswith(prefix):
            yield _item(name.removeprefix(prefix), Kind.Struct, "record")


def _module(name: str, reference: ModuleReference) -> types.CompletionItem:
    detail, slots = _interface(reference.signature)
    return types.CompletionItem(
        name,
        kind=Kind.Function,
        detail=detail,
        documentation=module_comment(reference) or None if reference.source is None else None,
        insert_text=f"{name}{slots}",
        insert_text_format=types.InsertTextFormat.Snippet,
    )


@functools.lru_cache(_MOST_KEPT)
def _interface(signature: Signature) -> tuple[str, str]:
    """Give what is said of a module, and what is written behind its name."""
    detail = render_signature(signature).removeprefix("coven module ")
    return detail, f"({_slots(signature)}){_results(signature)}"


def _slots(signature: Signature) -> str:
    written = [p for p in signature.inputs if p.type.element is not Element.COMM and p.default is None]
    return ", ".join(f"${{{number}:{p.name}}}" for number, p in enumerate(written, 1))


def _results(signature: Signature) -> str:
    first = len(signature.inputs) + 1
    names = ", ".join(f"${{{number}:{p.name}}}" for number, p in enumerate(signature.outputs, first))
    return f" -> {names}" if names else ""


def _inside_options(before: list[str]) -> bool:
    opened = len(before) - 1 - before[::-1].index("{") if "{" in before else 0
    return bool(opened) and before[opened - 1] == "options" and "}" not in before[opened:]


def _options(analysis: Analysis, before: list[str]) -> Iterator[types.CompletionItem]:
    if before[-1] == "=":
        kind = OPTIONS.get(before[-2]) or OPTIONS.get(before[-3] if len(before) > 2 else "")
        yield from [_item(kind.example, Kind.Value, kind.expected)] if kind else []
    elif (kind := OPTIONS.get(before[-1])) is not None and kind.per_thread:
        yield from (_item(label.name, Kind.Event, "thread") for label in analysis.symbols.of_kind("thread"))
    else:
        for name, option in OPTIONS.items():
            yield _snippet(name, f"{name} = ${{1:{option.example}}}", Kind.Property, option.expected)


def _in_segment_head(before: list[str]) -> bool:
    opened = [index for index, token in enumerate(before) if token in ("segment", "{", "}")]
    return bool(opened) and before[opened[-1]] == "segment"


def _files(program: str, begun: str) -> Iterator[types.CompletionItem]:
    """Offer the module files and directories beside a program."""
    folder = os.path.join(os.path.dirname(program), os.path.dirname(begun))
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return
    for entry in entries:
        if os.path.splitext(entry)[1].lower() in LANGUAGES:
            yield _item(entry, Kind.File)
        elif os.path.isdir(os.path.join(folder, entry)) and not entry.startswith((".", "_")):
            yield _item(f"{entry}/", Kind.Folder)


def _symbol(analysis: Analysis, symbol: Symbol) -> types.CompletionItem:
    tag = analysis.tag(symbol)
    detail = _type_text(tag.type) if tag is not None else symbol.kind
    return _item(symbol.name, _KINDS.get(symbol.kind, Kind.Text), detail)


@functools.lru_cache(_MOST_KEPT)
def _item(name: str, kind: Kind, detail: str | None = None) -> types.CompletionItem:
    return types.CompletionItem(name, kind=kind, detail=detail)


def _snippet(name: str, body: str, kind: Kind, detail: str | None = None) -> types.CompletionItem:
    return types.CompletionItem(
        name, kind=kind, detail=detail, insert_text=body, insert_text_format=types.InsertTextFormat.Snippet
    )


def signature_help(lines: Lines, analysis: Analysis, position: types.Position) -> types.SignatureHelp | None:
    """Show the interface of the call around a position of the present text, and which input is at hand."""
    call = open_call(tokens_before(lines.lines, *lines.place(position)))
    if call is None:
        return None
    segment = next((s for s in analysis.symbols.of_kind("segment") if s.name == call.name), None)
    reference = analysis.module(call.name)
    if segment is not None:
        return _help(describe(analysis, segment).strip("`\n").removeprefix("coven\n"), [], 0, "")
    if reference is None:
        return None
    inputs = [p for p in reference.signature.inputs if p.type.element is not Element.COMM]
    names = [parameter_text(p.name, p.default) for p in inputs]
    active = next((i for i, p in enumerate(inputs) if p.name == call.begun), min(call.argument, len(inputs)))
    shown = f"{call.name}({', '.join(names)})" + _results_text(reference.signature)
    details = [f"{p.direction.value} {render_type(p.type)}" for p in inputs]
    return _help(shown, list(zip(names, details, strict=True)), active, module_comment(reference))


def _results_text(signature: Signature) -> str:
    names = ", ".join(parameter.name for parameter in signature.outputs)
    return f" -> {names}" if names else ""


def _help(label: str, parameters: Sequence[tuple[str, str]], active: int, text: str) -> types.SignatureHelp:
    shown = [types.ParameterInformation(name, detail) for name, detail in parameters]
    return types.SignatureHelp([types.SignatureInformation(label, text or None, shown)], 0, active)
