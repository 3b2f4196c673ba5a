"""Symbolic extents: integer polynomials that make `N*2` equal to `2*N`, and pieces of distributed axes.

A shape in a program is global.  What a module inside PARALLEL sees along a cut axis is a ``Piece`` of it:
equal to the piece of any other axis that is cut in the same way, and different from everything else.  What
is not a polynomial (`N / procs`, `min(a, b)`) becomes one opaque atom, compared by its normalised
parts.  Everything is bounded: a product that would grow too large stays an opaque atom, and a large
expression is taken whole, as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from pse.language.types import _expressions as expressions
from pse.language.types._expressions import Apply, Binary, Expression, Name, Number, Text, Unary, walk
from pse.language.types._types import Distribution, Type
from pse.records import dataclass

MAX_TERMS = 64
"""Most terms of a polynomial; beyond it a product is an opaque atom."""

MAX_NODES = 64
"""Largest expression that is normalised, in nodes."""

_BITS = 64
"""How large an exponent of a constant may be: beyond it the power is no integer of the language."""


@dataclass(frozen=True)
class Dimension:
    """A dimension name of a module's signature that is not known yet."""

    name: str


@dataclass(frozen=True)
class Piece:
    """What one partition holds of a cut axis, without halo.

    `extent` is the global extent, `index` which of the distribution's cut axes this is, `cuts` how many
    there are.
    """

    extent: Extent
    distribution: Distribution
    index: int


@dataclass(frozen=True)
class Opaque:
    """An operation that is not a polynomial, on normalised operands."""

    operator: str
    operands: tuple[Extent, ...]


@dataclass(frozen=True)
class Whole:
    """An expression that is too large to be normalised."""

    expression: Expression


Atom = str | Dimension | Piece | Opaque | Whole
Monomial = tuple[tuple[Atom, int], ...]


