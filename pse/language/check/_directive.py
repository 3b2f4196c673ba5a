"""Module directives, from the text after ``coven module`` to a signature; how the checker asks for modules.

The room ``modules`` finds the text behind each host language's comment and calls ``parse_directive``; it
implements the protocol ``ModuleFinder``, by which the checker gets the signatures back.  Finding a module
reads its directive; it never builds, imports or executes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from pse.errors import EvaluationError
from pse.language.check._halo_check import takes_frame
from pse.language.check._type_resolution import (
    Report,
    distribution_of,
    element_of,
    written_record,
    written_shape,
)
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._kept_trees import directive_tree, program_tree
from pse.language.syntax._words import RESERVED
from pse.language.types._elements import fits, literal_element
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import (
    DYNAMIC,
    Apply,
    Binary,
    Expression,
    Name,
    Number,
    Text,
    Unary,
    is_dynamic,
    names_in,
    walk,
)
from pse.language.types._records import record_of
from pse.language.types._types import Direction, Distribution, Element, Parameter, Pattern, Signature, Type
from pse.records import dataclass

STANDARD = "pse.std"
"""Import path of the standard library."""
ANY_ELEMENT = "T"
"""Stands for any element type, the same wherever it appears in one directive."""

_ANYWHERE = Distribution(Pattern.ANY)


def parse_record(text: str, span: Span) -> Element | tuple[Diagnostic, ...]:
    """Read a record directive.

    Parameters
    ----------
    text : str
        What stands after ``coven record``: ``Body { f64 x, y   i32 kind }``.
    span : Span
        Where the text stands.

    Returns
    -------
    Element or tuple of Diagnostic
        The record type; or everything that is wrong.

    Examples
    --------
    >>> parse_record("Body { f64 x  i32 kind }", Span("m.c", 1, 18, 1, 42)).label
    'Body'
    """
    # A program of one item, as far down and to the right as in its file: so places are those of the file.
    ahead = "\n" * (span.line - 1) + "coven 1".ljust(span.column - 1 - len("record "))
    tree, mistakes = program_tree(f"{ahead}record {text}", span.path)
    items = [item for item in tree.items if isinstance(item, sx.Record)] if tree is not None else []
    if mistakes or len(items) != 1:
        message = "record directive: a name and fields in braces are expected"
        help = "for example:  coven record Body { f64 x, y   i32 kind }"
        return mistakes or (error_at("E0510", message, span, help=help),)
    found: list[Diagnostic] = []
    return written_record(items[0], found.append) or tuple(found)


def parse_directive(
    text: str, span: Span, records: Mapping[str, Element | None] | None = None
) -> Signature | tuple[Diagnostic, ...]:
    """Read a module directive.

    Parameters
    ----------
    text : str
        What stands after ``coven module``: ``step(in f64 u[nx+2, ny+2], out f64 residual)``.
    span : Span
        Where the text stands; its line and column place diagnostics.
    records : mapping, optional
        The record types of the file, by name.

    Returns
    -------
    Signature or tuple of Diagnostic
        The signature, whose span is `span`; or everything that is wrong.

    Examples
    --------
    >>> signature = parse_directive("step(in f64 u[n], out f64 r)", Span("m.c", 1, 18, 1, 46))
    >>> signature.name, signature.dimensions, [output.name for output in signature.outputs]
    ('step', ('n',), ['r'])
    """
    tree = directive_tree(text, span)
    if isinstance(tree, Diagnostic):
        return (tree,)
    found: list[Diagnostic] = []
    parameters = [_parameter(node, found.append, records or {}) for node in tree.parameters]
    _check_names(tree, found.append)
    _check_words(tree, found.append)
    _check_negative(tree, found.append)
    _check_shapes(parameters, found.append)
    if not found:
        _check_dynamic(parameters, found.append)
    if found:
        return tuple(found)
    return Signature(tree.name.id, tuple(parameters), _dimensions(parameters), tree.collective, span)


def _parameter(
    node: sx.DirectiveParameter, report: Report, records: Mapping[str, Element | None]
) -> Parameter:
    direction = Direction(node.direction)
    any_element = node.type.element.id == ANY_ELEMENT
    element = None if any_element else element_of(node.type.element, report, records=records)
    single = record_of(element) is not None and node.type.shape is None
    shape, capacity = _without_capacity(written_shape(node.type, element))
    type = Type(element, () if shape is None else (shape or None), _distribution(node, report))
    _check_element(node, type, direction, report)
    _check_default(node, type, direction, report)
    _check_interior(node, report)
    return Parameter(node.name.id, direction, type, node.default, node.span, single, node.interior, capacity)


def _check_interior(node: sx.DirectiveParameter, report: Report) -> None:
    """Refuse `interior` where it says nothing."""
    if not node.interior:
        return
    name, shape = node.name.id, node.type.shape or ()
    if node.direction == Direction.OUT.value:
        message = f"the module gives `{name}` with its halo: only inputs can be `interior`"
        report(error_at("E0511", message, node.span, help="leave out `interior`"))
    elif not any(takes_frame(extent) for extent in shape):
        message = f"`{name}` is `interior`, but its extents leave no place for a halo"
        help = f"leave out `interior`, or count the halo:  {name}[n + 2]"
        report(error_at("E0511", message, node.span, help=help))


def _without_capacity(
    shape: tuple[Expression, ...] | None,
) -> tuple[tuple[Expression, ...] | None, Expression | None]:
    """Take the capacity off an extent that the module decides: `?n <= m`."""
    first = shape[0] if shape else None
    if shape and isinstance(first, Binary) and first.operator == "<=":
        return (first.left, *shape[1:]), first.right
    return shape, None


def _distribution(node: sx.DirectiveParameter, report: Report) -> Distribution:
    written = node.type.distribution
    if written is None:
        return _ANYWHERE
    if written.partition is not None:
        message = "a directive cannot name a partition: a module works over any partition"
        report(error_at("E0511", message, written.partition.span, help="remove `over …`"))
    shape = node.type.shape
    rank = len(shape) if shape else (None if shape == () else 0)
    return distribution_of(written, rank, report, lambda pattern: pattern.text) or _ANYWHERE


def _check_element(node: sx.DirectiveParameter, type: Type, direction: Direction, report: Report) -> None:
    special = type.element in (Element.STRING, Element.COMM)
    if special and not (type.scalar and direction is Direction.IN):
        message = f"`{node.type.element.id}` can only be a scalar `in` parameter"
        help = f"write:  in {node.type.element.id} {node.name.id}"
        if direction is not Direction.IN and type.element is Element.STRING:
            help = "a module cannot give a string: give a number, for example:  "
            help += f"{direction.value} i64 {node.name.id}"
        report(error_at("E0511", message, node.span, help=help))


def _check_default(node: sx.DirectiveParameter, type: Type, direction: Direction, report: Report) -> None:
    default = node.default
    if default is None:
        return
    literal = default.operand if isinstance(default, Unary) else default
    if not isinstance(literal, Number | Text):
        help = "write a number, true, false or a string"
        report(error_at("E0511", "a default must be a literal", default.span or node.span, help=help))
    elif not type.scalar or direction is not Direction.IN:
        help = "leave out the default"
        report(error_at("E0511", "only a scalar `in` parameter can have a default", node.span, help=help))
    elif type.element is not None and not fits(literal_element(literal.value), type.element, default):
        message = f"the default of `{node.name.id}` is not of type {type.element.label}"
        help = f"give a default of type {type.element.label}, or change the type of the parameter"
        report(error_at("E0511", message, default.span or node.span, help=help))


def _check_names(tree: sx.Directive, report: Report) -> None:
    seen: set[str] = set()
    for parameter in tree.parameters:
        if parameter.name.id in seen:
            message = f"two parameters are called `{parameter.name.id}`"
            report(error_at("E0511", message, parameter.name.span, help="give each a name of its own"))
        seen.add(parameter.name.id)


def _check_words(tree: sx.Directive, report: Report) -> None:
    """Refuse names that are words of the language: no program could write them."""
    for name in (tree.name, *(parameter.name for parameter in tree.parameters)):
        if name.id in RESERVED:
            message = f"module directive: `{name.id}` is a word of the language, and cannot be a name"
            help = f"programs could not write it: choose another, for example:  {name.id}_value"
            report(error_at("E0510", message, name.span, help=help))


def _check_negative(tree: sx.Directive, report: Report) -> None:
    """Refuse extents and halos that are negative whatever the array."""
    for parameter in tree.parameters:
        written = parameter.type.distribution
        widths = written.halo if written is not None else ()
        named = [("an extent", one) for one in parameter.type.shape or ()]
        _, capacity = _without_capacity(parameter.type.shape)
        named += [("a capacity", capacity)] if capacity is not None else []
        for what, extent in [*named, *(("the width of a halo", one) for one in widths)]:
            value = _constant(extent)
            if value is not None and value < 0:
                message = f"{what} cannot be negative: this is {value}"
                place = extent.span or parameter.span
                report(error_at("E0306", message, place, help="give a number of at least 0"))


def _constant(tree: Expression) -> int | None:
    """Give the value of an integer expression without names."""
    if names_in(tree) or not all(_is_arithmetic(node) for node in walk(tree)):
        return None
    try:
        value = evaluate(tree, {})
    except EvaluationError:
        return None
    return value if isinstance(value, int) else None


def _check_shapes(parameters: list[Parameter], report: Report) -> None:
    """Check that extents are integer arithmetic on dimension names and on scalar integer parameters."""
    by_name = {parameter.name: parameter for parameter in parameters}
    integers = (Element.I64, Element.I32)
    for parameter in parameters:
        for extent in parameter.sizes:
            span = extent.span or parameter.span
            assert span is not None, "the parser gives every parameter a span"
            if not is_dynamic(extent) and not all(_is_arithmetic(node) for node in walk(extent)):
                message = "an extent must be integer arithmetic on dimension names"
                help = "use names, integers and + - * / %, for example:  u[n + 2, 2 * m]"
                report(error_at("E0511", message, span, help=help))
            for name in names_in(extent) & by_name.keys():
                other = by_name[name]
                if (
                    not other.type.scalar
                    or other.type.element not in integers
                    or other.direction is not Direction.IN
                ):
                    message = (
                        f"`{name}` is used as an extent: it must be `in i64 {name}`, or no parameter at all"
                    )
                    help = f"declare the parameter as  in i64 {name},  or give one of the two another name"
                    report(error_at("E0511", message, span, help=help))


def _check_dynamic(parameters: list[Parameter], report: Report) -> None:
    """Check the extents that the module decides: the first of outputs, a name with one capacity."""
    capacities: dict[str, Expression | None] = {}
    for parameter in parameters:
        for axis, extent in enumerate(parameter.type.shape or ()):
            if not is_dynamic(extent):
                continue
            if fault := _misplaced(parameter, axis, extent):
                report(error_at("E0511", fault[0], extent.span or _place(parameter), help=fault[1]))
                continue
            (name,) = names_in(extent)
            if capacities.setdefault(name, parameter.capacity) != parameter.capacity:
                message = f"`{name}` has two capacities in this directive"
                help = "give outputs of one extent one capacity, or give the extents two names"
                report(error_at("E0511", message, _place(parameter), help=help))
    _check_decided(parameters, {name.removeprefix(DYNAMIC) for name in capacities}, report)


def _misplaced(parameter: Parameter, axis: int, extent: Expression) -> tuple[str, str] | None:
    """Say what is wrong with an extent that the module is to decide, and what to do about it."""
    name = min(name for name in names_in(extent) if name.startswith(DYNAMIC))
    if parameter.direction is not Direction.OUT:
        help = f"leave out the question mark:  {parameter.name}[{name.removeprefix(DYNAMIC)}]"
        return f"`{name}`: an input has the extent of what the call gives", help
    if axis:
        help = f"let the rows be the first axis:  {parameter.name}[{name}, …]"
        return f"`{name}`: a module decides how many rows it gives, which is the first extent", help
    if parameter.type.distribution.halo:
        return f"`{name}`: an array of a size that the module decides has no halo", "leave out the halo"
    return None


def _check_decided(parameters: list[Parameter], decided: set[str], report: Report) -> None:
    """Refuse the names of what the module decides where a value is needed before."""
    for parameter in parameters:
        used = {name for extent in parameter.sizes for name in names_in(extent)} | {parameter.name}
        for name in sorted(used & decided):
            message = f"`{name}` is both known before the call and decided by the module (`?{name}`)"
            report(error_at("E0511", message, _place(parameter), help="give the two different names"))


def _place(parameter: Parameter) -> Span:
    assert parameter.span is not None, "the parser gives every parameter a span"
    return parameter.span


def _is_arithmetic(node: Expression) -> bool:
    match node:
        case Name():
            return True
        case Number(value):
            return type(value) is int
        case Unary(operator):
            return operator == "-"
        case Text() | Apply():
            return False
        case _:
            return node.operator in ("+", "-", "*", "/", "%")


def _dimensions(parameters: list[Parameter]) -> tuple[str, ...]:
    """Give the dimension names in order of first appearance, without those that are scalar parameters."""
    scalars = {parameter.name for parameter in parameters}
    found: dict[str, None] = {}
    for parameter in parameters:
        for extent in parameter.sizes:
            found |= {
                node.id: None for node in walk(extent) if isinstance(node, Name) and node.id not in scalars
            }
    return tuple(found)


class Directives(Collection[Signature]):
    """The signatures of directives that have no mistakes, each read when somebody asks for it.

    Parameters
    ----------
    path : str
        Where they stand.
    text : str
        A directive on each line.

    Attributes
    ----------
    names : dict of str to int
        The line of each module.

    Examples
    --------
    >>> directives = Directives("pse.std", "zero(out T a[...])\\ncopy(in T a[...], out T b[...])")
    >>> [signature.name for signature in directives], directives.named("copy").span.line
    (['zero', 'copy'], 2)
    """

    def __init__(self, path: str, text: str) -> None:
        self._path, self._lines = path, text.splitlines()
        self._read: dict[str, Signature] = {}
        self.names = {line.partition("(")[0]: number for number, line in enumerate(self._lines, 1)}

    def named(self, name: str) -> Signature:
        """Give the signature of a module.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        Signature
            What its directive says.
        """
        if name not in self._read:
            number = self.names[name]
            line = self._lines[number - 1]
            signature = parse_directive(line, Span(self._path, number, 1, number, len(line) + 1))
            assert isinstance(signature, Signature), signature
            self._read[name] = signature
        return self._read[name]

    def __iter__(self) -> Iterator[Signature]:
        return map(self.named, self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, signature: object) -> bool:
        return any(signature == one for one in self)


@dataclass(frozen=True)
class ModuleFile:
    """A file of modules, as far as its directives tell.

    Parameters
    ----------
    path : str
        The path to print.
    source : str or None
        The resolved file; None for the standard library.
    language : str
        "c", "c++", "cython", "fortran", "python" or "std".
    signatures : collection of Signature
        One for each directive in it.
    diagnostics : tuple of Diagnostic
        What is wrong with its directives.
    names : frozenset of str or None
        What a Python file defines at its top level; None where that is unknown.
    records : tuple of Element
        The record types that its directives declare.

    Examples
    --------
    >>> from pse.modules import Finder
    >>> file = Finder().find("heat.c", "heat.coven")
    >>> file.language, [signature.name for signature in file.signatures]
    ('c', ['init', 'step'])
    """

    path: str
    source: str | None
    language: str
    signatures: Collection[Signature]
    diagnostics: tuple[Diagnostic, ...] = ()
    names: frozenset[str] | None = None
    records: tuple[Element, ...] = ()


class ModuleFinder(Protocol):
    """Finds the file behind an import.

    See Also
    --------
    pse.modules.Finder : the one of the command line and the runtime
    """

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        """Find a file of modules.

        Parameters
        ----------
        import_path : str
            As written in the program: a path relative to it, or ``pse.std``.
        importing_file : str
            The program's path, as the user typed it.

        Raises
        ------
        ModuleNotFound
            If there is no such file, or nothing that could be a module; its message and help say what was
            tried.
        """
        ...

    def read_program(self, import_path: str, importing_file: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        """Read a `.coven` file whose segments a program imports.

        Parameters
        ----------
        import_path : str
            As written in the program.
        importing_file : str
            The path of the file that imports it.

        Returns
        -------
        tuple
            The path to print, the text, and what is wrong with its bytes; then the text is empty.

        Raises
        ------
        ModuleNotFound
            If there is no such file, or it can't be read.
        """
        ...
