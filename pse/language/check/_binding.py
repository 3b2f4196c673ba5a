"""Values for the parameters of a checked program: from the command line or defaults, checked against `where`.

The result is the environment that `evaluate` takes: parameters, `procs`, and how many partitions there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from pse.errors import EvaluationError, UsageError
from pse.language.check._distribution_check import check_layouts
from pse.language.check._ir import ParameterDeclaration, PartitionDeclaration, ResolvedProgram, Tag
from pse.language.check._remedies import example_value
from pse.language.check._scope import PROCS
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.types._elements import COMPLEX, INTEGERS, fits, literal_element
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Expression, Number, Value, names_in, render_expression
from pse.language.types._types import Element
from pse.text import did_you_mean, value_text

MAX_PARTITIONS = 1_000_000
"""Most partitions that a program may ask for."""
MAX_ELEMENTS = 2**58
"""Most elements of an array: their bytes can be counted in 64 bits, whatever their type."""


class Bound(NamedTuple):
    """Values of a program's parameters and partitions, and what is wrong with them.

    Attributes
    ----------
    environment : dict of str to Value
        Parameters, `procs` and partitions by name; incomplete if something is wrong.
    diagnostics : tuple of Diagnostic
        What is wrong.

    See Also
    --------
    bind_parameters
    """

    environment: dict[str, Value]
    diagnostics: tuple[Diagnostic, ...]


def parse_defines(texts: Sequence[str], word: str = "-D") -> dict[str, str]:
    """Read ``name=value`` pairs, as those of ``-D``.

    Parameters
    ----------
    texts : sequence of str
        The pairs, as on the command line.
    word : str, optional
        What stands before them.

    Returns
    -------
    dict of str to str
        The value of each name, as text.

    Raises
    ------
    UsageError
        If one isn't such a pair, or a name comes twice.

    Examples
    --------
    >>> parse_defines(["N=2048", "eps = 1e-3"])
    {'N': '2048', 'eps': '1e-3'}
    """
    defines: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not all(part.isidentifier() for part in name.strip().split(".")):
            raise UsageError(f"{word} {text}: expected NAME=VALUE", help=f"for example:  {word} N=2048")
        if name.strip() in defines:
            raise UsageError(f"{word} {text}: {name.strip()} is given twice", help="leave out one of the two")
        defines[name.strip()] = value.strip()
    return defines


def bind_parameters(program: ResolvedProgram, values: Mapping[str, str | Value], procs: int) -> Bound:
    """Give every parameter and partition of a program its value.

    Parameters
    ----------
    program : ResolvedProgram, Tag
        A checked program.
    values : mapping of str to str or Value
        What the command line says (``-D N=512``): texts are read by the parameter's type.
    procs : int
        The number of processors.

    Returns
    -------
    Bound
        The environment with parameters, ``procs`` and the number of partitions under each partition's name;
        and diagnostics, empty if all is well.

    Examples
    --------
    >>> environment, diagnostics = bind_parameters(program, {"NX": "512"}, procs=2)
    >>> environment["NX"], environment["tol"], environment["P"]
    (512, 1e-06, 8)
    >>> bind_parameters(program, {"tol": "-1"}, procs=2).diagnostics[0].message
    'the value of parameter `tol` does not satisfy its `where` clause'
    """
    binding = _Binding(program, procs)
    binding.take(values, program.parameters)
    if not binding.diagnostics:
        binding.assumed(program.assumed)
    if not binding.diagnostics:
        for partition in program.partitions:
            binding.partition(partition)
        binding.shapes(program)
    if not binding.diagnostics:
        binding.diagnostics += check_layouts(program, binding.environment)
    return Bound(binding.environment, tuple(binding.diagnostics))


def check_values(program: ResolvedProgram, values: Mapping[str, str | Value]) -> tuple[Diagnostic, ...]:
    """Say what is wrong with values of parameters, as far as the number of processors doesn't decide it.

    Parameters
    ----------
    program : ResolvedProgram
        A program that was checked for these values.
    values : mapping of str to str or Value
        As `bind_parameters` takes them; a parameter that has none, and no default, can have any.

    Returns
    -------
    tuple of Diagnostic
        Empty if all is well.

    Examples
    --------
    >>> [wrong.message for wrong in check_values(program, {"tol": "-1"})]
    ['the value of parameter `tol` does not satisfy its `where` clause']
    """
    binding = _Binding(program, None)
    binding.take(values, [one for one in program.parameters if one.default is not None or one.name in values])
    if not binding.diagnostics:
        binding.shapes(program)
    return tuple(binding.diagnostics)


class _Binding:
    def __init__(self, program: ResolvedProgram, procs: int | None) -> None:
        self.environment: dict[str, Value] = {PROCS: procs} if procs is not None else {}
        self.diagnostics: list[Diagnostic] = []
        self._parameters = {parameter.name: parameter for parameter in program.parameters}
        self._partitions = {partition.name: partition for partition in program.partitions}
        self._undecided = {PROCS, *self._parameters, *self._partitions}
        self._worked_out: set[str] = set()
        self._start = Span(program.path, 1, 1, 1, 1)

    def _fail(self, code: str, message: str, span: Span, help: str | None, label: str = "") -> None:
        self.diagnostics.append(error_at(code, message, span, help=help, label=label))

    def take(self, values: Mapping[str, str | Value], parameters: Iterable[ParameterDeclaration]) -> None:
        """Take the values of the command line, and give parameters the others."""
        for name, value in values.items():
            self.set(name, value)
        for parameter in parameters:
            self.parameter(parameter)

    def shapes(self, program: ResolvedProgram) -> None:
        """Refuse tags that can't be."""
        for tag in program.tags.values():
            self.shape(tag)

    def set(self, name: str, value: str | Value) -> None:
        """Take a value of the command line."""
        parameter = self._parameters.get(name)
        if parameter is None:
            known = f"its parameters: {', '.join(self._parameters)}"
            none = f"leave out  -D {name}=…: the program has no parameters"
            help = did_you_mean(name, self._parameters) or (known if self._parameters else none)
            self._fail("E0603", f"the program has no parameter `{name}`", self._start, help)
            return
        read = given_value(value, parameter.element)
        if read is None:
            label = parameter.element.label
            given = f"{str(value)[:40]!r} is not of that type"
            message = f"parameter `{parameter.name}` has the type {label}, and {given}"
            help = f"for example:  -D {name}={example_value(parameter.element)}"
            self._fail("E0604", message, parameter.span, help)
            return
        self.environment[name] = read

    def parameter(self, parameter: ParameterDeclaration) -> None:
        """Give a parameter its default if it has no value, and check its `where`."""
        name = parameter.name
        if name not in self.environment and not self._mentioned(parameter):
            if parameter.default is None:
                example = example_value(parameter.element)
                message = f"parameter `{name}` has no value"
                self._fail("E0602", message, parameter.span, f"give it one:  -D {name}={example}")
                return
            value = self._evaluate(parameter.default)
            if value is None:
                return
            converted = _accept(value, parameter.element)
            if converted is None:
                message = f"the default of parameter `{name}` is not of type {parameter.element.label}"
                help = f"give a value:  -D {name}={example_value(parameter.element)}"
                self._fail("E0604", message, parameter.span, help, str(value)[:40])
                return
            self.environment[name] = converted
        if parameter.where is not None and name in self.environment:
            self._check_where(parameter, parameter.where)

    def assumed(self, values: Mapping[str, Value]) -> None:
        """Refuse values with which the check of the program does not hold."""
        for name, value in values.items():
            if self.environment[name] != value:
                given = _show(self.environment[name])
                message = f"the program was checked for {name} = {_show(value)}, not for {given}"
                help = "its arrays of tags depend on it: check it again, with this value"
                self._fail("E0609", message, self._parameters[name].span, help)

    def _mentioned(self, parameter: ParameterDeclaration) -> bool:
        """A value that could not be read was reported already."""
        return any(d.code == "E0604" and d.span == parameter.span for d in self.diagnostics)

    def _check_where(self, parameter: ParameterDeclaration, where: Expression) -> None:
        if self._evaluate(where) is False:
            self.diagnostics.append(unsatisfied(parameter.name, where, parameter.span, self.environment))

    def partition(self, partition: PartitionDeclaration) -> None:
        """Work out how many partitions there are, and whether the grid fits."""
        if partition.name in self._worked_out:
            return
        self._worked_out.add(partition.name)
        count = self._evaluate(partition.count)
        if count is None:
            return
        if not isinstance(count, int) or not 1 <= count <= MAX_PARTITIONS:
            pieces = f"1 to {MAX_PARTITIONS:,}"
            message = f"partition `{partition.name}` would have {_show(count)} pieces; it must have {pieces}"
            help = "choose other values, by -p and -D, or change the declaration"
            self._fail("E0607", message, partition.count.span or partition.span, help)
            return
        if partition.name != PROCS:
            self.environment[partition.name] = count
        if partition.grid is not None:
            self._grid(partition, partition.grid, count)

    def _grid(self, partition: PartitionDeclaration, grid: tuple[Expression, ...], count: int) -> None:
        extents = [self._evaluate(extent) for extent in grid]
        product = 1
        for extent in extents:
            if extent is None:
                return
            product *= extent if isinstance(extent, int) and extent >= 1 else 0
        if product != count:
            shown = " × ".join(_show(extent) for extent in extents if extent is not None)
            cells = f"the grid of partition `{partition.name}` has {shown} cells"
            message = f"{cells}, but the partition has {count} pieces"
            help = f"choose other values, by -p and -D, or a grid of {count} cells"
            self._fail("E0607", message, partition.span, help)

    def shape(self, tag: Tag) -> None:
        """Refuse a tag that can't be; those that depend on a loop counter show at run time."""
        known: list[int] = []
        for axis, extent in enumerate(tag.type.shape or ()):
            if names_in(extent) <= self.environment.keys():
                value = self._evaluate(extent)
                if isinstance(value, int) and value < 0:
                    message = f"`{tag.display}` would have the negative extent {value} along axis {axis}"
                    help = f"choose values for which `{render_expression(extent)}` is at least 0"
                    self._fail("E0610", message, tag.span, help)
                known += [value] if isinstance(value, int) else []
        if prod(known) > MAX_ELEMENTS:
            count = " × ".join(map(str, known))
            message = f"`{tag.display}` would have {count} elements, more than any memory can hold"
            self._fail("E0610", message, tag.span, "choose smaller values for its extents")

    def _evaluate(self, expression: Expression) -> Value | None:
        """Evaluate with what is bound so far; partitions that are needed are worked out first."""
        missing = names_in(expression) - self.environment.keys()
        for name in missing & self._partitions.keys():
            self.partition(self._partitions[name])
        if missing & self._undecided - self.environment.keys():
            return None  # It was reported, or is not asked for.
        try:
            return evaluate(expression, self.environment)
        except EvaluationError as failure:
            span = failure.span or expression.span or self._start
            used = sorted(names_in(expression) & self.environment.keys())
            values = ", ".join(f"{name} = {_show(self.environment[name])}" for name in used)
            help = "give other values, by -D and -p"
            self._fail("E0609", failure.message, span, help, values)
            return None


