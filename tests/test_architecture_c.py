"""The rule of the house for C and C++: files include and call only those below; symbols have a room's prefix.

Calls are taken from the symbol tables of the objects of `make ext`: what one defines and another needs.
"""

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from pse_testing.jobs import has_open_mpi

ROOT = Path(__file__).parents[1]
CEXT = ROOT / "cext"
BUILD = ROOT / "build/ext"
"""Where `make ext` compiles."""
TOOLS = CEXT / "toolstack/tools"
FILE_CEILING = 21
PREFIXES = {
    "arena": ("pse_arena_",),
    "backoff": ("pse_backoff_", "pse_clock_"),
    "bench": ("pse_bench_",),
    "channel": ("pse_channel_", "pse_board_"),
    "emulate": ("pse_emulate_",),
    "coschedule": ("pse_bcs_", "_ZN3pse10coschedule", "_ZNK3pse10coschedule"),
    "engine": ("pse_engine_",),
    "faults": ("pse_faults_",),
    "kernels": ("pse_kernels_",),
    "launch": ("main",),  # A program has nothing else that others see.
    "messaging": ("pse_messaging_",),
    "recorder": ("pse_recorder_",),
    "replay": ("pse_replay_",),
    "toolstack": ("pse_",),
}
WRAPPED = re.compile("MPIX?_")
"""What tools define because programs call it."""
FACE = "PyInit_"
"""How the function begins by which Python loads a face."""
NAMED_ELSEWHERE = (
    "coven_engine",
    "__cyg_profile_func_enter",
    "__cyg_profile_func_exit",
    "pthread_create",
    "pthread_join",
    "MPI_Abort",
)
"""What the language's headers, compilers, the C library and MPI name."""
SEARCHED = (*(CEXT / room for room in (*PREFIXES, "abi/include")), CEXT / "toolstack/core", TOOLS / "common")
WEAK = {"U", "V", "W", "u", "v", "w"}
"""What an object needs, or has beside others: inline functions of C++ are in each that uses them."""
ROW = re.compile(r"^\| `(\w+)` \| .* \| ([^|]*) \|$", re.MULTILINE)
"""A room in the design's table of cext, and the rooms that it uses."""
MAY_GO_FIRST = re.compile(r"^\s*#\s*include\s*\"([^\"]+)\"", re.MULTILINE)
_BASES = r"(?: final)?(?:\s*:(?!:)[^{;]*)?"
TYPE = re.compile(rf"^(?:typedef )?(?:struct|union|enum class|enum|class) (\w+){_BASES}\s*\{{", re.MULTILINE)


def room_of(path: Path) -> str:
    """Name the room of a file of cext."""
    return path.relative_to(CEXT).parts[0]


def folder_of(path: Path) -> Path:
    """Give the folder of a file; of a tool's the tool's own."""
    return TOOLS / path.relative_to(TOOLS).parts[0] if TOOLS in path.parents else path.parent


@cache
def sources() -> tuple[Path, ...]:
    """List what is compiled."""
    return tuple(sorted(path for suffix in (".c", ".cpp") for path in CEXT.rglob(f"*{suffix}")))


@cache
def headers() -> tuple[Path, ...]:
    """List the headers."""
    return tuple(sorted((*CEXT.rglob("*.h"), *CEXT.rglob("*.hpp"))))


def header_of(path: Path) -> Path:
    """Give the header that a source has, if it has one."""
    own = path.with_suffix(".hpp")
    return own if own.exists() else path.with_suffix(".h")


