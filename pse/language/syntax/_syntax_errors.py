"""What to say about syntax errors: from a token that does not fit, and what would, to a diagnostic.

Pure functions that the parser calls.
"""

from __future__ import annotations

from collections.abc import Collection

from lark import Token

from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.diagnostics._suggestions import nearest_word
from pse.language.syntax import ast as syntax
from pse.language.syntax._ast_builder import span_of
from pse.language.syntax._lexer import PROGRAM_KEYWORDS
from pse.text import list_text

LANGUAGE_VERSION = 1
"""The version of the language that this checker knows."""

_EXPRESSION = {"NAME", "INT", "LPAR", "MINUS", "NOT"}
_OPERATORS = {
    *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "POWER", "AND", "OR"),
    *("EQUALS", "DIFFERS", "LESSTHAN", "AT_MOST", "MORETHAN", "AT_LEAST"),
}
_STATEMENT = {"LET", "PARALLEL"}
_ITEM = {"PARAM", "PROGRAM"}
_SPELLING = {
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "EQUAL": "`=`",
    "ARROW": "`->`",
    "RANGE": "`..`",
    "AT": "`@`",
    "DOT": "`.`",
    "ELLIPSIS": "`...`",
    "NAME": "a name",
    "INT": "a number",
    "STRING": "a string",
    "$END": "the end of the file",
    "PARALLEL": "`PARALLEL`",
    "SIZE": "a size",
}
_HINTS = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "^": "a power is written `**`",
    "'": 'strings are written in double quotes: "…"',
}


def unexpected(token: Token, before: Token | None, accepted: Collection[str]) -> Diagnostic:
    """Report a token that does not fit where it stands."""
    span = span_of(token)
    if token.type == "STRAY":
        letter = "names have letters from a to z, digits and `_`" if token[0].isalpha() else "remove it"
        hint = next((text for mark, text in _HINTS.items() if token.startswith(mark)), letter)
        return error_at("E0001", f"unexpected character `{_short(token)}`", span, help=hint)
    if token.type == "BADSTRING":
        return error_at(
            "E0002", "this string has no closing quote on its line", span, help='close it with `"`'
        )
    if token.type == "BADNUMBER":
        message = f"`{_short(token)}` is neither a number nor a name"
        return error_at(
            "E0003", message, span, help="a name begins with a letter; sizes are written as 64KiB"
        )
    found = "the end of the file" if token.type == "$END" else f"`{_short(token)}`"
    expected = _expected(accepted)
    message = f"expected {expected}, found {found}" if expected else f"{found} does not fit here"
    return error_at("E0004", message, span, help=_hint(token, before, accepted))


def _hint(token: Token, before: Token | None, accepted: Collection[str]) -> str | None:
    """Guess what was meant: a misspelt keyword, a comment of another language, an output of `let`."""
    for near in (token, before):
        if near is not None and near.type == "NAME" and (meant := _near_keyword(near)):
            return f"did you mean `{meant}`?"
    if token.type == "NAME" and set(accepted) >= _ITEM:
        return "statements belong inside `program name { … }`"
    if token.type == "SLASH":
        return "comments begin with `//` or `#` and end with the line"
    same_line = before is not None and before.line == token.line
    if str(token) in PROGRAM_KEYWORDS and "NAME" in accepted and same_line and token.type != "OVER":
        return f"`{token}` is a word of the language; it cannot be a name"
    return None


def _near_keyword(word: str) -> str | None:
    return nearest_word(word, (keyword for keyword in PROGRAM_KEYWORDS if len(keyword) > 2), cutoff=0.8)


def _expected(accepted: Collection[str]) -> str:
    """Describe in few words what would fit; nothing if it is too much to list."""
    left, words = set(accepted), []
    for group, text in (
        (_EXPRESSION, "an expression"),
        (_STATEMENT, "a statement"),
        (_ITEM, "`program`, `param` or another item"),
    ):
        if group <= left:
            words.append(text)
            left -= (
                group | {"FLOAT", "STRING", "TRUE", "FALSE", "MAX", "NAME"} | {"SEMICOLON", "FOR", "WHILE"}
            )
            left -= {"IF", "VAR", "COVEN", "IMPORT", "PARTITION", "OPTIONS", "SEGMENT"}
    if left > _OPERATORS:
        words.append("an operator")
        left -= _OPERATORS
    words += sorted(_SPELLING.get(kind, f"`{kind.lower()}`") for kind in left - {"SEMICOLON"} - _OPERATORS)
    if not 1 <= len(words) <= 5:
        return ""
    return list_text(words, "or")


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


def unclosed(brace: Token) -> Diagnostic:
    """Report a block that the end of the file leaves open."""
    return error_at("E0005", "this block is never closed", span_of(brace), help="add the missing `}`")


def stray_brace(brace: Token) -> Diagnostic:
    """Report a closing brace without an opening one."""
    return error_at(
        "E0006", "this `}` closes nothing", span_of(brace), help="remove it, or look for a missing `{` above"
    )


def item_in_block(token: Token, opened: Token) -> Diagnostic:
    """Report `param`, `program` and the like inside a block."""
    notes = [(span_of(opened), "the block is opened here")]
    message = f"`{token}` is not allowed inside a block"
    return error_at(
        "E0007",
        message,
        span_of(token),
        notes=notes,
        help="close the block above with `}`, or move the item out of it",
    )


def directive(token: Token, accepted: Collection[str], span: Span) -> Diagnostic:
    """Report a mistake in the text of a module directive."""
    found = "the end of the line" if token.type == "$END" else f"`{_short(token)}`"
    expected = _expected(accepted)
    message = f"expected {expected}, found {found}" if expected else f"{found} does not fit here"
    example = "coven module step(in f64 u[n, m], out f64 v[n, m], out f64 residual)"
    return error_at(
        "E0510", f"module directive: {message}", span_of(token), help=f"a directive looks like: {example}"
    )


def version(tree: syntax.Program | None, start: Span) -> list[Diagnostic]:
    """Check that the file begins with `coven 1`, once."""
    items = tree.items if tree else ()
    say = f"begin the file with: coven {LANGUAGE_VERSION}"
    if not items or not isinstance(items[0], syntax.Version):
        message = f"the first statement must be `coven {LANGUAGE_VERSION}`, the version of the language"
        empty = "" if items else "the file contains no program: "
        return [error_at("E0011", empty + message, items[0].span if items else start, help=say)]
    found = []
    if items[0].number != LANGUAGE_VERSION:
        message = (
            f"language version {items[0].number} is not known; this pse knows version {LANGUAGE_VERSION}"
        )
        found.append(error_at("E0012", message, items[0].span, help=say))
    again = [item for item in items[1:] if isinstance(item, syntax.Version)]
    found += [
        error_at("E0011", "`coven` is allowed only once, as the first statement", item.span) for item in again
    ]
    return found
