"""What other languages write, where a syntax error shows it, and how programs say it.

Pure functions over tokens: `behind` are those before the mistake, `ahead` those after it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from lark import Token

from pse.language.syntax._words import CHOICE, FOREIGN_STATEMENTS

_VALUE = {"INT", "FLOAT", "STRING", "TRUE", "FALSE", "NAME"}
_TYPES = {"f64", "f32", "i64", "i32", "u8", "bool", "c128", "c64", "string", "object"}
_FOREIGN_TYPES = _TYPES | {"float", "double", "int", "long", "auto", "const", "real", "integer", "complex"}

_CLAUSES = {
    "unless": "write the condition that the block is for:  if not ({})",
    "until": "write the condition by which the loop goes on:  while not ({}) max 1000",
    **dict.fromkeys(("repeat", "loop"), "a loop has a counter and two bounds:  for k in 0 .. {}"),
    **dict.fromkeys(("elif", "elseif", "elsif"), "write `else if`"),
}
"""Words before a block in other languages, and what programs have with what stands behind them."""


def number_help(word: str) -> str:
    """Say how a malformed number is written."""
    plain = word.replace("_", "")
    if decimal := re.fullmatch(r"(\d+)[uUlL]+", plain):
        return f"numbers are written without a suffix:  {int(decimal[1])}"
    if real := re.fullmatch(r"(\d+)[fF]", plain):
        return f"numbers are written without a suffix:  {int(real[1])}.0"
    try:
        return f"numbers are written in decimal digits:  {int(plain) if plain.isdigit() else int(plain, 0)}"
    except ValueError:
        return "write an operator or a blank after the number; in `options`, sizes are written as 64KiB"


def colon_help(behind: Sequence[Token], accepted: set[str]) -> str:
    """Say what is written instead of a colon, by what stands before it."""
    line = [one for one in behind if one.line == behind[-1].line]
    if accepted == {"EQUAL", "NAME"}:
        return "an option gets its value by `=`"
    if "RANGE" in accepted:
        return "a range is written with two dots:  0 .. 4"
    if any(one.type in ("FOR", "WHILE", "IF", "ELSE") for one in line):
        return "a block stands between `{` and `}`, without a `:`"
    return "remove it; it is allowed only in strings and comments"


def other_language(
    token: Token, behind: Sequence[Token], accepted: set[str], ahead: Sequence[Token]
) -> str | None:
    """Recognise what other languages write, and write it as programs have it."""
    if token.type == "ELSE" and "let" in [one for one in behind if one.line == token.line]:
        return CHOICE
    if token.type == "ELSE":
        return "write the `if` before it:  if a > b { … } else { … }"
    if not behind:
        return None
    before = behind[-1]
    line = [one for one in behind if one.line == before.line]
    after = [one for one in ahead if one.line == token.line]
    return (
        _clause(token, line, after)
        or _block(token, accepted, after)
        or _loop(token, line, accepted, after)
        or _call(token, line, accepted, after)
        or _dashed_name(token, line, after)
        or _declaration(token, line, accepted, after)
        or next((FOREIGN_STATEMENTS[word] for word in line[-2:] if word in FOREIGN_STATEMENTS), None)
    )


def _clause(token: Token, line: list[Token], after: list[Token]) -> str | None:
    """`unless a > b {`, `until (a > b) {`, `repeat 3 {`, `elsif a > b {`."""
    place = max((place for place, one in enumerate(line) if one in _CLAUSES), default=-1)
    given = text_of(_until([*line[place + 1 :], token, *after], "LBRACE"))
    if place < 0 or (place < len(line) - 2 and not given.startswith("(")):
        return None
    if not given:
        return "a loop has its condition before its block:  while a > b max 1000"
    return _CLAUSES[line[place]].format(given.removeprefix("(").removesuffix(")"))


def _block(token: Token, accepted: set[str], after: list[Token]) -> str | None:
    """`if a > b then {`, `while a > b do`."""
    if token not in ("then", "do") or "LBRACE" not in accepted:
        return None
    if after and after[0].type == "LBRACE":
        return f"a block begins with its `{{`: remove `{token}`"
    return f"a block stands between `{{` and `}}`: write `{{` instead of `{token}`, and `}}` behind the block"


def _loop(token: Token, line: list[Token], accepted: set[str], after: list[Token]) -> str | None:
    """`for (k in 0 .. 3)`, `for k = 0 .. 3`, `for k in N`, `for k in range(N)`, `0 ... 3`."""
    kinds = [one.type for one in line]
    if token.type == "LPAR" and kinds[-1:] == ["FOR"]:
        return "a loop has no parentheses:  for k in 0 .. 4"
    if token.type == "EQUAL" and kinds[-2:] == ["FOR", "NAME"]:
        plain = [one.type for one in after[1:4:2]] == ["RANGE", "LBRACE"]
        bounds = text_of(after[:3]) if plain else "0 .. 3"
        return f"write `in` instead of `=`:  for {line[-1]} in {bounds}"
    if "FOR" not in kinds:
        return None
    start = len(kinds) - 1 - kinds[::-1].index("FOR")
    counter = line[start + 1] if len(line) > start + 1 else "k"
    if token in ("step", "by", ",") and "INFLIGHT" in accepted:
        step, name = after[0] if after else "2", "j" if counter == "i" else "i"
        return (
            f"loops count by 1: shorten the range, and multiply in the body:  let {name} = {step} * {counter}"
        )
    if token.type == "RANGE" and "LPAR" in kinds[start:]:
        return f"a range has no parentheses:  for {counter} in 0 .. 4"
    if "RANGE" not in accepted:
        return None
    if token.type in ("DOT", "ELLIPSIS"):
        return "the bounds of a loop have two dots between them:  0 .. 4"
    if token.type == "LBRACE" and kinds[start + 1 : start + 3] == ["NAME", "IN"]:
        return f"a loop has two bounds:  for {line[start + 1]} in {_bounds(line[start + 3 :])}"
    return None


def _bounds(tokens: list[Token]) -> str:
    """Write the bounds of a loop of which only the upper one, or the `range` of Python, is given."""
    if len(tokens) > 3 and tokens[0] == "range" and tokens[1].type == "LPAR":
        inside = tokens[2:-1]
        commas = [place for place, one in enumerate(inside) if one.type == "COMMA"]
        if commas:
            end = commas[1] if len(commas) > 1 else len(inside)
            return f"{text_of(inside[: commas[0]])} .. {text_of(inside[commas[0] + 1 : end])}"
        tokens = inside
    return f"0 .. {text_of(tokens)}"


def _call(token: Token, line: list[Token], accepted: set[str], after: list[Token]) -> str | None:
    """`print 1`, `num(1) => c`, `print(1))`, `thread A num(1)`, `thread.A num(1)`."""
    before = line[-1]
    if token.type == "EQUAL" and after and after[0].type == "MORETHAN" and after[0].column == _end(token):
        return f"the outputs of a call stand after an arrow:  -> {after[1] if len(after) > 1 else 'x'}"
    if before == "print" and token.type in _VALUE - {"NAME"} and "LPAR" in accepted:
        return f"write the values between parentheses:  print({token})"
    if len(line) > 1 and line[-2] == "print" and before.type == "NAME" and "LPAR" in accepted:
        return f"write the values between parentheses:  print({before})"
    if token.type == "NAME" and after and after[0].type == "LPAR" and "LPAR" in accepted:
        parts = [one for one in line[-3:] if one.type != "DOT"][-2:]
        if [one.type for one in parts] == ["NAME", "NAME"]:
            return f"a label is one word:  {'_'.join(parts)} {token}(…)"
    return None


def _dashed_name(token: Token, line: list[Token], after: list[Token]) -> str | None:
    """`thread-A num(1)`, `threads thread-A, thread-B`, `queue thread-A = 3`."""
    before = line[-1]
    if token.type != "MINUS" or before.type != "NAME" or not after or after[0].type not in ("NAME", "INT"):
        return None
    joined = _end(before) == token.column and _end(token) == after[0].column
    around = [*(one.type for one in line[-2:-1]), *(one.type for one in after[1:2])]
    if joined and ("NAME" in around or line[0].type == "THREADS"):
        return f"names have no `-`:  {before}_{after[0]}"
    return None


def _declaration(token: Token, line: list[Token], accepted: set[str], after: list[Token]) -> str | None:
    """`float q = 3`, `var f64 q[N]`, `f64[N] q`."""
    kinds = [one.type for one in line]
    if token.type == "EQUAL" and kinds[-2:] == ["NAME", "NAME"] and line[-2] in _FOREIGN_TYPES:
        return f"a new value is named with `let`:  let {line[-1]} = {text_of(after) if after else '…'}"
    if token.type != "LSQB":
        return None
    shape = text_of(_until(after, "RSQB"))
    if kinds[-3:] == ["VAR", "NAME", "NAME"]:
        return f"the extents stand after the type:  var {line[-2]}[{shape}] {line[-1]}"
    if line[-1] in _TYPES and "LPAR" in accepted:
        rest = after[len(_until(after, "RSQB")) + 1 :]
        name = rest[0] if rest and rest[0].type == "NAME" else "x"
        return f"an array is declared with `var`:  var {line[-1]}[{shape}] {name}"
    return None


def closes_nothing(token: Token, opened: Token | None, accepted: Collection[str]) -> bool:
    """Whether a token closes a bracket where none is open, or only the brace of a block."""
    if token.type not in ("RPAR", "RSQB") or token.type in accepted:
        return False
    return opened is None or (opened.type == "LBRACE" and not {"RBRACE", "COMMA"} <= set(accepted))


def text_of(tokens: Sequence[Token]) -> str:
    """Write tokens of one line with the blanks that they have between them."""
    text, last = "", None
    for token in tokens:
        text += " " * ((token.column or 1) - _end(last) if last is not None else 0) + token
        last = token
    return text


def _until(tokens: list[Token], kind: str) -> list[Token]:
    kinds = [token.type for token in tokens]
    return tokens[: kinds.index(kind)] if kind in kinds else tokens


def _end(token: Token) -> int:
    return token.end_column or (token.column or 1) + len(token)
