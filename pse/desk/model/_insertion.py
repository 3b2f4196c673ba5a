"""A new call of a module or segment: its import, its arguments and the names of what it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pse.desk.model._block_edits import place_of
from pse.desk.model._call_edits import Edits
from pse.desk.model._elements import Element
from pse.desk.model._fields import Operation, mapping_of, optional_text
from pse.desk.model._item_edits import imported_name
from pse.desk.model._libraries import PROGRAM
from pse.desk.model._placing import canonical, insert_statements
from pse.desk.model._ports import Port, interface, parameter_port
from pse.desk.model._program import ProgramModel
from pse.errors import ModuleNotFound, UsageError
from pse.language.check import STANDARD, ModuleFile
from pse.language.syntax import ast as sx, require_name
from pse.language.types import Signature
from pse.lsp import Symbol
from pse.text import free_name


def insert(model: ProgramModel, operation: Operation) -> Edits:
    """Write a call into a block, or a `var`; what it needs and makes is named as well as can be guessed."""
    frame, after = place_of(model, operation)
    if (declared := _declared(model, mapping_of(operation, "module"))) is not None:
        statement, edits = declared
        return [*edits, insert_statements(model, frame, after, canonical(statement))]
    called, inputs, outputs, edits = _called(model, operation)
    label = optional_text(operation, "thread")
    if label is not None:
        require_name(label, "thread")
    given, made = mapping_of(operation, "arguments"), mapping_of(operation, "outputs")
    visible = list(_visible(model, frame, after))
    arguments = ", ".join(_arguments(inputs, given, visible, model))
    results = ", ".join(_results(outputs, made, model))
    call = f"{label} " if label else ""
    call += f"{called}({arguments})" + (f" -> {results}" if results else "")
    return [*edits, insert_statements(model, frame, after, canonical(call))]


def _declared(model: ProgramModel, module: Mapping[str, Any]) -> tuple[str, Edits] | None:
    """Give the declaration of a tag of a bundle or record, and its import; None if the module is none."""
    edits: Edits = []
    type, file, name = (module.get(part) for part in ("type", "file", "name"))
    if isinstance(file, str) and isinstance(name, str) and name in _types_of(model, file):
        type, edits = imported_name(model, file, name)
    if not isinstance(type, str):
        return None
    tag = type.rpartition(".")[2].lower()
    return f"var {type} {free_name(tag, {type, *_taken(model)})}", edits


def _types_of(model: ProgramModel, file: str) -> list[str]:
    if file.endswith(PROGRAM):
        return [item.name.id for item in model.libraries.items_of(file) if not isinstance(item, sx.Segment)]
    return [record.label for record in _file(model, file).records]


Called = tuple[str, Sequence[Port], Sequence[Port], Edits]


def _called(model: ProgramModel, operation: Operation) -> Called:
    module = mapping_of(operation, "module")
    if isinstance(name := module.get("segment"), str):
        if model.segment(name) is None:
            raise UsageError(f"there is no segment {name}", help="load the palette again")
        return name, *model.interface(name), []
    name, file = module.get("std") or module.get("name"), module.get("file", STANDARD)
    if not isinstance(name, str) or not isinstance(file, str):
        help = 'for example  "module": {"file": "heat.c", "name": "step"}'
        raise UsageError("`insert` needs a module", help=help)
    called, edits = (name, []) if file == STANDARD else imported_name(model, file, name)
    segment = model.libraries.item_of(file, name) if file.endswith(PROGRAM) else None
    if isinstance(segment, sx.Segment):
        return called, *interface(called, model.drawn, segment, model.libraries.members), edits
    signature = _signature(model, file, name)
    ports = [parameter_port(p) for p in signature.inputs], [parameter_port(p) for p in signature.outputs]
    return called, *ports, edits


def _file(model: ProgramModel, file: str) -> ModuleFile:
    try:
        return model.finder.find(file, model.analysis.path)
    except ModuleNotFound as error:
        raise UsageError(error.message, help=error.help) from None


def _signature(model: ProgramModel, file: str, name: str) -> Signature:
    for signature in _file(model, file).signatures:
        if signature.name == name:
            return signature
    raise UsageError(f"{file} has no module {name}", help="load the palette again")


def _visible(model: ProgramModel, frame: Element, after: Element | None) -> Iterator[Symbol]:
    """Give the tags and parameters that a call at a place can read."""
    line, column = model.text.place(after.end if after is not None else frame.end - 1)
    for symbol in model.drawn.symbols.visible(line, column):
        before = symbol.span is not None and (symbol.span.line, symbol.span.column) <= (line, column)
        if symbol.kind in ("tag", "counter", "parameter") and before:
            yield symbol


def _arguments(
    inputs: Sequence[Port], given: Mapping[str, Any], visible: Sequence[Symbol], model: ProgramModel
) -> Iterator[str]:
    """Write what is given, else a tag of the port's name, else one of its type, else the port's name."""
    by_name = False
    for port in inputs:
        value = given.get(port.name)
        if port.direction == "comm" or (port.optional and not value):
            by_name |= port.optional and port.direction != "comm"
            continue
        value = str(value) if value else _fitting(port, visible, model)
        yield f"{port.name} = {value}" if by_name else value


def _fitting(port: Port, visible: Sequence[Symbol], model: ProgramModel) -> str:
    alike = [s.name for s in visible if s.name == port.name]
    typed = [s.name for s in reversed(visible) if s.kind == "tag" and _fits(port, s, model)]
    return [*alike, *typed, port.name][0]


def _fits(port: Port, symbol: Symbol, model: ProgramModel) -> bool:
    tag = model.drawn.tag(symbol)
    if (members := model.libraries.members(symbol.node)) or port.members:
        return members == port.members
    if tag is None or port.type is None or tag.type.scalar != port.type.scalar:
        return False
    ranks = [None if t.shape is None else len(t.shape) for t in (tag.type, port.type)]
    return port.type.element in (None, tag.type.element) and (None in ranks or ranks[0] == ranks[1])


def _results(outputs: Sequence[Port], made: Mapping[str, Any], model: ProgramModel) -> Iterator[str]:
    """Write what is given, else a name that is free."""
    taken = _taken(model)
    for port in outputs:
        value = made.get(port.name)
        free = free_name(port.name, taken)
        taken.add(free)
        yield str(value) if value else free


def _taken(model: ProgramModel) -> set[str]:
    return {symbol.name for symbol in model.drawn.symbols.all}
