"""The types of the language: elements, distributions, arrays, and a module's signature.

Values only: nothing here looks names up or reports diagnostics (`checker` does), and nothing finds or builds
modules (the room `modules` does, and hands signatures down).  Everything is frozen and hashable.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from pse._abi.elements import Element as Element
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import (
    DYNAMIC,
    Binary,
    Expression,
    Name,
    render_expression,
    substitute,
)
from pse.records import dataclass

LANGUAGES = {
    ".c": "c",
    ".cpp": "c++",
    ".cc": "c++",
    ".cxx": "c++",
    ".pyx": "cython",
    ".f90": "fortran",
    ".f95": "fortran",
    ".f03": "fortran",
    ".f08": "fortran",
    ".py": "python",
}
"""Language of a module file by the ending of its name (lower case)."""

DIRECTIVE_MARKS = {"c": "//@", "c++": "//@", "fortran": "!@", "python": "#@", "cython": "#@"}
"""How a module directive's line starts in each host language."""


class Pattern(enum.Enum):
    """How a tag's elements are spread over partitions.

    See Also
    --------
    render_distribution
    """

    ROOT = "root"
    REPLICATED = "replicated"
    BLOCK = "block"
    CYCLIC = "cyclic"
    BLOCK_CYCLIC = "block_cyclic"
    USER = "user"
    ANY = "any"  # only in signatures: the module takes whatever it gets


@dataclass(frozen=True)
class Distribution:
    """`@ block(0, 1) halo(1)`: a pattern, the axes it cuts, its block size, its halo, its partition.

    `halo` has a width for each of the axes, or one for all; it is empty where there is none.

    Parameters
    ----------
    pattern : Pattern
        How indices are dealt out.
    axes : tuple of int, optional
        Axes that are cut, from 0.
    block : Expression, optional
        Size of a block, in elements, where the pattern has one.
    halo : tuple of Expression, optional
        Widths of the halo, in elements.
    user : str, optional
        Name of the user's pattern.
    partition : str, optional
        Name of the partition set; None: the only one.

    See Also
    --------
    render_distribution
    """

    pattern: Pattern
    axes: tuple[int, ...] = ()
    block: Expression | None = None
    halo: tuple[Expression, ...] = ()
    user: str | None = None
    partition: str | None = None

    @property
    def widths(self) -> tuple[Expression, ...]:
        """The width of the halo for each of the axes; empty without a halo."""
        return self.halo * len(self.axes) if len(self.halo) == 1 else self.halo

    @property
    def distributed(self) -> bool:
        """Whether each partition holds a piece of its own."""
        return self.pattern not in (Pattern.ROOT, Pattern.REPLICATED, Pattern.ANY)


@dataclass(frozen=True)
class Type:
    """Type of a tag.

    `shape` is `()` for a scalar, a tuple of expressions (over parameters, `procs`, partitions; in a
    signature over dimension names) for an array, and None for "any number of axes" (`a[...]`, signatures
    only). `element` None means "any element type" (`T`, signatures only). For a scalar, `distribution` is
    replicated, root, or block (one value per partition).

    Parameters
    ----------
    element : Element or None
        Type of an element; None: any.
    shape : tuple of Expression or None, optional
        Extents; ``()`` for a scalar, None for any number of axes.
    distribution : Distribution, optional
        Where its elements lie.

    See Also
    --------
    render_shape

    Examples
    --------
    >>> kind = program.tags["u"].type
    >>> kind.element.value, kind.scalar, kind.distribution.pattern.value
    ('float64', False, 'block')
    """

    element: Element | None
    shape: tuple[Expression, ...] | None = ()
    distribution: Distribution = field(default_factory=lambda: Distribution(Pattern.ROOT))

    @property
    def scalar(self) -> bool:
        """Whether this is a single value, not an array."""
        return self.shape == ()


def halo_of(widths: Sequence[Expression]) -> tuple[Expression, ...]:
    """Write down the widths of a halo: one, if all are the same."""
    return tuple(widths[:1] if all(width == widths[0] for width in widths) else widths)


def block_range(extent: int, parts: int, index: int) -> range:
    """Give the indices that a partition has of an axis which is cut by `block`.

    Parameters
    ----------
    extent : int
        How many elements the axis has.
    parts : int
        Into how many blocks it is cut; where they can't be equal, the first ones have one element more.
    index : int
        Which block.

    Returns
    -------
    range
        Without the halo.

    Examples
    --------
    >>> [block_range(10, 4, index) for index in range(4)]
    [range(0, 3), range(3, 6), range(6, 8), range(8, 10)]
    """
    size, larger = divmod(extent, parts)
    first = index * size + min(index, larger)
    return range(first, first + size + (index < larger))


