"""When every buffer of a program may be freed at the earliest: found by looking ahead, not by liveness.

`Lifetimes` runs a program as the oracle does and, before every call, looks for a path from there on that
reads what a tag holds: through branches either way, through loops any number of times. A buffer that no
path reads was due to be freed after the call before. For programs without PARALLEL, where one thread makes
all the calls in the order of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pse.language.check._ir import CallSite, For, If, Statement, Swap, While
from pse_testing.oracle import Oracle


@dataclass(frozen=True)
class Rest:
    """What is still to be done: a block from a statement on, then more; with `again` its loop again first."""

    body: tuple[Statement, ...]
    at: int
    then: Rest | None
    again: For | While | None = None


def may_read(tag: str, rest: Rest | None, seen: frozenset[tuple[int, str]] = frozenset()) -> bool:
    """Tell whether some path through the rest reads the array that `tag` holds now."""
    while rest is not None:
        if rest.at == len(rest.body):
            if rest.again is not None:
                return at_head(tag, rest.again, rest.then, seen)
            rest = rest.then
            continue
        statement, rest = rest.body[rest.at], Rest(rest.body, rest.at + 1, rest.then, rest.again)
        match statement:
            case CallSite():
                if any(argument.tag == tag for argument in statement.inputs):
                    return True
                if any(output.tag == tag for output in statement.outputs):
                    return False
            case Swap(left, right):
                tag = {left: right, right: left}.get(tag, tag)
            case If(_, then, otherwise):
                return any(may_read(tag, Rest(body, 0, rest), seen) for body in (then, otherwise))
            case For() | While():
                return at_head(tag, statement, rest, seen)
    return False


def at_head(tag: str, loop: For | While, then: Rest | None, seen: frozenset[tuple[int, str]]) -> bool:
    """Look ahead where a loop decides whether to go on."""
    if (id(loop), tag) in seen:
        return False
    seen |= {(id(loop), tag)}
    return may_read(tag, then, seen) or may_read(tag, Rest(loop.body, 0, then, loop), seen)


class Lifetimes(Oracle):
    """Interprets a program and notes for every array after which call it was made and became free.

    Attributes
    ----------
    order : list of int
        The call sites in the order of their calls.
    lives : Counter of (int, int)
        How many arrays were made by the i-th call (counted from 1) and free after the j-th.
    """

    def __init__(self, program: Any, environment: Mapping[str, Any], processors: int) -> None:
        super().__init__(program, environment, processors)
        self.order: list[int] = []
        self.lives: Counter[tuple[int, int]] = Counter()
        self.made: dict[str, int] = {}
        self.rest: Rest | None = None

    def run(self) -> dict[tuple[str, int], list[np.ndarray]]:
        notes = super().run()
        self.free_all_but(set())
        return notes

    def block(self, body: tuple[Statement, ...], again: For | While | None = None) -> None:
        around = self.rest
        for at, statement in enumerate(body):
            self.rest = Rest(body, at, around, again)
            self.statement(statement)
        self.rest = around

    def statement(self, statement: Statement) -> None:
        here = self.rest
        assert here is not None
        after = Rest(here.body, here.at + 1, here.then, here.again)
        match statement:
            case CallSite():
                self.free_all_but({tag for tag in self.made if may_read(tag, here)})
                self.order.append(statement.id)
                super().statement(statement)
                self.define(statement, after)
                # What nobody reads is free at once, even if the next round makes it anew.
                self.free_all_but({tag for tag in self.made if may_read(tag, after)})
            case Swap(left, right):
                super().statement(statement)
                names = {left: right, right: left}
                self.made = {names.get(tag, tag): made for tag, made in self.made.items()}
            case For() | While():
                self.rest = after
                self.loop(statement)
            case _:
                self.rest = after
                super().statement(statement)

    def define(self, site: CallSite, after: Rest) -> None:
        """Note what a call makes; what it copies and nobody reads any more goes on under another name."""
        arrays = {output.tag for output in site.outputs if output.type.shape}
        made = dict.fromkeys(arrays, len(self.order))
        if arrays and site.label == "copy":
            source = str(site.inputs[0].tag)
            if source in arrays or not may_read(source, after):
                made = dict.fromkeys(arrays, self.made.pop(source))
        self.free_all_but(self.made.keys() - arrays)
        self.made |= made

    def loop(self, loop: For | While) -> None:
        """Go through a loop's rounds; the look-ahead from inside goes through its head."""
        if isinstance(loop, For):
            step = 1 if loop.step is None else self.value(loop.step)
            for index in range(self.value(loop.lower), self.value(loop.upper), step):
                if not self.going_on(loop, self.active):
                    break
                self.tags[loop.counter] = index
                self.block(loop.body, loop)
            return
        for _ in range(self.value(loop.limit)):
            if not self.going_on(loop, self.active) or not self.value(loop.condition):
                break
            self.block(loop.body, loop)

    def free_all_but(self, needed: set[str]) -> None:
        for tag in self.made.keys() - needed:
            self.lives[self.made.pop(tag), len(self.order)] += 1
