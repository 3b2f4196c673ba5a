"""The language of ``.coven`` programs: parse, check, bind, format.

A thin façade.  Inside, from the ground up: ``source``, ``expressions``, ``types``, ``diagnostics``;
``lexer`` and ``parser`` make the tree of ``syntax``; ``checker`` makes the ``resolved`` program out of it;
``binding`` gives parameters their values; ``formatter`` writes programs.  This room imports no other room of
pse.
"""

from pse.language.binding import Bound, bind_parameters, read_value
from pse.language.checker import CheckResult, check
from pse.language.diagnostics import Diagnostic, Severity, render, to_json
from pse.language.directive import parse_directive
from pse.language.errors import EvaluationError, ModuleNotFound, ProgramError, PseError, RunError, UsageError
from pse.language.evaluation import evaluate
from pse.language.expressions import names
from pse.language.expressions import render as render_expression
from pse.language.finding import ModuleFile, ModuleFinder
from pse.language.formatter import format_program
from pse.language.parser import ParseResult, parse
from pse.language.reading import read_program
from pse.language.source import Span
from pse.language.terminal import show

__all__ = [
    "Bound",
    "CheckResult",
    "Diagnostic",
    "EvaluationError",
    "ModuleFile",
    "ModuleFinder",
    "ModuleNotFound",
    "ParseResult",
    "ProgramError",
    "PseError",
    "RunError",
    "Severity",
    "Span",
    "UsageError",
    "bind_parameters",
    "check",
    "evaluate",
    "format_program",
    "names",
    "parse",
    "parse_directive",
    "read_program",
    "read_value",
    "render",
    "render_expression",
    "show",
    "to_json",
]
