"""Finding modules: from an import's path to the signatures that its file's directives declare.

The checker calls this while it checks, so nothing is built, imported or executed here: files are read as
text. What is wrong with the directives becomes diagnostics of the `ModuleFile`; what is wrong with the file
itself (there is none, it can't be read, it is not source text) raises `ModuleNotFound`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pse.errors import ModuleNotFound, UsageError, system_help
from pse.language import open_text, parse_directive, parse_record, read_program
from pse.language.check import STANDARD, ModuleFile
from pse.language.diagnostics import Diagnostic, Span, error_at
from pse.language.types import DIRECTIVE_MARKS, LANGUAGES, Element, Signature
from pse.modules.directives import (
    _directives as directives,
    _interface as interface,
    _python_interface as pyinterface,
    _source_text as sourcetext,
)
from pse.modules.directives._directives import Directive
from pse.modules.directives._source_text import PythonOutline
from pse.text import did_you_mean, nearest_word, size_text

GROUP = "pse.modules"
"""The group of entry points by which packages say where their modules are."""
_PACKAGED = re.compile(r"([A-Za-z_][\w.-]*):([\w./-]+)")
_STANDARD, _LIBRARY = "pse", "pse.modules.std"
"""The name of the standard library's files in imports, and the package that has them."""
LARGEST = 16 << 20
"""Bytes of the largest file that is taken for a module's source."""


class Finder:
    """The `ModuleFinder` of the command line and the runtime; remembers files that have not changed.

    Examples
    --------
    >>> file = Finder().find("stages.py", "pipeline.coven")
    >>> file.language, [signature.name for signature in file.signatures]
    ('python', ['load', 'rows', 'total'])
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[tuple[int, int, int], ModuleFile]] = {}

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        """Find a file of modules; see `pse.language.check._directive.ModuleFinder`.

        Parameters
        ----------
        import_path : str
            ``pse.std``, or a path relative to the importing file.
        importing_file : str
            The program's path as the user typed it.

        Raises
        ------
        ModuleNotFound
            If the file is missing, unreadable, not text, or in no known language.
        """
        if import_path == STANDARD:
            from pse.modules.std._signatures import standard_file

            return standard_file()
        shown = resolve_import(import_path, importing_file)
        text, stamp = read_source(shown, import_path)
        known = self._known.get((shown, os.getcwd()))
        if known is not None and known[0] == stamp:
            return known[1]
        found = examine_source(text, shown)
        self._known[shown, os.getcwd()] = stamp, found
        return found

    def read_program(self, import_path: str, importing_file: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        """Read a `.coven` file that is imported; see `pse.language.check._directive.ModuleFinder`.

        Parameters
        ----------
        import_path : str
            A path relative to the importing file, or ``package:name``.
        importing_file : str
            The importing file's path as the user typed it.

        Returns
        -------
        tuple
            The file's path, its text, and what is wrong with its bytes.

        Raises
        ------
        ModuleNotFound
            If there is no such file, or it can't be read.
        """
        shown = resolve_import(import_path, importing_file)
        try:
            text, wrong = read_program(shown)
        except UsageError as unreadable:
            raise ModuleNotFound(unreadable.message, help=unreadable.help) from None
        return shown, text, wrong


def resolve_import(import_path: str, importing_file: str) -> str:
    """Give the file that an import means: relative to the importing one, or in an installed package.

    Parameters
    ----------
    import_path : str
        As the import has it: a path, or ``package:name``; ``pse`` is the standard library's package.
    importing_file : str
        The importing file's path as the user typed it.

    Returns
    -------
    str
        The file's path, as messages show it.

    Raises
    ------
    ModuleNotFound
        If no installed package has that name.

    Examples
    --------
    >>> resolve_import("kernels/fft.c", "programs/fft2d.coven")
    'programs/kernels/fft.c'
    """
    packaged = _PACKAGED.fullmatch(import_path)
    if packaged is None:
        return os.path.normpath(os.path.join(os.path.dirname(importing_file), import_path))
    if packaged[1] == _STANDARD:
        return os.path.join(_folder(_STANDARD, _LIBRARY), os.path.normpath(packaged[2]))
    from importlib.metadata import entry_points  # Most programs import files of their own.

    for entry in entry_points(group=GROUP, name=packaged[1]):
        return os.path.normpath(os.path.join(_folder(entry.name, entry.value), packaged[2]))
    known = sorted({entry.name for entry in entry_points(group=GROUP)})
    help = did_you_mean(packaged[1], known) or (
        f"installed are: {', '.join(known)}"
        if known
        else f"packages of modules have an entry point in {GROUP}"
    )
    raise ModuleNotFound(f"no installed package gives modules as `{packaged[1]}`", help=help)


def _folder(name: str, package: str) -> str:
    """Give the folder of a package that an entry point names."""
    from importlib.util import find_spec

    try:
        found = find_spec(package)
    except (ImportError, ValueError) as failure:
        raise ModuleNotFound(
            f"the package {package} of `{name}` can't be found: {failure}", help="install it again"
        ) from None
    folders = found.submodule_search_locations if found is not None else None
    if not folders:
        raise ModuleNotFound(
            f"`{name}` names {package}, which is no installed package", help="install it again"
        )
    return str(folders[0])


def language_of(path: str) -> str:
    """Tell a module file's language by the ending of its name.

    Parameters
    ----------
    path : str
        The module file.

    Returns
    -------
    str
        ``python``, ``c``, ``c++``, and so on: a value of `LANGUAGES`.

    Raises
    ------
    ModuleNotFound
        If it has none that is known.

    Examples
    --------
    >>> language_of("heat.c"), language_of("columns.f90")
    ('c', 'fortran')
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in LANGUAGES:
        return LANGUAGES[ending]
    if os.path.isdir(path):
        raise ModuleNotFound(f"{path} is a directory, not a module", help="name one of the files in it")
    what = f"its name ends in `{ending}`" if ending else "its name has no ending"
    raise ModuleNotFound(
        f"{path}: the language of this module is unknown: {what}",
        help=f"modules end in {', '.join(LANGUAGES)}",
    )