@dataclass(frozen=True)
class Extent:
    """A polynomial with integer coefficients: its monomials (atoms with powers), sorted."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """The value, if it is a number."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def atom(self) -> Atom | None:
        """The atom, if it is nothing but one atom."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom, power = self.terms[0][0][0]
            return atom if power == 1 else None
        return None


def number(value: int) -> Extent:
    """Make a constant."""
    return Extent((((), value),) if value else ())


def atom(of: Atom) -> Extent:
    """Make a polynomial of one atom."""
    return Extent(((((of, 1),), 1),))


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Extent:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return Extent(tuple(sorted(((m, c) for m, c in total.items() if c), key=lambda term: repr(term[0]))))


def add(left: Extent, right: Extent) -> Extent:
    """Add two extents."""
    return _collect([*left.terms, *right.terms])


def scale(extent: Extent, factor: int) -> Extent:
    """Multiply by a constant."""
    return _collect((monomial, coefficient * factor) for monomial, coefficient in extent.terms)


def multiply(left: Extent, right: Extent) -> Extent:
    """Multiply two extents."""
    if len(left.terms) * len(right.terms) > MAX_TERMS:
        return atom(Opaque("*", tuple(sorted((left, right), key=repr))))
    return _collect((_product(m, n), a * b) for m, a in left.terms for n, b in right.terms)


def _product(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for base, power in right:
        powers[base] = powers.get(base, 0) + power
    return tuple(sorted(((b, p) for b, p in powers.items() if p), key=repr))


def divide(left: Extent, right: Extent) -> Extent:
    """Divide (floor); exact where every term of the left side has the right side's one term as a factor."""
    exact = _exact_quotient(left, right)
    if exact is None and left.constant is not None and right.constant:
        return number(left.constant // right.constant)
    return exact if exact is not None else _floor(left, right)


def _floor(left: Extent, right: Extent) -> Extent:
    """Divide with a remainder; `N / 2 / 4` is `N / 8`, for divisors above 0."""
    inner = left.atom
    if isinstance(inner, Opaque) and inner.operator == "/":
        before, divisor = inner.operands
        if (divisor.constant or 0) > 0 and (right.constant or 0) > 0:
            return divide(before, multiply(divisor, right))
    return atom(Opaque("/", (left, right)))


def _exact_quotient(left: Extent, right: Extent) -> Extent | None:
    if len(right.terms) != 1:
        return None
    (monomial, coefficient) = right.terms[0]
    inverse = tuple((base, -power) for base, power in monomial)
    terms = []
    for other, value in left.terms:
        quotient = _product(other, inverse)
        if value % coefficient or any(power < 0 for _, power in quotient):
            return None
        terms.append((quotient, value // coefficient))
    return _collect(terms)


def without_remainders(extent: Extent) -> Extent:
    """Take divisions by numbers for exact ones: `2 * (N / 4)` is `N / 2` then."""
    total = number(0)
    for monomial, coefficient in extent.terms:
        term = Extent(((monomial, coefficient),))
        if len(monomial) == 1 and isinstance(base := monomial[0][0], Opaque) and base.operator == "/":
            dividend, divisor = base.operands
            exact = coefficient > 0 and divisor.constant and divisor.constant % coefficient == 0
            if exact and monomial[0][1] == 1:
                term = divide(dividend, number((divisor.constant or 0) // coefficient))
        total = add(total, term)
    return total


def is_large(expression: Expression) -> bool:
    """Say whether an expression has more than `MAX_NODES` nodes."""
    return next(islice(walk(expression), MAX_NODES, None), None) is not None


def extent_of(expression: Expression, lookup: Callable[[str], Extent]) -> Extent:
    """Normalise an expression; `lookup` gives the extent that a name stands for."""
    return atom(Whole(expression)) if is_large(expression) else _normal(expression, lookup)


def _normal(expression: Expression, lookup: Callable[[str], Extent]) -> Extent:
    match expression:
        case Number(value) if type(value) is int:
            return number(value)
        case Name(id):
            return lookup(id)
        case Unary("-", operand):
            return scale(_normal(operand, lookup), -1)
        case Unary(operator, operand):
            return atom(Opaque(operator, (_normal(operand, lookup),)))
        case Binary(operator, left, right):
            return _binary(operator, _normal(left, lookup), _normal(right, lookup))
        case Apply(function, arguments):
            operands = [_normal(argument, lookup) for argument in arguments]
            symmetric = function in ("min", "max")
            return atom(Opaque(function, tuple(sorted(operands, key=repr) if symmetric else operands)))
        case Number(value) | Text(value):
            return atom(Opaque(repr(value), ()))


def _binary(operator: str, left: Extent, right: Extent) -> Extent:
    if operator == "+":
        return add(left, right)
    if operator == "-":
        return add(left, scale(right, -1))
    if operator == "*":
        return multiply(left, right)
    if operator == "/":
        return divide(left, right)
    if operator == "**" and left.constant is not None and right.constant in range(_BITS):
        return number(left.constant ** (right.constant or 0))
    if operator == "**" and right.constant is not None and 0 <= right.constant <= 4:
        power = number(1)
        for _ in range(right.constant):
            power = multiply(power, left)
        return power
    return atom(Opaque(operator, (left, right)))


def dimensions_in(extent: Extent) -> set[str]:
    """Give the names of unknown dimensions, at any depth."""
    found: set[str] = set()
    for monomial, _ in extent.terms:
        for base, _ in monomial:
            if isinstance(base, Dimension):
                found.add(base.name)
            elif isinstance(base, Opaque):
                found |= {name for operand in base.operands for name in dimensions_in(operand)}
    return found


def solve(pattern: Extent, actual: Extent) -> tuple[str, Extent] | None:
    """Solve ``pattern == actual`` for the one unknown dimension of `pattern`; None if it is not linear."""
    unknown = dimensions_in(pattern)
    if len(unknown) != 1:
        return None
    (name,) = unknown
    alone: Monomial = ((Dimension(name), 1),)
    factor = dict(pattern.terms).get(alone, 0)
    rest = _collect((monomial, value) for monomial, value in pattern.terms if monomial != alone)
    if factor == 0 or name in dimensions_in(rest):
        return None
    return name, divide(add(actual, scale(rest, -1)), number(factor))


def is_impossible(pattern: Extent, solution: tuple[str, Extent], actual: Extent) -> bool:
    """Say whether what `solve` gives is a number that no dimension can be: below 0, or with a remainder."""
    value = solution[1].constant
    return value is not None and (value < 0 or _with_dimension(pattern, value) != actual)


def _with_dimension(pattern: Extent, value: int) -> Extent:
    return rewrite(pattern, lambda base: number(value) if isinstance(base, Dimension) else None)


def fitting(pattern: Extent, actual: Extent) -> list[Extent]:
    """Give three extents next to an actual one that its pattern, with one unknown dimension, can have."""
    _, solution = solve(pattern, actual) or ("", number(0))
    below = solution.constant or 0
    first = max(0, below + (_with_dimension(pattern, below) != actual))
    return [_with_dimension(pattern, value) for value in range(first, first + 3)]


def rewrite(extent: Extent, change: Callable[[Atom], Extent | None]) -> Extent:
    """Put something in the place of every atom for which `change` gives an extent."""
    total = number(0)
    for monomial, coefficient in extent.terms:
        product = number(coefficient)
        for base, power in monomial:
            for _ in range(power):
                product = multiply(product, _changed(base, change))
        total = add(total, product)
    return total


def _changed(base: Atom, change: Callable[[Atom], Extent | None]) -> Extent:
    changed = change(base)
    if changed is not None:
        return changed
    if isinstance(base, Opaque):
        operands = tuple(rewrite(operand, change) for operand in base.operands)
        return _binary("/", *operands) if base.operator == "/" else atom(Opaque(base.operator, operands))
    return atom(base)


def global_extent(extent: Extent) -> Extent:
    """Put the global extent in the place of every piece."""
    return rewrite(extent, lambda base: base.extent if isinstance(base, Piece) else None)


def pieces_in(extent: Extent) -> list[Piece]:
    """Give the pieces that an extent is made of."""
    return [base for monomial, _ in extent.terms for base, _ in monomial if isinstance(base, Piece)]


def has_piece(extent: Extent) -> bool:
    """Say whether an extent differs from partition to partition."""
    return global_extent(extent) != extent


def is_dynamic(extent: Extent) -> bool:
    """Say whether an extent is known only while the program runs, because a module decides it."""
    return expressions.is_dynamic(to_expression(extent))


def local_shape(type: Type, lookup: Callable[[str], Extent]) -> tuple[Extent, ...]:
    """Give the extents that a module sees: of the whole array, or of a partition's piece with its halo."""
    extents = [extent_of(extent, lookup) for extent in type.shape or ()]
    distribution = type.distribution
    if not distribution.distributed:
        return tuple(extents)
    halo = [extent_of(width, lookup) for width in distribution.widths] or [number(0)] * len(distribution.axes)
    for index, axis in enumerate(distribution.axes):
        piece = atom(Piece(extents[axis], without_halo(distribution, lookup), index))
        extents[axis] = add(piece, scale(halo[index], 2))
    return tuple(extents)


def without_halo(distribution: Distribution, lookup: Callable[[str], Extent]) -> Distribution:
    """Reduce a distribution to what decides how long pieces are: not its halo, nor which axes these are."""
    block = to_expression(extent_of(distribution.block, lookup)) if distribution.block is not None else None
    axes = tuple(range(len(distribution.axes)))
    return Distribution(distribution.pattern, axes, block, (), distribution.user, distribution.partition)


def to_expression(extent: Extent) -> Expression:
    """Write an extent as an expression; pieces as their global extents, unknown dimensions by their names."""
    result: Expression | None = None
    terms = sorted(global_extent(extent).terms, key=lambda term: (not term[0], term[1] < 0))
    for monomial, coefficient in terms:
        term = _term(monomial, abs(coefficient))
        if result is None:
            result = Unary("-", term) if coefficient < 0 else term
        else:
            result = Binary("-" if coefficient < 0 else "+", result, term)
    return result if result is not None else Number(0)


def _term(monomial: Monomial, coefficient: int) -> Expression:
    factors: list[Expression] = [Number(coefficient)] if coefficient != 1 or not monomial else []
    for base, power in monomial:
        factors += [_atom_expression(base)] * power
    result = factors[0]
    for factor in factors[1:]:
        result = Binary("*", result, factor)
    return result


def _atom_expression(base: Atom) -> Expression:
    if isinstance(base, str):
        return Name(base)
    if isinstance(base, Dimension):
        return Name(base.name)
    if isinstance(base, Piece):
        return to_expression(base.extent)
    if isinstance(base, Whole):
        return base.expression
    operands = tuple(to_expression(operand) for operand in base.operands)
    if not operands:
        return Name(base.operator)
    if base.operator[0].isalpha() and base.operator not in ("and", "or", "not"):
        return Apply(base.operator, operands)
    if len(operands) == 1:
        return Unary(base.operator, operands[0])
    return Binary(base.operator, operands[0], operands[1])
