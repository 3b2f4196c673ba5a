"""Tokens of a program or a directive: lark's lexer, then keywords, comments and the limits on size and depth.

`scan` makes tokens for the parser, and for the formatter, which needs the comments too.  The limits are here
because they must hold before anything recurses into a tree.  The grammar comes from `_grammar_cache`.

A text is read line by line: what a line's tokens are depends on its own text and on little else (`_Key`), so
the lines of a text that was read before are taken over: all before and behind a change at once, and between
two changes those that depend on the same.  Only a comment between `/*` and `*/`, which is a
mistake, goes over several lines: a text with one is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import chain
from typing import NamedTuple

from lark import Token
from lark.lexer import LexerThread

from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax._grammar_cache import lexer
from pse.language.syntax._pieces import Pieces
from pse.language.syntax._words import KEYWORDS, MAX_CHARACTERS, MAX_NESTING, NO_TEXT, TOO_LONG_HELP
from pse.language.types._types import Element
from pse.records import dataclass

OPENING = {"LPAR": ")", "LBRACE": "}", "LSQB": "]"}
CLOSING = {"RPAR", "RBRACE", "RSQB"}
COMPARISONS = {"EQUALS", "DIFFERS", "LESSTHAN", "AT_MOST", "MORETHAN", "AT_LEAST"}
ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
BINARY_OPERATORS = {*ARITHMETIC, *COMPARISONS, "POWER", "AND", "OR"}
_OPERATORS = {*BINARY_OPERATORS, "NOT", "DOT"}
_OPERANDS = {"NAME", "INT", "FLOAT", "STRING", "TRUE", "FALSE", "MAX", "PARTITION"}
_NESTING = {*_OPERATORS, "LBRACE", "RBRACE"}
_INNER = {"LPAR", "LSQB"}
_INNER_ENDS = {"RPAR", "RSQB"}
_OUTER = {"ARROW", "LBRACE", "RBRACE"}
_TYPES = frozenset(element.label for element in Element)
_ENDS = {*_OPERANDS, "RPAR", "RSQB", "BADNUMBER"} - {"MAX"}
_BEFORE_EXTENT = {"LSQB", "COMMA"}
_PLACED = {"inout", "step", "live", "interior"}
_BEFORE_LIVE = 3
"""How many tokens a parameter has before it may say `live`: `param`, its type and its name."""
_ITEMS = {"import", "partition", "threads", "options", "bundle", "record", "segment", "program"}
_DECLARING = ("record", "import")
"""Words without which a line declares neither a record nor an alias, unless a list goes on in it."""
_AHEAD = 3
"""How many tokens behind one say whether it is a keyword."""


class _Before(NamedTuple):
    """What the tokens before one say about it."""

    depth: int = 0
    parentheses: int = 0
    heads: bool = False  # Whether the head of a loop is open.
    of_parameter: int = 0  # How many tokens ago a parameter began, up to what matters.
    kind: str = "$END"  # That of the token right before.


class _Words(NamedTuple):
    """Which names mean something else than a name: in the whole text."""

    keywords: frozenset[str]
    types: frozenset[str]
    aliases: frozenset[str]


_Ahead = tuple[tuple[str, str], ...]
"""Kind and text of the tokens right behind a line."""

_Key = tuple[str, _Before, _Ahead, _Words]
"""What the tokens of a line depend on: its text, what is before and behind it, the words of the text."""


@dataclass(frozen=True)
class Line:
    """A line that has tokens or comments.

    Attributes
    ----------
    tokens, comments : list of Token
        Its tokens, with their places in the whole text.
    after : _Before
        What they say about the next token.
    sign : object
        Is the same for lines that differ in their number only.
    flat : bool
        Whether it leaves how deep the text is as it was: brackets in it lie beside each other.
    """

    tokens: list[Token]
    comments: list[Token]
    after: _Before
    sign: object
    flat: bool


@dataclass(frozen=True)
class _Raw:
    """A line as lark reads it, somewhere."""

    number: int
    tokens: list[Token]
    comments: list[Token]


class _Numbered(NamedTuple):
    """All lines of a text, what each depends on, and what is before each; None for one without tokens."""

    texts: list[str]
    words: _Words
    lines: list[Line | None]
    keys: list[_Key | None]
    befores: list[_Before]


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
    lines : list of Line
        The lines that have tokens.
    raw : dict
        Lines by their text, as lark reads them: for the scan of a later text.
    numbered : _Numbered or None
        All lines in their order, likewise.

    See Also
    --------
    scan
    """

    tokens: list[Token]
    comments: list[Token]
    diagnostics: tuple[Diagnostic, ...] = ()
    lines: Sequence[Line] = ()
    raw: dict[str, _Raw] = field(default_factory=dict, repr=False)
    numbered: _Numbered | None = field(default=None, repr=False)


