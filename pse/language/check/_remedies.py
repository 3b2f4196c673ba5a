"""Remedies: program text that help texts suggest, with names, labels and partitions of the place at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pse.language.check._context import Context
from pse.language.check._scope import PROCS, ParameterEntity, SegmentEntity, TagEntity
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._elements import INTEGERS
from pse.language.types._expressions import DYNAMIC, Binary, Name, Text, names_in, render_expression
from pse.language.types._types import (
    Distribution,
    Element,
    Parameter,
    Pattern,
    Type,
    render_distribution,
    render_parameter,
)
from pse.records import replace


def conversion(context: Context, entity: TagEntity, want: Distribution, thread: str = "") -> str:
    """Suggest the call that brings a tag into the wanted distribution, with labels that fit its region."""
    assert entity.type is not None, "only typed tags are compared"
    have, name, inside = entity.type.distribution, entity.display, context.partition is not None
    target = lies(context, want)
    if have.distributed and want.distributed:
        where = "first" if inside else "inside PARALLEL"
        return f"redistribute it {where}:  {thread}redistribute({name}) -> pieces {target}"
    when = "before the block" if inside else "first"
    gather = f"gather it {when}:  {context.root_thread}gather({name}) -> whole"
    if want.pattern is Pattern.REPLICATED:
        replicate = f"{context.root_thread}replicate"
        if have.distributed:
            return f"{gather}   {replicate}(whole) -> everywhere"
        return f"replicate it {when}:  {replicate}({name}) -> everywhere"
    if want.distributed:
        return f"scatter it {when}:  {context.root_thread}scatter({name}) -> rows {target}"
    if inside:
        after = f", after:  {context.root_thread}gather({name}) -> whole" if have.distributed else ""
        return f"call it outside PARALLEL, where arrays are whole{after}"
    return gather if have.distributed else f"give the array that `{name}` was replicated from"


def over_partition(context: Context, partition: str | None) -> str:
    """Write `over P` where the program has several partitions."""
    names = [e.name for e in context.globals.partitions()]
    if len(names) < 2:
        return ""
    return f" over {partition or context.partition or names[0]}"


def lies(context: Context, distribution: Distribution) -> str:
    """Write a distribution with what it is over, where the program has several partitions."""
    over = over_partition(context, distribution.partition) if distribution.distributed else ""
    return render_distribution(distribution, display=context.display) + over


def shown(context: Context, type: Type) -> str:
    """Write a type with what it is distributed over, where the program has several partitions."""
    if not type.distribution.distributed:
        return context.show(type)
    return context.show(type) + over_partition(context, type.distribution.partition)


def output_text(
    context: Context,
    node: sx.OutputNode,
    *,
    name: str = "",
    stated: str | None = None,
    where: str | None = None,
) -> str:
    """Write an output as the program has it, but for what is given: a name, a type, a distribution."""
    parts = (
        _between(context, node.span, node.name.span) if stated is None else stated,
        name or node.name.id,
        _source(context, node.distribution) if where is None else where,
        _source(context, node.reduction),
    )
    return f"-> {' '.join(part for part in parts if part)}"


def _source(context: Context, node: sx.DistributionNode | sx.ReductionNode | None) -> str:
    return _between(context, node.span) if node is not None else ""


def _between(context: Context, span: Span, until: Span | None = None) -> str:
    """Give the text of a place on one line, or what is before another that begins in it."""
    end = (until.line, until.column) if until is not None else (span.end_line, span.end_column)
    lines = context.text.split("\n")[span.line - 1 : end[0]]
    lines[-1] = lines[-1][: end[1] - 1]
    return " ".join(" ".join([lines[0][span.column - 1 :], *lines[1:]]).split())


def another_name(context: Context, node: sx.OutputNode, where: str | None = None) -> str:
    """Suggest the output with a name that is not in use."""
    other = unused_name(context, node.name.id)
    return f"name the output otherwise:  {output_text(context, node, name=other, where=where)}"


def unused_name(context: Context, name: str) -> str:
    """Give a name that is not in use: the given one, or one with a number behind; for `u[1]` that is `u2`."""
    number, base = 2, name.partition("[")[0]
    found = base
    while context.frame.find(found) is not None:
        number, found = number + 1, f"{base}{number}"
    return found


def grid_declaration(context: Context, partition: str | None, axes: int = 2) -> str:
    """Declare a partition with a grid: the one at hand, or a new one where the program declares none."""
    new = partition in (None, PROCS)
    grid = ", ".join(["2", "procs", *["1"] * (axes - 2)])
    declared = f"partition {unused_name(context, 'P') if new else partition} = 2 * procs as grid({grid})"
    return f"{'declare above the program' if new else 'for example'}:  {declared}"


def distributed_so(context: Context, node: sx.OutputNode, how: str = "@ block(0)", *, name: str = "") -> str:
    """Write an output with a distribution over the partition at hand."""
    where = f"{how}{over_partition(context, context.partition)}"
    written = output_text(context, node, name=name, where=where)
    return f"write how its pieces lie, for example:  {written}"


def decided_rows(parameter: Parameter) -> str:
    """Suggest a directive by which a module decides how many rows it gives, where it gave so many."""
    first, *rest = parameter.type.shape or ()
    name = next(f"{DYNAMIC}{letter}" for letter in "klpqrst" if letter not in names_in(first))
    shape = (Name(name), *rest)
    decided = replace(parameter, type=replace(parameter.type, shape=shape), capacity=first)
    return f"let the module decide how many rows it gives:  {render_parameter(decided)}"


class Slot(NamedTuple):
    """An input as a declaration has it: its kind is "array", "string" or "scalar"."""

    name: str
    kind: str
    element: Element | None = None
    axes: int | None = None
    optional: bool = False


def slots_of(parameters: Iterable[Parameter]) -> list[Slot]:
    """Give the inputs of a module that a call writes."""
    written = [p for p in parameters if p.type.element is not Element.COMM]
    return [slot_of(p.name, p.type, optional=p.default is not None) for p in written]


def slot_of(name: str, type: Type, *, optional: bool = False) -> Slot:
    """Describe an input by its type."""
    axes = len(type.shape) if type.shape is not None else None
    return Slot(name, _kind(type), type.element, axes, optional)


def is_reordered(context: Context, node: sx.Call, slots: Sequence[Slot]) -> bool:
    """Whether a call gives the inputs of the first slots, by position, but not in their order."""
    given = [_kind_of(context, a.value) for a in node.arguments if a.name is None]
    kinds = [slot.kind for slot in slots[: len(given)]]
    return given != kinds and sorted(given) == sorted(kinds)


def call_help(
    context: Context, node: sx.Call, slots: Sequence[Slot], outputs: Sequence[str], thread: str = ""
) -> str:
    """Say how to write a call: what is given stays where it fits, the rest is what there is, or a value."""
    inputs, chosen = _inputs(context, node, slots)
    names = [_between(context, output.span) for output in node.outputs][: len(outputs)]
    names += [unused_name(context, name) for name in outputs[len(names) :]]
    form = f"{node.callee.text}({', '.join(inputs)})" + (f" -> {', '.join(names)}" if names else "")
    written = {text.rpartition(" = ")[2] for text in inputs}
    missing = [slot.name for slot in chosen if slot.kind == "array" and slot.name in written]
    missing = [f"`{name}`" for name in missing if context.frame.find(name) is None]
    first = f"   (make {' and '.join(missing)} before)" if missing else ""
    return f"write{', for example' if chosen else ''}:  {thread}{form}{first}"


def _inputs(context: Context, node: sx.Call, slots: Sequence[Slot]) -> tuple[list[str], list[Slot]]:
    """Write the inputs of a call as they should be, and tell which of them the call does not give."""
    segment = isinstance(context.frame.find(node.callee.text), SegmentEntity)  # Its inputs have no names.
    named = {
        a.name.id: text_of(a.value) if segment else f"{a.name.id} = {text_of(a.value)}"
        for a in node.arguments
        if a.name is not None
    }
    given = [(text_of(a.value), _kind_of(context, a.value)) for a in node.arguments if a.name is None]
    inputs: list[str] = []
    chosen: list[Slot] = []
    for place, slot in enumerate(slots):
        earlier = [before.name for before in slots[:place]]
        taken = next((g for g in given if g[1] in ("", slot.kind)), None)
        if slot.name in named or taken is not None:
            inputs.append(named.get(slot.name) or taken[0])  # type: ignore[index]
        elif not slot.optional:
            value = _choice(context, slot, {*inputs, *(text for text, _ in given)})
            behind_names = not segment and not named.keys().isdisjoint(earlier)
            inputs.append(f"{slot.name} = {value}" if behind_names else value)
            chosen.append(slot)
        if slot.name not in named and taken is not None:
            given.remove(taken)
    return inputs, chosen


def _choice(context: Context, slot: Slot, used: Collection[str]) -> str:
    """Choose an input: what the program has of that type, a value, or the declared name of an array."""
    if slot.kind == "string":
        return f'"{slot.name}"'
    names = [name for name in context.frame.visible() if name not in used and _suits(context, name, slot)]
    if slot.name in names:
        return slot.name
    if slot.kind == "array":
        return names[-1] if names else slot.name
    parameters = [name for name in names if isinstance(context.frame.find(name), ParameterEntity)]
    return parameters[0] if parameters else example_value(slot.element or Element.I64)


def _suits(context: Context, name: str, slot: Slot) -> bool:
    """Say whether a name stands for something that an input can be."""
    entity = context.frame.find(name)
    if isinstance(entity, ParameterEntity):
        return slot.kind == "scalar" and entity.element is (slot.element or Element.I64)
    if not isinstance(entity, TagEntity) or entity.type is None or _kind(entity.type) != slot.kind:
        return False
    axes = slot.axes is None or slot.axes == len(entity.type.shape or ())
    reachable = entity.type.distribution.distributed == (context.partition is not None)
    return axes and reachable and slot.element in (None, entity.type.element)


def example_value(element: Element) -> str:
    """Give a value of a type, as programs and command lines have it."""
    examples = {Element.BOOL: "true", Element.STRING: "text"}
    return examples.get(element, "8" if element in INTEGERS else "0.5")


def _kind(type: Type | None) -> str:
    if type is None:
        return ""
    if type.scalar:
        return "string" if type.element is Element.STRING else "scalar"
    return "array"


def _kind_of(context: Context, value: sx.SyntaxExpression) -> str:
    """Say what kind of input an expression is; an empty text where that is not known."""
    if isinstance(value, Text):
        return "string"
    entity = context.frame.find(value.id) if isinstance(value, Name) else None
    if isinstance(entity, TagEntity):
        return _kind(entity.type)
    return "" if isinstance(value, Name | sx.CallExpression | Binary) else "scalar"


def text_of(value: sx.SyntaxExpression) -> str:
    """Write an expression as a program has it; a call, which no expression contains, is left out."""
    return "…" if isinstance(value, sx.CallExpression) else render_expression(value)


def declaration(
    context: Context, name: str, element: Element | None, axes: int, written: Distribution | None = None
) -> str:
    """Suggest the type of an array that a call is to fill, as its output states it."""
    label = element.label if element is not None else "f64"
    known = [
        e.name
        for e in context.globals.names.values()
        if isinstance(e, ParameterEntity) and e.element in INTEGERS
    ]
    shape = ", ".join((known + ["8"] * axes)[:axes])
    where = f" {lies(context, written)}" if written is not None else ""
    if context.partition is not None:
        where = where or f" @ block(0){over_partition(context, context.partition)}"
    typed = "" if element is not None else "its element type and "
    return f"state {typed}the shape of the whole array, for example:  -> {label}[{shape}] {name}{where}"
