"""What is shown where the pointer rests: a tag's type and life, a module's directive and documentation."""

from __future__ import annotations

import re

from lsprotocol import types

from pse.language import render_expression
from pse.language.check import PROCS, ModuleReference, Tag
from pse.language.syntax import ast as sx
from pse.language.types import (
    DIRECTIVE_MARKS,
    OPTIONS,
    Element,
    record_of,
    render_signature,
    render_type,
)
from pse.lsp._analysis import Analysis
from pse.lsp._symbols import Symbol
from pse.modules import module_comment
from pse.program import ThreadKey, number_statements
from pse.text import count_text


def hover(analysis: Analysis, position: types.Position) -> types.Hover | None:
    """Describe the name at a position."""
    found = analysis.symbol_at(position)
    if found is None:
        return _option(analysis, position)
    span, symbol = found
    text = describe(analysis, symbol)
    return types.Hover(_markdown(text), analysis.range(span)) if text else None


def further_down(hover: types.Hover, lines: int) -> types.Hover:
    """Give what is shown of an older text for the same lines of the present one."""
    place = hover.range
    if place is None:
        return hover
    start = types.Position(place.start.line + lines, place.start.character)
    end = types.Position(place.end.line + lines, place.end.character)
    return types.Hover(hover.contents, types.Range(start, end))


def describe(analysis: Analysis, symbol: Symbol) -> str:
    """Describe a symbol in Markdown; nothing if nothing is known of it."""
    match symbol.kind:
        case "tag" | "counter":
            return _tag(analysis, symbol)
        case "parameter" | "partition":
            return _declared(analysis, symbol)
        case "module":
            return _module(analysis.module(symbol.name), symbol.name)
        case "import":
            names = [name for name in analysis.inspection.modules if name.startswith(f"{symbol.name}.")]
            path = symbol.node.path if isinstance(symbol.node, sx.Import) else ""
            return f"modules of `{path}`: {', '.join(f'`{name}`' for name in names) or 'none'}"
        case "segment":
            return _coven(_head(analysis, symbol))
        case "record":
            return _record(analysis.inspection.records.get(symbol.name))
        case "field":
            return _field(analysis, symbol)
        case "thread":
            return _thread(analysis, symbol.name)
        case _:
            return ""


def _markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def _coven(code: str) -> str:
    return f"```coven\n{code}\n```"


def _tag(analysis: Analysis, symbol: Symbol) -> str:
    if symbol.kind == "counter":
        return _coven(f"i64 {symbol.name}")
    tag, array = analysis.tag(symbol), _array(analysis, symbol)
    if tag is None:
        return _coven(array) if array else f"`{symbol.name}`: its type is not known yet"
    shown = f"{render_type(tag.type, display=lambda name: name.split('.')[-1])} {symbol.name}"
    return "\n\n".join([_coven(array or shown), _life(analysis, tag, symbol)])


def _array(analysis: Analysis, symbol: Symbol) -> str:
    """Give the declaration of an array of tags, whose types depend on the index; nothing of other tags."""
    node = symbol.node
    if not isinstance(node, sx.Var | sx.Field) or node.indices is None:
        return ""
    first, last = node.span.line, node.span.end_line
    return analysis.written(node.span) if first == last else "\n".join(analysis.lines[first - 1 : last])


def _life(analysis: Analysis, tag: Tag, symbol: Symbol) -> str:
    """Say which threads write and read a tag, and on which lines it is needed."""
    written = [span.line for span, writes in analysis.symbols.places(symbol) if writes]
    read = [span.line for span, writes in analysis.symbols.places(symbol) if not writes]
    parts = [f"written on line {_lines(written)}"]
    parts.append(f"read on line {_lines(read)}, the last time on {max(read)}" if read else "never read")
    homes = _threads_that_make(analysis, tag)
    return "; ".join([*(["made on " + ", ".join(f"`{key}`" for key in homes)] if homes else []), *parts])


