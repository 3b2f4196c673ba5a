"""The order of calls that read and write files: one that may use a file of another's waits for it.

A walk over the resolved program.  Calls that use one file on different ranks are put in order: the first
gives one scalar more, which the second takes, so that it waits.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

from pse.language.check._ir import (
    Argument,
    Assign,
    CallSite,
    For,
    If,
    Output,
    Parallel,
    Reduction,
    Statement,
    Tag,
    While,
)
from pse.language.diagnostics._diagnostic import Diagnostic, warning_at
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Binary, Expression, Name, Number, Text, render_expression
from pse.language.types._types import Direction, Distribution, Element, Parameter, Pattern, Type
from pse.records import dataclass, replace

_SCALAR = Type(Element.I64, (), Distribution(Pattern.REPLICATED))


@dataclass(frozen=True)
class _Use:
    """A call that reads or writes a file; `inflight` is the loop whose iterations make it in any order."""

    site: CallSite
    inflight: Span | None = None

    @property
    def name(self) -> Expression:
        return next(a.value for a in self.site.inputs if a.parameter.name == "file")

    @property
    def ranks(self) -> tuple[bool, str | None, str | None]:
        """What decides on which ranks it runs, where calls are in order anyway."""
        return self.site.parallel, self.site.partition, self.site.thread


def order_files(
    body: Sequence[Statement], tags: MutableMapping[str, Tag], text: str
) -> tuple[tuple[Statement, ...], list[Diagnostic]]:
    """Let calls of `save` and `load` that may use one file wait for each other, on whichever ranks they run.

    Parameters
    ----------
    body : sequence of Statement
        The checked program's statements.
    tags : mutable mapping of str to Tag
        Its tags by their unique names; scalars that calls wait for are added.
    text : str
        Its text, from which warnings take the names of files.

    Returns
    -------
    tuple
        The statements, and warnings of calls that cannot be put in order.
    """
    walk = _FileWalk(text)
    walk.statements(body, {})
    if not walk.waits:
        return tuple(body), walk.found
    first = {use.site.id: use for uses in walk.waits.values() for use in uses}
    for use in first.values():
        _declare(use, tags)
    begin = [Assign(_token(use), Number(0), use.site.span) for _, use in sorted(first.items())]
    return (*begin, *_ordered(body, walk.waits, first)), walk.found


class _FileWalk:
    """Finds, for each call, the calls before it that it has to wait for."""

    def __init__(self, text: str) -> None:
        self.text, self.found = text, list[Diagnostic]()
        self.waits: dict[int, list[_Use]] = {}
        self._warned: set[tuple[int, int]] = set()

    def statements(self, body: Sequence[Statement], before: dict[int, _Use]) -> None:
        """Walk over statements; `before` are the calls so far, and gets theirs."""
        for statement in body:
            match statement:
                case CallSite(module=module) if module.language == "std" and module.name in ("save", "load"):
                    self._use(_Use(statement), before)
                case If():
                    other = dict(before)
                    self.statements(statement.then, before)
                    self.statements(statement.otherwise, other)
                    before |= other
                case For() if statement.inflight is not None:
                    inside = dict(before)
                    self.statements(statement.body, inside)
                    made = {id: use for id, use in inside.items() if id not in before}
                    before |= {id: replace(use, inflight=statement.span) for id, use in made.items()}
                case For() | While():
                    self.statements(statement.body, before)
                    self.statements(statement.body, before)
                case Parallel():
                    self.statements(statement.body, before)
                case _:
                    pass

    def _use(self, use: _Use, before: dict[int, _Use]) -> None:
        for earlier in before.values():
            verbs = {earlier.site.module.name, use.site.module.name}
            if "save" not in verbs or earlier.ranks == use.ranks or not _may_be_one(earlier.name, use.name):
                continue
            if earlier.inflight is None:
                waits = self.waits.setdefault(use.site.id, [])
                waits += [earlier] if earlier not in waits else []
            elif use.site.module.name == "load":
                self._warn(use, earlier)
        before[use.site.id] = use

    def _warn(self, use: _Use, earlier: _Use) -> None:
        pair = (use.site.id, earlier.site.id)
        if pair in self._warned or not all(_fixed_parts(one.name)[0] for one in (use, earlier)):
            return
        self._warned.add(pair)
        message = (
            f"this may read {render_expression(use.name)} before `save` has written it, on other ranks: "
            "no call waits for the iterations of an inflight loop"
        )
        notes = [(earlier.site.span, "it is written here")]
        help = "load it inside the loop, or leave out `inflight`"
        self.found.append(warning_at("W0402", message, use.site.span, notes=notes, help=help))


def _may_be_one(left: Expression, right: Expression) -> bool:
    """Whether two names of files may be the same: their fixed beginnings and ends agree."""
    (begin, end, whole), (other_begin, other_end, other_whole) = _fixed_parts(left), _fixed_parts(right)
    if whole and other_whole:
        return begin == other_begin
    if whole or other_whole:
        name, begin, end = (begin, other_begin, other_end) if whole else (other_begin, begin, end)
        return len(name) > len(begin) + len(end) and name.startswith(begin) and name.endswith(end)
    starts = begin.startswith(other_begin) or other_begin.startswith(begin)
    return starts and (end.endswith(other_end) or other_end.endswith(end))


def _fixed_parts(name: Expression) -> tuple[str, str, bool]:
    """What a name of a file begins and ends with, and whether that is all of it."""
    parts = [name]
    while isinstance(parts[0], Binary) and parts[0].operator == "+":
        parts[:1] = [parts[0].left, parts[0].right]
    texts = [part.value if isinstance(part, Text) else None for part in parts]
    if None not in texts:
        return "".join(filter(None, texts)), "", True
    at = texts.index(None)
    tail = len(texts) - texts[::-1].index(None)
    return "".join(filter(None, texts[:at])), "".join(filter(None, texts[tail:])), False


# Scalars by which calls wait for each other.


def _token(use: _Use) -> str:
    return f"file.{use.site.id}"


def _declare(use: _Use, tags: MutableMapping[str, Tag]) -> None:
    shown = f"file {render_expression(use.name)}"
    tags[_token(use)] = Tag(_token(use), _SCALAR, use.site.span, shown, internal=True)
    if use.site.parallel:
        own = replace(_SCALAR, distribution=Distribution(Pattern.BLOCK, partition=use.site.partition))
        name = f"{_token(use)}.own"
        tags[name] = Tag(name, own, use.site.span, shown, internal=True)


def _ordered(
    body: Sequence[Statement], waits: Mapping[int, Sequence[_Use]], first: Mapping[int, _Use]
) -> tuple[Statement, ...]:
    """Rewrite statements: calls in `first` give a scalar when they are done, those in `waits` take them."""

    def within(inner: Sequence[Statement]) -> tuple[Statement, ...]:
        return _ordered(inner, waits, first)

    made: list[Statement] = []
    for statement in body:
        match statement:
            case CallSite(id=number) if number in waits or number in first:
                made.append(_with_scalars(statement, waits.get(number, ()), first.get(number)))
            case If():
                made.append(
                    replace(statement, then=within(statement.then), otherwise=within(statement.otherwise))
                )
            case For() | While() | Parallel():
                made.append(replace(statement, body=within(statement.body)))
            case _:
                made.append(statement)
    return tuple(made)


def _with_scalars(site: CallSite, waits: Sequence[_Use], done: _Use | None) -> CallSite:
    taken = [
        Argument(Parameter(f"after{n}", Direction.IN, _SCALAR), Name(_token(use)), None, site.span)
        for n, use in enumerate(waits)
    ]
    outputs = site.outputs
    if done is not None:
        outputs += (_done(done),)
    added = (*(a.parameter for a in taken), *(o.parameter for o in outputs[len(site.outputs) :]))
    signature = replace(site.module.signature, parameters=(*site.module.signature.parameters, *added))
    module = replace(site.module, signature=signature)
    return replace(site, module=module, inputs=(*site.inputs, *taken), outputs=outputs)


def _done(use: _Use) -> Output:
    parameter, site = Parameter("done", Direction.OUT, _SCALAR), use.site
    if not site.parallel:
        return Output(parameter, _token(use), _SCALAR, site.span)
    own = replace(_SCALAR, distribution=Distribution(Pattern.BLOCK, partition=site.partition))
    return Output(parameter, f"{_token(use)}.own", own, site.span, Reduction(_token(use), "max", site.span))
