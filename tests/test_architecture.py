"""The rules of the house (docs/design.md), checked from the imports themselves."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from pse.bench import SUBJECTS
from pse.views import VIEWS

ROOT = Path(__file__).parents[1]
ROOMS: dict[str, tuple[str, ...]] = {
    "cli": ("ace", "bcs", "cube", "_options"),
    "desk": ("server", "model"),
    "lsp": (),
    "notebook": (),
    "bench": ("subjects",),
    "advise": ("rewrite", "search", "simulate", "model"),
    "views": ("page", "cube", "frames", "gantt", "charts", "graph", "core"),
    "analysis": ("path", "chains", "statistics", "replay", "clocks", "patterns", "cube", "history", "waits"),
    "emulate": (
        "launches",
        "job",
        "configuration",
        "recorded",
        "patterns",
        "report",
        "model",
        "statistics",
        "results",
    ),
    "coschedule": (),
    "toolstack": (),
    "cluster": (),
    "runtime": (
        *("launch", "rank", "status", "control", "pause", "request", "faults"),
        *("transport", "checkpoint", "supervise", "plan", "distribution"),
    ),
    "trace": ("interchange", "summary", "query", "store", "format"),
    "modules": ("messaging", "load", "build", "directives", "std"),
    "memory": (),
    "program": (),
    "language": ("io", "check", "syntax", "types", "diagnostics"),
}
"""From the roof to the ground: rooms, and in each its subpackages, again from the top down."""
UNDER_ALL: dict[str, tuple[str, ...]] = {"_abi": ()}  # Generated tables, beside errors.py and text.py.
ALONE = {"memory", "trace", "language"}
GROUND = {"trace", "memory", "program", "language"}
PICKLERS = {
    *("pickle", "cPickle", "_pickle", "pickletools", "cloudpickle"),
    *("dill", "marshal", "shelve", "joblib"),
}
LINE_CEILING = 800
FOLDER_CEILING = 22
SHOWN_CEILING = 13
SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".pxi"}

NAMED_IMPORTS = {
    "pse": r"pse\.\w+",
    "pse.bench._registry": r"pse\.bench\.subjects\.[\w.]+",
    "pse.cli": r"pse\.cli\.[a-z]\w+",
    "pse.cli.ace": r"pse\.cli\.ace\.[a-z]\w+",
    "pse.cli.bcs": r"pse\.cli\.bcs\.[a-z]\w+",
    "pse.cli.cube": r"pse\.cli\.cube\.[a-z]\w+",
    "pse.views._registry": r"pse\.views\.\w+\._\w+",
}
"""Who has modules imported by names that are put together at run time, and what these modules are."""
IMPORTERS = {
    "pse",
    "pse.bench._registry",
    "pse.cli._options.group",
    "pse.modules.std._endings",
    "pse.notebook._errors",
    "pse.views._registry",
}
"""Where that is done: `pse.cli._options.group` for groups of commands, `_formats`, `_errors` for extras."""

CYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from\s+(\.*)([\w.]*)\s+)?c?import\s+(\([^)]*\)|[^\n(#]+)", re.MULTILINE
)


def absolute(package: str, level: int, module: str) -> str:
    """Give the dotted name of what `package` imports from, with so many dots before it."""
    parents = package.split(".")[: -(level - 1) or None] if level else []
    return ".".join([*parents, *filter(None, [module])])


def dotted(node: ast.expr) -> str:
    """Write a name with dots as it stands in a text; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def python_imports(text: str, package: str) -> Iterator[str]:
    """Yield the dotted names that Python source in `package` imports, or takes of a package it imported."""
    nodes, bound = list(ast.walk(ast.parse(text))), {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names = {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(package, node.level, node.module or "")
            names = {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
        else:
            continue
        bound |= names
        yield from names.values()
    for node in nodes:
        if isinstance(node, ast.Attribute) and (name := dotted(node.value)):
            package = bound.get(name, name)
            yield from [f"{package}.{node.attr}"] if package in PACKAGES else []


def cython_imports(text: str, package: str) -> Iterator[str]:
    """Yield the dotted names that Cython source in `package` imports or cimports."""
    for dots, module, names in CYTHON_IMPORT.findall(text):
        base = absolute(package, len(dots), module)
        words = (name.split() for name in re.sub(r"#.*", "", names).strip("()").split(","))
        yield from (f"{base}.{name[0]}".strip(".") for name in words if name)


def imports(path: Path, package: str) -> set[str]:
    """Collect the dotted names that a source file of a package imports."""
    read = python_imports if path.suffix in {".py", ".pyi"} else cython_imports
    return set(read(path.read_text(), package))


def modules() -> dict[str, list[Path]]:
    """Map every module of the package to its files: source and stub, or the Cython face under cext/."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "pse").rglob("*")):
        if path.suffix in SOURCES:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found.setdefault(name, []).append(path)
    faces = {
        name.rpartition(".")[2]: name
        for name, paths in found.items()
        if not any(path.suffix == ".py" for path in paths)
    }
    for path in sorted((ROOT / "cext").rglob("*.pyx")):
        found[faces[path.stem]] += [path, *sorted(path.parent.rglob("*.pxi"))]
    return found


MODULES = modules()
PACKAGES = {name for name, paths in MODULES.items() if any(path.stem == "__init__" for path in paths)}


def module_of(name: str) -> str | None:
    """Name the module that a dotted name lies in; None if it is not the package's."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def imported(name: str) -> set[str]:
    """Collect the dotted names that all files of a module import."""
    package = name if name in PACKAGES else name.rpartition(".")[0]
    by_name = (module for module in MODULES if re.fullmatch(NAMED_IMPORTS.get(name, ""), module))
    return set(by_name).union(*(imports(path, package) for path in MODULES[name]))


@cache
def imports_of_modules() -> Mapping[str, set[str]]:
    """Map every module to what it imports: read by the first test that asks, not by everyone who collects."""
    return {name: imported(name) for name in MODULES}


def room_of(name: str) -> str | None:
    """Name the room of a module or of what is in it; None for what lies in no room."""
    parts = name.split(".")
    return parts[1] if parts[0] == "pse" and len(parts) > 1 and parts[1] in ROOMS else None


def allowed(room: str) -> set[str]:
    """Name the rooms that a room may import, itself included."""
    order = list(ROOMS)
    return {room} if room in ALONE else set(order[order.index(room) :])


def crossings() -> Iterator[tuple[str, str]]:
    """Yield every import of one room from another: the module that imports, and the dotted name."""
    for name, targets in imports_of_modules().items():
        for target in sorted(targets):
            if (room := room_of(target)) and room_of(name) and room != room_of(name):
                yield name, target


@cache
def exported(package: str) -> Mapping[str, str]:
    """Say of what a package's facade exports where it takes it from, as its stub says it."""
    stub = next((path for path in MODULES[package] if path.name == "__init__.pyi"), None)
    nodes = ast.walk(ast.parse(stub.read_text())) if stub else ()
    return {
        alias.asname or alias.name: f"{absolute(package, node.level, node.module or '')}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def origin(name: str) -> str:
    """Follow a name through facades to where it is made."""
    package, _, last = name.rpartition(".")
    if name in MODULES or package not in PACKAGES or last not in exported(package):
        return name
    return origin(exported(package)[last])


def rings(imported_by: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Find the modules that import each other in a circle, facades between them or not."""
    graph = nx.DiGraph()
    for name, targets in imported_by.items():
        graph.add_edges_from(
            (name, module)
            for target in targets
            for module in (module_of(target), module_of(origin(target)))
            if module and not f"{name}.".startswith(f"{module}.")
        )
    return [sorted(ring) for ring in nx.strongly_connected_components(graph) if len(ring) > 1]


def is_public(name: str) -> bool:
    """Say whether no part of a dotted name has a leading underscore."""
    return not any(part.startswith("_") for part in name.split("."))


def is_offered(target: str) -> bool:
    """Say whether other rooms may import a dotted name: of a public module, or exported by a facade."""
    module = module_of(target)
    if module is None or not is_public(module):
        return False
    return target == module or module not in PACKAGES or target.rpartition(".")[2] in exported(module)


def are_faces(name: str, target: str) -> bool:
    """Say whether one Cython face declares what it uses of another: no facade can export that."""
    return all(
        any(path.suffix == ".pyx" for path in MODULES[module])
        for module in (name, module_of(target))
        if module
    )


def test_rooms_and_subpackages_are_those_of_the_design():
    found: dict[str, set[str]] = {}
    for name in PACKAGES:
        parts = name.split(".")
        if len(parts) > 1:
            found.setdefault(parts[1], set()).update(parts[2:3])
    bench = found["bench"] - {"peers"}
    assert found | {"bench": bench} == {room: set(inner) for room, inner in (ROOMS | UNDER_ALL).items()}


def test_every_cython_face_has_a_type_stub_in_its_package():
    stubs = {path.stem for path in (ROOT / "pse").rglob("_*.pyi")}
    assert {path.stem for path in (ROOT / "cext").rglob("*.pyx")} <= stubs


def test_rooms_import_only_rooms_below():
    assert not [
        f"{name} imports {target}"
        for name, target in crossings()
        if room_of(target) not in allowed(str(room_of(name)))
    ]


def test_subpackages_import_only_subpackages_below():
    wrong = []
    for name, targets in imports_of_modules().items():
        order = ROOMS.get(str(room_of(name)), ())
        for module in filter(None, map(module_of, targets)):
            inner = [*name.split(".")[2:3], *module.split(".")[2:3]]
            if room_of(module) == room_of(name) and len(inner) == 2 and set(inner) <= set(order):
                wrong += [f"{name} imports {module}"] if order.index(inner[0]) > order.index(inner[1]) else []
    assert not wrong


@pytest.mark.parametrize("folder", ["views/web", "desk/page/src"])
def test_files_of_the_pages_form_no_cycle(folder):
    found = [path for kind in ("*.ts", "*.tsx") for path in (ROOT / "pse" / folder).rglob(kind)]
    own = {path.with_suffix("") for path in found if "node_modules" not in path.parts}
    graph = nx.DiGraph()
    for path in found:
        named = re.findall(r'\bfrom "(\.[^"]*)"', path.read_text(encoding="utf-8"))
        wanted = {Path(os.path.normpath(path.parent / name)) for name in named}
        graph.add_edges_from((path.with_suffix(""), other) for other in wanted & own)
    assert graph.edges
    assert not [sorted(map(str, ring)) for ring in nx.strongly_connected_components(graph) if len(ring) > 1]


def test_files_form_no_cycle():
    assert not rings(imports_of_modules())


def test_imports_by_name_are_known():
    found = {
        name
        for name, paths in MODULES.items()
        if any(re.search(r"\b(import_module|__import__)\(", path.read_text()) for path in paths)
    }
    assert found == IMPORTERS
    views = {name for name in imports_of_modules()["pse.views._registry"] if module_of(name) == name}
    assert {f"pse.views.{view.module}" for view in VIEWS.values()} <= views
    assert {f"{subject.package}.{subject.name}" for subject in SUBJECTS} <= imports_of_modules()[
        "pse.bench._registry"
    ]


def test_other_rooms_import_only_what_a_facade_exports():
    assert not [
        f"{name} imports {target}"
        for name, target in crossings()
        if not is_offered(target) and not are_faces(name, target)
    ]


def test_a_room_shows_about_a_dozen_modules_at_most():
    shown = Counter(name.rpartition(".")[0] for name in MODULES if is_public(name) and name.count(".") > 1)
    for catalogue in ("pse.cli", "pse.bench.subjects"):  # Each module is a command, or a subject.
        del shown[catalogue]
    assert not {package: count for package, count in shown.items() if count > SHOWN_CEILING}


def test_a_folder_has_about_twenty_files_at_most():
    files = {
        path.with_suffix("")
        for top in ("pse", "cext", "tests")
        for path in (ROOT / top).rglob("*")
        if path.suffix in {*SOURCES, ".c", ".h", ".cpp", ".hpp"} and path.stem != "__init__"
    }
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in files)
    assert not {folder: count for folder, count in counts.items() if count > FOLDER_CEILING}


def test_ground_rooms_do_not_import_mpi():
    assert not [
        name
        for name, targets in imports_of_modules().items()
        if room_of(name) in GROUND and any(target.split(".")[0] == "mpi4py" for target in targets)
    ]


def test_only_tags_of_type_object_are_pickled():
    wrong = [
        name
        for name, targets in imports_of_modules().items()
        if PICKLERS & {part for target in targets for part in target.split(".")}
    ]
    assert wrong == ["pse.runtime.rank._objects"]


def test_no_source_file_is_overgrown():
    suffixes = {*SOURCES, ".c", ".h", ".cpp", ".cmake"}
    files = [
        path
        for top in ("pse", "cext", "tests")
        for path in (ROOT / top).rglob("*")
        if path.suffix in suffixes
    ]
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in files}
    assert not {name: lines for name, lines in lengths.items() if lines > LINE_CEILING}


def loaded_by(statement: str) -> set[str]:
    """Name the modules that a fresh interpreter has loaded after a statement, beside those it begins with."""
    script = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def tops(names: set[str]) -> Mapping[str, int]:
    """Count modules by the package they are of."""
    return Counter(name.split(".")[0] for name in names)


def test_the_package_itself_imports_nothing_of_its_rooms():
    loaded = loaded_by("import pse")
    assert not {name for name in loaded if room_of(name)}
    assert not {"numpy", "networkx", "lark", "rich", "click", "mpi4py"} & set(tops(loaded))


def test_what_the_package_offers_is_found_without_importing_it_by_name():
    code = "import pse; print([getattr(pse, name).__name__ for name in dir(pse) if name != '__version__'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pse.ace", "pse.analysis", "pse.cluster", "pse.trace", "run"} <= set(
        ast.literal_eval(done.stdout)
    )


def test_starting_emulated_applications_loads_no_language():
    loaded = loaded_by("from pse.emulate import measure")
    assert "numpy" in tops(loaded)
    assert not {name for name in loaded if name.startswith(("lark", "pse.language.check", "pse.program"))}


def test_a_rank_of_an_emulated_launch_loads_only_what_it_needs():
    loaded = loaded_by(
        "import mpi4py\nmpi4py.rc.initialize = False\n"
        "import pse.emulate.job.__main__, pse.emulate.job._command, pse.emulate.job._launch"
    )
    assert not {"click", "rich", "pandas", "scipy", "lark"} & set(tops(loaded))
    assert {room_of(name) for name in loaded} <= {"emulate", "runtime", None}
    assert tops(loaded)["pse"] <= LAUNCH_MODULES


LAUNCH_MODULES = 42
"""How many modules of the package a rank of an emulated launch may load: a launch takes little longer."""


def test_importing_every_facade_loads_no_room():
    facades = " ".join(sorted(package for package in PACKAGES if is_public(package)))
    loaded = loaded_by(f"import importlib\nfor name in {facades.split()!r}: importlib.import_module(name)")
    inner = {name for name in loaded if room_of(name) and name not in PACKAGES}
    assert inner <= {"pse.cli._options.group", "pse.runtime.supervise._stdio"}
    assert not {"numpy", "networkx", "lark", "rich", "mpi4py"} & set(tops(loaded))


def test_a_rank_loads_neither_pictures_nor_terminals_nor_graphs():
    loaded = loaded_by("from pse.runtime.rank import run_rank")
    assert not {"matplotlib", "networkx", "pandas", "rich", "IPython", "scipy", "pyfftw", "click"} & set(
        tops(loaded)
    )
    assert not {"pse.modules.build._builder", "zipfile"} & loaded
    assert not {"views", "advise", "analysis", "bench", "notebook", "cli"} & {
        room_of(name) for name in loaded
    }
    assert tops(loaded)["pse"] <= RANK_MODULES


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], {"numpy", "lark", "rich", "networkx", "mpi4py", "subprocess"}),
        (["check", str(ROOT / "programs/pingpong.coven")], {"numpy", "rich", "networkx", "mpi4py"}),
        (["fmt", "--check", str(ROOT / "programs/heat.coven")], {"numpy", "rich", "networkx", "mpi4py"}),
    ],
    ids=["help", "check", "fmt"],
)
def test_commands_load_only_what_they_use(words, unused):
    loaded = loaded_by(f"from pse.cli import main; main({words!r}, standalone_mode=False)")
    assert not unused & set(tops(loaded))
    rooms = {room_of(name) for name in loaded} - {None}
    assert rooms <= ({"cli", "runtime"} if words == ["--help"] else {"cli", "runtime", "modules", "language"})


def test_what_starts_ranks_loads_neither_mpi_nor_pictures_nor_terminals_nor_graphs():
    loaded = loaded_by("from pse.runtime.launch import launch_job")
    assert not {"mpi4py", "matplotlib", "networkx", "pandas", "rich", "scipy"} & set(tops(loaded))


def test_before_ranks_are_started_nothing_is_loaded_that_can_be_loaded_while_they_come_up():
    script = (
        "import os, sys\n"
        "def look(event, about):\n"
        "    if event == 'subprocess.Popen' and 'mpiexec' in str(about[0]):\n"
        "        print(*sys.modules, flush=True)\n"
        "        os._exit(0)\n"
        "sys.addaudithook(look)\n"
        "from pse.cli import main\n"
        "main(['run', 'pingpong.coven'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "programs", capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "pse.runtime.launch._launch" in loaded
    assert not {"numpy", "rich", "networkx", "mpi4py"} & set(tops(loaded))
    assert not {name for name in loaded if name.startswith("pse.runtime.status._report")}


def test_what_starts_ranks_and_prints_their_report_loads_nothing_that_few_runs_use():
    loaded = loaded_by(
        "import pse.runtime.launch._launch, pse.runtime.launch._job_run, pse.runtime.status._report_text"
    )
    assert not {"numpy", "hashlib", "secrets", "socket", "tempfile", "traceback", "zipfile"} & loaded


RANK_MODULES = 195
"""How many modules of the package a rank may load before it begins."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pse.one.two", {"pse.one.two"}),
        ("from pse import one", {"pse.one"}),
        ("def f():\n    from pse.one import two, three", {"pse.one.two", "pse.one.three"}),
        ("from . import two", {"pse.memory.two"}),
        ("from ..one import two", {"pse.one.two"}),
    ],
)
def test_python_imports_are_seen(text, expected):
    assert set(python_imports(text, "pse.memory")) == expected


def test_what_is_taken_of_an_imported_package_is_seen():
    for text in (
        "from pse.trace import query\nquery._tables",
        "from pse.trace import query as q\nq._tables",
        "import pse.trace.query\npse.trace.query._tables",
    ):
        assert "pse.trace.query._tables" in set(python_imports(text, "pse.views"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cimport pse.one._two, cython", {"pse.one._two", "cython"}),
        ("from pse.one._two cimport Three", {"pse.one._two.Three"}),
        ("    from pse.one import two", {"pse.one.two"}),
        ("from pse.one cimport two as three, four", {"pse.one.two", "pse.one.four"}),
        ("from pse.one cimport (\n    two,  # why\n    three,\n)\nx = 1", {"pse.one.two", "pse.one.three"}),
        ("from . cimport two", {"pse.memory.two"}),
        ("from ..one cimport two", {"pse.one.two"}),
    ],
)
def test_cython_imports_are_seen(text, expected):
    assert set(cython_imports(text, "pse.memory")) == expected


def test_a_face_is_the_module_that_has_its_stub():
    faces = {name for name, paths in MODULES.items() if any(path.suffix == ".pyx" for path in paths)}
    assert {"pse.analysis._replay", "pse.views._blocks", "pse.runtime._sequencer"} <= faces
    assert len(faces) == len(list((ROOT / "cext").rglob("*.pyx")))


def test_a_circle_is_found_though_one_file_is_imported_by_name():
    view, registry = "pse.views.charts._critical_path", "pse.views._registry"
    assert rings({**imports_of_modules(), view: {registry}}) == [[registry, view]]


def test_a_circle_is_found_though_files_import_from_their_own_facade():
    lower, upper = "pse.trace.query._key_matching", "pse.trace.query._messages"
    assert lower in map(module_of, imports_of_modules()[upper])
    assert rings({**imports_of_modules(), lower: {"pse.trace.query.match_messages"}}) == [[lower, upper]]


def test_the_rule_forbids_what_it_should():
    assert "runtime" not in allowed("program")
    assert "program" not in allowed("memory")
    assert {"memory", "language"} <= allowed("runtime")
    assert not is_offered("pse.trace.query._tables.calls")
    assert not is_offered("pse.trace.nothing_of_this_name")
    assert is_offered("pse.trace.Trace")
