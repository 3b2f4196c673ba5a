"""The rule of the house, checked from the imports themselves: a room imports only the rooms below it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("cli", "bench", "notebook", "views", "advise", "analysis", "emulate", "coschedule", "toolstack"),
    *("cluster", "runtime", "modules", "trace", "memory", "graph", "language"),
)
"""From the roof to the ground."""
ALONE = {"memory", "trace", "language"}
GROUND = {"trace", "memory", "graph", "language"}
PICKLERS = {
    "pickle",
    "cPickle",
    "_pickle",
    "pickletools",
    "cloudpickle",
    "dill",
    "marshal",
    "shelve",
    "joblib",
}
LINE_CEILING = 800

CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+)?c?import\s+([\w.]+(?:\s*,\s*[\w.]+)*)", re.MULTILINE)


def python_imports(text: str, package: str) -> Iterator[str]:
    """Yield the dotted names that Python source in `package` imports, relative ones made absolute."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*parents, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def cython_imports(text: str) -> Iterator[str]:
    """Yield the dotted names that Cython source imports or cimports."""
    for base, names in CYTHON_IMPORT.findall(text):
        yield from (f"{base}.{name.strip()}".strip(".") for name in names.split(","))


def imports(path: Path) -> set[str]:
    """Collect the dotted names that a source file of the package imports."""
    text = path.read_text()
    if path.suffix in {".py", ".pyi"}:
        return set(python_imports(text, ".".join(path.relative_to(ROOT).parent.parts)))
    return set(cython_imports(text))


def rooms_of(names: set[str]) -> set[str]:
    """Name the rooms among imported dotted names."""
    return {
        parts[1]
        for name in names
        if (parts := name.split("."))[0] == "pse" and len(parts) > 1 and parts[1] in ROOMS
    }


def allowed(room: str) -> set[str]:
    """Name the rooms that a room may import, itself included."""
    return {room} if room in ALONE else set(ROOMS[ROOMS.index(room) :])


def sources() -> list[Path]:
    """List the Python and Cython files that belong to a room."""
    files = [path for suffix in ("py", "pyi", "pxd") for path in (ROOT / "pse").rglob(f"*.{suffix}")]
    return sorted(path for path in files if path.relative_to(ROOT / "pse").parts[0] in ROOMS)


def faces() -> list[tuple[str, Path]]:
    """List the Cython faces under cext/ with the room whose package they are installed into."""
    packages = {path.stem: path.parent.name for path in (ROOT / "pse").rglob("_*.pyi")}
    return [
        (packages[path.stem], path)
        for path in sorted((ROOT / "cext").rglob("*.pyx"))
        if path.stem in packages
    ]


def inhabitants() -> list[tuple[str, Path]]:
    """List every file that the rule is about, with its room."""
    return [(path.relative_to(ROOT / "pse").parts[0], path) for path in sources()] + faces()


def test_every_directory_of_the_package_is_a_room():
    found = {path.name for path in (ROOT / "pse").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert found <= set(ROOMS)


def test_every_cython_face_has_a_type_stub_in_its_package():
    stubs = {path.stem for path in (ROOT / "pse").rglob("_*.pyi")}
    assert {path.stem for path in (ROOT / "cext").rglob("*.pyx")} <= stubs


def test_rooms_import_only_rooms_below():
    wrong = [
        f"{path.relative_to(ROOT)} of room {room} imports {', '.join(sorted(bad))}"
        for room, path in inhabitants()
        if (bad := rooms_of(imports(path)) - allowed(room))
    ]
    assert not wrong, "\n".join(wrong)


def test_ground_rooms_do_not_import_mpi():
    wrong = [
        str(path.relative_to(ROOT))
        for room, path in inhabitants()
        if room in GROUND and any(name.split(".")[0] == "mpi4py" for name in imports(path))
    ]
    assert not wrong


def test_only_tags_of_type_object_are_pickled():
    wrong = [
        str(path.relative_to(ROOT))
        for _, path in inhabitants()
        if PICKLERS & {part for name in imports(path) for part in name.split(".")}
    ]
    assert wrong == ["pse/runtime/rank/_objects.py"]


def test_no_source_file_is_overgrown():
    suffixes = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cpp", ".cmake"}
    files = [
        path
        for top in ("pse", "cext", "tests")
        for path in (ROOT / top).rglob("*")
        if path.suffix in suffixes
    ]
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in files}
    assert not {name: lines for name, lines in lengths.items() if lines > LINE_CEILING}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pse.runtime.launch._launch", {"pse.runtime.launch._launch"}),
        ("from pse import runtime", {"pse.runtime"}),
        ("def f():\n    from pse.memory import arena, tph", {"pse.memory.arena", "pse.memory.tph"}),
        ("from . import arena", {"pse.memory.arena"}),
        ("from ..runtime import launch", {"pse.runtime.launch._launch"}),
    ],
)
def test_python_imports_are_seen(text, expected):
    assert set(python_imports(text, "pse.memory")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cimport pse.memory._arena, cython", {"pse.memory._arena", "cython"}),
        ("from pse.memory._arena cimport Arena", {"pse.memory._arena.Arena"}),
        ("    from pse.trace import reader", {"pse.trace.query._reader"}),
    ],
)
def test_cython_imports_are_seen(text, expected):
    assert set(cython_imports(text)) == expected


def test_the_rule_forbids_what_it_should():
    assert "runtime" not in allowed("graph")
    assert "graph" not in allowed("memory")
    assert {"memory", "language"} <= allowed("runtime")
