"""Whether a program can read and write its files, as far as their names say it: told before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pse.errors import EvaluationError
from pse.language.check import (
    CallSite,
    For,
    If,
    Parallel,
    ResolvedProgram,
    Statement,
    While,
    has_dynamic_extent,
)
from pse.language.types import Binary, Expression, Value, evaluate
from pse.modules import ModuleError
from pse.modules.std import require_format, require_pillow, require_shape


def require_formats(program: ResolvedProgram, environment: Mapping[str, Value]) -> None:
    """Refuse a program that comes to a file without a format, whose package is missing, or of no known shape.

    Raises
    ------
    ModuleError
        With the place of the call and what to do.
    """
    for site in _calls(program.body, environment):
        try:
            if site.module.language == "std":
                _require_format(site, environment)
        except ModuleError as error:
            error.message = f"{site.span}: {error.message}"
            raise


def _require_format(site: CallSite, environment: Mapping[str, Value]) -> None:
    verb = site.module.name
    name = _name(site.inputs[0].value, environment) if verb in ("save", "load", "source") else None
    if name is None:
        return
    if verb == "source":
        k = _known(site.inputs[1].value, environment)
        require_pillow(name, k if isinstance(k, int) else None)
    else:
        require_format(name, verb)
        if verb == "load" and has_dynamic_extent(site.outputs[0].type):
            require_shape(name)


def _calls(body: Sequence[Statement], environment: Mapping[str, Value]) -> Iterator[CallSite]:
    """Give the calls to which a run comes; what an `if` decides only during the run is left to the run."""
    for statement in body:
        match statement:
            case CallSite():
                yield statement
            case If():
                yield from _calls(_taken(statement, environment), environment)
            case For() | While() | Parallel():
                yield from _calls(statement.body, environment)


def _taken(statement: If, environment: Mapping[str, Value]) -> tuple[Statement, ...]:
    holds = _known(statement.condition, environment)
    return () if holds is None else statement.then if holds else statement.otherwise


def _known(value: Expression, environment: Mapping[str, Value]) -> Value | None:
    """Evaluate what is known before the run."""
    try:
        return evaluate(value, environment)
    except EvaluationError:
        return None


def _name(text: Expression, environment: Mapping[str, Value]) -> str | None:
    """Give a name or, where only that is known before the run, how it ends from a point on."""
    if (known := _known(text, environment)) is not None:
        return str(known)
    end = _name(text.right, environment) if isinstance(text, Binary) else None
    return f"…{end}" if end is not None and "." in end else None
