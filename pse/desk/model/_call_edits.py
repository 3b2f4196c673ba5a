"""Edits of one call: its thread, arguments, outputs, distributions and reductions."""

from __future__ import annotations

import re

from pse.desk.model._elements import Element
from pse.desk.model._fields import Operation, optional_text, text_of
from pse.desk.model._ports import Port
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit
from pse.errors import UsageError
from pse.language.syntax import ast as sx, require_name

Edits = list[Edit]


def _call(model: ProgramModel, operation: Operation) -> Element:
    element = model.element(operation.get("node"))
    if element.call is None:
        raise UsageError(f"`{element.label}` is not a call", help="choose a call")
    return element


def _statement(model: ProgramModel, operation: Operation) -> sx.Call:
    """Give a call that is a statement of its own, whose outputs can be written."""
    element = _call(model, operation)
    if not isinstance(element.node, sx.Call):
        called = element.call.callee.text if element.call else ""
        raise UsageError(
            f"`let {element.label} = {called}(…)` has neither a thread nor outputs",
            help=f"write it as a call:  {called}(…) -> {element.label}",
        )
    return element.node


def move_to_thread(model: ProgramModel, operation: Operation) -> Edits:
    """Change the thread of a call: one word of the text."""
    call, label = _statement(model, operation), optional_text(operation, "thread")
    callee, _ = model.text.range(call.callee.span)
    if label is None:
        return [Edit(model.text.range(call.label.span)[0], callee, "")] if call.label else []
    require_name(label, "thread")
    if model.is_segment(model.element(operation.get("node"))):
        raise UsageError("a segment has no thread of its own", help="move the calls in the segment")
    if call.label is None:
        return [Edit(callee, callee, f"{label} ")]
    return [Edit(*model.text.range(call.label.span), label)]


# Arguments.


def find_port(ports: list[Port], name: object, element: Element) -> Port:
    """Give the port of a name."""
    found = next((port for port in ports if port.name == name), None)
    if found is None:
        names = ", ".join(port.name for port in ports) or "none"
        raise UsageError(f"`{element.label}` has no port {name}", help=f"its ports are: {names}")
    return found


def set_argument(model: ProgramModel, operation: Operation) -> Edits:
    """Give an input another value, or leave it out."""
    element = _call(model, operation)
    inputs, _ = model.ports(element)
    port, value = find_port(inputs, operation.get("port"), element), optional_text(operation, "value")
    if port.direction == "comm":
        raise UsageError(f"`{port.name}` is a communicator, which the engine supplies", help="leave it out")
    if port.argument is None:
        return [_new_argument(model, element, inputs, port, value)] if value else []
    if value:
        span = port.argument.value.span
        assert span is not None
        return [Edit(*model.text.range(span), value)]
    return [_without_argument(model, element, port)]


def _new_argument(model: ProgramModel, element: Element, inputs: list[Port], port: Port, value: str) -> Edit:
    """Write an argument in its place if all before it are written in order, else by its name."""
    call = element.call
    assert call is not None
    before = [p for p in inputs[: inputs.index(port)] if p.direction != "comm"]
    in_order = all(p.argument is not None and p.argument.name is None for p in before)
    positional = in_order and len(call.arguments) == len(before) and not port.optional
    new = value if positional else f"{port.name} = {value}"
    if call.arguments:
        _, end = model.text.range(call.arguments[-1].span)
        return Edit(end, end, f", {new}")
    place = _opening(model, call)
    return Edit(place, place, new)


def _opening(model: ProgramModel, call: sx.Call | sx.CallExpression) -> int:
    """Give the place behind the parenthesis of a call without arguments."""
    place = model.text.behind(model.text.range(call.callee.span)[1], "(")
    if place is None:
        raise UsageError(f"`{call.callee.text}` has no parentheses", help="correct the call in the text")
    return place


