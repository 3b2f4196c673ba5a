"""Syntax trees of texts that were parsed before: who finds them in the user's cache needs no parser.

Commands parse what others have parsed before them, and all ranks of a run parse the same; loading lark and
its tables takes longer than all else in a check.  There is a fixed number of files: a hash says which is a
text's own, and a later text with the same hash takes its place.  Trees of texts with mistakes are not kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import zlib
from pathlib import Path
from typing import Any

from pse import _cache
from pse.language.diagnostics._diagnostic import Diagnostic
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as syntax
from pse.language.types import _expressions as expressions

FILES = 1024
"""How many trees are kept at most; a page of program has one of 10 kB."""

_MAKERS = (
    *("_ast_builder.py", "_lexer.py", "_parser.py", "_pieces.py", "_words.py", "ast.py", "coven.lark"),
    "../types/_expressions.py",
)
"""Where it is written what the tree of a text is."""


def program_tree(text: str, path: str) -> tuple[syntax.Program | None, tuple[Diagnostic, ...]]:
    """Give the tree of a program, if one could be made, and its syntax errors, as `parse_program` does."""
    file, asked = _place("program", text, Span(path, 1, 1, 1, 1))
    found = _read(file, asked)
    if isinstance(found, syntax.Program):
        return found, ()
    from pse.language.syntax._parser import parse_program

    parsed = parse_program(text, path)
    if not parsed.diagnostics:
        _keep(file, asked, parsed.tree)
    return parsed.tree, parsed.diagnostics


def directive_tree(text: str, span: Span) -> syntax.Directive | Diagnostic:
    """Give the tree of the text after ``coven module``, or the first mistake in it."""
    file, asked = _place("directive", text, span)
    found = _read(file, asked)
    if isinstance(found, syntax.Directive):
        return found
    from pse.language.syntax._parser import parse_directive_tree

    parsed = parse_directive_tree(text, span)
    if isinstance(parsed, syntax.Directive):
        _keep(file, asked, parsed)
    return parsed


def _place(kind: str, text: str, span: Span) -> tuple[Path, tuple[object, ...]]:
    """Give the file where a tree would be, and what it must have been made from."""
    asked = (kind, text, span.path, span.line, span.column, _makers())
    # Side by side: directives of one file (the standard library has many) never take each other's place.
    key = (kind, text, span.path) if kind == "program" else (kind, span.path)
    place = (zlib.crc32(repr(key).encode()) + span.line) % FILES
    return _cache.directory() / "trees" / f"{place:03x}", asked


@functools.cache
def _makers() -> tuple[tuple[int, int], ...]:
    states = [os.stat(Path(__file__).parent / name) for name in _MAKERS]
    return tuple((state.st_size, state.st_mtime_ns) for state in states)


def _read(file: Path, asked: tuple[object, ...]) -> Any:
    """Read a tree; None if there is none, or that of another text."""
    if _cache.distrust(file):
        return None
    try:
        made_from, tree = json.loads(file.read_bytes(), object_hook=_node)
    except Exception:  # A damaged file can make constructors raise anything.
        return None
    return tree if _tuples(made_from) == asked else None


def _keep(file: Path, asked: tuple[object, ...], tree: object) -> None:
    """Write a tree down; many ranks may do so at once."""
    from pse.files import draft_file  # Most processes find their trees.

    with contextlib.suppress(OSError, RecursionError):  # What can't be kept costs time and nothing else.
        data = json.dumps((asked, tree), separators=(",", ":"), default=_plain)
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft_file(file) as draft:
            draft.chmod(0o644)  # Whatever the umask: nothing is read that others may write.
            draft.write_text(data, encoding="utf-8")


def _plain(node: Any) -> dict[str, list[object]]:
    """Give a node as JSON has it: its class, and its fields in their order."""
    return {type(node).__name__: [getattr(node, field.name) for field in dataclasses.fields(node)]}


def _node(plain: dict[str, list[object]]) -> object:
    [(name, values)] = plain.items()
    made = getattr(syntax, name, None) or getattr(expressions, name)
    return made(*map(_tuples, values))


def _tuples(value: Any) -> Any:
    """Make the tuples again of which JSON makes lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