def scan(text: str, path: str, start: str = "program", before: Scanned | None = None) -> Scanned:
    """Cut a text into tokens.

    Parameters
    ----------
    text : str
        The program, or the directive's text.
    path : str
        Path for diagnostics.
    start : {"program", "directive"}
        Which keywords hold.
    before : Scanned, optional
        What was made of an earlier text; lines that did not change are taken from it.

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
    if "\0" in text:
        return Scanned([], [], (_not_a_text(path),))
    texts = [text] if "/*" in text else text.split("\n")
    raw = _read(texts, before.raw if before else {})
    numbered = _number(texts, raw, KEYWORDS[start], before.numbered if before else None)
    found = [line for line in numbered.lines if line is not None]
    comments = list(chain.from_iterable(line.comments for line in found))
    lines = [line for line in found if line.tokens]
    tokens = list(chain.from_iterable(line.tokens for line in lines))
    too_deep = _too_deep(lines, path)
    return Scanned(tokens, comments, (too_deep,) if too_deep else (), lines, raw, numbered)


def _read(texts: list[str], known: dict[str, _Raw]) -> dict[str, _Raw]:
    """Have lark read the lines that are not known."""
    unknown = list(dict.fromkeys(text for text in texts if text not in known))
    found = {text: _Raw(number, [], []) for number, text in enumerate(unknown, 1)}
    places = list(found.values())
    thread = LexerThread.from_text(lexer(), "\n".join(unknown))
    for token in thread.lex(None):  # type: ignore[no-untyped-call]
        place = places[min(token.line or 1, len(places)) - 1]
        if token.type == "COMMENT":
            place.comments.append(token)
        elif token.type != "SPACE":
            place.tokens.append(token)
    return {text: known.get(text) or found[text] for text in texts}


def _number(texts: list[str], raw: dict[str, _Raw], keywords: set[str], known: _Numbered | None) -> _Numbered:
    """Give all lines, each with its keywords."""
    read = [raw[text] for text in texts]
    words = _Words(frozenset(keywords), *_declared(texts, read))
    if known is None or known.words != words:
        known = _Numbered([], words, [], [], [])
    first, same = _unchanged(known.texts, texts, read)
    made = _Numbered(texts, words, known.lines[:first], known.keys[:first], known.befores[:first])
    old = len(known.texts) - len(texts)  # how much further down a line behind the change was
    pieces = _pieces(known, first, len(known.texts) - same)
    before = known.befores[first] if first < len(known.befores) else _Before()
    for index in range(first, len(texts)):
        if index >= len(texts) - same and before == known.befores[index + old]:
            made.lines.extend([line and _moved_line(line, -old) for line in known.lines[index + old :]])
            made.keys.extend(known.keys[index + old :])
            made.befores.extend(known.befores[index + old :])
            break
        made.befores.append(before)
        before = _append(made, index, read, pieces)
    return made


def _append(made: _Numbered, index: int, read: list[_Raw], pieces: Pieces[_Key, Line]) -> _Before:
    """Take the next line; give what is before the one behind it."""
    text, found, before = made.texts[index], read[index], made.befores[-1]
    if not found.tokens and not found.comments:
        made.lines.append(None)
        made.keys.append(None)
        return before
    # How deep a line is means nothing but where its braces lead out of all blocks.
    hidden = max(0, before.depth - 1 - text.count("}"))
    key = text, before._replace(depth=before.depth - hidden), _behind(read, index), made.words
    line = pieces.find(key, index + 1)
    if line is None:
        line = pieces.keep(key, index + 1, _promoted(_moved_raw(found, index + 1), key))
    made.lines.append(line)
    made.keys.append(key)
    return line.after._replace(depth=line.after.depth + hidden)


def _unchanged(old: list[str], new: list[str], read: list[_Raw]) -> tuple[int, int]:
    """Count the first lines that are as they were, with what is right behind them, and the last ones."""
    shorter = min(len(old), len(new))
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), shorter)
    ends = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    same = next((n for n, (a, b) in enumerate(ends) if a != b), shorter - first)
    ahead = 0
    while first and ahead < _AHEAD:
        first -= 1
        ahead += len(read[first].tokens)
    return first, same


def _pieces(known: _Numbered, first: int, end: int) -> Pieces[_Key, Line]:
    """Give some lines by what they depend on."""
    found = Pieces[_Key, Line](_moved_line, None)
    for number, (key, line) in enumerate(
        zip(known.keys[first:end], known.lines[first:end], strict=True), first + 1
    ):
        if key is not None and line is not None:
            found.keep(key, number, line)
    return Pieces(_moved_line, found)


def _behind(read: list[_Raw], index: int) -> _Ahead:
    """Give kind and text of the tokens right behind a line."""
    found: list[tuple[str, str]] = []
    while len(found) < _AHEAD and (index := index + 1) < len(read):
        found += [(token.type, token.value) for token in read[index].tokens[:_AHEAD]]
    return tuple(found[:_AHEAD])


def _moved(token: Token, by: int) -> Token:
    line, end_line = (token.line or 1) + by, (token.end_line or 1) + by
    return Token(token.type, token.value, None, line, token.column, end_line, token.end_column)


def _moved_raw(raw: _Raw, number: int) -> _Raw:
    by = number - raw.number
    if by == 0:
        return raw
    return _Raw(number, [_moved(t, by) for t in raw.tokens], [_moved(t, by) for t in raw.comments])


def _moved_line(line: Line, by: int) -> Line:
    if by == 0:
        return line
    tokens, comments = [_moved(t, by) for t in line.tokens], [_moved(t, by) for t in line.comments]
    return Line(tokens, comments, line.after, line.sign, line.flat)


def _promoted(raw: _Raw, key: _Key) -> Line:
    """Turn names into keywords, and a `?` where no extent begins into a character that means nothing."""
    _, (depth, parentheses, heads, of_parameter, before), ahead, words = key
    behind = [*raw.tokens[1:], *(Token(*token) for token in ahead), Token("$END", "")]
    tokens, line = list[Token](), 0
    for place, token in enumerate(raw.tokens):
        kind = token.type
        depth += (kind == "LBRACE") - (kind == "RBRACE")
        # A bracket that is open or closed too often ends at an arrow or a brace.
        parentheses = 0 if kind in _OUTER else parentheses + (kind in _INNER) - (kind in _INNER_ENDS)
        of_parameter = _since_parameter(token.value, of_parameter)
        here = _Before(depth, parentheses, heads and token.line == line, of_parameter, before)
        if kind == "NAME":
            kind = _meaning(token.value, here, behind[place : place + _AHEAD], words)
        elif kind == "QMARK" and not (before in _BEFORE_EXTENT and _is_name(behind[place], words)):
            kind = "STRAY"
        heads = token.value == "for" or (heads and kind not in ("LBRACE", "RBRACE", "STEP"))
        before, line = kind, token.line or 0
        tokens.append(token if kind == token.type else Token.new_borrow_pos(kind, token.value, token))
    after = _Before(depth, parentheses, heads, of_parameter, before)
    return Line(tokens, raw.comments, after, object(), _is_flat(tokens))


def _is_flat(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token.type in _INNER) - (token.type in _INNER_ENDS)
        if token.type in _NESTING or not 0 <= depth <= 1:
            return False
    return depth == 0


def _meaning(name: str, here: _Before, behind: list[Token], words: _Words) -> str:
    """Say which kind of token a name is.

    `reduce(` is a name, so that it can be answered like any other call; `threads`, `bundle` and `record`
    are keywords only where another name follows outside of all braces, `step` only behind the bounds of a
    loop, `live` only behind the name or the default of a parameter, `inout` only before the name of an input,
    `interior` only behind the shape or the distribution of a directive's parameter; the type of an output
    only before its name or its shape.
    """
    if name in _PLACED and _is_placed(name, here, behind[0], words):
        return name.upper()
    if here.kind in ("ARROW", "COMMA") and not here.parentheses and _is_type(name, behind, words):
        return "TYPE"
    item = name in ("threads", "bundle", "record") and here.depth == 0 and _is_name(behind[0], words)
    keyword = name in words.keywords and not (name == "reduce" and behind[0].type == "LPAR")
    return name.upper() if item or keyword else "NAME"


def _is_placed(name: str, here: _Before, after: Token, words: _Words) -> bool:
    """Whether a word that is a keyword in one place only stands there."""
    match name:
        case "inout":
            return after.type == "NAME" and here.kind in ("LPAR", "COMMA", "EQUAL")
        case "step":
            return here.heads and here.kind in _ENDS
        case "live":
            return here.of_parameter > _BEFORE_LIVE and here.kind in _ENDS and not here.parentheses
        case _:
            return "out" in words.keywords and here.kind in _INNER_ENDS and bool(here.parentheses)


def _is_name(token: Token, words: _Words) -> bool:
    return token.type == "NAME" and token.value not in words.keywords


def _since_parameter(word: str, before: int) -> int:
    """Count the tokens from `param` on, up to what matters; 0 behind the next item's word."""
    if word == "param":
        return 1
    return min(before + 1, _BEFORE_LIVE + 1) if before and word not in _ITEMS else 0