def read_source(shown: str, import_path: str) -> tuple[str, tuple[int, int, int]]:
    """Read a module's source text, and a stamp that changes when the file does.

    Parameters
    ----------
    shown : str
        The file, by the path that messages show.
    import_path : str
        The path as the import in the program has it; for the help.

    Returns
    -------
    tuple
        The text, and the stamp (three integers).

    Raises
    ------
    ModuleNotFound
        If that isn't possible; says why, and names files of similar name.

    Examples
    --------
    >>> text, stamp = read_source("heat.c", "heat.c")
    >>> len(text) > 100, len(stamp)
    (True, 3)
    """
    try:
        with open_text(shown) as file:
            status = os.fstat(file.fileno())
            if status.st_size > LARGEST:
                raise ModuleNotFound(
                    f"{shown}: too large for a module's source ({size_text(status.st_size)})",
                    help="import a source file, not data or a library",
                )
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise ModuleNotFound(f"there is no file {shown}", help=_similar(shown, import_path)) from None
    except IsADirectoryError:
        raise ModuleNotFound(
            f"{shown} is a directory, not a module's source",
            help=f"name a file in it:  {os.path.join(shown, 'NAME.c')}",
        ) from None
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise ModuleNotFound(f"{shown} can't be read: {reason}", help=system_help(failure, shown)) from None
    language_of(shown)
    return _decoded(data, shown), (status.st_mtime_ns, status.st_size, status.st_ino)


