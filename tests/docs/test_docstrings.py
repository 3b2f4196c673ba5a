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
MODULES = ("errors", "files", "records", "text")
"""Public modules that are not packages."""
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ERROR = re.compile(r"^class (\w+)\((\w+)[,)]", re.MULTILINE)
MAKERS = ("__init__", "__new__", "__post_init__")
NAMED = re.compile(r"^([\w*]+(?:, [\w*]+)*)(?: : |$)", re.MULTILINE)


@cache
def definitions(module: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a module by name; {} for what is written in Cython."""
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not file.exists():
        return {}
    found = statements(ast.parse(file.read_text()).body)
    return {node.name: node for node in found if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a module, also those that depend on a condition."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from statements([*node.body, *node.orelse])


def exported(facade: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Give the functions and classes of Python that a facade exports, by the name they have there."""
    package = ".".join(facade.parent.relative_to(ROOT).parts)
    for node in ast.parse(facade.read_text()).body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
        made = definitions(".".join([*parents, node.module]))
        yield from ((f"{package}.{name.asname}", made[name.name]) for name in node.names if name.name in made)


def written() -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Give what facades export from Python and what public modules define, by names."""
    yield from (pair for facade in FACADES for pair in exported(facade))
    for module in MODULES:
        found = definitions(f"pse.{module}")
        yield from ((f"pse.{module}.{name}", found[name]) for name in found if not name.startswith("_"))


def methods() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Give the public methods and properties of those classes, by names."""
    for name, node in written():
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_") and not is_overload(one):
                yield f"{name}.{one.name}", one


def is_overload(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one) == "overload" for one in function.decorator_list)


def public() -> Iterator[tuple[str, str]]:
    """Give the docstrings of what facades export and of what public modules define, by names."""
    yield from ((name, ast.get_docstring(node) or "") for name, node in written())
    for name, _, what in stubs():
        yield name, inspect.getdoc(what) or ""


def sections(text: str) -> dict[str, str]:
    """Give the sections of a docstring by their titles."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@cache
def errors() -> dict[str, set[str]]:
    """Name our own errors, and for each those that it is a kind of."""
    texts = (file.read_text() for file in sorted((ROOT / "pse").rglob("*.py")))
    bases = {name: base for text in texts for name, base in ERROR.findall(text)}
    kinds = {name: {name} for name in (*bases, "PseError")}
    for name, base in bases.items():
        while base in bases:
            kinds[name].add(base)
            base = bases[base]
        kinds[name].add(base)
    return {name: found for name, found in kinds.items() if "PseError" in found}


def raised(function: ast.FunctionDef) -> set[str]:
    """Name our own errors that the body of a function raises itself."""
    nodes, found = list(function.body), set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func).rpartition(".")[2])
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return found & errors().keys()


def untold(function: ast.FunctionDef, text: str) -> set[str]:
    """Name the errors that a function raises and a docstring does not name, nor what they are kinds of."""
    told = set(re.findall(r"^(\w+)$", sections(text).get("Raises", ""), re.MULTILINE))
    return {name for name in raised(function) if not errors()[name] & told}


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


def test_exported_functions_and_classes_document_their_parameters():
    missing = {}
    for name, node in written():
        expected = fields(node) if isinstance(node, ast.ClassDef) else arguments(node)
        if rest := expected - documented(ast.get_docstring(node) or ""):
            missing[name] = rest
    assert missing == {}


def test_exported_functions_document_what_they_return():
    giving = {name: sections(ast.get_docstring(node) or "") for name, node in written()
              if isinstance(node, ast.FunctionDef) and node.returns is not None
              and ast.unparse(node.returns) not in ("None", "Iterator[None]", "NoReturn")}  # fmt: skip
    assert [name for name, found in giving.items() if not found.keys() & {"Returns", "Yields"}] == []


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


def test_exports_say_which_of_our_errors_they_raise():
    missing = {}
    for name, node in (*written(), *methods()):
        text = ast.get_docstring(node) or ""
        makers = [node] if isinstance(node, ast.FunctionDef) else [
            one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in MAKERS]  # fmt: skip
        is_command = name.rpartition(".")[2].startswith("do_")  # Its docstring is what `help` prints.
        if rest := set().union(*(untold(one, text) for one in makers if not is_command)):
            missing[name] = rest
    assert missing == {}


def test_an_error_is_told_by_its_name_or_that_of_its_kind():
    function = ast.parse("def f(a):\n    if a:\n        raise TraceError('no')\n    g = lambda: 1").body[0]
    assert raised(function) == {"TraceError"}
    text = "Head.\n\nRaises\n------\n{}\n    If not."
    assert [untold(function, text.format(name)) for name in ("TraceError", "PseError", "RunError")] == [
        set(),
        set(),
        {"TraceError"},
    ]


def test_public_methods_and_properties_of_exports_have_a_docstring():
    assert [name for name, node in methods() if not ast.get_docstring(node)] == []
