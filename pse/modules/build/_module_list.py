"""Modules in files and folders, for people: what `pse module list` and `pse module show` print.

Reads directives only; nothing is built or run.  The command line does the drawing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Container, Iterable, Iterator

from pse.errors import ModuleNotFound, UsageError
from pse.language.check import STANDARD, ModuleFile
from pse.language.diagnostics import has_errors
from pse.language.types import (
    LANGUAGES,
    Direction,
    Distribution,
    Element,
    Parameter,
    Signature,
    render_distribution,
    render_expression,
)
from pse.modules.build._compiler_messages import prototype
from pse.modules.directives import _finder as finder, _source_text as sourcetext
from pse.modules.directives._interface import declared
from pse.modules.std._signatures import STRUCTURAL, standard_file
from pse.records import dataclass
from pse.text import did_you_mean

_IGNORED = {"__pycache__", "build", "node_modules"}
_MOST_TEXTS = 256
"""Files whose modules are kept with their texts: the desk lists a folder again after each edit."""


@dataclass(frozen=True)
class Listed:
    """A module for a table: its file, and the signature that its directive declares.

    Parameters
    ----------
    file : ModuleFile
        The source file.
    signature : Signature
        Name and parameters.

    See Also
    --------
    find_modules

    Examples
    --------
    >>> from pse.modules.build import choose_modules
    >>> step, = choose_modules("heat.c:step")
    >>> step.signature.name, step.place
    ('step', 'heat.c:18')
    """

    file: ModuleFile
    signature: Signature

    @property
    def place(self) -> str:
        """Where its directive stands."""
        line = f":{self.signature.span.line}" if self.signature.span and self.file.source else ""
        return f"{self.file.path}{line}"


def find_modules(paths: Iterable[str]) -> tuple[list[Listed], list[ModuleFile]]:
    """List the modules in files and folders, and the files whose directives are wrong.

    Parameters
    ----------
    paths : iterable of str
        Files, folders (searched with all below them), or ``pse.std``.

    Returns
    -------
    tuple
        The modules, and the files that have directives with errors.

    Raises
    ------
    UsageError
        If a path is missing; files in folders that are not modules are passed over.

    Examples
    --------
    >>> modules, wrong = find_modules(["stages.py"])
    >>> print(*(directive_text(module.signature) for module in modules), sep="\\n")
    load(in i64 k, out f64 image[8])
    rows(in f64 image[n], out f64 result[n])
    total(in f64 result[n], out f64 sum)
    >>> call_text(modules[1])
    'rows(image) -> result'
    """
    modules: list[Listed] = []
    wrong: list[ModuleFile] = []
    for path in paths:
        for found in _files(path):
            modules += [Listed(found, signature) for signature in found.signatures]
            if has_errors(found.diagnostics):
                wrong.append(found)
    return modules, wrong


def _files(path: str) -> Iterator[ModuleFile]:
    if path == STANDARD:
        yield standard_file()
    elif os.path.isdir(path):
        for candidate in files_below(path, LANGUAGES):
            try:
                text, _ = finder.read_source(candidate, candidate)
            except ModuleNotFound:
                continue
            if "coven" in text or "pse.module" in text:
                found = _examined(text, candidate, os.getcwd())
                if found.signatures or any(d.code != finder.NOTHING_DECLARED for d in found.diagnostics):
                    yield found
    else:
        yield read_module_file(path)


@functools.lru_cache(_MOST_TEXTS)
def _examined(text: str, path: str, _folder: str) -> ModuleFile:
    """Examine the text of a file, whose path may be relative to the current folder, once."""
    return finder.examine_source(text, path)


def files_below(folder: str, endings: Container[str]) -> Iterator[str]:
    """Give the files in a folder and below it whose names have some endings; none hidden, none built.

    Parameters
    ----------
    folder : str
        The folder.
    endings : container of str
        What names end in, in small letters: ``.py``.

    Yields
    ------
    str
        The paths, sorted in each folder.

    See Also
    --------
    find_modules
    """
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _IGNORED)
        for name in sorted(names):
            if os.path.splitext(name)[1].lower() in endings:
                yield os.path.normpath(os.path.join(here, name))


def read_module_file(path: str) -> ModuleFile:
    """Read one module file.

    Parameters
    ----------
    path : str
        The source file.

    Returns
    -------
    ModuleFile
        Its language, signatures and diagnostics.

    Raises
    ------
    UsageError
        If it can't be read.

    Examples
    --------
    >>> file = read_module_file("stages.py")
    >>> file.language, [signature.name for signature in file.signatures]
    ('python', ['load', 'rows', 'total'])
    """
    if not os.path.exists(path):
        folder, name = os.path.split(path)
        what = "file" if os.path.splitext(name)[1] else "file or folder"
        beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        help = did_you_mean(name, beside) or "the path is relative to the current directory"
        raise UsageError(f"there is no {what} {path}", help=help)
    try:
        text, _ = finder.read_source(path, path)
    except ModuleNotFound as failure:
        raise UsageError(failure.message, help=failure.help) from None
    return finder.examine_source(text, path)


def split_reference(argument: str) -> tuple[str, str | None]:
    """Split `FILE:name` as `pse module show` takes it.

    Parameters
    ----------
    argument : str
        ``FILE`` or ``FILE:name``.

    Returns
    -------
    tuple
        The path, and the name or None.

    Examples
    --------
    >>> split_reference("heat.c:step"), split_reference("heat.c")
    (('heat.c', 'step'), ('heat.c', None))
    """
    path, separator, name = argument.rpartition(":")
    return (path, name) if separator and name.isidentifier() else (argument, None)


def choose_modules(argument: str) -> list[Listed]:
    """Find the modules that `FILE`, `FILE:name` or `pse.std:name` means.

    Parameters
    ----------
    argument : str
        A path, a path and a name, or ``pse.std:name``.

    Returns
    -------
    list of Listed
        All modules of the file, or the one that is named.

    Raises
    ------
    UsageError
        If the file has no module of that name.

    Examples
    --------
    >>> [module.place for module in choose_modules("heat.c:step")]
    ['heat.c:18']
    """
    path, name = split_reference(argument)
    found = standard_file() if path == STANDARD else read_module_file(path)
    modules = [Listed(found, signature) for signature in found.signatures if name in (None, signature.name)]
    if name is not None and not modules:
        there = ", ".join(signature.name for signature in found.signatures) or "none"
        raise UsageError(f"{path} has no module `{name}`", help=f"its modules are: {there}")
    return modules


def directive_text(signature: Signature) -> str:
    """Write a signature in one line, as a directive.

    Parameters
    ----------
    signature : Signature
        What a directive declares.

    Returns
    -------
    str
        As in ``fft(in f64 x[n], out c128 y[n])``.

    See Also
    --------
    find_modules
    """
    written = ", ".join(_written(parameter) for parameter in signature.parameters)
    return f"{signature.name}({written}){' collective' if signature.collective else ''}"


def _written(parameter: Parameter) -> str:
    default = f" = {render_expression(parameter.default)}" if parameter.default is not None else ""
    return f"{declared(parameter)}{_distribution(parameter.type.distribution)}{default}"


def _distribution(distribution: Distribution) -> str:
    return f" {render_distribution(distribution)}".rstrip()


def call_text(module: Listed) -> str:
    """Write a call of a module as it stands in a program.

    Parameters
    ----------
    module : Listed
        From `find_modules`.

    Returns
    -------
    str
        As in ``fft(x) -> y``.

    See Also
    --------
    find_modules
    """
    signature = module.signature
    written = (p for p in signature.inputs if p.type.element is not Element.COMM)  # Else the engine's.
    inputs = ", ".join(map(_argument, written))
    outputs = ", ".join(parameter.name for parameter in signature.outputs)
    return f"{signature.name}({inputs})" + (f" -> {outputs}" if outputs else "")


def _argument(parameter: Parameter) -> str:
    if parameter.default is None:
        return parameter.name
    return f"{parameter.name} = {render_expression(parameter.default)}"


def prototype_text(module: Listed) -> str:
    """Write the function that a module's directive asks for, in its own language.

    Parameters
    ----------
    module : Listed
        From `find_modules`.

    Returns
    -------
    str
        The declaration; for modules that take arrays, the call.

    Examples
    --------
    >>> step, = choose_modules("heat.c:step")
    >>> print(prototype_text(step))
    int step(const double *u, double *v, double *residual, int64_t nx, int64_t ny)
    """
    file, signature = module.file, module.signature
    if file.language == "std":
        return "carried out by the runtime" if signature.name in STRUCTURAL else "a function of pse"
    text, _ = finder.read_source(file.path, file.path)
    if not finder.takes_arrays(text, file.language, signature.name):
        return prototype(signature, file.language)
    names = ", ".join(parameter.name for parameter in signature.inputs)
    returned = ", ".join(p.name for p in signature.parameters if p.direction is Direction.OUT)
    kind = "pybind11" if sourcetext.is_pybind(text) else file.language
    return f"{signature.name}({names})" + (f" returns {returned}" if returned else "") + f"  [{kind}]"