def code(path: Path) -> str:
    """Give the text of a file without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


@cache
def includes(path: Path) -> frozenset[Path]:
    """Find the headers that a file includes: from its own room, or else from another."""
    own, found = CEXT / room_of(path), set()
    for name in MAY_GO_FIRST.findall(path.read_text()):
        near = [folder / name for folder in (path.parent, folder_of(path), own, *SEARCHED)]
        found.update([header for header in near if header.exists()][:1])
    return frozenset(found)


def objects() -> dict[Path, Path]:
    """Map sources to the objects that `make ext` has made of them."""
    return {
        CEXT / target.parents[1].relative_to(BUILD) / made.relative_to(target).with_suffix(""): made
        for target in BUILD.rglob("CMakeFiles/*.dir")
        for made in target.rglob("*.o")
    }


@pytest.fixture(scope="module")
def symbols():
    """Give what each compiled source defines for others, and what it needs of them."""
    if has_open_mpi():
        pytest.skip("for this MPI tools are compiled when they are first used")
    made = objects()
    missing = [str(path.relative_to(ROOT)) for path in sources() if path not in made]
    assert not missing, f"not compiled yet (make ext): {missing}"
    rows = names(made[path] for path in sources())
    defined = {path: {name for kind, name in rows[made[path]] if kind not in WEAK} for path in sources()}
    needed = {path: {name for kind, name in rows[made[path]] if kind == "U"} for path in sources()}
    return defined, needed


def names(compiled: Iterable[Path]) -> dict[Path, list[list[str]]]:
    """List the symbols of objects that others see, each with its kind."""
    listed = subprocess.run(["nm", "-gA", *compiled], check=True, capture_output=True, text=True).stdout
    found: dict[Path, list[list[str]]] = defaultdict(list)
    for line in listed.splitlines():
        path, _, row = line.rpartition(":")
        found[Path(path)].append(row.split()[-2:])
    return found


def linked(path: Path, other: Path) -> bool:
    """Say whether two files can be in one object: each tool is one, with what tools share."""
    own = {folder_of(file) for file in (path, other) if TOOLS in file.parents}
    return len(own - {TOOLS / "common"}) < 2


def calls(defined: Mapping[Path, set[str]], needed: Mapping[Path, set[str]]) -> dict[Path, set[Path]]:
    """Say which files a file calls, or takes variables of."""
    owners: dict[str, list[Path]] = defaultdict(list)
    for path, names in defined.items():
        for name in names:
            owners[name].append(path)
    return {
        path: {owner for name in names for owner in owners[name] if linked(path, owner)} - {path}
        for path, names in needed.items()
    }


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
    files = (*sources(), *headers())
    assert cycle({path: includes(path) for path in files}) == []


def test_rooms_include_of_others_what_the_design_says():
    table = (ROOT / "docs/design.md").read_text().partition("| `cext/` |")[2].partition("\n\n")[0]
    used = {room: set(re.findall(r"`(\w+)`", cell)) for room, cell in ROW.findall(table)}
    used["toolstack"].discard("bcs")
    found: dict[str, set[str]] = {room: set() for room in used}
    for path in (*sources(), *headers()):
        found[room_of(path)] |= {room_of(header) for header in includes(path) if CEXT in header.parents}
    assert {room: others - {room, "abi"} for room, others in found.items()} == used


def test_calls_between_files_form_no_cycle(symbols):
    assert cycle(calls(*symbols)) == []


def test_a_file_includes_the_header_of_what_it_calls(symbols):
    wrong = [
        f"{path.relative_to(CEXT)} calls {called.relative_to(CEXT)} without its header"
        for path, all_called in calls(*symbols).items()
        for called in all_called
        if room_of(called) == room_of(path)
        and (header := header_of(called)).exists()
        and header not in includes(path)
        and not any(
            header in includes(own)
            for own in includes(path)
            if own.stem == path.stem or own.suffix in (".c", ".hpp")
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_symbols_have_the_prefix_of_their_room(symbols):
    defined, _ = symbols
    wrong = [
        f"{path.relative_to(CEXT)}: {name}"
        for path, names in defined.items()
        for name in names
        if not name.startswith((*PREFIXES[room_of(path)], FACE)) and name not in NAMED_ELSEWHERE
        if not (TOOLS in path.parents and WRAPPED.match(name))
    ]
    assert not wrong, "\n".join(wrong)


def test_types_have_names_of_their_own():
    names: dict[str, list[str]] = defaultdict(list)
    for path in (*sources(), *headers()):
        for name in TYPE.findall(code(path)):
            names[name].append(str(path.relative_to(CEXT)))
    assert not {name: places for name, places in names.items() if len(places) > 1}


def test_folders_are_no_larger_than_a_reader_can_see_at_once():
    files = [path for path in CEXT.rglob("*") if path.is_file()]
    sizes = Counter(str(path.parent.relative_to(CEXT)) for path in files)
    crowded = {folder: size for folder, size in sizes.items() if size > FILE_CEILING}
    assert not crowded


def test_rooms_have_a_prefix_each():
    found = {path.parent.name for path in CEXT.glob("*/CMakeLists.txt")}
    assert found - {"abi"} == set(PREFIXES)
