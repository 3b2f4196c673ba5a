"""Tokens of a program or a directive: lark's lexer, then keywords, comments and the limits on size and depth.

`scan` makes tokens for the parser, and for the formatter, which needs the comments too.  The limits are here
because they must hold before anything recurses into a tree.  The grammar comes from `_grammar_cache`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token

from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax._grammar_cache import grammar
from pse.language.syntax._words import KEYWORDS, MAX_CHARACTERS, MAX_NESTING
from pse.language.types._types import Element
from pse.records import dataclass

OPENING = {"LPAR": ")", "LBRACE": "}", "LSQB": "]"}
CLOSING = {"RPAR", "RBRACE", "RSQB"}
COMPARISONS = {"EQUALS", "DIFFERS", "LESSTHAN", "AT_MOST", "MORETHAN", "AT_LEAST"}
ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
BINARY_OPERATORS = {*ARITHMETIC, *COMPARISONS, "POWER", "AND", "OR"}
_OPERATORS = {*BINARY_OPERATORS, "NOT", "DOT"}
_OPERANDS = {"NAME", "INT", "FLOAT", "STRING", "TRUE", "FALSE", "MAX", "PARTITION"}
_INNER = {"LPAR", "LSQB"}
_OUTER = {"ARROW", "LBRACE", "RBRACE"}
_TYPES = {element.label for element in Element}
_ENDS = {*_OPERANDS, "RPAR", "RSQB", "BADNUMBER"} - {"MAX"}
_BEFORE_LIVE = 3
"""How many tokens a parameter has before it may say `live`: `param`, its type and its name."""
_ITEMS = {"import", "partition", "threads", "options", "bundle", "record", "segment", "program"}


@dataclass(frozen=True)
class Scanned:
    """A text in tokens, comments apart.

    Attributes
    ----------
    tokens : list of Token
        All tokens but the comments; keywords have a type of their own.
    comments : list of Token
        The comments.
    diagnostics : tuple of Diagnostic
        Not empty if the text must not be parsed.

    See Also
    --------
    scan
    """

    tokens: list[Token]
    comments: list[Token]
    diagnostics: tuple[Diagnostic, ...] = ()


def scan(text: str, path: str, start: str = "program") -> Scanned:
    """Cut a text into tokens.

    Parameters
    ----------
    text : str
        The program, or the directive's text.
    path : str
        Path for diagnostics.
    start : {"program", "directive"}
        Which keywords hold.

    Returns
    -------
    Scanned
        The tokens, and what is wrong with the text's size or depth.

    Examples
    --------
    >>> [(token.type, str(token)) for token in scan("let x = 1  // one", "p.coven").tokens]
    [('LET', 'let'), ('NAME', 'x'), ('EQUAL', '='), ('INT', '1')]
    """
    if len(text) > MAX_CHARACTERS:
        return Scanned([], [], (_too_long(len(text), path),))
    tokens: list[Token] = []
    comments: list[Token] = []
    for token in grammar().lex(text, dont_ignore=True):
        if token.type == "COMMENT":
            comments.append(token)
        elif token.type != "SPACE":
            tokens.append(token)
    _promote(tokens, KEYWORDS[start])
    _demote(tokens)
    too_deep = _too_deep(tokens, path)
    return Scanned(tokens, comments, (too_deep,) if too_deep else ())


def _promote(tokens: list[Token], keywords: set[str]) -> None:
    """Turn names into keywords.

    `reduce(` is a name, so that it can be answered like any other call; `threads`, `bundle` and `record`
    are keywords only where another name follows outside of all braces, `step` only behind the bounds of a
    loop, `live` only behind the name or the default of a parameter, `inout` only before the name of an input,
    `interior` only behind the shape or the distribution of a directive's parameter; the type of an output
    only before its name or its shape.
    """
    following = [*tokens[1:], Token("$END", "")]
    types, aliases = _TYPES | _records(tokens, following), _aliases(tokens)
    depth, before, heads, parentheses, of_parameter = 0, following[-1], False, 0, 0
    for place, (token, after) in enumerate(zip(tokens, following, strict=bool(tokens))):
        depth += (token.type == "LBRACE") - (token.type == "RBRACE")
        parentheses += (token.type in _INNER) - (token.type in ("RPAR", "RSQB"))
        if token.type in _OUTER:  # A bracket that is open or closed too often ends here.
            parentheses = 0
        if before.type in ("ARROW", "COMMA") and not parentheses:
            is_type = _is_type(following[place : place + 3], token, types, aliases)
            token.type = "TYPE" if is_type else token.type
        if token == "inout" and after.type == "NAME" and before.type in ("LPAR", "COMMA", "EQUAL"):
            token.type = "INOUT"
        if token == "step" and heads and before.type in _ENDS and before.line == token.line:
            token.type = "STEP"
        of_parameter = 1 if token == "param" else of_parameter and token not in _ITEMS and of_parameter + 1
        if token == "live" and of_parameter > _BEFORE_LIVE and before.type in _ENDS and not parentheses:
            token.type = "LIVE"
        if token == "interior" and "out" in keywords and before.type in ("RPAR", "RSQB") and parentheses:
            token.type = "INTERIOR"
        heads = token == "for" or (heads and token.type not in ("LBRACE", "RBRACE", "STEP"))
        before = token
        if token.type != "NAME":
            continue
        named = after.type == "NAME" and after not in keywords
        item = token in ("threads", "bundle", "record") and depth == 0 and named
        if item or (token in keywords and not (token == "reduce" and after.type == "LPAR")):
            token.type = token.upper()


def _demote(tokens: list[Token]) -> None:
    """Leave `?` only where an extent begins; elsewhere it is a character that means nothing."""
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], Token("$END", "")], strict=False):
        if token.type == "QMARK" and not (before.type in ("LSQB", "COMMA") and after.type == "NAME"):
            token.type = "STRAY"


def _is_type(following: list[Token], token: Token, types: set[str], aliases: set[str]) -> bool:
    """Whether the type of an output begins with a token: `f64 x`, `Body[N] x`, `drift.Body[N] x`."""
    is_dotted = token in aliases and following[0].type == "DOT" and len(following) == 3
    behind = following[2] if is_dotted else following[0]
    return (is_dotted or token in types) and behind.type in ("NAME", "LSQB")


def _aliases(tokens: list[Token]) -> set[str]:
    """Give the names by which files are imported as a whole, whose records are written behind them."""
    heads = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    return {
        str(name)
        for word, path, behind, name in heads
        if word == "import" and path.type == "STRING" and behind == "as"
    }


def _records(tokens: list[Token], following: list[Token]) -> set[str]:
    """Give the names that can be record types: declared in the file, or imported by name."""
    found, listed, before = set(), False, ""
    for token, after in zip(tokens, following, strict=bool(tokens)):
        if token == "record" and after.type == "NAME":
            found.add(str(after))
        listed = (token.type == "STRING" and before == "import") or (listed and token.type != "RBRACE")
        listed = listed and (token.type != "STRING" or after.type == "LBRACE")
        if listed and token.type == "NAME" and after.type in ("COMMA", "RBRACE"):
            found.add(str(token))
        before = token
    return found


def token_span(token: Token, path: str) -> Span:
    """Give the span of a token."""
    end_line = token.end_line or token.line or 1
    end_column = token.end_column or (token.column or 1) + len(token)
    return Span(path, token.line or 1, token.column or 1, end_line, end_column)


def _too_long(length: int, path: str) -> Diagnostic:
    message = f"the program has {length:,} characters; at most {MAX_CHARACTERS:,} are read"
    return error_at("E0009", message, Span(path, 1, 1, 1, 1), help="give the path of a .coven program")


def _too_deep(tokens: Iterable[Token], path: str) -> Diagnostic | None:
    """Refuse nesting that a reader of the tree could not follow without deep recursion."""
    pending = [0]  # operators since the last separator, for each open bracket
    total = 0
    for token in tokens:
        if token.type in _OPERATORS:
            pending[-1] += 1
            total += 1
        elif token.type in OPENING:
            if token.type == "LBRACE":  # It ends the condition or bound before it.
                total -= pending[-1]
                pending[-1] = 0
            pending.append(0)
        elif token.type in CLOSING and len(pending) > 1:
            total -= pending.pop()
        elif token.type not in _OPERANDS and token.type not in CLOSING:
            total -= pending[-1]
            pending[-1] = 0
        if max(len(pending) - 1, total) > MAX_NESTING:
            what = "expression" if total > MAX_NESTING else "nesting"
            message = (
                f"{what} too deep: more than {MAX_NESTING} {'operators' if total > MAX_NESTING else 'levels'}"
            )
            return error_at(
                "E0008",
                message,
                token_span(token, path),
                help="name an inner part with `let`, or use a segment",
            )
    return None
