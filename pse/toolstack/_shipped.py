"""The tools that come with pse, for whatever MPI library: built with pse, or here from their sources.

Their sources know mpi.h only.  What was built with pse fits MPICH's ABI under its own name, as in the
embedded MPI; for another library all are compiled against its header once and kept in the cache.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pse._cache import directory
from pse.modules.build import find_compiler
from pse.toolstack import _elf as elf
from pse.toolstack._mpi import Mpi

_HERE = Path(__file__).parent
_CEXT = _HERE.parents[1] / "cext"
BUILT = _HERE / "tools"
"""The tools that were built with pse."""
_NONE = BUILT / "none"

_FITTING = "libmpi.so.12"
_RECORDER = ("recorder.c", "recorder.h", "events.def")
_FLAGS = (
    "-std=gnu11",
    "-O2",
    "-g0",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wno-deprecated-declarations",
)


def tools_for(mpi: Mpi, library: elf.Shared) -> Path:
    """Give the directory of the tools for an MPI library; compile them if that has not been done yet.

    Where there is neither a header that can be read nor a fitting build, configurations can't name tools that
    come with pse: then the directory is one that says so by being empty.
    """
    sources = _sources()
    if _fits(library):
        return BUILT
    if mpi.include is None or not sources:
        return _NONE
    standard = ["-DMPI_ABI"] if "mpi_abi" in library.soname else []
    compiler = find_compiler("c", "the tools of pse")
    parts = [
        compiler.identity,
        *standard,
        (mpi.include / "mpi.h").read_text(errors="replace"),
        *map(Path.read_text, sources),
    ]
    parts += sorted(library.functions)
    place = (
        directory() / "toolstack" / f"tools-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"
    )
    try:
        if not place.exists():
            _build([*compiler.command, *standard, f"-I{mpi.include}"], sources, library.functions, place)
    except subprocess.CalledProcessError:
        return _NONE
    return place


def _fits(library: elf.Shared) -> bool:
    """Say whether the built tools can be loaded with a library, by its name and all that they import."""
    names = library.functions
    wanted = [
        symbol.name
        for path in BUILT.glob("*.so")
        for symbol in elf.read(path).symbols
        if not symbol.defined and symbol.name.startswith("PMPI")
    ]
    return library.soname == _FITTING and bool(wanted) and names.issuperset(wanted)


def _sources() -> list[Path]:
    """List what tools are made of: beside the built ones in a wheel, in the source tree otherwise."""
    packed = BUILT / "source"
    folder = packed if packed.exists() else _CEXT / "toolstack" / "tools"
    recorder = [] if packed.exists() else [_CEXT / "recorder" / name for name in _RECORDER]
    kinds = ("*.c", "*.h", "*.def", "wrap.py")
    return sorted([*recorder, *(path for kind in kinds for path in folder.glob(kind))])


def _build(compiler: list[str], sources: list[Path], names: frozenset[str], place: Path) -> None:
    """Compile every tool that compiles; several may do this at once, the first to be done counts."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=place.parent) as work:
        made = Path(work, "made")
        made.mkdir()
        includes = [f"-I{folder}" for folder in sorted({str(path.parent) for path in sources})]
        line = [*compiler, *_FLAGS, f"-I{work}", *includes, f"-I{_HERE / 'include'}"]
        tools = [path for path in sources if path.suffix == ".c" and path.stem != "recorder"]
        for wrapped in [
            path for path in sources if path.suffix == ".def" and path.with_suffix(".c") in tools
        ]:
            _wrappers(compiler, wrapped, names, Path(work))
        running = [
            subprocess.Popen(
                [*line, str(tool), "-o", str(made / f"{tool.stem}.so"), "-lm"], stderr=subprocess.DEVNULL
            )
            for tool in tools
        ]
        for process in running:
            process.wait()
        if not place.exists():
            made.rename(place)


def _wrappers(compiler: list[str], wrapped: Path, names: frozenset[str], work: Path) -> None:
    """Write the wrappers of a tool from the prototypes of mpi.h."""
    expand = [*compiler, "-E", "-P", "-include", "mpi.h", "-xc", "/dev/null"]
    declared = subprocess.run(expand, capture_output=True, text=True, check=True).stdout
    exported = ";".join(statement for statement in declared.split(";") if not _is_missing(statement, names))
    command = [sys.executable, str(wrapped.parent / "wrap.py"), str(wrapped)]
    text = subprocess.run(command, input=exported, capture_output=True, text=True, check=True).stdout
    (work / f"{wrapped.stem}_wrappers.h").write_text(text)


def _is_missing(statement: str, names: frozenset[str]) -> bool:
    """Say whether a statement of mpi.h declares a routine that the library doesn't have."""
    declared = None if "typedef" in statement else re.search(r"\b(P?MPIX?_\w+)\s*\(", statement)
    return declared is not None and declared[1] not in names
