"""The ports of a call: what its module or segment takes and gives, and what is written for each.

A bundle of tags that is written whole stands for its members, in their order: it has one port, in the
place of all those that take or give them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from pse.desk.model._elements import Element
from pse.language.syntax import ast as sx
from pse.language.types import Direction, Element as ElementType, Expression, Name, Parameter, Type
from pse.lsp import Analysis


class Port(NamedTuple):
    """An input or output; `argument` or `output` is what the call writes, None where it writes nothing.

    One of a segment that is declared as a bundle has `members`.
    """

    name: str
    direction: str
    type: Type | None = None
    default: Expression | None = None
    argument: sx.CallArgument | None = None
    output: sx.OutputNode | None = None
    members: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not None or self.direction == "comm"


Ports = tuple[list[Port], list[Port]]
Bundles = Mapping[str, int]
"""How many members those names have that stand for bundles of tags."""

Members = Callable[[object], tuple[str, ...]]
"""Gives the members of the bundle with which something is declared; see `Libraries.members`."""


def whole_names(element: Element) -> Iterator[sx.Identifier | Name]:
    """Give the names that a call has for an input or output, which may be those of bundles."""
    assert element.call is not None, "it is a call"
    for argument in element.call.arguments:
        if argument.name is None and isinstance(argument.value, Name):
            yield argument.value
    for output in element.node.outputs if isinstance(element.node, sx.Call) else ():
        if output.distribution is None and output.reduction is None and output.index is None:
            yield output.name


def call_ports(element: Element, interface: Ports, bundles: Bundles) -> Ports:
    """Give the inputs and outputs of a call of something that has an interface."""
    call = element.call
    assert call is not None, "it is a call"
    inputs, outputs = interface
    if isinstance(element.node, sx.Let):
        written = [sx.OutputNode(element.node.name, None, None, element.node.name.span)]
    else:
        written = list(element.node.outputs) if isinstance(element.node, sx.Call) else []
    return list(_inputs(inputs, call.arguments, bundles)), list(_outputs(outputs, written, bundles))


def interface(called: str, analysis: Analysis, segment: sx.Segment | None, members: Members) -> Ports:
    """Give what a module takes and gives, by the name that calls write, or a segment."""
    if (reference := analysis.module(called)) is not None:
        signature = reference.signature
        return [parameter_port(p) for p in signature.inputs], [parameter_port(p) for p in signature.outputs]
    if segment is None:
        return [], []
    return (
        [_field(field, "in", analysis, members(field)) for field in segment.inputs],
        [_field(field, "out", analysis, members(field)) for field in segment.outputs],
    )


def _field(field: sx.Field, direction: str, analysis: Analysis, members: tuple[str, ...]) -> Port:
    """Give the port of a segment; its type is not known if it has several, or is in another file."""
    known = field.span.path == analysis.path and not members
    type = tag_type(field.name, analysis) if known else None
    return Port(field.name.id, direction, type, members=members)


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


def _inputs(ports: Sequence[Port], arguments: Sequence[sx.CallArgument], bundles: Bundles) -> Iterator[Port]:
    """Give each input its argument: those by name, then the others in order; those left over last."""
    named = {a.name.id: a for a in arguments if a.name is not None}
    waiting = [a for a in arguments if a.name is None]
    sizes = [bundles.get(a.value.id, 1) if isinstance(a.value, Name) else 1 for a in waiting]
    in_order = [port for port in ports if port.name not in named and port.direction != "comm"]
    taking = _in_place(in_order, sizes)
    for port in ports:
        if port.name in named:
            yield port._replace(argument=named.pop(port.name))
        elif port.direction == "comm":
            yield port
        else:
            for taker, number in taking[port.name]:
                yield taker if number is None else taker._replace(argument=waiting[number])
    last = ports[-1].name if ports else "argument"
    taken = sum(number is not None for found in taking.values() for _, number in found)
    for number, argument in enumerate([*waiting[taken:], *named.values()], 2 if ports else 1):
        yield Port(f"{last} {number}", "in", ports[-1].type if ports else None, argument=argument)


def _outputs(ports: Sequence[Port], written: Sequence[sx.OutputNode], bundles: Bundles) -> Iterator[Port]:
    sizes = [bundles.get(output.name.id, 1) for output in written]
    taken = 0
    for found in _in_place(ports, sizes).values():
        for port, number in found:
            taken += number is not None
            yield port if number is None else port._replace(output=written[number])
    for number, output in enumerate(written[taken:], taken + 1):
        yield Port(f"result {number}", "out", output=output)


def _in_place(ports: Sequence[Port], sizes: Sequence[int]) -> dict[str, list[tuple[Port, int | None]]]:
    """Put what is written, so many tags each, in the place of ports.

    For each port there is what begins in its place: a port, and the number of what is written for it.
    """
    places = [(port, member) for port in ports for member in port.members or ("",)]
    found: dict[str, list[tuple[Port, int | None]]] = {port.name: [] for port in ports}
    for number, size in enumerate(sizes):
        if places:
            found[places[0][0].name].append((_joined(places[:size]), number))
            places = places[size:]
    for port, rest in groupby(places, lambda place: place[0]):
        members = list(rest)
        whole = len(members) == len(port.members or "1")
        found[port.name] += [(_joined(members), None)] if whole else [(_joined([m]), None) for m in members]
    return found


def _joined(places: Sequence[tuple[Port, str]]) -> Port:
    """Give one port for several, or for members of one."""
    names, ports = list[str](), list[Port]()
    for port, members in groupby(places, lambda place: place[0]):
        taken = [member for _, member in members]
        ports.append(port)
        names += (
            [port.name] if len(taken) == len(port.members or "1") else [f"{port.name}.{m}" for m in taken]
        )
    if names == [ports[0].name]:
        return ports[0]
    directions = {port.direction for port in ports}
    return Port(", ".join(names), "inout" if "inout" in directions else ports[0].direction)