def _is_type(name: str, behind: list[Token], words: _Words) -> bool:
    """Whether the type of an output begins with a name: `f64 x`, `Body[N] x`, `drift.Body[N] x`."""
    is_dotted = name in words.aliases and behind[0].type == "DOT" and len(behind) == _AHEAD
    following = behind[2] if is_dotted else behind[0]
    return (is_dotted or name in words.types) and following.type in ("NAME", "LSQB")


def _declared(texts: list[str], read: list[_Raw]) -> tuple[frozenset[str], frozenset[str]]:
    """Give the names that can be types, and those by which files are imported as a whole."""
    types, aliases, listed, before = set(_TYPES), set[str](), False, ""
    for index, (text, line) in enumerate(zip(texts, read, strict=True)):
        if not (listed or before in _DECLARING or any(word in text for word in _DECLARING)):
            continue
        tokens = [
            *((token.type, token.value) for token in line.tokens),
            *_behind(read, index),
            *[("$END", "")] * _AHEAD,
        ]
        for place in range(len(line.tokens)):
            (kind, word), (next_kind, next_word), (_, third), (_, fourth) = tokens[place : place + 4]
            if word == "record" and next_kind == "NAME":
                types.add(next_word)
            if word == "import" and next_kind == "STRING" and third == "as":
                aliases.add(fourth)
            listed = (kind == "STRING" and before == "import") or (listed and kind != "RBRACE")
            listed = listed and (kind != "STRING" or next_kind == "LBRACE")
            if listed and kind == "NAME" and next_kind in ("COMMA", "RBRACE"):
                types.add(word)
            before = word
    return frozenset(types), frozenset(aliases)


