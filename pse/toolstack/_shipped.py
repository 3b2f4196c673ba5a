"""The tools that come with pse, for whatever MPI library: built with pse, or here from their sources.

Their sources know mpi.h only.  What was built with pse fits MPICH's ABI under its own name, as in the
embedded MPI; for another library all are compiled against its header once and kept in the cache.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pse._cache import directory
from pse.modules.build import find_compiler
from pse.toolstack import _elf as elf
from pse.toolstack._mpi import Mpi
from pse.toolstack._mpi_header import Header, HeaderError, abi_options, read
from pse.toolstack._wrappers import wrappers

_HERE = Path(__file__).parent
_CEXT = _HERE.parents[1] / "cext"
BUILT = _HERE / "tools"
"""The tools that were built with pse."""
_NONE = BUILT / "none"

_FITTING = "libmpi.so.12"
_RECORDER = ("recorder.c", "recorder.h", "../abi/abi_events.h", "../abi/abi_waiting.h")
_COMMON = "common"
_FLAGS = (
    *("-std=gnu11", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
    "-Wno-deprecated-declarations",
)
_LINKED = ("-shared", "-Wl,--gc-sections")


def tools_for(mpi: Mpi, library: elf.Shared) -> Path:
    """Give the directory of the tools for an MPI library; compile them if that has not been done yet.

    Where there is neither a header that can be read nor a fitting build, configurations can't name tools that
    come with pse: then the directory does not exist.
    """
    if _fits(library):
        return BUILT
    folders = _folders()
    if mpi.include is None or not folders[0].exists():
        return _NONE
    options = abi_options(library.soname)
    compiler = find_compiler("c", "the tools of pse")
    header = mpi.include / "mpi.h"
    sources = [path for folder in folders[:-1] for path in sorted(folder.iterdir())]
    sources += [folders[-1] / name for name in _RECORDER]
    parts = [compiler.identity, *options, header.read_text(errors="replace")]
    parts += [*map(Path.read_text, sources), *sorted(library.functions)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    place = directory() / "toolstack" / f"tools-{key}"
    if not place.exists():
        try:
            known = read(header, compiler.command, options)
        except HeaderError:
            return _NONE
        includes = [
            f"-I{folder}"
            for folder in (mpi.include, _HERE / "include", folders[-1], folders[-1].parent / "abi")
        ]
        _build([*compiler.command, *_FLAGS, *options, *includes], known, library.functions, place)
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


def _folders() -> list[Path]:
    """List the folders of sources: of what tools share, of each tool, and of the recorder.

    They are beside the built tools in a wheel, in the source tree otherwise.
    """
    packed = BUILT / "source"
    top = packed if packed.exists() else _CEXT / "toolstack" / "tools"
    recorder = packed / "recorder" if packed.exists() else _CEXT / "recorder"
    tools = [path.parent for path in sorted(top.glob("*/*.c")) if path.stem == path.parent.name != "recorder"]
    return [top / _COMMON, *tools, recorder]


def _build(compiler: Sequence[str], header: Header, names: frozenset[str], place: Path) -> None:
    """Compile every tool that compiles; several may do this at once, the first to be done counts."""
    common, *tools, recorder = _folders()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=place.parent) as work:
        made = Path(work, "made")
        made.mkdir()
        line = [*compiler, f"-I{common}", f"-I{work}"]
        _run_all([[*line, "-c", str(source)] for source in common.glob("*.c")], work)
        shared = [str(path) for path in Path(work).glob("*.o")]
        for listed in (tool / f"{tool.name}.def" for tool in tools):
            if listed.exists():
                text = wrappers(header, listed.read_text(), names)
                Path(work, f"{listed.stem}_wrappers.c").write_text(text)
        commands = []
        for tool in tools:
            extra = [recorder / "recorder.c"] if tool.name == "trace" else []
            sources = map(str, [*tool.glob("*.c"), *extra])
            product = ["-o", str(made / f"{tool.name}.so"), "-lm"]
            commands.append([*line, f"-I{tool}", *_LINKED, *sources, *shared, *product])
        _run_all(commands, work)
        if not place.exists():
            made.rename(place)


def _run_all(commands: list[list[str]], work: str) -> None:
    """Run compilers at once, silently; what does not compile is missing afterwards."""
    running = [subprocess.Popen(command, cwd=work, stderr=subprocess.DEVNULL) for command in commands]
    for process in running:
        process.wait()
