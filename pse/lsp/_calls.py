"""The call around a place in a text that is being typed, found in its tokens: mistakes don't matter."""

from __future__ import annotations

import dataclasses
import re

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|(?://|#)[^\n]*|->|[A-Za-z_][\w.]*|[^\s\w]|\d[\w.]*')
_LONGEST = 4000
"""Characters before a place that are looked at."""


@dataclasses.dataclass(frozen=True)
class OpenCall:
    """A call whose parentheses are open: its name, how many arguments stand before, and the one begun."""

    name: str
    argument: int
    begun: str


def tokens_before(lines: list[str], line: int, column: int) -> list[str]:
    """Give the tokens before a place, of the last lines only; a comment that is begun is the last of them."""
    text = "\n".join([*lines[max(0, line - 60) : line - 1], lines[line - 1][: column - 1]])
    return _TOKEN.findall(text[-_LONGEST:])


def open_call(tokens: list[str]) -> OpenCall | None:
    """Give the innermost call that is open behind these tokens."""
    depth, arguments = 0, 0
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token in (")", "]"):
            depth += 1
        elif token in ("(", "[") and depth:
            depth -= 1
        elif token == "(":
            name = tokens[index - 1] if index else ""
            begun = tokens[-1] if tokens[-1] not in ("(", ",") else ""
            return OpenCall(name, arguments, begun) if re.match(r"[A-Za-z_]", name) else None
        elif token in ("{", "}"):
            return None
        elif token == "," and not depth:
            arguments += 1
    return None


def is_comment(token: str) -> bool:
    """Whether a token is a comment, in which nothing is offered."""
    return token.startswith(("//", "#"))


def is_open_string(token: str) -> bool:
    """Whether a token is a string that has no end yet."""
    return token.startswith('"') and not re.fullmatch(r'"(?:[^"\\]|\\.)*"', token)
