"""Source text of the host languages, looked at without running it: comments, names, decorators.

Just enough to say "this directive's function is not in the file" at check time; the compiler has the last
word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

from pse.language.diagnostics import Span
from pse.modules.directives._directives import Directive
from pse.records import dataclass

_C_NOISE: Final = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'""", re.VERBOSE | re.DOTALL
)
_FORTRAN_NOISE: Final = re.compile(r""""[^"\n]*" | '[^'\n]*' | ![^\n]*""", re.VERBOSE)
_PYTHON_NOISE: Final = re.compile(
    r'''""".*?""" | \'\'\'.*?\'\'\' | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \#[^\n]*''',
    re.VERBOSE | re.DOTALL,
)
_LOCAL_INCLUDE: Final = re.compile(r'^[ \t]*(?:\#[ \t]*)?include[ \t(]*["\']', re.MULTILINE | re.IGNORECASE)


def stripped(text: str, language: str) -> str:
    """Blank comments and strings; line breaks stay, so that line numbers do."""
    noise = {"fortran": _FORTRAN_NOISE, "cython": _PYTHON_NOISE, "python": _PYTHON_NOISE}.get(
        language, _C_NOISE
    )
    return noise.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def mentions(text: str, language: str, name: str) -> bool:
    """Say whether `name` may be a function of this file.

    False only where it surely isn't: the name is nowhere in the code, and no other file of the user's is
    included.
    """
    if _LOCAL_INCLUDE.search(text):
        return True
    # pybind11 and bind(C, name="…") name functions in strings, so these languages' strings count.
    code = text if language == "fortran" or is_pybind(text) else stripped(text, language)
    flags = re.IGNORECASE if language == "fortran" else 0
    lines = [line for line in code.split("\n") if "@ coven" not in line]
    return re.search(rf"\b{re.escape(name)}\b", "\n".join(lines), flags) is not None


def is_pybind(text: str) -> bool:
    """Say whether a C++ file is a pybind11 extension."""
    return "PYBIND11_MODULE" in text and pybind_name(text) is not None


def pybind_name(text: str) -> str | None:
    """Give the name of the extension in `PYBIND11_MODULE(name, m)`."""
    match = re.search(r"\bPYBIND11_MODULE\s*\(\s*(\w+)\s*,", stripped(text, "c++"))
    return match[1] if match else None


def cython_kind(text: str, name: str) -> str | None:
    """Say how a Cython file defines a function: "cdef" (raw pointers), "def" (NumPy arrays), or None."""
    code = stripped(text, "cython")
    if re.search(rf"^(?:def|cpdef)\b[^\n(]*\b{re.escape(name)}\s*\(", code, re.MULTILINE):
        return "def"
    if re.search(rf"^cdef\b[^\n(]*\b{re.escape(name)}\s*\(", code, re.MULTILINE):
        return "cdef"
    return None


Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class PythonOutline:
    """What a Python file has at its top level.

    `names` are those bound there (None where `from x import *` makes that unknown); `functions` are
    definitions that are the only ones of their name; `directives` are from decorators; `misplaced` are
    decorators that can't be used, with the reason and what to do.
    """

    names: frozenset[str] | None
    functions: Mapping[str, Function]
    directives: tuple[Directive, ...]
    misplaced: tuple[tuple[Span, str, str], ...]


def outline(text: str, path: str) -> PythonOutline:
    """Read a Python file's top level.

    Raises
    ------
    SyntaxError
        If it isn't Python.
    """
    tree = ast.parse(text)
    names: list[str] = []
    for node in ast.walk(ast.Module(_top(tree.body), [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    directives, misplaced = _decorators(tree, path)
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and names.count(node.name) == 1
    }
    known = None if "*" in names else frozenset(names)
    return PythonOutline(known, functions, tuple(directives), tuple(misplaced))


def _top(body: list[ast.stmt]) -> list[ast.stmt]:
    """Give top-level statements with the bodies of functions and classes removed."""
    outer: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outer.append(ast.FunctionDef(node.name, node.args, [], []))
        elif isinstance(node, ast.ClassDef):
            outer.append(ast.ClassDef(node.name, [], [], [], []))
        else:
            outer.append(node)
    return outer


def _decorators(tree: ast.Module, path: str) -> tuple[list[Directive], list[tuple[Span, str, str]]]:
    packages, direct = _decorator_names(tree)
    directives: list[Directive] = []
    misplaced: list[tuple[Span, str, str]] = []
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for decorator in function.decorator_list:
            if not _is_ours(decorator, packages, direct):
                continue
            literal = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
            if not (isinstance(literal, ast.Constant) and isinstance(literal.value, str)):
                used = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
                wrong = f"the decorator `{used}` takes the directive as one plain string"
                help = f'for example:  @{used}("{function.name}(in f64 x[n], out f64 y[n])")'
                misplaced.append((_span(decorator, path), wrong, help))
            elif found := _misplaced(function, literal.value, top=function in tree.body):
                misplaced.append((_span(literal, path), *found))
            else:
                directives.append(Directive("module", literal.value, _span(literal, path, inside=True)))
    return directives, misplaced


def _misplaced(function: Function, directive: str, *, top: bool) -> tuple[str, str] | None:
    """Say why the function below a decorator can't be its module, and what to do."""
    named = re.match(r"\s*(\w*)", directive)
    name = named[1] if named else ""
    if name != function.name:
        wrong = f"the directive names `{name}`, the function below it is `{function.name}`"
        return wrong, "give both the same name"
    if not top:
        wrong = (
            f"`{name}` is defined inside a class, a function or a block: modules are functions of the file"
        )
        return wrong, "define it at the margin of the file"
    if isinstance(function, ast.AsyncFunctionDef):
        return f"`{name}` is `async`: its call would return a coroutine, not the outputs", "remove `async`"
    return None


def _decorator_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Find what `pse` and `pse.module` are called in this file."""
    packages: set[str] = set()
    direct: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            packages.update(alias.asname or alias.name for alias in node.names if alias.name == "pse")
        elif isinstance(node, ast.ImportFrom) and node.module == "pse":
            direct.update(alias.asname or alias.name for alias in node.names if alias.name == "module")
    return packages, direct


def _is_ours(decorator: ast.expr, packages: set[str], direct: set[str]) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.attr == "module" and called.value.id in packages
    return isinstance(called, ast.Name) and called.id in direct


def _span(node: ast.expr, path: str, *, inside: bool = False) -> Span:
    """Give an expression's span; `inside` is that of a string's text, past its opening quote."""
    end_line = node.end_lineno or node.lineno
    return Span(
        path, node.lineno, node.col_offset + 1 + inside, end_line, (node.end_col_offset or 0) + 1 - inside
    )


def called_names(code: str) -> list[str]:
    """List the names that stand before a parenthesis in stripped code: where functions would be found."""
    return re.findall(r"\b([A-Za-z_]\w*)\s*\(", code)
