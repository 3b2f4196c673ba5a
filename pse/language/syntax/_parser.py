"""From text to syntax tree, with recovery: several mistakes in one pass, each reported once.

Tokens of `scan` are fed to lark's LALR tables one at a time; `TreeBuilder` makes the tree.  At a token that
does not fit, a repair by one token (insert, drop, replace) is tried first; if the text does
not go on well after any of them, the open statement is dropped and parsing goes on at the next statement
(panic mode). Newlines mean nothing to the grammar, but recovery trusts them: a name at the start of a line
begins a statement.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import field, replace
from itertools import accumulate
from typing import Any

from lark import Token, UnexpectedToken
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser

from pse.language.diagnostics._diagnostic import Diagnostic, error_at, has_errors
from pse.language.diagnostics._source import Span
from pse.language.syntax import _syntax_errors as syntax_errors, ast as syntax
from pse.language.syntax._ast_builder import origin, span_of
from pse.language.syntax._grammar_cache import grammar
from pse.language.syntax._lexer import CLOSING, OPENING, Scanned, scan
from pse.language.syntax._pieces import Pieces, moved
from pse.language.syntax._words import PROGRAM_KEYWORDS
from pse.records import dataclass

MAX_ERRORS = 50
"""Syntax errors after which a file is given up."""

_BEHIND = 200
"""Tokens before an error that are looked at: most heads of segments are within reach."""
MOST_LINES = 16
"""Longest statement that is taken over as a whole: inside of a longer one are shorter ones."""
_KEPT = {"statement", "item"}
"""The rules whose nodes are taken over."""
LOOKAHEAD = 5
"""Tokens that must fit after a repair."""

_INSERTS = ("RPAR", "EQUAL", "COMMA", "RSQB", "LPAR", "NAME", "LBRACE", "INT", "RANGE", "IN", "AT")
_CONTINUES = {
    "COMMA",
    "EQUAL",
    "ARROW",
    "LPAR",
    "LSQB",
    "PLUS",
    "MINUS",
    "STAR",
    "SLASH",
    "PERCENT",
    "AT",
    "DOT",
}
_VALUES = {"NAME": "_", "INT": "0", "LPAR": "(", "RPAR": ")", "LBRACE": "{", "EQUAL": "="}


@dataclass(frozen=True)
class ParseResult:
    """What the parser makes of a text.

    Attributes
    ----------
    tree : Program or None
        What could be made of the text; None if nothing could.
    diagnostics : tuple of Diagnostic
        The syntax errors.

    See Also
    --------
    parse_program
    """

    tree: syntax.Program | None
    diagnostics: tuple[Diagnostic, ...]
    _read: _Read | None = field(default=None, repr=False, compare=False)

    def tokens(self, text: str, path: str) -> Scanned:
        """Give the text in tokens, by what is known of it."""
        return scan(text, path, before=self._read.scanned if self._read is not None else None)

    def intact(self) -> set[int]:
        """Give the identities of statements and items of whole lines in which nothing had to be repaired."""
        return {id(kept.node) for kept in self._read.statements} if self._read is not None else set()


@dataclass(frozen=True)
class _Read:
    """What the parse of a later text can take over."""

    path: str
    scanned: Scanned
    statements: Pieces[_Start, _Kept]


_Start = tuple[object, object]
"""Where the tables are and the line's sign, where a statement or an item begins."""


@dataclass(frozen=True)
class _Kept:
    """A statement or an item of whole lines, the kind of token behind it, and its node.

    `signs` are those of its lines, each with the number of lines before it, empty ones too.
    """

    rule: str
    signs: list[tuple[object, int]]
    behind: str
    node: Any


def parse_program(text: str, path: str, before: ParseResult | None = None) -> ParseResult:
    """Parse a program.

    Parameters
    ----------
    text : str
        The whole file.
    path : str
        The path as the user typed it, for diagnostics.
    before : ParseResult, optional
        What was made of an earlier text: statements that did not change are taken from it.

    Returns
    -------
    ParseResult
        The tree, and the syntax errors.

    Examples
    --------
    >>> parse_program("coven 1\\nprogram p { let x = 1 }\\n", "p.coven").diagnostics
    ()
    >>> parse_program("coven 1\\nprogram p { let x = }\\n", "p.coven").diagnostics[0].message
    'expected an expression, found `}`'
    """
    known = before._read if before is not None and before._read is not None else None
    known = known if known is not None and known.path == path else None
    scanned = scan(text, path, before=known.scanned if known else None)
    if scanned.diagnostics:
        return ParseResult(None, scanned.diagnostics, known)
    token = origin.set((path, 1, 1))
    try:
        return _parse_tokens(scanned, path, known)
    finally:
        origin.reset(token)


