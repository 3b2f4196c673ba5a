"""The rule of the house for C: files include and call only files below them; symbols have a room's prefix.

Calls are taken from the symbol tables of the compiled objects: what one object defines and another needs.
"""

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CEXT = ROOT / "cext"
FILE_CEILING = 20
UNFINISHED = {"toolstack"}
"""Rooms that may still have cycles, twins of names, or more files."""
PREFIXES = {
    "arena": ("pse_arena_",),
    "bench": ("pse_bench_",),
    "channel": ("pse_channel_", "pse_board_"),
    "engine": ("pse_engine_",),
    "faults": ("pse_faults_",),
    "kernels": ("pse_kernels_",),
    "messaging": ("pse_messaging_",),
    "recorder": ("pse_recorder_",),
}
COMPILE = ("-std=gnu11", "-O0", "-c", "-fvisibility=hidden")
MAY_GO_FIRST = re.compile(r"^\s*#\s*include\s*\"([^\"]+)\"", re.MULTILINE)
TYPE = re.compile(r"^(?:typedef )?(?:struct|union|enum) (\w+) ?\{", re.MULTILINE)


def room_of(path: Path) -> str:
    """Name the room of a file of cext."""
    return path.relative_to(CEXT).parts[0]


@cache
def sources(suffix: str) -> tuple[Path, ...]:
    """List the C files of finished rooms."""
    return tuple(path for path in sorted(CEXT.rglob(f"*{suffix}")) if room_of(path) not in UNFINISHED)


def code(path: Path) -> str:
    """Give the text of a file without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


@cache
def includes(path: Path) -> frozenset[Path]:
    """Find the headers that a file includes: from its own room, or else from another."""
    own, found = CEXT / room_of(path), set()
    for name in MAY_GO_FIRST.findall(path.read_text()):
        near = [path.parent / name, own / name, *(CEXT / room / name for room in (*PREFIXES, "abi"))]
        found.update([header for header in near if header.exists()][:1])
    return frozenset(found)


@pytest.fixture(scope="module")
def symbols(tmp_path_factory):
    """Compile every source alone; give what each defines for others, and what it needs of them."""
    compiler, folder = shutil.which("cc") or shutil.which("gcc"), tmp_path_factory.mktemp("objects")
    assert compiler, "the check of calls needs a C compiler"
    where = [f"-I{CEXT / room}" for room in (*PREFIXES, "abi")] + [f"-I{ROOT / 'pse/modules/include'}"]
    defined: dict[Path, set[str]] = {}
    needed: dict[Path, set[str]] = {}
    for number, path in enumerate(sources(".c")):
        target = folder / f"{number}.o"
        own = f"-I{CEXT / room_of(path)}"
        subprocess.run([compiler, *COMPILE, own, *where, str(path), "-o", str(target)], check=True)
        listed = subprocess.run(["nm", "-g", str(target)], check=True, capture_output=True, text=True).stdout
        rows = [line.split()[-2:] for line in listed.splitlines()]
        needed[path] = {name for kind, name in rows if kind == "U"}
        defined[path] = {name for kind, name in rows if kind != "U"}
    return defined, needed


def calls(defined: Mapping[Path, set[str]], needed: Mapping[Path, set[str]]) -> dict[Path, set[Path]]:
    """Say which files a file calls, or takes variables of."""
    owner = {name: path for path, names in defined.items() for name in names}
    return {path: {owner[name] for name in names & owner.keys()} - {path} for path, names in needed.items()}


def cycle(graph: Mapping[Path, Iterable[Path]]) -> list[str]:
    """Find a way through a graph that comes back to where it began, or nothing."""
    finished: set[Path] = set()

    def search(node: Path, way: list[Path]) -> list[Path]:
        if node in way:
            return way[way.index(node) :]
        if node in finished:
            return []
        for following in graph.get(node, ()):
            if found := search(following, [*way, node]):
                return found
        finished.add(node)
        return []

    for start in graph:
        if found := search(start, []):
            return [str(path.relative_to(CEXT)) for path in found]
    return []


def test_includes_form_no_cycle():
    files = (*sources(".c"), *sources(".h"))
    assert cycle({path: includes(path) for path in files}) == []


def test_calls_between_files_form_no_cycle(symbols):
    assert cycle(calls(*symbols)) == []


def test_a_file_includes_the_header_of_what_it_calls(symbols):
    wrong = [
        f"{path.relative_to(CEXT)} calls {called.relative_to(CEXT)} without its header"
        for path, all_called in calls(*symbols).items()
        for called in all_called
        if room_of(called) == room_of(path)
        and (header := called.with_suffix(".h")).exists()
        and header not in includes(path)
        and not any(header in includes(own) for own in includes(path) if own.stem == path.stem)
    ]
    assert not wrong, "\n".join(wrong)


def test_symbols_have_the_prefix_of_their_room(symbols):
    defined, _ = symbols
    wrong = [
        f"{path.relative_to(CEXT)}: {name}"
        for path, names in defined.items()
        for name in names
        if not name.startswith(PREFIXES[room_of(path)]) and name != "coven_engine"
    ]
    assert not wrong, "\n".join(wrong)


def test_types_have_names_of_their_own():
    names: dict[str, list[str]] = defaultdict(list)
    for path in (*sources(".c"), *sources(".h")):
        for name in TYPE.findall(code(path)):
            names[name].append(str(path.relative_to(CEXT)))
    assert not {name: places for name, places in names.items() if len(places) > 1}


def test_folders_are_no_larger_than_a_reader_can_see_at_once():
    files = [path for path in CEXT.rglob("*") if path.is_file() and room_of(path) not in UNFINISHED]
    sizes = Counter(str(path.parent.relative_to(CEXT)) for path in files)
    crowded = {folder: size for folder, size in sizes.items() if size > FILE_CEILING}
    assert not crowded


def test_rooms_have_a_prefix_each():
    found = {path.parent.name for path in CEXT.glob("*/CMakeLists.txt")} - UNFINISHED
    assert found - {"abi"} == set(PREFIXES)
