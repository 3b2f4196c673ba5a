"""Lark's tables for the grammar: made once, then read from the user's cache by every process that parses.

Making them takes a process 60 ms of computing, reading them 10: every rank of a run and every command parses.
What is kept is JSON, under a name that says which grammar and which lark it is for.  Whatever goes wrong
with it, the tables are made anew.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import BasicLexer, TerminalDef

from pse import _cache
from pse.language.syntax._ast_builder import TreeBuilder


@functools.cache
def grammar() -> Lark:
    """Give the tables for both start rules, whose parser makes the syntax tree."""
    text = Path(__file__).with_name("coven.lark").read_text(encoding="utf-8")
    key = hashlib.sha256(f"{lark.__version__}\n{text}".encode()).hexdigest()[:24]
    file = _cache.directory() / "grammar" / f"{key}.json"
    return _read(file) or _make(text, file)


@functools.cache
def lexer() -> BasicLexer:
    """Give the lexer whose tokens are also blanks and comments: `Lark.lex` makes one for each text."""
    conf = copy.copy(grammar().lexer_conf)
    conf.ignore = ()
    return BasicLexer(conf)


def _read(file: Path) -> Lark | None:
    """Take kept tables up again, as lark's own stand-alone parsers do; None if they are of no use."""
    if _cache.distrust(file):
        return None
    try:
        data, memo = json.loads(file.read_bytes(), object_hook=_numbered)
        tables: Lark = Lark._load_from_dict(data, memo, transformer=TreeBuilder())  # type: ignore[no-untyped-call]
    except Exception:  # Lark doesn't say what it raises on data that isn't its own.
        return None
    return tables


def _make(text: str, file: Path) -> Lark:
    made = Lark(
        text,
        parser="lalr",
        lexer="basic",
        start=["program", "directive"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        propagate_positions=False,  # Every node has its span from its tokens, see TreeBuilder.
        transformer=TreeBuilder(),
    )
    with contextlib.suppress(OSError):  # A cache that can't be written costs time and nothing else.
        _keep(made, file)
    return made


def _keep(made: Lark, file: Path) -> None:
    """Write tables down; many ranks may do so at once."""
    from pse.files import draft_file  # Most processes find the tables.

    data, memo = made.memo_serialize([TerminalDef, Rule])
    file.parent.mkdir(parents=True, exist_ok=True)
    with draft_file(file) as draft, draft.open("w", encoding="utf-8") as out:
        draft.chmod(0o644)  # Whatever the umask: nothing is read that others may write.
        # The builder of trees has no place in a file: whoever reads it brings one.
        json.dump([data, memo], out, separators=(",", ":"), default=lambda builder: None)


def _numbered(table: dict[str, Any]) -> dict[Any, Any]:
    """Give a table the numbers back that JSON has made texts of."""
    return {int(key): value for key, value in table.items()} if all(map(str.isdecimal, table)) else table
