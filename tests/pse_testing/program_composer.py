"""Composes checked programs by hand, without a text."""

import itertools
from collections.abc import Mapping

from pse.language.check._ir import (
    Argument,
    CallSite,
    For,
    ModuleReference,
    Output,
    Parallel,
    Reduction,
    ResolvedProgram,
    Statement,
    Tag,
)
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Expression, Name, Number
from pse.language.types._types import Direction, Distribution, Element, Parameter, Pattern, Signature, Type

ROOT = Distribution(Pattern.ROOT)
BLOCK = Distribution(Pattern.BLOCK, (0,))
HALO = Distribution(Pattern.BLOCK, (0, 1), halo=(Number(1),))
SCALAR = Type(Element.F64, (), Distribution(Pattern.REPLICATED))
MODULE = ModuleReference("f", Signature("f", ()), None, "pse.std", 1, "std")


class Composer:
    """Collects tags and numbers call sites of one program."""

    def __init__(self) -> None:
        self.tags: dict[str, Tag] = {}
        self.sites = itertools.count()
        self.lines = itertools.count(10)

    def span(self) -> Span:
        line = next(self.lines)
        return Span("sample.coven", line, 1, line, 9)

    def array(self, *names: str, over: Distribution = BLOCK, shown: str = "") -> None:
        kind = Type(Element.F64, (Name("N"), Name("N")), over)
        self.tags |= {name: Tag(name, kind, self.span(), shown or name) for name in names}

    def scalar(self, *names: str, counter: bool = False, shown: str = "") -> None:
        self.tags |= {n: Tag(n, SCALAR, self.span(), shown or n, loop_counter=counter) for n in names}

    def call(
        self,
        label: str,
        thread: str | None,
        *reads: str,
        changes: tuple[str, ...] = (),
        makes: tuple[str, ...] = (),
        given: tuple[Expression, ...] = (),
        reduces: Mapping[str, tuple[str, str]] = {},
        parallel: bool = False,
    ) -> CallSite:
        def argument(direction: Direction, value: Expression, tag: str | None) -> Argument:
            return Argument(Parameter("x", direction, SCALAR), value, tag, self.span())

        inputs = [argument(Direction.IN, Name(tag), tag) for tag in reads]
        inputs += [argument(Direction.INOUT, Name(tag), tag) for tag in changes]
        inputs += [argument(Direction.IN, value, None) for value in given]
        outputs = []
        for tag in makes:
            kind = self.tags[tag].type
            reduction = Reduction(*reduces[tag], self.span()) if tag in reduces else None
            outputs.append(Output(Parameter("y", Direction.OUT, kind), tag, kind, self.span(), reduction))
        return CallSite(
            next(self.sites),
            MODULE,
            tuple(inputs),
            tuple(outputs),
            thread,
            parallel,
            "P" if parallel else None,
            {},
            self.span(),
            label,
        )

    def parallel(self, *body: Statement) -> Parallel:
        return Parallel("P", body, self.span())

    def loop(self, counter: str, upper: str, *body: Statement, inflight: int | None = None) -> For:
        flight = None if inflight is None else Number(inflight)
        return For(counter, Number(0), Name(upper), flight, body, self.span())

    def program(self, name: str, *body: Statement) -> ResolvedProgram:
        return ResolvedProgram(name, f"{name}.coven", "", (), (), (), self.tags, body)
