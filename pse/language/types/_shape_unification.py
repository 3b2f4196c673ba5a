"""A call's arguments against the directive's symbolic shapes: `a[m, n]` unifies dimensions across arguments.

One `Matcher` for each call.  Extents are compared as ``extents`` normalises them; an extent with an unknown
dimension is solved for it, and waits while it has several.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from pse.language.types import _symbolic_extents as extents
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Expression, Value, names_in, render_expression
from pse.language.types._symbolic_extents import Dimension, Extent, Piece
from pse.language.types._types import Distribution
from pse.records import dataclass

Mismatch = Callable[[Extent], None]
"""Called with the extent that was expected: with a dimension in it where none from 0 gives the actual one."""
Blocks = Callable[[Distribution, int], Extent | None]
"""Gives into how many blocks a distribution cuts the axis of an index."""


Refusal = Callable[[int, str, str], None]
"""Called with an actual extent, what is needed instead of it, and what fits, as text (may be empty)."""


def needed(expected: Extent) -> str:
    """Say what is asked of an extent: a number, or a pattern that no dimension makes equal to it."""
    written = render_expression(extents.to_expression(expected))
    names = extents.dimensions_in(expected)
    return f"`{written}` with an integer `{min(names)}` from 0 on" if names else written


def solve_dimensions(
    axes: Iterable[tuple[Expression, Expression, Refusal]],
    given: Mapping[str, Expression],
    environment: Mapping[str, Value],
) -> dict[str, Expression]:
    """Work out the dimensions of a call whose arrays have these extents.

    Parameters
    ----------
    axes : iterable of tuple
        Of each axis the extent of the signature, the actual one, and what to call if they differ for certain
        (with the actual extent, and, as texts, with what is needed and with what fits).
    given : mapping of str to Expression
        Dimensions that are passed as scalars.
    environment : mapping of str to Value
        The values of names that actual extents may have in them, as far as they are known.

    Returns
    -------
    dict of str to Expression
        What could be worked out, also of `given`.

    Examples
    --------
    >>> from pse.language.types import Binary, Name, Number
    >>> axes = [(Binary("+", Name("m"), Number(2)), Name("N"), print)]
    >>> solve_dimensions(axes, {}, {"N": 7})["m"].value
    5
    >>> solve_dimensions(axes, {}, {"N": 1})
    1 `m + 2` with an integer `m` from 0 on 2, 3, 4
    {}
    """

    def extent(expression: Expression) -> Extent:
        value = evaluate(expression, environment) if names_in(expression) <= environment.keys() else None
        return (
            extents.number(value) if isinstance(value, int) else extents.extent_of(expression, extents.atom)
        )

    def refuse(refusal: Refusal, actual: Extent, expected: Extent) -> None:
        open = extents.dimensions_in(expected)
        if actual.constant is not None and (open or expected.constant is not None):
            fitting = extents.fitting(expected, actual) if open else []
            refusal(actual.constant, needed(expected), ", ".join(f"{one.constant}" for one in fitting))

    matcher = Matcher(lambda distribution, index: None)
    matcher.known |= {name: extent(value) for name, value in given.items()}
    for pattern, actual, refusal in axes:
        found = extent(actual)
        matcher.expect(pattern, found, functools.partial(refuse, refusal, found))
    matcher.settle()
    return {name: extents.to_expression(extent) for name, extent in matcher.known.items()}


@dataclass
class _Expectation:
    pattern: Expression
    actual: Extent
    mismatch: Mismatch


class Matcher:
    """Knows the dimensions of one call.

    Parameters
    ----------
    blocks : callable
        Gives into how many blocks a distribution cuts the axis of an index; None if that is not known.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.known: dict[str, Extent] = {}
        self._blocks = blocks
        self._waiting: list[_Expectation] = []

    def extent(self, pattern: Expression) -> Extent:
        """Give an extent of the signature, with what is known of its dimensions."""
        return extents.extent_of(pattern, lambda name: self.known.get(name) or extents.atom(Dimension(name)))

    def expect(self, pattern: Expression, actual: Extent, mismatch: Mismatch) -> None:
        """Ask for an extent of the signature to be equal to an actual one."""
        self._waiting.append(_Expectation(pattern, actual, mismatch))

    def settle(self) -> None:
        """Solve and compare everything that can be; what still has several unknowns goes on waiting."""
        progress = True
        while progress:
            waiting, self._waiting = self._waiting, []
            for expectation in waiting:
                if not self._try(expectation):
                    self._waiting.append(expectation)
            progress = len(self._waiting) < len(waiting)

    def _try(self, expectation: _Expectation) -> bool:
        pattern = self.extent(expectation.pattern)
        if not extents.dimensions_in(pattern):
            if not self.same(pattern, expectation.actual):
                expectation.mismatch(pattern)
            return True
        solution = extents.solve(pattern, expectation.actual)
        if solution is None:
            return False
        if extents.is_impossible(pattern, solution, expectation.actual):
            expectation.mismatch(pattern)
        else:
            self.known[solution[0]] = solution[1]
        return True

    def unknown(self) -> set[str]:
        """Give the dimensions that could not be worked out."""
        return {
            name for waiting in self._waiting for name in extents.dimensions_in(self.extent(waiting.pattern))
        }

    def same(self, left: Extent, right: Extent) -> bool:
        """Compare two extents; a piece of `block(0)` over P equals `N / P` if the program says so.

        What a module decides while the program runs is compared then; whether divisions leave a remainder,
        when parameters have their values.
        """
        if extents.is_dynamic(left) or extents.is_dynamic(right):
            return True
        if left == right or extents.without_remainders(left) == extents.without_remainders(right):
            return True
        whole = not (extents.has_piece(left) and extents.has_piece(right))
        return whole and self.divided(left) == self.divided(right)

    def divided(self, extent: Extent) -> Extent:
        """Write pieces that are equally long in all partitions as what they are: `N / P`."""
        return extents.rewrite(extent, self._quotient)

    def _quotient(self, atom: extents.Atom) -> Extent | None:
        if not isinstance(atom, Piece) or atom.distribution.block is not None or atom.distribution.user:
            return None
        blocks = self._blocks(atom.distribution, atom.index)
        return extents.divide(atom.extent, blocks) if blocks is not None else None
