"""What facades export says its parameters and has an example: in the sources, and in Cython's modules."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FACADES = sorted((ROOT / "pse").rglob("__init__.pyi"))
MODULES = ("errors", "files", "text")
"""Public modules that are not packages."""
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
NAMED = re.compile(r"^([\w*]+(?:, [\w*]+)*)(?: : |$)", re.MULTILINE)


@cache
def definitions(module: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a module by name; {} for what is written in Cython."""
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not file.exists():
        return {}
    found = ast.parse(file.read_text()).body
    return {node.name: node for node in found if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def exported(facade: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Give the functions and classes of Python that a facade exports, by the name they have there."""
    package = ".".join(facade.parent.relative_to(ROOT).parts)
    for node in ast.parse(facade.read_text()).body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
        made = definitions(".".join([*parents, node.module]))
        yield from ((f"{package}.{name.asname}", made[name.name]) for name in node.names if name.name in made)


def public() -> Iterator[tuple[str, str]]:
    """Give the docstrings of what facades export and of what public modules define, by names."""
    for name, node in (pair for facade in FACADES for pair in exported(facade)):
        yield name, ast.get_docstring(node) or ""
    for module in MODULES:
        for name, node in definitions(f"pse.{module}").items():
            if not name.startswith("_"):
                yield f"pse.{module}.{name}", ast.get_docstring(node) or ""
    for name, _, what in stubs():
        yield name, inspect.getdoc(what) or ""


def references(text: str) -> set[str]:
    """Last words of the names under "See Also"; what follows a colon says what they are."""
    parts = SECTION.split(text)
    own = [body for title, body in zip(parts[1::2], parts[2::2], strict=True) if title == "See Also"]
    names = (name for body in own for line in body.splitlines() for name in line.split(" : ")[0].split(","))
    return {name.strip().rpartition(".")[2] for name in names if name.strip()}


def documented(text: str) -> set[str]:
    """Names in the sections Parameters and Attributes of a docstring."""
    parts = SECTION.split(text)
    own = [body for title, body in zip(parts[1::2], parts[2::2], strict=True)
           if title in ("Parameters", "Attributes", "Other Parameters")]  # fmt: skip
    lists = (names.split(", ") for body in own for names in NAMED.findall(body))
    return {name.lstrip("*") for names in lists for name in names}


def arguments(function: ast.FunctionDef) -> set[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, [given.vararg, given.kwarg])]
    return {one.arg for one in every if one.arg not in ("self", "cls") and not one.arg.startswith("_")}


def fields(node: ast.ClassDef) -> set[str]:
    """Names that a call of the class takes: those of __init__, or the fields of a record."""
    made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    if made:
        return arguments(made[0])
    is_record = any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    is_record |= any(ast.unparse(base) in ("NamedTuple", "TypedDict") for base in node.bases)
    found = [one for one in node.body if isinstance(one, ast.AnnAssign)] if is_record else []
    found = [one for one in found if "ClassVar" not in ast.unparse(one.annotation)
             and not (one.value and "init=False" in ast.unparse(one.value))]  # fmt: skip
    return {one.target.id for one in found if not one.target.id.startswith("_")}


@pytest.mark.parametrize("facade", FACADES, ids=lambda path: ".".join(path.parent.relative_to(ROOT).parts))
def test_exported_functions_and_classes_document_their_parameters(facade):
    missing = {}
    for name, node in exported(facade):
        expected = fields(node) if isinstance(node, ast.ClassDef) else arguments(node)
        if rest := expected - documented(ast.get_docstring(node) or ""):
            missing[name] = rest
    assert missing == {}


@pytest.mark.parametrize("facade", FACADES, ids=lambda path: ".".join(path.parent.relative_to(ROOT).parts))
def test_exported_functions_document_what_they_return(facade):
    giving = {name: ast.get_docstring(node) or "" for name, node in exported(facade)
              if isinstance(node, ast.FunctionDef) and node.returns is not None
              and ast.unparse(node.returns) not in ("None", "Iterator[None]")}  # fmt: skip
    sections = {name: set(SECTION.findall(text)) for name, text in giving.items()}
    assert [name for name, found in sections.items() if not found & {"Returns", "Yields"}] == []


def test_names_of_both_sections_and_of_lists_count():
    text = (
        "Head.\n\nParameters\n----------\na, *b : int\n    One.\nc\n    Two.\n\nReturns\n-------\nd : int\n"
    )
    assert documented(text) == {"a", "b", "c"}


def stubs() -> Iterator[tuple[str, ast.stmt, object]]:
    """Give what facades export from Cython: its name, its definition in the stub, itself."""
    for facade in FACADES:
        package = ".".join(facade.parent.relative_to(ROOT).parts)
        for line in ast.parse(facade.read_text()).body:
            stub = facade.parent / f"{getattr(line, 'module', None)}.pyi"
            if not isinstance(line, ast.ImportFrom) or not stub.exists():
                continue
            made = importlib.import_module(f"{package}.{line.module}")
            exported = {one.name for one in line.names}
            for node in ast.parse(stub.read_text()).body:
                if getattr(node, "name", None) in exported:
                    yield f"{package}.{node.name}", node, getattr(made, node.name)


def compiled() -> Iterator[tuple[str, ast.FunctionDef, object]]:
    """Give the functions, and the methods of classes, that facades export from Cython, by their names."""
    for name, node, what in stubs():
        yield from described(name, node, what)


def described(name: str, node: ast.stmt, what: object) -> Iterator[tuple[str, ast.FunctionDef, object]]:
    """Give a function with what it is at run time, or all public methods of a class."""
    if isinstance(node, ast.FunctionDef):
        yield name, node, what
    for one in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            yield f"{name}.{one.name}", one, getattr(what, one.name)
        elif isinstance(one, ast.FunctionDef) and one.name == "__init__":
            yield name, one, what


COMPILED = {name: (node, what) for name, node, what in compiled()}


@pytest.mark.parametrize("name", COMPILED)
def test_exports_of_cython_document_parameters_and_what_they_return(name):
    node, what = COMPILED[name]
    text = inspect.getdoc(what) or ""
    assert text
    assert arguments(node) <= documented(text)
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    if node.returns is not None and ast.unparse(node.returns) != "None" and not is_property:
        assert "\nReturns\n-------\n" in text


def test_exports_of_cython_are_found():
    assert {"pse.trace.clock", "pse.trace.Recorder.record", "pse.memory.Arena.allocate"} <= COMPILED.keys()


def test_exports_have_an_example_or_name_one_that_has():
    texts = dict(public())
    shown = {name.rpartition(".")[2] for name, text in texts.items() if ">>> " in text}
    assert [name for name, text in texts.items() if ">>> " not in text and not references(text) & shown] == []


def test_what_exports_refer_to_is_exported():
    texts = dict(public())
    known = {name.rpartition(".")[2] for name in texts}
    assert {name: wrong for name, text in texts.items() if (wrong := references(text) - known)} == {}


def test_references_are_the_names_under_see_also():
    assert references("Head.\n\nSee Also\n--------\na, pse.b.c : They.\nd\n\nNotes\n-----\ne\n") == {
        "a",
        "c",
        "d",
    }
    assert references("Head: a, b.\n") == set()
