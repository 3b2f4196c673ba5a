"""How each kind of source becomes a shared library: generated files and command lines, all known beforehand.

A rule is data; nothing is run here (except that pkg-config is asked for libraries).  Its commands run in a
fresh folder, where the generated files are.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from collections.abc import Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from pse.language.types import Signature
from pse.modules._errors import BuildError
from pse.modules.build import _cache as cache, _trampolines as trampolines
from pse.modules.build._build_mode import FAST, BuildMode
from pse.modules.build._compilers import Compiler, find_compiler
from pse.modules.build._libraries import Library, find_library, find_mpi_compiler
from pse.modules.build._sanitizers import find_runtime
from pse.modules.build._trampolines import Trampolines
from pse.modules.directives import _source_text as sourcetext
from pse.modules.directives._directives import Options
from pse.modules.directives._interface import takes_communicator
from pse.records import dataclass

PRODUCT: Final = "module.so"
DEPENDENCIES: Final = "dependencies.d"
PROTOTYPES: Final = "pse_prototypes.h"

# GNU's declarations (M_PI, strdup) without GNU's arithmetic: -std=c11 keeps a*b+c unfused, so that results
# don't depend on the processor; `coven flags -ffp-contract=fast` says otherwise for a file.
_STANDARD: Final = {"c": ("-std=c11", "-D_GNU_SOURCE="), "c++": ("-std=c++17",)}
_WARNINGS: Final = {"c": ("-Wall", "-Werror=implicit-function-declaration"), "c++": ("-Wall",)}
# Symbolic: a user's function called `index` or `select` must not be replaced by the C library's.
_SHARED: Final = ("-shared", "-Wl,-Bsymbolic")
_INCLUDE: Final = ("-I", str(Path(__file__).parents[1] / "include"))  # coven.h
_COMPLETE: Final = "-Wl,-z,defs"


@dataclass(frozen=True)
class Source:
    """A module file on its way to a library.

    Parameters
    ----------
    path : Path
        The absolute path.
    shown : str
        The path to print.
    language : str
        "c", "c++", "fortran" or "cython".
    text : str
        Its text.
    signatures : collection of Signature
        What its directives declare.
    options : Options
        What its `link` and `flags` directives say.
    mode : BuildMode
        For what it is built.
    """

    path: Path
    shown: str
    language: str
    text: str
    signatures: Collection[Signature]
    options: Options
    mode: BuildMode = FAST


@dataclass(frozen=True)
class Step:
    """One command line; `output` names the file that gets its standard output."""

    command: tuple[str, ...]
    output: str | None = None


@dataclass(frozen=True)
class BuildRule:
    """Everything that makes a library from a source.

    Parameters
    ----------
    steps : tuple of Step
        Run one after the other in the folder of the build.
    files : mapping of name to text
        Generated files to put there first.
    trampolines : Trampolines or None
        The trampolines among them, in the file `trampoline_file`.
    identity : tuple of str
        What makes this rule's result differ from another's with equal steps: compilers, libraries.
    extension : str or None
        The name of the Python extension that the library is, if it is one.
    reads : tuple of str
        Files that are known to be read, for languages whose compiler doesn't tell.
    """

    steps: tuple[Step, ...]
    identity: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    trampolines: Trampolines | None = None
    trampoline_file: str = ""
    extension: str | None = None
    reads: tuple[str, ...] = ()


def build_rule(source: Source) -> BuildRule:
    """Work out how to build a source.

    Raises
    ------
    BuildError
        If a compiler, a library or a Python package for it is missing.
    """
    for sanitizer in source.mode.sanitize:
        find_runtime(find_compiler("c++" if source.language == "c++" else "c", source.shown), sanitizer)
    if source.language == "cython":
        return _cython(source)
    if source.language == "fortran":
        return _fortran(source)
    return _pybind(source) if sourcetext.is_pybind(source.text) else _c(source)


def _c(source: Source) -> BuildRule:
    compiler = find_compiler(source.language, source.shown)
    libraries = _libraries(source, compiler)
    name = "pse_trampolines.c" if source.language == "c" else "pse_trampolines.cpp"
    written = trampolines.write_c(
        source.signatures, str(source.path), language=source.language, error_text=_tells_errors(source)
    )
    command = (
        *compiler.command,
        *_compile_flags(source, libraries),
        *("-MMD", "-MF", DEPENDENCIES, name, "-o", PRODUCT),
        *_SHARED,
        _COMPLETE,
        *_link_flags(libraries),
    )
    identity = _identity(compiler, libraries)
    return BuildRule((Step(command),), identity, {name: written.text}, written, name)


def _compile_flags(source: Source, libraries: list[Library]) -> tuple[str, ...]:
    language = "c" if source.language in ("fortran", "cython") else source.language
    flags = [flag for library in libraries for flag in library.compile_flags]
    own = source.options.flags if source.language == language else ()
    where = f'-DPSE_CACHE_DIR="{cache.code_directory()}"'
    return (*source.mode.flags, *_STANDARD[language], *_WARNINGS[language], where, *flags, *own, *_INCLUDE)


def _link_flags(libraries: list[Library]) -> tuple[str, ...]:
    return (*(flag for library in libraries for flag in library.link_flags), "-lm")


def _libraries(source: Source, compiler: Compiler) -> list[Library]:
    """Find what the source links: what its directives name, and MPI where it includes its header."""
    found = [find_library(name, compiler, source.shown) for name in source.options.libraries]
    return [*found, find_mpi_compiler(source.shown, source.language)] if _uses_mpi(source) else found


def _uses_mpi(source: Source) -> bool:
    pattern = {
        "fortran": r"^\s*use\s*(,\s*intrinsic\s*::)?\s*mpi(_f08)?\b|^\s*include\s*['\"]mpif\.h['\"]",
        "cython": r"^\s*(from|cimport)\s+mpi4py\b",
    }.get(source.language, r"^\s*#\s*include\s*[<\"]mpi\.h[>\"]")
    if any(map(takes_communicator, source.signatures)):
        return True
    return re.search(pattern, source.text, re.MULTILINE | re.IGNORECASE) is not None


def _identity(compiler: Compiler, libraries: list[Library]) -> tuple[str, ...]:
    return (compiler.identity, *(library.identity for library in libraries))


def _tells_errors(source: Source) -> bool:
    code = sourcetext.stripped(source.text, source.language)
    flags = re.IGNORECASE if source.language == "fortran" else 0
    return re.search(r"\bcoven_error\s*\(", code, flags) is not None


def _pybind(source: Source) -> BuildRule:
    compiler = find_compiler("c++", source.shown)
    libraries = _libraries(source, compiler)
    pybind = _package("pybind11", "pse[cpp]", source)
    command = (
        *compiler.command,
        *_compile_flags(source, libraries),
        *("-fvisibility=hidden", "-isystem", str(pybind / "include"), "-isystem", _python_headers(source)),
        *("-MMD", "-MF", DEPENDENCIES, str(source.path), "-o", PRODUCT, "-shared"),
        *_link_flags(libraries),
    )
    return BuildRule(
        (Step(command),), _identity(compiler, libraries), extension=sourcetext.pybind_name(source.text)
    )


def _cython(source: Source) -> BuildRule:
    compiler = find_compiler("c", source.shown)
    libraries = _libraries(source, compiler)
    package = _package("Cython", "pse[cython]", source)
    numpy = _package("numpy", "numpy", source)
    name = "pse_module_" + re.sub(r"\W", "_", source.path.stem)
    native = [s for s in source.signatures if sourcetext.cython_kind(source.text, s.name) != "def"]
    written = trampolines.write_cython(native, source.text, error_text=_tells_errors(source))
    translate = (
        *(sys.executable, "-m", "cython", "-3", "--line-directives", "--depfile"),
        *("-I", str(source.path.parent)),
    )
    compile_command = (
        *compiler.command,
        *(*source.mode.flags, f"-fdebug-prefix-map={name}.pyx={source.path}", "-D_GNU_SOURCE=", "-w"),
        *(*source.options.flags, "-I", str(source.path.parent)),
        *("-isystem", str(numpy / "_core" / "include"), "-isystem", str(numpy / "core" / "include")),
        *(flag for library in libraries for flag in library.compile_flags),
        *("-isystem", _python_headers(source), *_INCLUDE, f"{name}.c", "-o", PRODUCT, "-shared"),
        *_link_flags(libraries),
    )
    steps = (Step((*translate, f"{name}.pyx", "-o", f"{name}.c")), Step(compile_command))
    identity = (*_identity(compiler, libraries), str(package), _version("cython"), _version("numpy"))
    return BuildRule(steps, identity, {f"{name}.pyx": written.text}, written, f"{name}.pyx", extension=name)


def _fortran(source: Source) -> BuildRule:
    fortran = find_compiler("fortran", source.shown)
    compiler = find_compiler("c", source.shown)
    libraries = _libraries(source, fortran)
    written = trampolines.write_c(
        source.signatures, PROTOTYPES, language="fortran", error_text=_tells_errors(source)
    )
    found = (flag for library in libraries for flag in library.compile_flags)
    path, include = str(source.path), ("-I", str(source.path.parent), *found)
    optimised = (*fortran.command, *source.mode.flags, "-Wall", *source.options.flags, *include)
    steps = (
        Step(
            (*fortran.command, *source.options.flags, *include, "-fsyntax-only", "-fc-prototypes", path),
            PROTOTYPES,
        ),
        Step((*optimised, "-c", path, "-o", "user.o")),
        Step(
            (*compiler.command, *_compile_flags(source, []), "-c", "pse_trampolines.c", "-o", "trampolines.o")
        ),
        Step(
            (
                *fortran.command,
                *source.mode.sanitizers,
                "user.o",
                "trampolines.o",
                "-o",
                PRODUCT,
                *_SHARED,
                _COMPLETE,
                *_link_flags(libraries),
            )
        ),
    )
    identity = (fortran.identity, *_identity(compiler, libraries))
    included = re.findall(r"^\s*include\s*['\"]([^'\"]+)['\"]", source.text, re.MULTILINE | re.IGNORECASE)
    reads = tuple(str(source.path.parent / name) for name in included)
    return BuildRule(
        steps, identity, {"pse_trampolines.c": written.text}, written, "pse_trampolines.c", reads=reads
    )


def _package(name: str, extra: str, source: Source) -> Path:
    """Find a Python package's folder without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        message = (
            f"{source.shown} needs the Python package {name.lower()} to be built, and it is not installed"
        )
        raise BuildError(message, help=f"pip install '{extra}'")
    return Path(spec.origin).parent


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return distribution


def _python_headers(source: Source) -> str:
    folder = sysconfig.get_path("include")
    if not (Path(folder) / "Python.h").exists():
        message = (
            f"{source.shown} is a Python extension; Python's headers are not installed ({folder}/Python.h)"
        )
        raise BuildError(message, help="install python3-dev, or write the module in C or C++ without Python")
    return folder
