"""The canonical form of a program: `pse fmt`.

Works on tokens; the syntax tree only says where items and statements begin.  So every comment is kept
wherever it stands, and the result differs from the source in white space and semicolons alone.

Style: two spaces for each level, one statement a line, at most one blank line in a row.  A block that was
written on one line, holds no other block and fits stays there, with two spaces between its statements.  A
statement that was broken over lines is joined if it fits, and else keeps its breaks.  A comment after code
keeps its distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from lark import Token

from pse.errors import ProgramError
from pse.language.diagnostics._diagnostic import has_errors
from pse.language.syntax import ast as sx
from pse.language.syntax._lexer import scan
from pse.language.syntax._parser import parse_program

WIDTH = 110
"""Longest line that is made by joining."""

INDENT = "  "
CONTINUATION = "    "

_TIGHT_AFTER = {"LPAR", "LSQB", "DOT", "QMARK"}
_TIGHT_BEFORE = {"RPAR", "RSQB", "COMMA", "DOT", "LSQB"}
_CALLERS = {"NAME", "MAX", "HALO", "RSQB"}
_VALUES = {"NAME", "INT", "FLOAT", "SIZE", "STRING", "TRUE", "FALSE", "RPAR", "RSQB", "PARTITION"}


def format_program(text: str, path: str) -> str:
    """Write a program in its canonical form.

    Parameters
    ----------
    text : str
        The program.
    path : str
        Its path, for the error.

    Returns
    -------
    str
        The program in its canonical form.

    Raises
    ------
    ProgramError
        If the program has syntax errors; `parse_program` tells which.

    Examples
    --------
    >>> print(format_program("coven 1\\nprogram p {\\nlet x=1+2  // three\\n}\\n", "p.coven"), end="")
    coven 1
    program p {
      let x = 1 + 2  // three
    }
    """
    result = parse_program(text, path)
    if result.tree is None or has_errors(result.diagnostics):
        help = f"`pse check {path}` lists them"
        raise ProgramError(f"{path} has syntax errors and was left as it is", help=help)
    scanned = scan(text, path)
    tokens = sorted([*scanned.tokens, *scanned.comments], key=lambda token: (token.line, token.column))
    return _Writer(tokens, _starts(result.tree)).write()


Place = tuple[int, int]
"""Line and column."""


def _starts(tree: sx.Program) -> set[Place]:
    """Give the places where a line begins: items, statements, options; not the `if` of an `else if`."""
    places: set[Place] = set()
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
            continue
        if not hasattr(node, "__dataclass_fields__"):
            continue
        begun: Sequence[sx.Item | sx.Statement | sx.OptionNode | sx.Field] = ()
        match node:
            case sx.Program(items, _):
                begun = items
            case sx.Options(entries, _):
                begun = entries
            case sx.Bundle(_, members, _) | sx.Record(_, members, _):
                begun = members
            case sx.Block(statements, span) if not (statements and statements[0].span == span):
                begun = statements
        places |= {(child.span.line, child.span.column) for child in begun}
        waiting += [getattr(node, name.name) for name in fields(node) if name.name != "span"]  # type: ignore[arg-type]
    return places


@dataclass
class _Piece:
    """A token on a line: the spaces before it, and whether the source has a line break there."""

    gap: str
    text: str
    broken: bool


class _Writer:
    """Writes tokens line by line.

    Parameters
    ----------
    tokens : list of Token
        Tokens and comments in their order.
    starts : set of Place
        Where items and statements begin.
    """

    def __init__(self, tokens: list[Token], starts: set[Place]) -> None:
        self._tokens = tokens
        self._starts = starts
        self._lines: list[str] = []
        self._pieces: list[_Piece] = []
        self._indent = 0
        self._following = _following(tokens)
        self._importing = False  # inside an import, whose braces are no block
        self._one_line = False  # inside a block that stays on one line
        self._after_comment = False  # the line was ended by a comment, inside a statement

    def write(self) -> str:
        """Give the whole text."""
        for index, token in enumerate(self._tokens):
            if token.type == "COMMENT":
                self._comment(index)
            elif token.type != "SEMICOLON":
                self._token(index)
        self._flush()
        return "\n".join(self._lines).strip("\n") + "\n" if self._lines else ""

    # Lines.

    def _flush(self) -> None:
        """End the line: joined if it fits, else with the breaks of the source."""
        if not self._pieces:
            return
        margin = INDENT * self._indent
        joined = margin + "".join(piece.gap + piece.text for piece in self._pieces)
        if len(joined) > WIDTH:
            rest = "\n" + margin + CONTINUATION
            joined = margin + "".join((rest if p.broken else p.gap) + p.text for p in self._pieces)
        self._lines.append(joined)
        self._pieces = []

    def _blank(self, index: int) -> None:
        """Keep a blank line of the source, but not at the beginning of a block."""
        if index == 0 or not self._lines or self._lines[-1] == "":
            return
        gap = (self._tokens[index].line or 0) - (self._tokens[index - 1].end_line or 0)
        before = next(place for place in range(index - 1, -1, -1) if self._tokens[place].type != "SEMICOLON")
        if gap > 1 and self._tokens[before].type != "LBRACE":
            self._lines.append("")

    def _broken(self, index: int) -> bool:
        return index > 0 and self._tokens[index].line != self._tokens[index - 1].end_line

    # Comments.

    def _comment(self, index: int) -> None:
        token = self._tokens[index]
        text = str(token).rstrip()
        if index > 0 and not self._broken(index) and (self._pieces or self._lines):
            before = self._tokens[index - 1]
            gap = " " * max(2, (token.column or 0) - (before.end_column or 0))
            if self._pieces:
                self._pieces.append(_Piece(gap, text, False))
                self._flush()
            else:
                self._lines[-1] += gap + text
        else:
            inside = self._continues(index)
            self._flush()
            self._blank(index)
            self._lines.append(INDENT * self._indent + (CONTINUATION if inside else "") + text)
        self._after_comment = self._continues(index)

    def _continues(self, index: int) -> bool:
        """Say whether the statement goes on after a comment."""
        following = self._following[index]
        return (
            following is not None and not self._begins(following) and following.type not in ("RBRACE", "ELSE")
        )

    def _begins(self, token: Token) -> bool:
        return (token.line or 0, token.column or 0) in self._starts

    # Tokens.

    def _token(self, index: int) -> None:
        token = self._tokens[index]
        if token.type == "IMPORT":
            self._importing = True
        if token.type == "LBRACE" and not self._importing:
            self._open(index)
        elif token.type == "RBRACE" and not self._importing:
            self._close(index)
        elif self._begins(token):
            self._start(index)
        else:
            self._put(index, self._gap(index))
        if token.type == "RBRACE":
            self._importing = False

    def _start(self, index: int) -> None:
        """Begin an item or a statement."""
        self._importing = self._tokens[index].type == "IMPORT"
        if self._one_line:
            first = self._tokens[index - 1].type == "LBRACE"
            self._pieces.append(_Piece(" " if first else INDENT, str(self._tokens[index]), False))
            return
        self._flush()
        self._blank(index)
        self._after_comment = False
        self._put(index, "")

    def _put(self, index: int, gap: str) -> None:
        token = self._tokens[index]
        if self._after_comment and not self._pieces:
            self._pieces.append(_Piece(CONTINUATION, str(token), False))
            self._after_comment = False
            return
        self._pieces.append(
            _Piece(gap if self._pieces else "", str(token), self._broken(index) and bool(self._pieces))
        )

    def _open(self, index: int) -> None:
        self._put(index, " ")
        if self._stays(index):
            self._one_line = True
            return
        self._flush()
        self._indent += 1

    def _close(self, index: int) -> None:
        if self._one_line:
            self._pieces.append(_Piece(" ", "}", False))
            self._one_line = False
            return
        self._flush()
        if self._lines and self._lines[-1] == "":
            self._lines.pop()
        self._indent -= 1
        self._after_comment = False
        self._pieces.append(_Piece("", "}", False))

    def _stays(self, index: int) -> bool:
        """Say whether a block stays on its line: empty, or written there, with no block inside, and short."""
        length = len(INDENT) * self._indent + sum(len(piece.gap) + len(piece.text) for piece in self._pieces)
        empty = True
        for number in range(index + 1, len(self._tokens)):
            token = self._tokens[number]
            if token.type == "RBRACE":
                return (empty or token.line == self._tokens[index].line) and length + 2 <= WIDTH
            if token.type in ("LBRACE", "COMMENT") or length > WIDTH:
                return False
            if token.type != "SEMICOLON":
                empty = False
                length += len(token) + (len(INDENT) if self._begins(token) else len(self._gap(number)))
        return False

    def _gap(self, index: int) -> str:
        """Give the space between a token and the one before it."""
        before, token = self._tokens[index - 1].type, self._tokens[index].type
        value_before = index >= 2 and self._tokens[index - 2].type in _VALUES
        if token == "LPAR" and before in _CALLERS:
            return " " if before == "MAX" and value_before else ""  # `while … max (n + 1)`
        if before in _TIGHT_AFTER or token in _TIGHT_BEFORE or (before == "MINUS" and not value_before):
            return ""
        return " "


def _following(tokens: list[Token]) -> list[Token | None]:
    """Give for each token the next one that is neither a comment nor a semicolon."""
    following: list[Token | None] = []
    found: Token | None = None
    for token in reversed(tokens):
        following.append(found)
        if token.type not in ("COMMENT", "SEMICOLON"):
            found = token
    return following[::-1]
