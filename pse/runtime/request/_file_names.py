"""Whether a program can save and load its files, as far as their names say it: told before a run."""

from __future__ import annotations

from collections.abc import Mapping

from pse.errors import EvaluationError
from pse.language.check import ResolvedProgram
from pse.language.types import Binary, Expression, Value, evaluate
from pse.modules import ModuleError
from pse.modules.std import require_format
from pse.program import number_statements


def require_formats(program: ResolvedProgram, environment: Mapping[str, Value]) -> None:
    """Refuse a program with a file that has no format, or whose package is not installed.

    Raises
    ------
    ModuleError
        With the place of the call and what to do.
    """
    for site in number_statements(program).sites:
        if site.module.language == "std" and site.module.name in ("save", "load"):
            name = _name(site.inputs[0].value, environment)
            try:
                if name is not None:
                    require_format(name, site.module.name)
            except ModuleError as error:
                error.message = f"{site.span}: {error.message}"
                raise


def _name(text: Expression, environment: Mapping[str, Value]) -> str | None:
    """Give a name or, where only that is known before the run, how it ends from a point on."""
    try:
        return str(evaluate(text, environment))
    except EvaluationError:
        end = _name(text.right, environment) if isinstance(text, Binary) else None
        return f"…{end}" if end is not None and "." in end else None