def token_span(token: Token, path: str) -> Span:
    """Give the span of a token."""
    end_line = token.end_line or token.line or 1
    end_column = token.end_column or (token.column or 1) + len(token)
    return Span(path, token.line or 1, token.column or 1, end_line, end_column)


def _not_a_text(path: str) -> Diagnostic:
    return error_at("E0013", NO_TEXT, Span(path, 1, 1, 1, 1), help="give the path of a .coven file")


def _too_long(length: int, path: str) -> Diagnostic:
    message = f"the program has {length:,} characters; at most {MAX_CHARACTERS:,} are read"
    return error_at("E0009", message, Span(path, 1, 1, 1, 1), help=TOO_LONG_HELP)


def _too_deep(lines: Iterable[Line], path: str) -> Diagnostic | None:
    """Refuse nesting that a reader of the tree could not follow without deep recursion."""
    nesting = _Nesting()
    for line in lines:
        if line.flat and nesting.is_left_by_flat_lines():
            nesting.before = line.tokens[-1].type
            continue
        for token in line.tokens:
            nesting.follow(token.type)
            if nesting.operators > MAX_NESTING or nesting.levels > MAX_NESTING:
                return _nested(token, path, "expression" if nesting.operators > MAX_NESTING else "nesting")
    return None


class _Nesting:
    """How many operators and brackets are pending behind the token `before`."""

    def __init__(self) -> None:
        self.operators, self.before = 0, ""
        self._pending = [0]  # operators since the last separator, for each open bracket

    @property
    def levels(self) -> int:
        return len(self._pending) - 1

    def is_left_by_flat_lines(self) -> bool:
        """Whether a flat line leaves it as it is, and is not too deep itself."""
        return not self.operators and self.levels < MAX_NESTING

    def follow(self, kind: str) -> None:
        """Take the next token."""
        if self.before in _ENDS and kind in _OPERANDS:  # The next statement begins.
            self._end()
        self.before = kind
        if kind in _OPERATORS:
            self._pending[-1] += 1
            self.operators += 1
        elif kind in OPENING:
            if kind == "LBRACE":  # It ends the condition or bound before it.
                self._end()
            self._pending.append(0)
        elif kind in CLOSING and self.levels:
            self.operators -= self._pending.pop()
        elif kind not in _OPERANDS and kind not in CLOSING:
            self._end()

    def _end(self) -> None:
        """End an expression."""
        self.operators -= self._pending[-1]
        self._pending[-1] = 0


def _nested(token: Token, path: str, what: str) -> Diagnostic:
    most = f"{MAX_NESTING} {'operators' if what == 'expression' else 'levels'}"
    help = "name an inner part with `let`, or use a segment"
    return error_at("E0008", f"{what} too deep: more than {most}", token_span(token, path), help=help)
