"""The ports of a call: what its module or segment takes and gives, and what is written for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from pse.desk.model._elements import Element
from pse.language.syntax import ast as sx
from pse.language.types import Direction, Element as ElementType, Expression, Name, Parameter, Type
from pse.lsp import Analysis


class Port(NamedTuple):
    """An input or output; `argument` or `output` is what the call writes, None where it writes nothing."""

    name: str
    direction: str
    type: Type | None = None
    default: Expression | None = None
    argument: sx.CallArgument | None = None
    output: sx.OutputNode | None = None

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not None or self.direction == "comm"


Ports = tuple[list[Port], list[Port]]


def call_ports(element: Element, interface: Ports) -> Ports:
    """Give the inputs and outputs of a call of something that has an interface."""
    call = element.call
    assert call is not None, "it is a call"
    inputs, outputs = interface
    if isinstance(element.node, sx.Let):
        written = [sx.OutputNode(element.node.name, None, None, element.node.name.span)]
    else:
        written = list(element.node.outputs) if isinstance(element.node, sx.Call) else []
    return list(_inputs(inputs, call.arguments)), list(_outputs(outputs, written))


def interface(called: str, analysis: Analysis, segment: sx.Segment | None) -> Ports:
    """Give what a module takes and gives, by the name that calls write, or a segment."""
    if (reference := analysis.module(called)) is not None:
        signature = reference.signature
        return [parameter_port(p) for p in signature.inputs], [parameter_port(p) for p in signature.outputs]
    if segment is None:
        return [], []
    return _fields(segment.inputs, "in", analysis), _fields(segment.outputs, "out", analysis)


def _fields(fields: Sequence[sx.Field], direction: str, analysis: Analysis) -> list[Port]:
    """Give the ports of a segment; types of one in another file are not known here."""
    own = [field.span.path == analysis.path for field in fields]
    types = [tag_type(f.name, analysis) if here else None for f, here in zip(fields, own, strict=True)]
    return [Port(f.name.id, direction, kind) for f, kind in zip(fields, types, strict=True)]


def tag_type(name: sx.Identifier | Name, analysis: Analysis) -> Type | None:
    """Give the type of the tag that is named at a place; None if it is unknown."""
    found = analysis.symbols.of(name.span)
    return analysis.type_of(found) if found is not None else None


def parameter_port(parameter: Parameter) -> Port:
    """Give the port of a module's parameter."""
    direction = "inout" if parameter.direction is Direction.INOUT else parameter.direction.value
    if parameter.type.element is ElementType.COMM:
        direction = "comm"
    return Port(parameter.name, direction, parameter.type, parameter.default)


def _inputs(ports: Sequence[Port], arguments: Sequence[sx.CallArgument]) -> Iterator[Port]:
    """Give each input its argument: those by name, then the others in order; those left over last."""
    named = {a.name.id: a for a in arguments if a.name is not None}
    waiting = [a for a in arguments if a.name is None]
    for port in ports:
        if port.name in named:
            yield Port(*port[:4], named.pop(port.name))
        elif waiting and port.direction != "comm":
            yield Port(*port[:4], waiting.pop(0))
        else:
            yield port
    last = ports[-1].name if ports else "argument"
    for number, argument in enumerate([*waiting, *named.values()], 2 if ports else 1):
        yield Port(f"{last} {number}", "in", ports[-1].type if ports else None, argument=argument)


def _outputs(ports: Sequence[Port], written: Sequence[sx.OutputNode]) -> Iterator[Port]:
    for port, output in zip_longest(ports, written[: len(ports)]):
        yield Port(port.name, port.direction, port.type, port.default, None, output)
    for number, output in enumerate(written[len(ports) :], len(ports) + 1):
        yield Port(f"result {number}", "out", output=output)