def _show(value: Value) -> str:
    text = value_text(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _accept(value: Value, element: Element) -> Value | None:
    """Convert a value to a parameter's type, None if it does not fit."""
    if isinstance(value, complex):
        return value if element in COMPLEX else None
    literal = Number(value) if not isinstance(value, str) else None
    if not fits(literal_element(value), element, literal):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and element not in INTEGERS:
        return float(value)
    return value


def unsatisfied(name: str, where: Expression, span: Span, values: Mapping[str, Value]) -> Diagnostic:
    """Report a parameter at `span` whose value its condition excludes."""
    used = ", ".join(f"{name} = {_show(values[name])}" for name in sorted(names_in(where) & values.keys()))
    message = f"the value of parameter `{name}` does not satisfy its `where` clause"
    options = "-D and -p set them" if PROCS in names_in(where) else "-D sets them"
    help = f"choose values for which `{render_expression(where)}` holds ({options})"
    return error_at("E0601", message, where.span or span, help=help, label=used)


def given_value(value: str | Value, element: Element) -> Value | None:
    """Read a value as the user gives it, a text or a number; None if it is not of a parameter's type."""
    return read_value(value, element) if isinstance(value, str) else _accept(value, element)


def read_value(text: str, element: Element) -> Value | None:
    """Read a parameter's value as the command line gives it.

    Parameters
    ----------
    text : str
        What stands after ``-D N=``.
    element : Element
        The parameter's type.

    Returns
    -------
    Value or None
        None if the text is not a value of this type (also if it is out of the type's range, or not finite).
    """
    text = text if element is Element.STRING else text.strip()
    if element is Element.STRING:
        return text
    if element is Element.BOOL:
        return {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}.get(
            text.lower()
        )
    if element in INTEGERS:
        return _accept(int(text), element) if re.fullmatch(r"[+-]?\d{1,19}", text) else None
    return _read_real(text, element)


def _read_real(text: str, element: Element) -> Value | None:
    if len(text) > 64 or "_" in text:
        return None
    try:
        number = complex(text.replace(" ", "")) if element in COMPLEX else float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