def _without_argument(model: ProgramModel, element: Element, port: Port) -> Edit:
    """Take an argument out if the call stays right without it; else its place shows the port's name."""
    call, argument = element.call, port.argument
    assert call is not None
    assert argument is not None
    assert argument.value.span is not None
    number = call.arguments.index(argument)
    last = number == len(call.arguments) - 1
    if not (argument.name is not None or last) or not (port.optional or argument.name is not None):
        return Edit(*model.text.range(argument.value.span), re.split("[ ,.]", port.name)[0])
    start, end = model.text.range(argument.span)
    if number:
        start = model.text.range(call.arguments[number - 1].span)[1]
    elif not last:
        end = model.text.range(call.arguments[number + 1].span)[0]
    return Edit(start, end, "")


# Outputs.


def set_output(model: ProgramModel, operation: Operation) -> Edits:
    """Name the tag that an output makes."""
    element, name = model.element(operation.get("node")), text_of(operation, "name")
    require_name(name, "tag")
    if isinstance(element.node, sx.Let | sx.Var | sx.Assignment):
        return [Edit(*model.text.range(element.node.name.span), name)]
    call = _statement(model, operation)
    _, outputs = model.ports(element)
    port = find_port(outputs, operation.get("port"), element)
    if port.output is not None:
        return [Edit(*model.text.range(port.output.name.span), name)]
    missing = outputs[len(call.outputs) : outputs.index(port)]
    names = [*(p.name for p in missing), name]
    _, end = model.text.range(call.span)
    return [Edit(end, end, (", " if call.outputs else " -> ") + ", ".join(names))]


def _written_output(model: ProgramModel, operation: Operation) -> sx.OutputNode:
    element = _call(model, operation)
    _statement(model, operation)
    port = find_port(model.ports(element)[1], operation.get("port"), element)
    if port.output is None:
        raise UsageError(f"the output {port.name} has no tag", help="name its tag first")
    return port.output


def set_distribution(model: ProgramModel, operation: Operation) -> Edits:
    """Change how an output, or a declared array, is distributed."""
    element = model.element(operation.get("node"))
    given = optional_text(operation, "distribution")
    if isinstance(element.node, sx.Var):
        node: sx.OutputNode | sx.TypeNode = element.node.type
        end = behind_shape(model, element.node.type)
    else:
        node = _written_output(model, operation)
        end = model.text.range(node.name.span)[1]
    written = node.distribution
    new = f" @ {given.removeprefix('@').strip()}" if given else ""
    return [Edit(end, model.text.range(written.span)[1] if written is not None else end, new)]


def behind_shape(model: ProgramModel, node: sx.TypeNode) -> int:
    """Give the end of a type without its distribution."""
    if node.distribution is None:
        return model.text.range(node.span)[1]
    start, end = model.text.range(node.span)[0], model.text.range(node.distribution.span)[0]
    return start + len(model.text[start:end].rstrip())


def set_reduction(model: ProgramModel, operation: Operation) -> Edits:
    """Combine the values that partitions give to an output, or stop doing so."""
    output = _written_output(model, operation)
    start, end = model.text.range(output.span)
    if output.reduction is not None:
        start, end = model.text.range(output.reduction.span)
        start = len(model.text[:start].rstrip())
    else:
        start = end
    if optional_text(operation, "operation") is None:
        return [Edit(start, end, "")]
    target, how = text_of(operation, "target"), text_of(operation, "operation")
    return [Edit(start, end, f" reduce {target}({how})")]


def set_value(model: ProgramModel, operation: Operation) -> Edits:
    """Change the type or the value of a let, a var or an assignment."""
    element, new = model.element(operation.get("node")), optional_text(operation, "text")
    node, field = element.node, operation.get("field")
    if not isinstance(node, sx.Let | sx.Var | sx.Assignment):
        raise UsageError(f"`{element.label}` has no value", help="choose a let, a var or an assignment")
    if field == "type" and isinstance(node, sx.Var) and new:
        return [Edit(model.text.range(node.type.span)[0], behind_shape(model, node.type), new)]
    if field == "value" and node.value is not None and node.value.span is not None:
        if new:
            return [Edit(*model.text.range(node.value.span), new)]
        if isinstance(node, sx.Var):
            return [Edit(model.text.range(node.name.span)[1], element.end, "")]
    if field == "value" and new:
        return [Edit(element.end, element.end, f" = {new}")]
    raise UsageError(f"`{element.label}` needs a {field}", help="give a text for it")
