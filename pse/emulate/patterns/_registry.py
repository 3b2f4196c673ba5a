"""The patterns by their names, and the decorator that adds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from pse.emulate.patterns._cycle import Cycle, PatternError, Step
from pse.emulate.patterns._user_code import user_code

Build = Callable[[Cycle], None]
Check = Callable[[int, Mapping[str, Any]], str | None]

PATTERNS: dict[str, Pattern] = {}


@dataclass(frozen=True)
class Pattern:
    """A pattern of communication.

    Attributes
    ----------
    name : str
        As a configuration names it.
    build : callable
        Adds the steps of one rank to a `Cycle`.
    description : str
        What is exchanged, in a line.
    check : callable
        Says what is wrong with a number of ranks and options; None if nothing is.
    options : tuple of str
        Names of the options that it understands.
    variants : int
        How many different cycles it has; they take turns.

    See Also
    --------
    find_pattern, pattern

    Examples
    --------
    >>> pairwise = pse.ace.find_pattern("pairwise")
    >>> pairwise.problem(1, {})
    'the pattern pairwise needs at least 2 ranks, not 1'
    """

    name: str
    build: Build
    description: str
    check: Check
    options: tuple[str, ...] = ()
    variants: int = 1

    def cycle(
        self,
        rank: int,
        ranks: int,
        size: int,
        *,
        blocking: bool = True,
        options: Mapping[str, Any] | None = None,
        variant: int = 0,
        seed: int = 0,
    ) -> list[Step]:
        """Give the steps of one rank in one variant of the cycle."""
        random = np.random.default_rng([seed, variant])
        cycle = Cycle(rank, ranks, size, blocking, options or {}, variant, random)
        with self._executed(f"for rank {rank} of {ranks}"):
            self.build(cycle)
        cycle.complete()
        return cycle.steps

    def problem(self, ranks: int, options: Mapping[str, Any]) -> str | None:
        """Say why so many ranks can't use the pattern with these options; None if they can."""
        if ranks < 2:
            return f"the pattern {self.name} needs at least 2 ranks, not {ranks}"
        with self._executed("in its check"):
            return self.check(ranks, options)

    def _executed(self, where: str) -> AbstractContextManager[None]:
        """Raise PatternError if one of the pattern's functions fails or doesn't end, with file and line."""
        return user_code(f"the pattern {self.name} fails {where}", _code(self.build).co_filename)


def _no_problem(_ranks: int, _options: Mapping[str, Any]) -> None:
    return None


def pattern(
    name: str, *, options: Sequence[str] = (), variants: int = 1, check: Check = _no_problem
) -> Callable[[Build], Build]:
    """Add a pattern: the decorator of a function that adds the steps of one rank to a `Cycle`.

    Parameters
    ----------
    name : str
        As a configuration names it.
    options : sequence of str
        Keys that an application of this pattern may have, besides those of all applications.
    variants : int
        How many different cycles there are; they take turns.
    check : callable, optional
        Called with the number of ranks and the options; gives what is wrong with them, or None.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    PatternError
        There is a pattern of this name already, it has no name, or no variants.

    Examples
    --------
    >>> @pattern("star")
    ... def star(cycle):
    ...     '''Rank 0 exchanges messages with each of the others.'''
    ...     for peer in range(1, cycle.ranks) if cycle.rank == 0 else [0]:
    ...         cycle.exchange(peer)
    >>> from pse.emulate import find_pattern
    >>> [step.peer for step in find_pattern("star").cycle(0, 3, 1024)]
    [1, 1, 2, 2]
    """
    if not isinstance(name, str):
        raise PatternError("a pattern needs a name", help='write @pattern("star") before its function')
    if type(variants) is not int or variants < 1:
        raise PatternError(
            f"the pattern {name!r} has variants = {variants!r}: expected an integer from 1",
            help='leave `variants` out, or write for example:  @pattern("star", variants=4)',
        )

    def added(build: Build) -> Build:
        known = PATTERNS.get(name)
        if known is not None and _code(known.build) != _code(build):
            message = f"there is a pattern {name!r} already, {_origin(known)}"
            raise PatternError(message, help="give it another name")
        description = (build.__doc__ or name).strip().split("\n")[0]
        PATTERNS[name] = Pattern(name, build, description, check, tuple(options), variants)
        return build

    return added


def _origin(known: Pattern) -> str:
    """Say where a pattern is defined."""
    code = _code(known.build)
    if getattr(known.build, "__module__", "").startswith("pse.emulate."):
        return "which comes with pse"
    return f"in line {code.co_firstlineno} of {code.co_filename}"


def _code(build: Build) -> CodeType:
    """Give the code of a function, of one with some arguments given, or of an object that can be called."""
    function = build.func if isinstance(build, partial) else build
    code: CodeType = getattr(function, "__code__", None) or type(function).__call__.__code__
    return code