def _parse_tokens(scanned: Scanned, path: str, known: _Read | None) -> ParseResult:
    statements = Pieces(_moved, known.statements if known else None)
    recovery = Recovery(scanned, statements)
    tree = recovery.run()
    statements.end()
    diagnostics = list(recovery.diagnostics)
    if not has_errors(diagnostics):
        diagnostics += syntax_errors.version(tree, Span(path, 1, 1, 1, 1))
    return ParseResult(tree, tuple(diagnostics), _Read(path, scanned, statements))


def _moved(kept: _Kept, by: int) -> _Kept:
    return replace(kept, node=moved(kept.node, by))


def parse_directive_tree(text: str, span: Span) -> syntax.Directive | Diagnostic:
    """Parse the text after ``coven module``; the first mistake ends it."""
    scanned = scan(text, span.path, "directive")
    if scanned.diagnostics:
        return scanned.diagnostics[0]
    token = origin.set((span.path, span.line, span.column))
    try:
        machine = grammar().parse_interactive(start="directive")
        for lexed in scanned.tokens:
            machine.feed_token(lexed)
        tree: syntax.Directive = machine.feed_token(_end(scanned.tokens))
        return tree
    except UnexpectedToken as unexpected:
        return syntax_errors.directive(unexpected.token, accepted(machine), span)
    finally:
        origin.reset(token)


def accepted(machine: InteractiveParser) -> set[str]:
    """Give the kinds of token that a machine would take next; a type or `inout` stands before a name only."""
    kinds: set[str] = machine.accepts()  # type: ignore[no-untyped-call]
    return kinds - {"TYPE"} - ({"INOUT"} if "NAME" in kinds else set())


def _end(tokens: list[Token]) -> Token:
    """Make the end-of-text token, which stands right after the last token."""
    if not tokens:
        return Token("$END", "", 0, 1, 1, 1, 1, 0)
    last = tokens[-1]
    line, column = last.end_line, last.end_column
    return Token("$END", "", last.end_pos, line, column, line, column, last.end_pos)


