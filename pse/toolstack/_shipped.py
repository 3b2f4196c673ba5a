"""The tools that come with pse, for whatever MPI library: built with pse, or here from their sources.

Their sources know mpi.h only.  What was built with pse fits MPICH's ABI under its own name, as in the
embedded MPI; for another library, or if none were built, all are compiled against its header once and kept in
the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from pse._cache import advice, code_directory, locked, refuse
from pse.errors import RunError
from pse.modules.build import find_compiler
from pse.toolstack import _elf as elf
from pse.toolstack._mpi import Mpi
from pse.toolstack._mpi_header import Header, HeaderError, abi_options, read
from pse.toolstack._wrappers import wrappers

_HERE = Path(__file__).parent
_CEXT = _HERE.parents[1] / "cext"
BUILT = _HERE / "tools"
"""The tools that were built with pse."""

_FITTING = "libmpi.so.12"
_MEND = "install this MPI's headers (the package with its mpicc), or the embedded MPI (extra mpich)"
RECORDER = ("recorder.c", "recorder.h")
ELF = ("mapped_elf.c", "mapped_elf.h", "loaded_elf.c", "loaded_elf.h")
TABLES = ("abi_events.h", "abi_waiting.h", "abi_coschedule.h", "abi_environment.h")
_LAYER = _HERE / "lib" / "libpse_bcs.so"
"""The coscheduled layer, which needs no MPI: the tool `bcs` is linked with it."""
_FLAGS = (
    *("-std=gnu11", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
    "-Wno-deprecated-declarations",
)
_LINKED = ("-shared", "-Wl,--gc-sections")


def tools_for(mpi: Mpi, library: elf.Shared) -> Path:
    """Give the directory of the tools for an MPI library; compile them if that has not been done yet.

    Raises
    ------
    RunError
        If there is neither a fitting build nor a header or compiler that they can be compiled with.
    """
    if _fits(library):
        return BUILT
    folders, elf_folder = _folders(), _elf_folder()
    if mpi.include is None:
        raise RunError(f"there is no mpi.h near {mpi.path}", help=_MEND)
    options = abi_options(library.soname)
    compiler = find_compiler("c", "the tool stack")
    header = mpi.include / "mpi.h"
    sources = [path for folder in folders[:-1] for path in sorted(folder.rglob("*.*"))]
    recorder, tables = folders[-1], folders[-1].parent / "abi" / "include"
    layer = folders[-1].parent / "coschedule"
    sources += [*(recorder / name for name in RECORDER), *(tables / name for name in TABLES)]
    sources += [*(elf_folder / name for name in ELF), layer / "c_engine.h"]
    parts = [compiler.identity, *options, str(_LAYER), header.read_text(errors="replace")]
    parts += [*map(Path.read_text, sources), *sorted(library.functions)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    place = code_directory() / "toolstack" / f"tools-{key}"
    if place.exists():
        for product in (place, *place.iterdir()):
            refuse(product)
    else:
        try:
            known = read(header, compiler.command, options)
        except HeaderError as error:
            raise RunError(str(error), help=_MEND) from None
        searched = (mpi.include, _HERE / "include", recorder, tables, layer, elf_folder.parent)
        includes = [f"-I{folder}" for folder in searched]
        line = [*compiler.command, *_FLAGS, *options, *includes]
        with cache_errors():
            place.parent.mkdir(parents=True, exist_ok=True)
            with locked(place.parent):  # All ranks of a job may want them at once: one makes them.
                if not place.exists():
                    sys.stderr.write(f"compiling the MPI tools for {mpi.path}, once: half a minute or so\n")
                    _build(line, known, library.functions, place)
    return place


@contextlib.contextmanager
def cache_errors() -> Iterator[None]:
    """Say of a cache that can't be used why, and how to mend it."""
    try:
        yield
    except OSError as error:
        what = f"the cache of the tool stack can't be used: {error.strerror}: {error.filename}"
        raise RunError(what, help=advice(error)) from None


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
    """List the folders of sources: two of what tools share, one of each tool, and that of the recorder.

    They are beside the built tools in a wheel, in the source tree otherwise.
    """
    packed = BUILT / "source"
    top = packed if packed.exists() else _CEXT / "toolstack" / "tools"
    below = packed if packed.exists() else _CEXT
    others = {"recorder", "backoff"}
    tools = [path.parent for path in sorted(top.glob("*/*.c")) if path.stem == path.parent.name not in others]
    return [top / "common", below / "backoff", *tools, below / "recorder"]


def _elf_folder() -> Path:
    """Give the folder of what the stack and tools read and change libraries by."""
    packed = BUILT / "source" / "elf"
    return packed if packed.exists() else _CEXT / "toolstack" / "core" / "elf"


def _build(compiler: Sequence[str], header: Header, names: frozenset[str], place: Path) -> None:
    """Compile the tools; one that this MPI has too little for is left out, with a warning."""
    common, backoff, *tools, recorder = _folders()
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=place.parent) as work:
        made = Path(work, "made")
        made.mkdir()
        line = [*compiler, f"-I{common}", f"-I{backoff}", f"-I{work}"]
        sources = [*common.glob("*.c"), *backoff.glob("*.c")]
        errors = _compile_all([[*line, "-c", str(source)] for source in sources], work)
        if any(errors):
            raise RunError(f"the tools of pse can't be compiled: {next(filter(None, errors))}", help=_MEND)
        shared = [str(path) for path in Path(work).glob("*.o")]
        for listed in (tool / f"{tool.name}.def" for tool in tools):
            if listed.exists():
                text = wrappers(header, listed.read_text(), names)
                Path(work, f"{listed.stem}_wrappers.c").write_text(text)
        elf_folder = _elf_folder()
        further = {
            "trace": [recorder / "recorder.c", elf_folder / "mapped_elf.c"],
            "coopwait": [elf_folder / "loaded_elf.c"],
        }
        commands = []
        for tool in tools:
            own = map(str, [*tool.rglob("*.c"), *further.get(tool.name, [])])
            product = ["-o", str(made / f"{tool.name}.so"), "-lm"]
            product += [str(_LAYER), f"-Wl,-rpath,{_LAYER.parent}"] if tool.name == "bcs" else []
            commands.append([*line, f"-I{tool}", *_LINKED, *own, *shared, *product])
        for tool, error in zip(tools, _compile_all(commands, work), strict=True):
            if error:
                what = (
                    f"the tool `{tool.name}` of pse can't be compiled for this MPI, and is left out: {error}"
                )
                warnings.warn(what, stacklevel=2)
        made.rename(place)


def _compile_all(commands: list[list[str]], work: str) -> list[str]:
    """Run compilers at once; give the first error of each, or nothing for one that succeeds."""
    running = [
        subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True, errors="replace")
        for command in commands
    ]
    texts = [process.communicate()[1] for process in running]
    return [
        next((line for line in text.splitlines() if " error: " in line), "no reason given")
        if compiler.returncode
        else ""
        for text, compiler in zip(texts, running, strict=True)
    ]