def _decoded(data: bytes, shown: str) -> str:
    if b"\0" in data:
        raise ModuleNotFound(
            f"{shown} is binary, not source text", help="import the source file of the module"
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        raise ModuleNotFound(
            f"{shown}:{line}: the file is not UTF-8 text", help="save the file in UTF-8"
        ) from None


def _similar(shown: str, import_path: str) -> str | None:
    folder, name = os.path.split(shown)
    try:
        beside = [
            entry for entry in os.listdir(folder or ".") if os.path.splitext(entry)[1].lower() in LANGUAGES
        ]
    except OSError:
        return f"there is no folder {folder} either; the path is relative to the program's file"
    close = nearest_word(name, beside)
    if close:
        return f'did you mean "{os.path.join(os.path.dirname(import_path), close)}"?'
    return "the path of an import is relative to the program's file"


def examine_source(text: str, shown: str) -> ModuleFile:
    """Read the directives of a module file's text.

    Parameters
    ----------
    text : str
        The source text.
    shown : str
        The file's path, for messages; also where `source` points.

    Returns
    -------
    ModuleFile
        What its directives declare, and what is wrong with them.

    Raises
    ------
    ModuleNotFound
        If the path's ending is that of no known language.

    Examples
    --------
    >>> source = "//@ coven module twice(in f64 x, out f64 y)\\nint twice(double x, double *y);\\n"
    >>> [signature.name for signature in examine_source(source, "twice.c").signatures]
    ['twice']
    """
    language = language_of(shown)
    found = directives.scan(text, language, shown)
    problems = [
        error_at(_CODES["directive"], message, d.span, help=help)
        for d, message, help in directives.problems(found)
    ]
    outline: PythonOutline | None = None
    if language == "python":
        outline, wrong = _python(text, shown)
        decorated = outline.directives if outline else ()
        found = sorted([*found, *decorated], key=lambda directive: directive.span.line)
        problems += wrong
    declared = [directive for directive in found if directive.kind == "module" and directive.text.strip()]
    records, wrong = _records(found)
    problems += wrong
    # Uses of a record that is wrong are no mistakes of their own.
    signatures, wrong = _signatures(declared if None not in records.values() else [], records)
    problems += wrong
    if not declared and not records and not problems:
        problems += _nothing_declared(text, shown, language)
    signatures, wrong = _possible(signatures, text, language, outline)
    names = outline.names if outline else None
    kept = tuple(record for record in records.values() if record is not None)
    return ModuleFile(
        shown, os.path.abspath(shown), language, tuple(signatures), (*problems, *wrong), names, kept
    )


def _python(text: str, shown: str) -> tuple[PythonOutline | None, list[Diagnostic]]:
    try:
        outline = sourcetext.outline(text, shown)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        line, column = getattr(failure, "lineno", None) or 1, getattr(failure, "offset", None) or 1
        message = f"not valid Python: {getattr(failure, 'msg', None) or failure}"
        help = "correct this first: until then no module of the file is known"
        span = Span(shown, line, column, line, column + 1)
        return None, [error_at(_CODES["source"], message, span, help=help)]
    wrong = [
        error_at(_CODES["directive"], message, span, help=help) for span, message, help in outline.misplaced
    ]
    return outline, wrong


def _records(found: list[Directive]) -> tuple[dict[str, Element | None], list[Diagnostic]]:
    """Read the record types of a file; one that is wrong is known as None."""
    records: dict[str, Element | None] = {}
    problems: list[Diagnostic] = []
    for directive in found:
        if directive.kind != "record" or not directive.text.strip():
            continue
        parsed = parse_record(directive.text, directive.span)
        name = re.split(r"\W", directive.text.strip())[0]
        if isinstance(parsed, tuple):
            problems += parsed
        elif name in records:
            message = f"two directives for the record `{name}` in one file"
            help = "remove one of the two, or give one of the records another name"
            problems.append(error_at(_CODES["duplicate"], message, directive.span, help=help))
            continue
        records[name] = None if isinstance(parsed, tuple) else parsed
    return records, problems


def _signatures(
    declared: list[Directive], records: Mapping[str, Element | None]
) -> tuple[list[Signature], list[Diagnostic]]:
    signatures: dict[str, Signature] = {}
    problems: list[Diagnostic] = []
    for directive in declared:
        parsed = parse_directive(directive.text, directive.span, records)
        if not isinstance(parsed, Signature):
            problems += parsed
            continue
        signature = parsed if parsed.span is not None else replace(parsed, span=directive.span)
        if (first := signatures.setdefault(signature.name, signature)) is not signature:
            notes = [(first.span, "the first one")] if first.span else []
            message = f"two directives for `{signature.name}` in one file"
            help = "remove one of the two, or give one of the modules and its function another name"
            problems.append(error_at(_CODES["duplicate"], message, directive.span, notes=notes, help=help))
    return list(signatures.values()), problems


def _possible(
    signatures: Iterable[Signature], text: str, language: str, outline: PythonOutline | None
) -> tuple[list[Signature], list[Diagnostic]]:
    """Keep the signatures that fit the file; report the others."""
    names = outline.names if outline else None
    kept: list[Signature] = []
    problems: list[Diagnostic] = []
    for signature in signatures:
        span = signature.span or Span("", 1, 1, 1, 1)
        arrays = takes_arrays(text, language, signature.name)
        wrong = [
            error_at(_CODES["parameter"], message, parameter.span or span, help=help)
            for parameter, message, help in interface.impossible(signature, language, arrays=arrays)
        ]
        there = signature.name in names if names is not None else True
        if language != "python":
            there = sourcetext.mentions(text, language, signature.name)
        if not there:
            message = f"the directive names `{signature.name}`, but there is no such function in this file"
            wrong.append(
                error_at(
                    _CODES["missing"], message, span, help=_candidates(signature.name, text, language, names)
                )
            )
        wrong += _uncallable(signature, span, outline)
        problems += wrong
        if not wrong:
            kept.append(signature)
    return kept, problems


def _uncallable(signature: Signature, span: Span, outline: PythonOutline | None) -> list[Diagnostic]:
    """Report a Python function whose parameters are others than its directive's."""
    function = outline.functions.get(signature.name) if outline else None
    message = pyinterface.misfit_of_text(signature, function) if function else None
    return [error_at(_CODES["function"], message, span, help=pyinterface.form(signature))] if message else []


def takes_arrays(text: str, language: str, name: str) -> bool:
    """Say whether a module is called with NumPy arrays rather than raw pointers."""
    if language == "cython":
        return sourcetext.cython_kind(text, name) == "def"
    return language == "python" or (language == "c++" and sourcetext.is_pybind(text))


def _candidates(name: str, text: str, language: str, names: frozenset[str] | None) -> str:
    code = sourcetext.stripped(text, language)
    words = names if names is not None else set(sourcetext.called_names(code))
    return did_you_mean(name, words) or "give the directive and the function below it the same name"


def _nothing_declared(text: str, shown: str, language: str) -> list[Diagnostic]:
    """Report a file without directives; a Python file may be imported for its distribution patterns alone."""
    mark = DIRECTIVE_MARKS[language]
    help = f"write one above a function, for example:  {mark} coven module step(in f64 u[n], out f64 v[n])"
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\W+.{0,3}\bcoven\W+module\b", line):
            span = Span(shown, number, 1, number, len(line) + 1)
            message = f"this line is not a module directive: such a line begins with `{mark} coven module`"
            whole = re.sub(r"\s*(\*/)?\s*$", "", line)
            help = re.sub(r"^.*?\bcoven\W+module\b", f"write:  {mark} coven module", whole)
            return [error_at(_CODES["none"], message, span, help=help)]
    if language == "python":
        return []
    return [error_at(_CODES["none"], "no module directive in this file", Span(shown, 1, 1, 1, 2), help=help)]


NOTHING_DECLARED = "E0520"
"""Code of the diagnostic that a file has no directive at all."""

_CODES = {
    "none": NOTHING_DECLARED,
    "directive": "E0521",
    "duplicate": "E0522",
    "missing": "E0523",
    "parameter": "E0524",
    "source": "E0525",
    "function": "E0526",
}
"""Codes of the diagnostics made here (docs/diagnostics.md has one entry for each)."""