def _lines(lines: list[int]) -> str:
    return ", ".join(str(line) for line in sorted(set(lines)))


def _threads_that_make(analysis: Analysis, tag: Tag) -> list[ThreadKey]:
    program, placement = analysis.inspection.program, analysis.placement
    if program is None or placement is None:
        return []
    # The tags of an array are declared in one place.
    own = {other.name for other in program.tags.values() if other.span == tag.span}
    makers = [s for s in number_statements(program).sites if own & {output.tag for output in s.outputs}]
    return list(dict.fromkeys(placement.thread_of(site) for site in makers))


def _declared(analysis: Analysis, symbol: Symbol) -> str:
    if symbol.name == PROCS:
        return "the number of processors, which `-p` sets"
    span = getattr(symbol.node, "span", None)
    return _coven(analysis.written(span)) if span is not None and span.line == span.end_line else ""


def _module(reference: ModuleReference | None, name: str) -> str:
    if reference is None:
        return f"`{name}`: no module of that name was found"
    mark = DIRECTIVE_MARKS.get(reference.language, "//@")
    shown = _coven(f"{mark} {render_signature(reference.signature)}")
    where = f"{reference.path}:{reference.line}" if reference.source else "the standard library, `pse.std`"
    return "\n\n".join(part for part in (shown, module_comment(reference), where) if part)


def _record(element: Element | None) -> str:
    """Describe a record type, and how it lies in memory."""
    record = record_of(element)
    if record is None:
        return ""
    fields = "  ".join(f"{kind.label} {name}" for name, kind in record.fields)
    places = [f"`{name}` at {at}" for (name, _), at in zip(record.fields, record.offsets, strict=True)]
    shown = _coven(f"record {record.name} {{ {fields} }}")
    return f"{shown}\n\n{count_text(record.size, 'byte')}: {', '.join(places)}"


def _field(analysis: Analysis, symbol: Symbol) -> str:
    """Describe a field of a record that the program declares."""
    item = symbol.node[0] if isinstance(symbol.node, tuple) else None
    record = record_of(analysis.inspection.records.get(item.name.id)) if isinstance(item, sx.Record) else None
    if record is None:
        return ""
    (place,) = (place for place, (name, _) in enumerate(record.fields) if name == symbol.name)
    shown = _coven(f"{record.fields[place][1].label} {symbol.name}")
    return f"{shown}\n\nat byte {record.offsets[place]} of `{record.name}`"


def _head(analysis: Analysis, symbol: Symbol) -> str:
    """Give a segment's first lines, up to its brace."""
    node = symbol.node
    assert isinstance(node, sx.Segment)
    first, last = node.span.line, node.body.span.line
    return "\n".join(analysis.lines[first - 1 : last]).split("{")[0].strip()


def _thread(analysis: Analysis, label: str) -> str:
    placement = analysis.placement
    keys = [key for key in placement.keys if key.label == label] if placement else []
    where = ", ".join(
        "one rank of the root" if key.region == "root" else "one rank of each processor" for key in keys
    )
    folded = [
        f"; its calls run on `{placement.folded[key]}`"
        for key in keys
        if placement and key in placement.folded
    ]
    return f"thread `{label}`: {where}{''.join(folded)}" if where else f"thread `{label}`"


def _option(analysis: Analysis, position: types.Position) -> types.Hover | None:
    """Describe an option of `options { … }`."""
    line, column = analysis.place(position)
    for found in re.finditer(r"\w+", analysis.lines[line - 1]):
        if found.start() < column <= found.end() + 1 and found[0] in OPTIONS:
            kind = OPTIONS[found[0]]
            each = "; each thread can have its own" if kind.per_thread else ""
            return types.Hover(
                _markdown(f"option `{found[0]}`: {kind.expected}, for example `{kind.example}`{each}")
            )
    return None


def parameter_text(name: str, default: object) -> str:
    """Write a parameter with its default."""
    return name if default is None else f"{name} = {render_expression(default)}"  # type: ignore[arg-type]