class Recovery:
    """Feeds tokens to the tables and goes on after mistakes.

    Parameters
    ----------
    scanned : Scanned
        The text's tokens and lines.
    statements : Pieces
        Those of an earlier text; takes those of this one.
    """

    def __init__(self, scanned: Scanned, statements: Pieces[_Start, _Kept]) -> None:
        self.tokens = [*scanned.tokens, _end(scanned.tokens)]
        self._lines, self._statements = scanned.lines, statements
        starts = accumulate((len(line.tokens) for line in self._lines), initial=0)
        self._first = list(starts)  # the index of each line's first token, and that of the end
        self._line_at = {index: number for number, index in enumerate(self._first[:-1])}
        self._begun: dict[int, int] = {}  # the line in which a statement began, by the height of the stack
        self.machine: InteractiveParser = grammar().parse_interactive(start="program")
        self.diagnostics: list[Diagnostic] = []
        self._failed_at = -1  # index of the last token that did not fit after a panic
        self._opened = 0  # opening braces that stand for missing ones
        self._forgiven = 0  # closing braces that a wrong item inside a block leaves over

    def run(self) -> syntax.Program | None:
        """Parse everything; give the tree, or None if the end could not be reached."""
        index = 0
        while index < len(self.tokens):
            try:
                if index in self._line_at:
                    index = self._over_known(index)
                result = self.machine.feed_token(self.tokens[index])
                index += 1
            except UnexpectedToken:
                self._begun.clear()
                index = self._mistake(index)
            if len(self.diagnostics) >= MAX_ERRORS:
                message = "too many errors; the rest of the file is not read"
                self.diagnostics.append(
                    error_at(
                        "E0010", message, self._at(index), help="correct the errors above, then check again"
                    )
                )
                return None
        return result if isinstance(result, syntax.Program) else None

    # Statements of an earlier text.

    def _over_known(self, index: int) -> int:
        """Take the statements from a line on that are known; give the index behind them."""
        while (line := self._line_at.get(index)) is not None and self._settle(index, line):
            state = self.machine.parser_state
            start = state.position, self._lines[line].sign
            kept = self._statements.find(start, self.tokens[index].line or 1)
            if kept is None or not self._goes_on_as(kept, line):
                self._begun[len(state.state_stack)] = line
                return index
            self._push(kept.rule, kept.node)
            index = self._first[line + len(kept.signs)]
        return index

    def _goes_on_as(self, kept: _Kept, line: int) -> bool:
        """Whether the lines of a statement, and what is right behind it, are as they were."""
        end = line + len(kept.signs)
        if end >= len(self._first) or self.tokens[self._first[end]].type != kept.behind:
            return False
        return end == line + 1 or self._signs(line, end) == kept.signs  # The first line's was looked up.

    def _signs(self, first: int, end: int) -> list[tuple[object, int]]:
        """Give the signs of lines, and how far each is below the first."""
        start = self.tokens[self._first[first]].line or 1
        lines = self._lines[first:end]
        return [(line.sign, (line.tokens[0].line or 1) - start) for line in lines]

    def _settle(self, index: int, line: int) -> bool:
        """Reduce what ends before a line; say whether a statement or an item can begin in it.

        As lark's own `feed_token` does it, up to where the token would be shifted.
        """
        state, kind = self.machine.parser_state, self.tokens[index].type
        states, callbacks = state.parse_conf.states, state.parse_conf.callbacks
        while (action := states[state.position].get(kind)) is not None and action[0] is not Shift:
            rule = action[1]
            values = state.value_stack[len(state.value_stack) - len(rule.expansion) :]
            del state.state_stack[len(state.state_stack) - len(values) :]
            del state.value_stack[len(state.value_stack) - len(values) :]
            value = callbacks[rule](values)
            if rule.origin.name in _KEPT:
                self._keep(rule.origin.name, line, value)
            self._push(rule.origin.name, value)
        return action is not None and self._may_begin(state.position)

    def _push(self, rule: str, value: Any) -> None:
        """Put the value of a rule onto the stack."""
        state = self.machine.parser_state
        _, position = state.parse_conf.states[state.position][rule]
        state.state_stack.append(position)
        state.value_stack.append(value)

    def _keep(self, rule: str, line: int, node: Any) -> None:
        """Keep a statement that ends right before a line, if it began with one, not too many ago."""
        first = self._begun.pop(len(self.machine.parser_state.state_stack), line)
        if isinstance(node, Token):  # A semicolon.
            return
        place, signs = self.tokens[self._first[first]], self._signs(first, line)
        if 0 < len(signs) <= MOST_LINES and (node.span.line, node.span.column) == (place.line, place.column):
            start = self.machine.parser_state.position, signs[0][0]
            kept = _Kept(rule, signs, self.tokens[self._first[line]].type, node)
            self._statements.keep(start, place.line or 1, kept)

    def _accepted(self) -> set[str]:
        """Give the kinds of token that fit here, with everything that reductions would still do."""
        return accepted(self.machine)

    def _choices(self) -> dict[str, object]:
        """Give the kinds of token that the table has an action for."""
        choices: dict[str, object] = self.machine.choices()  # type: ignore[no-untyped-call]
        return choices

    def _at(self, index: int) -> Span:
        return span_of(self.tokens[min(index, len(self.tokens) - 1)])

    def _mistake(self, index: int) -> int:
        """Report what stands at `index` and give the index to go on with."""
        token = self.tokens[index]
        opened = self._unclosed()
        if opened is not None and self._context_is_body() and self._is_name(index):
            self.diagnostics.append(syntax_errors.reserved_name(token))
            return self._feed([_like(token, "NAME")], index + 1)
        if token.type in syntax_errors.ITEM_STARTS and opened is not None and self._context_is_body():
            return self._item_in_block(index, opened)
        if token.type == "RBRACE" and opened is None:
            return self._stray_brace(index)
        if token.type == "$END":
            return self._at_end(index, opened)
        self._report(index)
        repaired = self._repair(index)
        return self._panic(index) if repaired is None else repaired

    def _report(self, index: int) -> None:
        """Report a token that does not fit, unless a panic on the same line was reported just before."""
        line = self.tokens[index].line
        if self._failed_at >= 0 and self.tokens[self._failed_at].line == line:
            return
        token, behind = self.tokens[index], self.tokens[max(0, index - _BEHIND) : index]
        opened = self._open_bracket()
        ahead = self.tokens[index + 1 : index + 24]
        found = syntax_errors.unexpected(token, behind, self._accepted(), opened, ahead)
        if closing := self._closing_instead(index):
            found = replace(found, help=syntax_errors.instead_of_brace(closing))
        self.diagnostics.append(found)

    def _closing_instead(self, index: int) -> str | None:
        """Give the closing bracket that a brace stands for, if the text goes on well after that only."""
        token, fitting = self.tokens[index], self._accepted()
        for kind in {"RPAR", "RSQB"} & fitting if token.type == "RBRACE" else ():
            if not self._fits([_like(token, kind)], index) and self._fits([_like(token, kind)], index + 1):
                return kind
        return None

    # Repairs by one token.

    def _repair(self, index: int) -> int | None:
        token = self.tokens[index]
        if token.type == "BADNUMBER" and self._fits([_like(token, "INT")], index + 1):
            return self._feed([_like(token, "INT")], index + 1)
        if (behind := self._behind_brackets(index)) is not None:
            return behind
        fitting = self._accepted()
        if token.type == "COMMA":
            fitting.discard("LPAR")  # `a, b = b, a` is not a call.
        if (before := self._missing(fitting, index, index)) is not None:
            return before
        if closing := self._closing_instead(index):
            return self._feed([_like(token, closing)], index + 1)
        if token.type in ("LBRACE", "RBRACE"):
            return None  # Without its brace a block would end somewhere else.
        if self._fits([], index + 1):
            return index + 1
        return self._missing(fitting, index, index + 1)

    def _missing(self, fitting: set[str], index: int, after: int) -> int | None:
        """Feed a token at `index` with which the text goes on well at `after`."""
        for kind in (kind for kind in _INSERTS if kind in fitting):
            instead = [_like(self.tokens[index], kind)]
            if self._fits(instead, after):
                self._opened += kind == "LBRACE"
                return self._feed(instead, after)
        return None

    def _behind_brackets(self, index: int) -> int | None:
        """Drop an index or a method's call, or take a list for a value: if the text goes on well there."""
        opening = {"LSQB": index, "DOT": index + 2}.get(self.tokens[index].type, len(self.tokens))
        behind = self._behind_bracket(opening)
        for instead in ([], [_like(self.tokens[index], "NAME")]):
            if behind < len(self.tokens) and self._fits(instead, behind):
                return self._feed(instead, behind)
        return None

    def _behind_bracket(self, opening: int) -> int:
        """Give the index behind the bracket that closes the one at `opening`; the end if there is none."""
        depth = 0
        for found, token in enumerate(self.tokens[opening:], opening + 1):
            depth += (token.type in OPENING) - (token.type in CLOSING)
            if depth <= 0:
                return found if token.type in CLOSING else len(self.tokens)
        return len(self.tokens)

    def _feed(self, tokens: list[Token], index: int) -> int:
        for token in tokens:
            self.machine.feed_token(token)
        return index

    def _fits(self, instead: list[Token], index: int) -> bool:
        """Try whether `instead` and the tokens from `index` would fit, without running callbacks."""
        trial: InteractiveParser = self.machine.copy(deepcopy_values=False)  # type: ignore[no-untyped-call]
        configuration = copy.copy(trial.parser_state.parse_conf)
        configuration.callbacks = {}
        trial.parser_state.parse_conf = configuration
        try:
            for token in [*instead, *self._ahead(index)]:
                trial.feed_token(token)
        except UnexpectedToken:
            return False
        return True

    def _ahead(self, index: int) -> list[Token]:
        """Give the tokens from `index` that have to fit: the next line may have a mistake of its own."""
        found = self.tokens[index : index + LOOKAHEAD]
        lines = [token.line for token in found]
        return found[: lines.count(lines[0]) + 1]

    # Panic mode.

    def _panic(self, index: int) -> int:
        """Drop the open statement; give the index of the next token that can begin one."""
        self._unwind()
        again = index == self._failed_at or self._ends_block(index)
        self._failed_at = index
        for found in range(index + again, len(self.tokens)):
            token = self.tokens[found]
            if token.type == "LBRACE":
                return self._stand_in(found)
            if token.type in ("$END", "RBRACE") or self._begins(found):
                return found
        return len(self.tokens) - 1

    def _ends_block(self, index: int) -> bool:
        """Whether a token is the second word of `end if` or `end for`."""
        end, token = self.tokens[index - 1], self.tokens[index]
        return end == "end" and end.line == token.line and token.type in ("IF", "FOR", "WHILE", "PROGRAM")

    def _begins(self, index: int) -> bool:
        """Say whether a token can begin a statement, an item or an option where the machine stands."""
        token = self.tokens[index]
        actions = self._choices()
        if token.type not in actions or token.type in CLOSING:
            return False
        if token.type != "NAME":
            return True
        before = self.tokens[index - 1] if index else None
        return before is None or (before.line != token.line and before.type not in _CONTINUES)

    def _stand_in(self, index: int) -> int:
        """Give a block whose head was dropped a plain head, so that its statements are parsed."""
        brace = self.tokens[index]
        heads = [[_like(brace, "PARALLEL")], [_like(brace, "PROGRAM"), _like(brace, "NAME")]]
        for head in heads:
            if head[0].type in self._choices():
                return self._feed([*head, brace], index + 1)
        return index + 1

    def _unwind(self) -> None:
        """Go back to the innermost place where a statement, an item or an option may begin."""
        state = self.machine.parser_state
        while len(state.state_stack) > 1 and not self._may_begin(state.state_stack[-1]):
            del state.state_stack[-1]
            del state.value_stack[-1]

    def _may_begin(self, position: object) -> bool:
        """Only where something may begin is a semicolon shifted."""
        action = self.machine.parser_state.parse_conf.states[position].get("SEMICOLON")
        return action is not None and action[0] is Shift

    def _context_is_body(self) -> bool:
        states = self.machine.parser_state.parse_conf.states
        positions = [p for p in reversed(self.machine.parser_state.state_stack) if self._may_begin(p)]
        return bool(positions) and "PARALLEL" in states[positions[0]]

    # Braces.

    def _open_braces(self) -> Iterator[Token]:
        """Give the open braces, innermost first; a pair that is not reduced yet does not count."""
        closed = 0
        for value in reversed(self.machine.parser_state.value_stack):
            kind = value.type if isinstance(value, Token) else ""
            if kind == "LBRACE" and closed == 0:
                yield value
            closed += (kind == "RBRACE") - (kind == "LBRACE" and closed > 0)

    def _open_bracket(self) -> Token | None:
        """Give the innermost open bracket of any kind."""
        closed = 0
        for value in reversed(self.machine.parser_state.value_stack):
            kind = value.type if isinstance(value, Token) else ""
            if kind in OPENING and closed == 0:
                found: Token = value
                return found
            closed += (kind in CLOSING) - (kind in OPENING)
        return None

    def _unclosed(self) -> Token | None:
        return next(self._open_braces(), None)

    def _stray_brace(self, index: int) -> int:
        if self._forgiven:
            self._forgiven -= 1
        else:
            self.diagnostics.append(syntax_errors.stray_brace(self.tokens[index]))
        self._unwind()
        return index + 1

    def _item_in_block(self, index: int, opened: Token) -> int:
        """Report an item inside a block: its brace is missing, or the item stands in the wrong place."""
        token = self.tokens[index]
        self.diagnostics.append(syntax_errors.item_in_block(token, opened))
        self._unwind()
        if (token.column or 0) > self._margin(opened):
            return self._panic_past(index)
        self._close_blocks()
        return index

    def _is_name(self, index: int) -> bool:
        """Whether a word of the language is meant as a name: it is assigned to, or called, or an item's."""
        token, after = self.tokens[index], self.tokens[min(index + 1, len(self.tokens) - 1)]
        if token not in PROGRAM_KEYWORDS or "NAME" not in (fitting := self._accepted()):
            return False
        same_line = self.tokens[index - 1].line == token.line
        item = token.type in syntax_errors.ITEM_STARTS and same_line and "LET" not in fitting
        call = after.type == "LPAR" and not same_line and token != "max"  # That has a hint of its own.
        return after.type == "EQUAL" or item or call

    def _margin(self, opened: Token) -> int:
        """Give the column of the first token on the line where a block was opened."""
        return next(t.column or 1 for t in self.tokens if t.line == opened.line)

    def _panic_past(self, index: int) -> int:
        """Skip a misplaced item: to the next line's name, keyword or brace."""
        found = index + 1
        while self.tokens[found].type != "$END" and self.tokens[found].line == self.tokens[index].line:
            found += 1
        return found

    def _close_blocks(self) -> None:
        """Feed the braces that are missing."""
        self._unwind()
        try:
            for opened in list(self._open_braces()):
                self.machine.feed_token(_like(opened, "RBRACE"))
        except UnexpectedToken:  # Inside the braces of an import: give everything so far up.
            state = self.machine.parser_state
            del state.state_stack[1:], state.value_stack[:]

    def _at_end(self, index: int, opened: Token | None) -> int:
        """The text ends too early: an unclosed block is one mistake, however many blocks it leaves open."""
        bracket = self._open_bracket()
        if opened is not None and bracket is opened:
            hidden = any(token.type == "BADSTRING" and "}" in token for token in self.tokens)
            if not hidden and not self._opened:
                self.diagnostics.append(syntax_errors.unclosed(opened))
        else:
            self._report(index)
        self._unwind()
        self._close_blocks()
        if "$END" in self._accepted():
            return index
        return len(self.tokens)


def _like(token: Token, kind: str) -> Token:
    """Make a token of another kind in the place of one."""
    return Token.new_borrow_pos(kind, _VALUES.get(kind, kind.lower()), token)
