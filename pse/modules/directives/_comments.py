"""What a module's author says of it: the comment around its directive, or its docstring."""

from __future__ import annotations

import ast
import functools
import re

from pse.errors import ModuleNotFound
from pse.language.check import ModuleReference
from pse.language.types import DIRECTIVE_MARKS
from pse.modules.directives._finder import read_source

_SIGNS = {"fortran": "!", "python": "#", "cython": "#"}
_MOST_TEXTS = 128
"""Python files whose docstrings are kept with their texts: the desk asks again after each edit."""


def module_comment(reference: ModuleReference) -> str:
    """Give what is written about a module beside its directive.

    Parameters
    ----------
    reference : ModuleReference
        The module.

    Returns
    -------
    str
        The comment lines directly above the directive, or below it, or the docstring of a Python function;
        the sentence of the manual for a module of `pse.std`; empty if there is nothing, or no file any more.

    Examples
    --------
    >>> module_comment(next(m for m in program.modules if m.name == "gather"))
    'Assemble the pieces of a distributed array at the root.'
    """
    if reference.source is None:
        from pse.modules.std._signatures import MEANINGS

        return MEANINGS.get(reference.name, "")
    try:
        text, _ = read_source(reference.source, reference.source)
    except ModuleNotFound:
        return ""
    if reference.language == "python" and (found := _docstrings(text).get(reference.name)):
        return found
    return _around(text.split("\n"), reference.line, reference.language)


@functools.lru_cache(_MOST_TEXTS)
def _docstrings(text: str) -> dict[str, str]:
    """Give the docstrings of the functions of a Python file, by their names."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    functions = {node.name: node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef)}
    return {name: ast.get_docstring(node) or "" for name, node in functions.items()}


def _around(lines: list[str], directive: int, language: str) -> str:
    """Give the comment that ends above a directive, else the one that begins below it."""
    above = directive - 2
    last = above
    while above >= 0 and _comment(lines[above], language) is not None:
        above -= 1
    block = lines[above + 1 : last + 1]
    if not block and language in ("c", "c++"):
        block = _block_comment(lines, last)
    if not block:
        below = directive
        while below < len(lines) and _comment(lines[below], language) is not None:
            below += 1
        block = lines[directive:below]
    return "\n".join(_comment(line, language) or "" for line in block).strip()


def _block_comment(lines: list[str], last: int) -> list[str]:
    """Give the lines of `/* … */` that ends on a line."""
    if last < 0 or not lines[last].rstrip().endswith("*/"):
        return []
    first = last
    while first > 0 and "/*" not in lines[first]:
        first -= 1
    inside = re.sub(r"^.*?/\*+|\*+/\s*$", "", "\n".join(lines[first : last + 1]), flags=re.DOTALL)
    return ["// " + line.strip().lstrip("* ") for line in inside.split("\n")]


def _comment(line: str, language: str) -> str | None:
    """Give the words of a line that is a comment and no directive; None for any other."""
    sign = _SIGNS.get(language, "//")
    text = line.strip()
    if (
        not text.startswith(sign)
        or re.match(rf"{re.escape(sign)} ?@", text)
        or DIRECTIVE_MARKS[language] in text
    ):
        return None
    return text[len(sign) :].strip(" /!<")


def function_line(reference: ModuleReference) -> int:
    """Give the line of a module's function: the first one below its directive that names it.

    Parameters
    ----------
    reference : ModuleReference
        A module with a source.

    Returns
    -------
    int
        The line, from 1; the directive's if no line names the function.

    Examples
    --------
    >>> step = next(m for m in program.modules if m.name == "step")
    >>> step.line < function_line(step)
    True
    """
    assert reference.source is not None, "modules of the library have no source"
    try:
        text, _ = read_source(reference.source, reference.source)
    except ModuleNotFound:
        return reference.line
    named = re.compile(rf"\b{re.escape(reference.name)}\b", re.IGNORECASE)
    mark = re.compile(rf"\s*{re.escape(DIRECTIVE_MARKS[reference.language][:-1])}")
    lines = enumerate(text.split("\n"), 1)
    below = (n for n, line in lines if n > reference.line and named.search(line) and not mark.match(line))
    return next(below, reference.line)
