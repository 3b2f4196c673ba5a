"""What to say about syntax errors: from a token that does not fit, and what would, to a diagnostic.

Pure functions that the parser calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from lark import Token

from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as syntax
from pse.language.syntax._ast_builder import span_of
from pse.language.syntax._lexer import (
    ARITHMETIC,
    BINARY_OPERATORS,
    COMPARISONS,
)
from pse.language.syntax._words import PROGRAM_KEYWORDS, RESERVED
from pse.language.types._options import read_size
from pse.text import list_text, nearest_word

LANGUAGE_VERSION = 1
"""The version of the language that this checker knows."""

_EXPRESSION = {"NAME", "INT", "LPAR", "MINUS"}
_RARE = {"LPAR", "LSQB", "DOT", "EQUAL", "AT", "ELLIPSIS"}
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
_CLOSED_BY = {"LPAR": ("RPAR", "`)`"), "LSQB": ("RSQB", "`]`"), "LBRACE": ("RBRACE", "`}`")}
_DECLARING = {"PARAM", "PARTITION", "THREADS", "OPTIONS", "BUNDLE", "RECORD", "SEGMENT"}
ITEM_STARTS = {"COVEN", "IMPORT", "PROGRAM"} | _DECLARING
"""What begins an item of a file."""


def unexpected(
    token: Token,
    behind: Sequence[Token],
    accepted: Collection[str],
    opened: Token | None,
    ahead: Sequence[Token] = (),
) -> Diagnostic:
    """Report a token that does not fit between others, where the bracket `opened` is open."""
    from pse.language.syntax._other_languages import closes_nothing, stray_help  # Ranks have no use for it.

    span, before = span_of(token), behind[-1] if behind else None
    if token.type == "STRAY":
        hint = stray_help(token, behind, set(accepted), ahead)
        return error_at("E0001", f"unexpected character `{_short(token)}`", span, help=hint)
    if found := _malformed(token, span):
        return found
    if token == "threads" and set(accepted) >= _ITEM:
        help = "name the threads:  threads thread_A, thread_B"
        return error_at("E0004", "expected a name after `threads`", span, help=help)
    if closes_nothing(token, opened, accepted):
        return error_at("E0004", f"this `{token}` closes nothing", span, help=f"remove the `{token}`")
    close, closing = _CLOSED_BY.get(opened.type if opened is not None else "", ("", ""))
    begins = set(accepted) >= _STATEMENT or set(accepted) >= _ITEM
    if opened is None or close not in accepted or before is None or begins:
        if before is not None and before.line != token.line and not begins:
            message = f"expected {_expected(accepted)} after `{_short(before)}`"
            return error_at("E0004", message, span_of(before), help=_hint(token, behind, accepted, ahead))
        message = f"expected {_expected(accepted)}, found {_found(token)}"
        return error_at("E0004", message, span, help=_hint(token, behind, accepted, ahead))
    notes = [(span_of(opened), f"`{opened}` is opened here")]
    if before.line != token.line or token.type == "$END":
        comma = " or `,`" if "COMMA" in accepted else ""
        message = f"{closing}{comma} is missing after `{_short(before)}`"
        help = f"write {closing} where `{opened}` is to be closed" + (
            comma and ", or `,` before what follows"
        )
        return error_at("E0004", message, span_of(before), notes=notes, help=help)
    message = f"expected {_expected(accepted)}, found {_found(token)}"
    begins = token.type in {*_EXPRESSION, "NOT", "STRING", "FLOAT", "TRUE", "FALSE"} and "COMMA" in accepted
    missing = f"`,` or {closing}" if begins else closing
    help = _hint(token, behind, accepted, ahead) or f"write {missing} before `{_short(token)}`"
    return error_at("E0004", message, span, notes=notes, help=help)


def _malformed(token: Token, span: Span) -> Diagnostic | None:
    """Report a token that fits nowhere."""
    from pse.language.syntax._foreign_marks import number_help  # Ranks have no use for it.

    if token.type == "BADCOMMENT":
        help = "begin each line of it with `//`, and remove the `/*` and `*/`"
        return error_at("E0004", "a comment ends with its line", span, help=help)
    if token.type == "BADSTRING":
        return error_at(
            "E0002", "this string has no closing quote on its line", span, help='close it with `"`'
        )
    if token.type == "BADESCAPE":
        escape = next(pair for pair in re.findall(r"\\.", token) if pair[1] not in 'nt"\\')
        help = 'a string can have \\n, \\t, \\" and \\\\; write a backslash as \\\\'
        return error_at("E0015", f"strings have no escape `{escape}`", span, help=help)
    if token.type == "BADNUMBER":
        message = f"`{_short(token)}` is neither a number nor a name"
        return error_at("E0003", message, span, help=number_help(token))
    return None


def _found(token: Token) -> str:
    return "the end of the file" if token.type == "$END" else f"`{_short(token)}`"


def instead_of_brace(closing: str) -> str:
    """Say that a bracket is closed by a brace."""
    return f"write {_SPELLING[closing]} instead of `}}`"


def _hint(
    token: Token, behind: Sequence[Token], accepted: Collection[str], ahead: Sequence[Token]
) -> str | None:
    """Guess what was meant: a misspelt keyword, a comment of another language, an output of `let`."""
    from pse.language.syntax._other_languages import other_language

    before = behind[-1] if behind else None
    found = _by_neighbours(token, behind[-2:], set(accepted), ahead)
    found = found or other_language(token, behind, set(accepted), ahead)
    found = found or _lone_max(behind, accepted)
    if found := found or _by_number(token, before, set(accepted), ahead):
        return found
    for near in (token, before):
        if near is not None and near.type == "NAME" and (meant := _near_keyword(near)):
            return f"did you mean `{meant}`?"
    if token.type in {"NAME", "VAR", "FOR", "WHILE", "IF", "LBRACE", *_STATEMENT} and set(accepted) >= _ITEM:
        return "statements belong inside `program name { … }`"
    if found := _habit(token, before, accepted):
        return found
    same_line = before is not None and before.line == token.line
    if token == "max" and {"DOT", "FOR"} & set(accepted):  # As a call.
        return "the largest element of an array:  largest(x) -> value"
    if (
        str(token) in PROGRAM_KEYWORDS
        and "NAME" in accepted
        and same_line
        and (token.type != "OVER" or before in (".", "{", ",", "as", "program"))
    ):
        return f"`{token}` is a word of the language; it cannot be a name"
    return _missing(token, before, set(accepted) - {"SEMICOLON"})


def _missing(token: Token, before: Token | None, accepted: set[str]) -> str | None:
    """Say what to write where few things fit."""
    if token.type == "SIZE":
        return f"sizes with a unit are allowed only in `options`; write the bytes:  {read_size(token)}"
    if "LBRACE" in accepted:
        return (
            f"a block stands between `{{` and `}}`: write `{{` before {_found(token)}, `}}` behind the block"
        )
    if accepted == {"INT"} and before is not None and before.type == "COVEN":
        return f"write the version of the language:  coven {LANGUAGE_VERSION}"
    if accepted == {"INT"}:
        return "write the number itself, for example:  0"
    if accepted == {"LPAR"} and before is not None and before.type == "ARROW":
        return "the outputs of a segment stand in parentheses:  -> (f64[8] x, i64 k)"
    if accepted == {"EQUAL"} and before is not None:
        return f"write ` = ` and a value after `{_short(before)}`"
    if accepted == {"NAME"} and before is not None:
        return f"write a name after `{_short(before)}`"
    if _EXPRESSION.issubset(accepted) and before is not None:
        return f"write a value after `{_short(before)}`, for example:  1"
    return None


def _by_neighbours(
    token: Token, behind: Sequence[Token], accepted: set[str], ahead: Sequence[Token]
) -> str | None:
    """Recognise what only the tokens around tell, and write what was meant with them."""
    first, before = behind[0] if len(behind) > 1 else None, behind[-1] if behind else None
    following = [str(one) for one in ahead if one.line == token.line]
    if token.type == "REDUCE" and before is not None and following and following[0].isidentifier():
        own = f"{first} " if before.type == "COMMA" and first is not None else "own "
        return (
            f"name what each partition gives, then what they give together:  -> {own}{_reduction(following)}"
        )
    if first is not None and first.type == "REDUCE" and accepted == {"LPAR", "LSQB"}:
        return f"name the operation:  reduce {before}(sum)"
    if token.type == "HALO" and first is not None and first.type == "OVER":
        end = following.index(")") + 1 if ")" in following else 0
        width = "".join(following[:end]).replace(",", ", ")
        return f"the halo stands before the partition:  halo{width or '(1)'} over {before}"
    if token.type == "MORETHAN" and "ARROW" in accepted:
        return f"the outputs of a call stand after an arrow:  -> {following[0] if following else 'x'}"
    if token.type == "LET" and accepted >= _ITEM and following:
        return f"what the whole file knows is a parameter:  param {_type_of(ahead)} {following[0]} = …"
    if token.type == "LSQB" and first is not None and first.type == "PARAM":
        return f"parameters are scalars: make arrays in the program:  var {before}[8] x   fill(0) -> x"
    if token.type == "COMMA" and accepted >= _STATEMENT:
        return "statements have no comma between them: begin the next on a line of its own"
    if token.type == "COMMA" and accepted - {"SEMICOLON"} == {"NAME", "RBRACE"}:
        return "options have no comma between them: remove the `,`"
    if token.type == "IN" and first is not None and first.lower() == "for":
        return "did you mean `for`?"
    return None


def _by_number(token: Token, before: Token | None, accepted: set[str], ahead: Sequence[Token]) -> str | None:
    """Recognise reals without digits on both sides of the point."""
    following = [str(one) for one in ahead if one.line == token.line]
    if token.type == "DOT" and before is not None and before.type == "INT" and "RANGE" not in accepted:
        return f"a real number has digits behind the point:  {before}.0"
    if token.type == "DOT" and accepted >= _EXPRESSION and following and following[0].isdigit():
        return f"a real number begins with a digit:  0.{following[0]}"
    return None


def _reduction(following: Sequence[str]) -> str:
    """Write a reduction with the name that follows `reduce`, and the operation if that follows too."""
    operation = following[2] if following[1:2] == ["("] and len(following) > 2 else "sum"
    return f"reduce {following[0]}({operation})"


def _lone_max(behind: Sequence[Token], accepted: Collection[str]) -> str | None:
    """Say what was meant by `max` without parentheses, the only operation that is a word of the language."""
    if not behind or behind[-1].type != "MAX" or set(accepted) != {"LPAR"}:
        return None
    if any(one == "scan" for one in behind if one.line == behind[-1].line):
        return 'write it in quotes:  "max"'
    return "write what it is the largest of:  max(a, b)"


def _type_of(ahead: Sequence[Token]) -> str:
    """Guess the type of a value from its first token, behind a name and `=`."""
    kinds = {"FLOAT": "f64", "STRING": "string", "TRUE": "bool", "FALSE": "bool"}
    return kinds.get(ahead[2].type, "i64") if len(ahead) > 2 else "i64"


def _habit(token: Token, before: Token | None, accepted: Collection[str]) -> str | None:
    """Recognise what other languages write."""
    from pse.language.syntax._foreign_marks import COMMENT  # Ranks have no use for it.

    if token.type == "SLASH":
        return COMMENT
    if token.type in ("LSQB", "DOT") and set(accepted) == {"EQUAL", "NAME"} and before is not None:
        return f"for one thread, write its label after the option:  {before} thread_B = …"
    if token.type == "LSQB":
        return (
            "programs have no lists and no indices: pass the array to a module, which works on its elements"
        )
    if token.type == "EQUAL" and before is not None and before.type in ARITHMETIC:
        return f"write the name again:  x = x {before} …"
    if token.type == "EQUAL" and before is not None and before in PROGRAM_KEYWORDS:
        return f"`{before}` is a word of the language; it cannot be a name"
    if token.type == "EQUAL" and "EQUALS" in accepted:
        return "a comparison is written `==`"
    if token.type in ARITHMETIC and "EQUAL" in accepted and before is not None:
        return f"a variable gets a new value by  {before} = {before} {token} …"
    if token.type in COMPARISONS and "AND" in accepted and not (COMPARISONS | {"DOT"}) & set(accepted):
        return "comparisons have no chains: write `a < b and b < c`"
    if token.type == "ARROW" and "LET" in accepted:
        return "outputs are named either by `let x = call(…)` or by `call(…) -> x`"
    return None


def _near_keyword(word: str) -> str | None:
    return nearest_word(word, (keyword for keyword in PROGRAM_KEYWORDS if len(keyword) > 2), cutoff=0.8)


def _expected(accepted: Collection[str]) -> str:
    """Describe in few words what would fit; of many things the brackets and separators."""
    left, words = set(accepted) - {"SEMICOLON", "QMARK"}, []
    for group, text in (
        (_EXPRESSION, "an expression"),
        (_STATEMENT, "a statement"),
        (_ITEM, "an item such as `program` or `param`"),
    ):
        if group <= left:
            words.append(text)
            left -= group | {"FLOAT", "STRING", "TRUE", "FALSE", "MAX", "NAME", "NOT", "FOR", "WHILE"}
            left -= {"IF", "BREAK", "VAR", "COVEN", "IMPORT"} | _DECLARING - {"PARAM"}
    if left & {"EQUAL", "REDUCE"} or left > BINARY_OPERATORS or left == {"LPAR", "LSQB"}:
        left.discard("LSQB")  # Few names stand for arrays of tags.
    if left > BINARY_OPERATORS:
        words.append("an operator")
        left -= BINARY_OPERATORS | (_RARE if len(words) + len(left - BINARY_OPERATORS) > 4 else set())
    words += sorted(_SPELLING.get(kind, f"`{kind.lower()}`") for kind in left - BINARY_OPERATORS)
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


def reserved_name(token: Token) -> Diagnostic:
    """Report a word of the language where a name is expected."""
    message = f"`{token}` is a word of the language; it cannot be a name"
    return error_at("E0004", message, span_of(token), help="choose another name")


def directive(token: Token, accepted: Collection[str], span: Span) -> Diagnostic:
    """Report a mistake in the text of a module directive."""
    end = "the end of the directive"
    found = end if token.type == "$END" else f"`{_short(token)}`"
    expected = _expected(accepted).replace(_SPELLING["$END"], end)
    message = f"module directive: expected {expected}, found {found}"
    return error_at("E0510", message, span_of(token), help=_directive_help(token, accepted))


def _directive_help(token: Token, accepted: Collection[str]) -> str:
    """Say what to write in a directive; for what prototypes in C have, how directives have it."""
    if token.type == "SEMICOLON":
        return "remove the `;`"
    if token.type == "STAR" and accepted == {"NAME"}:
        return "name the extents after the array's name instead:  in f64 u[n]"
    if token.type == "LSQB" and accepted == {"NAME"}:
        return "the extents stand after the array's name:  in f64 u[n]"
    if token == "out" and accepted == {"NAME"}:
        return "an array that is read and changed is `inout`"
    if token.type == "ARROW":
        return "outputs stand among the parameters, with `out` before them:  f(in f64 u[n], out f64 v[n])"
    if "IN" in accepted and token.type == "NAME":
        example = "comm c" if token == "comm" else "f64 u[n]"
        return f"begin each parameter with `in`, `inout` or `out`:  in {example}"
    if _EXPRESSION.issubset(accepted) and token.type in {"IN", "OUT", "INOUT"}:
        return f"close the extents before `{token}`:  f64 u[n]"
    if token in RESERVED and "NAME" in accepted:
        return f"`{token}` is a word of the language, and cannot be a name: choose another"
    return "a directive looks like: coven module step(in f64 u[n, m], out f64 v[n, m], out f64 residual)"


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
        error_at("E0011", "`coven` is allowed only once, as the first statement", item.span, help="remove it")
        for item in again
    ]
    return found
