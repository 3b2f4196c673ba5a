"""Which output can go into which input, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pse.desk.model._call_edits import Edits, find_port, set_argument
from pse.desk.model._elements import Element
from pse.desk.model._fields import Operation
from pse.desk.model._flow import names
from pse.desk.model._ports import Port, tag_type
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit, apply_edits
from pse.errors import UsageError
from pse.language import Diagnostic, inspect_program
from pse.language.syntax import ast as sx
from pse.language.types import Type, render_shape


class Target(NamedTuple):
    """An input, and why a tag can't go into it (None: it can)."""

    element: Element
    port: str
    reason: str | None


def source_name(model: ProgramModel, end: Operation) -> sx.Identifier:
    """Give the tag that leaves an output, an in-out or a segment's input."""
    element, port = model.element(end.get("id")), end.get("port")
    if isinstance(element.node, sx.Segment):
        fields = {field.name.id: field.name for field in element.node.inputs}
        if isinstance(port, str) and port in fields:
            return fields[port]
    if element.call is None and isinstance(element.node, sx.Let | sx.Var | sx.Assignment):
        return element.node.name
    inputs, outputs = model.ports(element)
    found = find_port([*outputs, *(p for p in inputs if p.direction == "inout")], port, element)
    if found.output is not None:
        return found.output.name
    name = next(names(found.argument.value if found.argument else None), None)
    if name is None or name.span is None:
        raise UsageError(f"nothing is written at {port} yet", help="name the tag of this output first")
    return sx.Identifier(name.id, name.span)


def possible_targets(model: ProgramModel, end: Operation) -> Iterator[Target]:
    """Look at all inputs for whether a tag's name is visible there and its element type and shape fit.

    Parameters
    ----------
    model : ProgramModel
        The program.
    end : mapping
        The id of an element, and one of its ports that gives a tag.

    Yields
    ------
    Target
        Each input, and why the tag can't go into it (None: it can).

    See Also
    --------
    perform
    """
    name = source_name(model, end)
    kind = tag_type(name, model.drawn)
    for element in model.elements:
        for port in model.ports(element)[0]:
            if port.direction != "comm":
                yield Target(element, port.name, _obstacle(model, name, kind, element, port))


def _obstacle(
    model: ProgramModel, name: sx.Identifier, kind: Type | None, element: Element, port: Port
) -> str | None:
    found = model.drawn.symbols.of(name.span)
    seen = model.drawn.symbols.meant(name.id, *model.text.place(element.start))
    if found is None or seen is not found:
        return f"`{name.id}` is not visible here: it belongs to another block or segment"
    if kind is None or port.type is None:
        return None
    if port.type.element not in (None, kind.element):
        return f"{_shown(kind)} can't go into {_shown(port.type)}"
    if port.type.scalar and not kind.scalar:
        return f"the array {_shown(kind)} can't go into a scalar"
    if port.type.shape is not None and not port.type.scalar and len(kind.shape or ()) != len(port.type.shape):
        return (
            f"{_shown(kind)} has {len(kind.shape or ())} axes, {_shown(port.type)} has {len(port.type.shape)}"
        )
    return None


def _shown(kind: Type) -> str:
    return (kind.element.label if kind.element else "T") + render_shape(kind)


def connect(model: ProgramModel, operation: Operation) -> Edits:
    """Pass a tag to an input.

    Raises
    ------
    UsageError
        If the checker then finds an error that was not there.
    """
    edits = _connection(model, operation)
    wrong = refusal(model, edits)
    if wrong is not None:
        raise UsageError(wrong.message, help=wrong.help)
    return edits


def _connection(model: ProgramModel, operation: Operation) -> Edits:
    start, end = operation.get("from"), operation.get("to")
    if not isinstance(start, dict) or not isinstance(end, dict):
        raise UsageError("`connect` needs from and to", help='for example  "to": {"id": "n3", "port": "u"}')
    name, target = source_name(model, start), model.element(end.get("id"))
    if isinstance(target.node, sx.Segment):
        return _result(model, start, target.node, end)
    if target.call is None:
        raise UsageError(f"`{target.label}` has an expression, not an input", help="change its text")
    return set_argument(
        model, {"op": "connect", "node": target.id, "port": end.get("port"), "value": name.id}
    )


def _result(model: ProgramModel, start: Operation, segment: sx.Segment, end: Operation) -> Edits:
    """Let a call make a segment's result: what it makes gets the result's name."""
    result = next((field.name.id for field in segment.outputs if field.name.id == end.get("port")), None)
    if result is None:
        raise UsageError(f"the segment has no result {end.get('port')}", help="load the graph again")
    return [Edit(*model.text.range(source_name(model, start).span), result)]


def refusal(model: ProgramModel, edits: Edits) -> Diagnostic | None:
    """Give the first error that edits bring; the checker tries them."""
    analysis = model.analysis
    text = apply_edits(model.text, edits)
    before = Counter((d.code, d.message) for d in analysis.inspection.diagnostics)
    found = inspect_program(text, analysis.path, modules=model.finder, before=analysis.inspection)
    for diagnostic in found.diagnostics:
        known = (diagnostic.code, diagnostic.message)
        if before[known]:
            before[known] -= 1
        elif diagnostic.code.startswith("E"):
            return diagnostic
    return None


def check_connection(model: ProgramModel, start: Operation, end: Operation) -> Diagnostic | None:
    """Give what the checker says against passing a tag to an input.

    Parameters
    ----------
    model : ProgramModel
        The program.
    start, end : mapping
        Ids of elements, and ports: where the tag comes from and where it goes.

    Returns
    -------
    Diagnostic or None
        The first error that this brings; None if there is none.

    See Also
    --------
    perform
    """
    return refusal(model, _connection(model, {"op": "connect", "from": start, "to": end}))
