"""Characters, numbers and operators of other languages, and what programs have in their place.

Pure functions over tokens, for `_other_languages`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lark import Token

from pse.language.syntax._foreign_names import FOREIGN_TYPES
from pse.language.syntax._words import CHOICE

_STRAY = "remove it; it is allowed only in strings and comments"
COMMENT = "comments begin with `//` or `#` and end with the line"
_QUOTES = "'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_ARROW = "the outputs of a call stand after an arrow of two characters:  ->"
_MARKS = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "~": "write `not`",
    "^": "a power is written `**`",
    "?": CHOICE,
    "$": "names are written without `$`: remove it",
    "&": "write `and` between conditions; names are written without `&`",
    "|": "write `or` between conditions; a call takes the outputs of another by their names",
    "\\": "a statement goes on in the next line without a sign: remove it",
    "\u2264": "write `<=`",
    "\u2265": "write `>=`",
    "\u2260": "write `!=`",
    "\u00d7": "write `*`",
    "\u00b7": "write `*`",
    "\u00f7": "write `/`",
    "\u2212": "write `-`",
    "\u2013": "write `-`",
    "\u2014": "write `-`",
    "\u2026": "write two dots:  0 .. 4",
    **dict.fromkeys("\u2192\u21d2\u2794\u27f6", _ARROW),
}
_COMMENT_MARKS = {"!": 1, "%": 1, "--": 2}
"""What begins a comment elsewhere, and how many of its characters show that."""


def mark_help(token: Token, before: Token | None, after: Sequence[Token]) -> str:
    """Say what to write instead of a character that programs do not have."""
    if token[0] in _QUOTES:
        return _quoted(after)
    first = before is None or before.line != token.line
    if token == "!" and first:
        return COMMENT
    if token.startswith("\u2014") and after and after[0].type == "MORETHAN":
        return _ARROW
    hint = next((text for mark, text in _MARKS.items() if token.startswith(mark)), None)
    return hint or ("names have letters from a to z, digits and `_`" if token[0].isalpha() else _STRAY)


def _quoted(after: Sequence[Token]) -> str:
    """Write what stands between quotes of another kind as a string."""
    end = next((place for place, one in enumerate(after) if one[0] in _QUOTES), None)
    return f'strings are written in straight double quotes:  "{text_of(after[:end]) if end else "…"}"'


def comment_help(token: Token, after: Sequence[Token]) -> str | None:
    """Recognise a comment of another language where a statement may begin."""
    if token.type == "SLASH":
        return COMMENT
    mark = next((mark for mark in _COMMENT_MARKS if mark[0] == token), None)
    twice = bool(after) and after[0] == token and after[0].column == end_of(token)
    return COMMENT if mark is not None and (len(mark) == 1 or twice) else None


def number_help(word: str) -> str:
    """Say how a malformed number is written."""
    plain = word.replace("_", "")
    if decimal := re.fullmatch(r"(\d+)[uUlL]+", plain):
        return f"numbers are written without a suffix:  {int(decimal[1])}"
    if real := re.fullmatch(r"(\d+)[fF]", plain):
        return f"numbers are written without a suffix:  {int(real[1])}.0"
    if real := re.fullmatch(r"(\d+\.\d+)(?:[fFlL]|_\w+)", word):
        return f"numbers are written without a suffix:  {real[1]}"
    if real := re.fullmatch(r"(\d+(?:\.\d+)?)[dD]([+-]?\d+)", plain):
        return f"an exponent is written with e:  {real[1]}e{real[2]}"
    if re.fullmatch(r"\d+(\.\d+)?(i|j|im)", plain):
        return "there are no complex literals: let a module make the value"
    try:
        return f"numbers are written in decimal digits:  {int(plain) if plain.isdigit() else int(plain, 0)}"
    except ValueError:
        return "write an operator or a blank after the number; in `options`, sizes are written as 64KiB"


def split_number(token: Token, before: Token | None, after: Sequence[Token]) -> str | None:
    """Put together a real number that a suffix has cut into pieces: `1.5f` is `1`, `.` and `5f`."""
    if token.type != "DOT" or before is None or before.type != "INT" or not after:
        return None
    joined = end_of(before) == token.column and end_of(token) == after[0].column
    return number_help(f"{before}.{after[0]}") if joined and after[0].type == "BADNUMBER" else None


def operator_help(token: Token, behind: Sequence[Token], after: Sequence[Token]) -> str | None:
    """`a <> b`, `a === b`, `a /= b`, `a << b`, `a mod b`, `a is b`, `.and.`, `b as f64`."""
    before = behind[-1]
    joined = end_of(before) == token.column and before.line == token.line
    pair = f"{before}{token}" if joined else ""
    if pair in ("<>", "/="):
        return "write `!=`"
    if pair == "===":
        return "a comparison is written `==`"
    if pair in ("<<", ">>"):
        return f"there are no shifts: {'multiply by' if pair == '<<' else 'divide by'} a power of 2"
    if token in ("is", "not") and "not" in (*after[:1], token) and "is" in (before, token):
        return "write `!=` instead of `is not`"
    if token.type == "PLUS" and not joined and before.type in ("EQUAL", "LPAR", "COMMA"):
        return "a number has no sign `+`: remove it"
    words = {"is": "==", "mod": "%", "MOD": "%", "xor": "!=", "rem": "%", "div": "/"}
    found = next((word for word in (token, before) if word in words), None)
    if found is not None:
        return f"write `{words[found]}` instead of `{found}`"
    if token.type == "AS" and after and after[0] in FOREIGN_TYPES:
        type = "f64" if FOREIGN_TYPES[after[0]] in ("f32", "f64") else "i64"
        return f"a value is converted by a function:  {type}({before})"
    return _dotted_operator([*behind[-3:], token, *after[:2]])


def _dotted_operator(near: Sequence[Token]) -> str | None:
    words = {"and": "and", "or": "or", "not": "not", "true": "true", "false": "false"}
    words |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    for first, word, last in zip(near, near[1:], near[2:], strict=False):
        if first == last == "." and word.lower() in words:
            return f"write `{words[word.lower()]}` instead of `.{word}.`"
    return None


def text_of(tokens: Sequence[Token]) -> str:
    """Write tokens of one line with the blanks that they have between them."""
    text, last = "", None
    for token in tokens:
        text += " " * ((token.column or 1) - end_of(last) if last is not None else 0) + token
        last = token
    return text


def until(tokens: Sequence[Token], *kinds: str) -> list[Token]:
    """Give the tokens before the first of some kinds; all of them if there is none."""
    end = next((place for place, token in enumerate(tokens) if token.type in kinds), len(tokens))
    return list(tokens[:end])


def end_of(token: Token) -> int:
    """Give the column behind a token."""
    return token.end_column or (token.column or 1) + len(token)
