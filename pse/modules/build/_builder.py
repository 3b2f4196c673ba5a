"""Building compiled modules: source to shared library, once for each content, compiler, flags and processor.

`build_module` builds one file, `build_modules` the files of a program.  A build makes its rule, asks the
cache, and runs the rule's commands where the cache has nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from pse import __version__
from pse._proc import processor_identity
from pse.language.check import ModuleFile, ModuleReference
from pse.language.diagnostics import Diagnostic, Severity, Span, error_at, has_errors, render_diagnostics
from pse.modules._errors import BuildError
from pse.modules.build import _cache as cache
from pse.modules.build._build_mode import FAST, BuildMode
from pse.modules.build._build_rules import DEPENDENCIES, PRODUCT, BuildRule, Source, build_rule
from pse.modules.build._compiler_messages import failed_build, first_mistake, translate_output
from pse.modules.directives import _directives as directives, _finder as finder
from pse.records import dataclass

FORMAT = 1
"""Part of every key: raised when trampolines or records change their meaning."""


@dataclass(frozen=True)
class Built:
    """A built module file.

    Parameters
    ----------
    source : Source
        What was built.
    library : Path
        The shared library.
    extension : str or None
        Its name as a Python extension, if it is one.
    hit : bool
        Whether it was in the cache.
    seconds : float
        What this call took.
    warnings : str
        What the compiler remarked when it was built.

    See Also
    --------
    build_module

    Examples
    --------
    >>> from pse.modules import build_module
    >>> built = build_module("heat.c")
    >>> built.source.path.name, built.library.exists()
    ('heat.c', True)
    """

    source: Source
    library: Path
    extension: str | None
    hit: bool
    seconds: float
    warnings: str


def build_module(path: str, *, shown: str | None = None, mode: BuildMode = FAST) -> Built:
    """Build a module file, or find it built.

    Parameters
    ----------
    path : str
        The source file.
    shown : str, optional
        Its path for messages.
    mode : BuildMode, optional
        Whether it is built for speed or to be debugged.

    Returns
    -------
    Built
        The library that was built or found, and how long that took in seconds.

    Raises
    ------
    BuildError
        If its directives are wrong, it doesn't compile, or something needed for that is missing; the message
        has the compiler's words with the user's own file and line.
    ModuleNotFound
        If there is no such file.

    Examples
    --------
    >>> built = build_module("heat.c")
    >>> built.library.suffix, built.warnings
    ('.so', '')
    >>> build_module("heat.c").hit
    True
    """
    started = time.monotonic()
    source = _source(path, shown or path, mode)
    plan = build_rule(source)
    key = _key(source, plan)
    entry = cache.find_or_make(key, lambda work: _make(work, source, plan))
    seconds = time.monotonic() - started
    warnings = str(entry.record.get("warnings", ""))
    return Built(source, entry.folder / PRODUCT, plan.extension, entry.hit, seconds, warnings)


def build_modules(modules: Iterable[ModuleReference], mode: BuildMode = FAST) -> list[Built]:
    """Build every file that a program's compiled modules are in, once each: before ranks start, or to check.

    Parameters
    ----------
    modules : iterable of ModuleReference
        From a checked program.
    mode : BuildMode, optional
        Whether they are built for speed or to be debugged.

    Returns
    -------
    list of Built
        One for each file.

    Raises
    ------
    BuildError
        For the first file that can't be built.

    Examples
    --------
    >>> [built.source.path.name for built in build_modules(program.modules)]
    ['heat.c']
    """
    files = {m.source: m.path for m in modules if m.source is not None and m.language != "python"}
    return [build_module(source, shown=shown, mode=mode) for source, shown in files.items()]


def find_unbuildable(modules: Iterable[ModuleReference]) -> list[Diagnostic]:
    """Build every file of a program's compiled modules; give a diagnostic for each that can't be built.

    Parameters
    ----------
    modules : iterable of ModuleReference
        Those that a program imports.

    Returns
    -------
    list of Diagnostic
        Of code E0526, where the compiler found the first mistake, else at the directive; empty if all can be
        built.

    Examples
    --------
    >>> find_unbuildable(program.modules)
    []
    """
    found = []
    for module in {m.source: m for m in modules if m.source is not None and m.language != "python"}.values():
        try:
            build_modules([module])
        except BuildError as failure:
            message, *words = failure.message.splitlines()
            first = first_mistake([message, *words], module.path)
            line, column, text = first or (module.line, 1, "")
            place = Span(module.path, line, column, line, column + 1)
            notes = [(place, word.rstrip()) for word in words]
            message = message if message.endswith(text) else f"{message}: {text}"
            found.append(error_at("E0526", message, place, notes=notes, help=failure.help))
    return found


def read_checked(path: str, shown: str) -> tuple[ModuleFile, str]:
    """Read a module file and its directives; refuse it if one of them is wrong.

    Raises
    ------
    BuildError
        With the diagnostics as its message.
    """
    text, _ = finder.read_source(path, shown)
    found = finder.examine_source(text, shown)
    if has_errors(found.diagnostics):
        wrong = [d for d in found.diagnostics if d.severity is Severity.ERROR]
        raise BuildError(
            f"{shown} can't be used as a module\n{render_diagnostics(wrong, {shown: text})}".rstrip("\n")
        )
    return found, text


def _source(path: str, shown: str, mode: BuildMode) -> Source:
    found, text = read_checked(path, shown)
    options = directives.options(directives.scan(text, found.language, shown))
    return Source(Path(path).absolute(), shown, found.language, text, found.signatures, options, mode)


def _key(source: Source, plan: BuildRule) -> str:
    material = {
        "format": FORMAT,
        "version": __version__,
        "source": [str(source.path), source.text],
        "steps": [[step.command, step.output] for step in plan.steps],
        "files": dict(plan.files),
        "identity": plan.identity,
        "python": sys.implementation.cache_tag if plan.extension else "",
        "processor": processor_identity(),
    }
    return cache.digest(json.dumps(material, sort_keys=True).encode())[:40]


def _make(work: Path, source: Source, plan: BuildRule) -> tuple[dict[str, str], dict[str, object]]:
    for name, text in plan.files.items():
        (work / name).write_bytes(os.fsencode(text))
    started = time.monotonic()
    output = "".join(_run(work, source, plan, index) for index in range(len(plan.steps)))
    files = {path: cache.hash_of(path) or "" for path in _read_files(work, source, plan)}
    text = source.path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if text != source.text:
        raise BuildError(f"{source.shown} was changed while it was being built", help="run it again")
    for leftover in work.iterdir():
        if leftover.name not in {PRODUCT, *plan.files}:
            leftover.unlink()
    warnings = translate_output(source, plan, output)
    seconds = round(time.monotonic() - started, 3)
    return files, {"source": source.shown, "product": PRODUCT, "seconds": seconds, "warnings": warnings}


def _run(work: Path, source: Source, plan: BuildRule, index: int) -> str:
    step = plan.steps[index]
    target = (work / step.output).open("wb") if step.output else subprocess.PIPE
    try:
        compiler = subprocess.Popen(
            step.command,
            cwd=work,
            # A compiler that is killed leaves files: here whoever builds next finds them.
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(work)},
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as failure:
        raise BuildError(
            f"{source.shown}: {step.command[0]} can't be started: {failure.strerror}",
            help="install the compiler, or name another by CC, CXX or FC (`pse doctor` lists them)",
        ) from None
    finally:
        if not isinstance(target, int):
            target.close()
    printed, words = _ended(compiler)
    output = (printed or b"").decode(errors="replace") + words.decode(errors="replace")
    if compiler.returncode != 0:
        raise failed_build(source, plan, step, output, compiler.returncode)
    return output


_COMPILERS: set[subprocess.Popen[bytes]] = set()
"""Those that this process waits for; each leads a group of processes, as it starts others."""


def _ended(compiler: subprocess.Popen[bytes]) -> tuple[bytes | None, bytes]:
    """Wait for a compiler; whoever doesn't wait to the end ends it."""
    _COMPILERS.add(compiler)
    with compiler:
        try:
            return compiler.communicate()
        except BaseException:
            _kill(compiler)
            raise
        finally:
            _COMPILERS.discard(compiler)


def end_compilers() -> None:
    """End all compilers that this process has started, as it ends itself; builds that wait for them fail.

    See Also
    --------
    build_module
    """
    for compiler in list(_COMPILERS):
        _kill(compiler)


def _kill(compiler: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(compiler.pid, signal.SIGKILL)


def _read_files(work: Path, source: Source, plan: BuildRule) -> list[str]:
    """List the user's files that the build read, beside the source itself."""
    known = set(plan.reads)
    for listing in (work / DEPENDENCIES, *work.glob("*.dep")):
        if listing.exists():
            words = re.findall(
                r"(?:\\.|[^\s\\])+", os.fsdecode(listing.read_bytes()).partition(": ")[2].replace("\\\n", " ")
            )
            known |= {os.path.join(work, re.sub(r"\\(.)", r"\1", word)) for word in words}
    own = {str(source.path), *(str(work / name) for name in plan.files)}
    return sorted(
        path for path in map(os.path.normpath, known) if path not in own and not path.startswith(str(work))
    )