class Direction(enum.Enum):
    """What a module does with a parameter.

    See Also
    --------
    parse_directive
    """

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a module's directive.

    Parameters
    ----------
    name : str
        Its name.
    direction : Direction
        Whether the module reads it, writes it or both.
    type : Type
        Its type.
    default : Expression, optional
        Value if a call gives none.
    span : Span, optional
        Its place in the text; None for what is not from a text.
    single : bool, optional
        Whether it is one record: an array of one in the program, a struct in the module.
    interior : bool, optional
        Whether the module has no use for what is in the halo.
    capacity : Expression, optional
        How many rows the module fills at most, where it decides how many (`out f64 x[?n <= m]`).

    See Also
    --------
    parse_directive
    """

    name: str
    direction: Direction
    type: Type
    default: Expression | None = None
    span: Span | None = None
    single: bool = False
    interior: bool = False
    capacity: Expression | None = None

    @property
    def decided(self) -> str | None:
        """Name of the extent, the first, that the module decides (`?n`); None if there is none."""
        first = self.type.shape[0] if self.type.shape else None
        return first.id if isinstance(first, Name) and first.id.startswith(DYNAMIC) else None

    @property
    def shape(self) -> tuple[Expression, ...] | None:
        """Extents of what the module gets: a single record has none."""
        return () if self.single else self.type.shape

    @property
    def sizes(self) -> tuple[Expression, ...]:
        """All extents, and the capacity."""
        return (*(self.type.shape or ()), *((self.capacity,) if self.capacity is not None else ()))

    @property
    def written(self) -> tuple[Expression, ...] | None:
        """Extents as the directive has them, with the capacity."""
        if not self.shape or self.capacity is None:
            return self.shape
        return (Binary("<=", self.shape[0], self.capacity), *self.shape[1:])


@dataclass(frozen=True)
class Signature:
    """A module's interface, as its directive says it.

    `dimensions` are the names that compiled modules get as `int64_t` after the declared parameters, in
    order of first appearance; a name that is itself a scalar parameter is not among them.  Of `?n`, which the
    module decides, they get the address.

    Parameters
    ----------
    name : str
        Name of the module.
    parameters : tuple of Parameter
        Its parameters in order.
    dimensions : tuple of str, optional
        Names that stand for extents.
    collective : bool, optional
        Whether it takes a communicator.
    span : Span, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    parse_directive

    Examples
    --------
    >>> step = next(module for module in program.modules if module.name == "step")
    >>> [parameter.name for parameter in step.signature.outputs], step.signature.dimensions
    (['v', 'residual'], ('nx', 'ny'))
    """

    name: str
    parameters: tuple[Parameter, ...]
    dimensions: tuple[str, ...] = ()
    collective: bool = False
    span: Span | None = None

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Parameters written in the parentheses of a call (in and inout)."""
        return tuple(p for p in self.parameters if p.direction is not Direction.OUT)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """Parameters written after `->`."""
        return tuple(p for p in self.parameters if p.direction is Direction.OUT)


def render_distribution(distribution: Distribution, *, display: Callable[[str], str] = str) -> str:
    """Write a distribution as in a program: `@ block(0) halo(1)`; nothing for "whatever the module gets".

    Parameters
    ----------
    distribution : Distribution
        What is written.
    display : callable, optional
        Turns a name into what is shown.

    Returns
    -------
    str
        As in a program.

    Examples
    --------
    >>> from pse.language.types import Number
    >>> render_distribution(Distribution(Pattern.BLOCK, (0, 1), halo=(Number(1),)))
    '@ block(0, 1) halo(1)'
    """
    if distribution.pattern is Pattern.ANY:
        return ""
    arguments = [str(axis) for axis in distribution.axes]
    if distribution.block is not None:
        arguments.append(_shown(distribution.block, display))
    text = f"@ {distribution.user or distribution.pattern.value}"
    if arguments:
        text += f"({', '.join(arguments)})"
    if distribution.halo:
        text += f" halo({', '.join(_shown(width, display) for width in distribution.halo)})"
    return text


def _shown(expression: Expression, display: Callable[[str], str]) -> str:
    return render_expression(substitute(expression, lambda name: Name(display(name.id))))


def render_shape(type: Type, *, display: Callable[[str], str] = str) -> str:
    """Write a shape: `[N, M]`, `[...]`, nothing for a scalar.

    Parameters
    ----------
    type : Type
        Type whose shape is written.
    display : callable, optional
        Turns a name into what is shown.

    Returns
    -------
    str
        As in a program.

    Examples
    --------
    >>> render_shape(program.tags["u"].type)
    '[NX, NY]'
    """
    if type.shape is None:
        return "[...]"
    return f"[{', '.join(_shown(extent, display) for extent in type.shape)}]" if type.shape else ""


def render_type(type: Type, *, display: Callable[[str], str] = str) -> str:
    """Write a type: `c128[N, N] @ root`, `f64`, `f64 of each partition`.

    Parameters
    ----------
    type : Type
        What to write.
    display : callable
        Turns a resolved name into what the user wrote.

    Returns
    -------
    str
        As in a program.

    Examples
    --------
    >>> render_type(program.tags["u"].type)
    'f64[NX, NY] @ block(0, 1) halo(1)'
    """
    element = type.element.label if type.element else "T"
    if type.scalar:
        return element + (" of each partition" if type.distribution.distributed else "")
    where = render_distribution(type.distribution, display=display)
    return f"{element}{render_shape(type, display=display)} {where}".rstrip()


def render_signature(signature: Signature) -> str:
    """Write a signature as its directive.

    Parameters
    ----------
    signature : Signature
        A module's interface.

    Returns
    -------
    str
        The directive, without its language's mark.

    Examples
    --------
    >>> render_signature(next(m.signature for m in program.modules if m.name == "gather"))
    'coven module gather(in T a[...], out T b[...] @ root)'
    """
    parameters = ", ".join(render_parameter(parameter) for parameter in signature.parameters)
    return f"coven module {signature.name}({parameters})" + (" collective" if signature.collective else "")


def render_parameter(parameter: Parameter) -> str:
    """Write one parameter of a directive."""
    type = parameter.type
    element = type.element.label if type.element else "T"
    shape = render_shape(replace(type, shape=parameter.written))
    text = f"{parameter.direction.value} {element} {parameter.name}{shape}"
    text = f"{text} {render_distribution(type.distribution)}".rstrip()
    text += " interior" if parameter.interior else ""
    return text + (f" = {render_expression(parameter.default)}" if parameter.default is not None else "")
