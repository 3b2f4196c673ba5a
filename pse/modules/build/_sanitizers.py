"""Sanitizers of compilers: what modules are built with, and what a process must load before all else."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from pse.errors import UsageError
from pse.modules._errors import BuildError
from pse.modules.build._compilers import Compiler, find_compiler
from pse.text import list_text

SANITIZERS: Final = {"address": "libasan.so", "undefined": "libubsan.so"}
"""The runtime library of each sanitizer that modules can be built with."""

_ENDS: Final = "abort_on_error=1:halt_on_error=1"
# Crashes are reported by the rank's own handler; what Python never frees is not a leak of a module.
_ADDRESS: Final = (
    f"{_ENDS}:detect_leaks=0:use_sigaltstack=0:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0"
    ":handle_sigill=0:print_legend=0:malloc_context_size=6"
)
_OPTIONS: Final = {"ASAN_OPTIONS": _ADDRESS, "UBSAN_OPTIONS": _ENDS}


def parse_sanitizers(text: str) -> tuple[str, ...]:
    """Read what ``--sanitize`` says: names of sanitizers, separated by commas.

    Parameters
    ----------
    text : str
        The names.

    Returns
    -------
    tuple of str
        The sanitizers.

    Raises
    ------
    UsageError
        If it says anything else.

    Examples
    --------
    >>> parse_sanitizers("undefined, address")
    ('undefined', 'address')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if any(name not in SANITIZERS for name in names):
        raise UsageError(
            f"--sanitize {text}: expected {list_text(SANITIZERS)}, or one of the two",
            help=f"for example:  --sanitize {','.join(SANITIZERS)}",
        )
    return names


def sanitizer_environment(sanitizers: Iterable[str], before: dict[str, str]) -> dict[str, str]:
    """Give the environment of a process that loads modules with sanitizers.

    Parameters
    ----------
    sanitizers : iterable of str
        Among ``address`` and ``undefined``.
    before : dict of str to str
        The environment; its options of sanitizers win, and what it preloads comes after the runtime.

    Returns
    -------
    dict of str to str
        The variables that differ.

    Raises
    ------
    BuildError
        If the compiler has no runtime for a sanitizer.

    Examples
    --------
    >>> "UBSAN_OPTIONS" in sanitizer_environment(["undefined"], {})
    True
    """
    found = {name: _with(options, before.get(name, "")) for name, options in _OPTIONS.items()}
    compiler = find_compiler("c", "--sanitize")
    runtimes = {name: find_runtime(compiler, name) for name in sanitizers}
    if "address" in runtimes:
        # The runtime looks for the functions of C++ exceptions when it starts.
        first = [runtimes["address"], _file(compiler.command, "libstdc++.so.6") or ""]
        found["LD_PRELOAD"] = ":".join(path for path in (*first, before.get("LD_PRELOAD", "")) if path)
    return found


def find_runtime(compiler: Compiler, sanitizer: str) -> str:
    """Find the library that code with a sanitizer needs.

    Raises
    ------
    BuildError
        If the compiler has none.
    """
    name = SANITIZERS[sanitizer]
    if _is_clang(compiler.command):
        raise BuildError(
            f"modules with sanitizers are built by GCC, and {compiler.command[0]} is clang",
            help="set CC and CXX to GCC's compilers:  CC=gcc CXX=g++",
        )
    path = _file(compiler.command, name)
    if path is None:
        raise BuildError(
            f"{compiler.command[0]} has no runtime of the {sanitizer} sanitizer ({name})",
            help="install it with the system's packages (libasan and libubsan of the compiler's version), or "
            "set CC, CXX and FC to compilers of GCC that have it",
        )
    return path


def _with(options: str, given: str) -> str:
    return f"{options}:{given}" if given else options


@cache
def _is_clang(command: tuple[str, ...]) -> bool:
    """Ask a compiler; clang finds GCC's runtime, which can't serve what clang has compiled."""
    asked = [*command, "-dM", "-E", "-x", "c", "/dev/null"]
    return "__clang__" in subprocess.run(asked, capture_output=True, text=True, check=False).stdout


@cache
def _file(command: tuple[str, ...], name: str) -> str | None:
    """Ask a compiler for a library; the file may be a text that names the library."""
    asked = [*command, f"-print-file-name={name}"]
    try:
        path = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        data = Path(path).read_bytes()[:4096]
    except (OSError, subprocess.SubprocessError):
        return None
    named = re.search(rb"INPUT\s*\(\s*(\S+)", data)
    return named[1].decode() if named and not data.startswith(b"\x7fELF") else path
