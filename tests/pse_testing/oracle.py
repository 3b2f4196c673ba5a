"""What a program means: a plain sequential interpreter of resolved programs on NumPy arrays.

Independent of the runtime: one statement after the other, distributed tags as whole arrays, modules as
NumPy functions that are applied to the pieces one by one. Nothing is shared, moved or freed, so nothing
can go wrong here but the meaning itself. `harness` runs the same program for real; both must note down
the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pse.language import evaluate
from pse.language.check._ir import (
    Assign,
    CallSite,
    For,
    If,
    Output,
    Parallel,
    ResolvedProgram,
    Statement,
    Swap,
    While,
)
from pse.language.types._expressions import Expression, Name, Text, position_name
from pse.language.types._types import Direction, Element, Type

MODULUS = 8191
Notes = dict[tuple[str, int], list[np.ndarray]]
"""What modules noted down: by label and counter, in order."""


class PerPartition(list[Any]):
    """One scalar for each partition."""


class Oracle:
    """Interprets one program."""

    def __init__(self, program: ResolvedProgram, environment: Mapping[str, Any], processors: int) -> None:
        self.program, self.processors = program, processors
        self.constants = dict(environment)
        (self.partitions,) = (self.constants[p.name] for p in program.partitions)
        self.tags: dict[str, Any] = {}
        self.notes: Notes = {}
        self.active = list(range(self.partitions))  # where partitions decide for themselves: those inside

    def run(self) -> Notes:
        """Interpret the program; gives what it noted down."""
        self.block(self.program.body)
        return self.notes

    def block(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        match statement:
            case CallSite():
                self.call(statement)
            case Assign(tag, value):
                self.tags[tag] = self.assigned(tag, value)
            case Swap(left, right):
                self.tags[left], self.tags[right] = self.tags[right], self.tags[left]
            case If(condition, then, otherwise):
                holds = [p for p in self.active if self.value(condition, p)]
                self.only(holds, then)
                self.only([p for p in self.active if p not in holds], otherwise)
            case Parallel(_, body):
                self.block(body)
            case While(condition, limit, body):
                going = self.active
                for _ in range(self.value(limit)):
                    going = [p for p in self.going_on(statement, going) if self.value(condition, p)]
                    self.only(going, body)
            case For(counter, lower, upper, _, body):
                step = 1 if statement.step is None else self.value(statement.step)
                going = self.active
                for index in range(self.value(lower), self.value(upper), step):
                    going = self.going_on(statement, going)
                    self.tags[counter] = index
                    self.only(going, body)

    def going_on(self, loop: For | While, going: list[int]) -> list[int]:
        """Those partitions for which no `break` has ended a loop."""
        return [p for p in going if loop.stop is None or not self.value(Name(loop.stop), p)]

    def only(self, partitions: list[int], body: tuple[Statement, ...]) -> None:
        """Interpret statements for some partitions."""
        before, self.active = self.active, partitions
        if partitions:
            self.block(body)
        self.active = before

    # Scalars.

    def value(self, tree: Expression, partition: int | None = None) -> Any:
        own = {
            name: value[partition if partition is not None else 0]
            if isinstance(value, PerPartition)
            else value
            for name, value in self.tags.items()
            if not isinstance(value, np.ndarray)
        }
        own |= {position_name(None, p.name): partition for p in self.program.partitions}
        return evaluate(tree, self.constants | own)

    def assigned(self, tag: str, tree: Expression) -> Any:
        array = self.program.tags[tag].type
        if not array.distribution.distributed:
            return typed(array, self.value(tree))
        return self.merged(tag, {p: typed(array, self.value(tree, p)) for p in self.active})

    def merged(self, tag: str, values: Mapping[int | None, Any]) -> PerPartition:
        """Put new values of some partitions to those that others have."""
        old = self.tags.get(tag)
        kept = old if isinstance(old, PerPartition) else [None] * self.partitions
        return PerPartition(values.get(p, kept[p]) for p in range(self.partitions))

    # Calls.

    def call(self, site: CallSite) -> None:
        name = site.module.name
        if site.module.language == "std" and name in OPERATIONS:
            output = site.outputs[0]
            given = self.tags[site.inputs[0].tag] if site.inputs else None
            shape = tuple(self.value(extent) for extent in output.type.shape or ())
            whole = OPERATIONS[name](given, shape, output.type)
            partitions = self.active if site.parallel else [None]
            pieces = {p: whole[slices(self.box(output.type, p))] for p in partitions}
            self.store(output.tag, output.type, pieces)
        elif name.startswith("note"):
            label, k, value = (self.argument(site, argument, 0) for argument in site.inputs)
            self.notes.setdefault((label, k), []).append(np.array(value))
        else:
            self.module(site)

    def module(self, site: CallSite) -> None:
        """Apply a module to every partition's pieces, or once at the root."""
        partitions = self.active if site.parallel else [None]
        results = {partition: self.instance(site, partition) for partition in partitions}
        changed = [a for a in site.inputs if a.parameter.direction is Direction.INOUT]
        for number, argument in enumerate(changed):
            array = self.program.tags[argument.tag].type
            self.store(argument.tag, array, {p: result[number] for p, result in results.items()})
        for number, output in enumerate(site.outputs, len(changed)):
            values = {p: result[number] for p, result in results.items()}
            self.store(output.tag, output.type, values)
            if output.reduction is not None:
                self.reduce(output, list(values.values()))

    def instance(self, site: CallSite, partition: int | None) -> list[Any]:
        """Results of one instance: changed in-outs, then outputs."""
        inputs = [self.argument(site, argument, partition) for argument in site.inputs]
        shapes = [
            tuple(stop - start for start, stop in self.box(output.type, partition)) for output in site.outputs
        ]
        return list(MODULES[site.module.name](*inputs, *shapes))

    def argument(self, site: CallSite, argument: Any, partition: int | None) -> Any:
        if isinstance(argument.value, Text):
            return argument.value.value
        held = self.tags.get(argument.tag or getattr(argument.value, "id", ""))
        if isinstance(held, np.ndarray):
            array = self.program.tags[argument.value.id].type
            return held[slices(self.box(array, partition))].copy()
        return typed(argument.parameter.type, self.value(argument.value, partition))

    def store(self, tag: str, array: Type, values: Mapping[int | None, Any]) -> None:
        """Put the partitions' results to those that others have; None stands for the root."""
        if array.scalar:
            values = {p: typed(array, value) for p, value in values.items()}
            own = array.distribution.distributed
            self.tags[tag] = self.merged(tag, values) if own else next(iter(values.values()))
            return
        shape = [self.value(extent) for extent in array.shape]
        old = self.tags.get(tag)
        whole = np.full(shape, 9999, dtype=array.element.value) if old is None else old.copy()
        for partition, value in values.items():
            whole[slices(self.box(array, partition))] = value
        self.tags[tag] = whole

    def reduce(self, output: Output, values: list[Any]) -> None:
        target = output.reduction.target
        combined = in_tree(REDUCTIONS[output.reduction.operation], values)
        self.tags[target] = typed(self.program.tags[target].type, combined)

    def box(self, array: Type, partition: int | None) -> list[tuple[int, int]]:
        """Bounds of a partition's piece, as np.array_split cuts; of everything if it is not distributed."""
        shape = [self.value(extent) for extent in array.shape or ()]
        bounds = [(0, extent) for extent in shape]
        if partition is None or array.scalar or not array.distribution.distributed:
            return bounds
        counts = self.grid(array)
        place = np.unravel_index(partition, counts)
        for axis, count, index in zip(array.distribution.axes, counts, place, strict=True):
            part = np.array_split(np.arange(shape[axis]), count)[index]
            before = sum(len(p) for p in np.array_split(np.arange(shape[axis]), count)[:index])
            bounds[axis] = (before, before + len(part))
        return bounds

    def grid(self, array: Type) -> tuple[int, ...]:
        if len(array.distribution.axes) == 1:
            return (self.partitions,)
        (partition,) = [p for p in self.program.partitions if p.name == array.distribution.partition]
        return tuple(self.value(extent) for extent in partition.grid)


def in_tree(combine: Callable[[Any, Any], Any], values: Sequence[Any], place: int = 0) -> Any:
    """Combine as reductions do: each place with the up to eight below it, one after the other."""
    combined = values[place]
    for below in range(8 * place + 1, min(8 * place + 9, len(values))):
        combined = combine(combined, in_tree(combine, values, below))
    return combined


def slices(box: list[tuple[int, int]]) -> tuple[slice, ...]:
    """Index an array by a box."""
    return tuple(slice(start, stop) for start, stop in box)


def typed(array: Type, value: Any) -> Any:
    """A scalar as its type says."""
    match array.element:
        case Element.F64:
            return float(value)
        case Element.F32:
            return float(np.float32(value))
        case Element.C64 | Element.C128:
            return complex(value)
        case Element.BOOL:
            return bool(value)
        case None:
            return value
    return int(value)


OPERATIONS: Mapping[str, Callable[[Any, tuple[int, ...], Type], np.ndarray]] = {
    **dict.fromkeys(("scatter", "gather", "replicate", "redistribute", "copy"), lambda a, *_: a.copy()),
    "transpose": lambda a, *_: np.ascontiguousarray(np.swapaxes(a, -1, -2)),
    "zero": lambda _, shape, array: np.zeros(shape, array.element.value),
}

REDUCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": min,
    "max": max,
    "all": lambda a, b: a and b,
    "any": lambda a, b: a or b,
}


# Modules: changed in-outs first, then outputs; a shape for every output comes last.


def _index(a: np.ndarray) -> np.ndarray:
    return np.arange(a.size, dtype=np.int64).reshape(a.shape)


def _whole(a: np.ndarray) -> np.ndarray:
    return a.real.astype(np.int64)


def _number(x: float) -> int:
    return int(abs(x) // 1) % MODULUS


def _sum(a: np.ndarray) -> int:
    terms = _whole(a).ravel() * (np.arange(a.size) % 5 + 1)
    return int(terms.sum()) % MODULUS


def _fill(seed: int, m: int, n: int, *_: Any) -> Iterator[np.ndarray]:
    yield (seed * 31 + np.arange(m * n, dtype=np.int64).reshape(m, n) * 7 + 1) % MODULUS


def _make(seed: int, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    yield from _fill(seed + 1, *shape)


def _step(a: np.ndarray, s: float, *_: Any) -> Iterator[np.ndarray]:
    yield (3 * _whole(a) + _number(s) + _index(a)) % MODULUS


def _add(a: np.ndarray, b: np.ndarray, *_: Any) -> Iterator[np.ndarray]:
    yield (_whole(a) + 2 * _whole(b) + 1) % MODULUS


def _bump(a: np.ndarray, s: float) -> Iterator[np.ndarray]:
    yield (5 * _whole(a) + _number(s) + _index(a)) % MODULUS


def _split(a: np.ndarray, *_: Any) -> Iterator[np.ndarray]:
    yield (_whole(a) + 1) % MODULUS
    yield (2 * _whole(a) + 3) % MODULUS


def _turn(a: np.ndarray, *_: Any) -> Iterator[np.ndarray]:
    yield ((_whole(a) + np.arange(a.shape[1])) % MODULUS).T


def _pyback(a: np.ndarray, *_: Any) -> Iterator[Any]:
    yield (_whole(a) + 5) % MODULUS
    yield float(_whole(a).sum() % MODULUS)


def _phase(a: np.ndarray, *_: Any) -> Iterator[complex]:
    yield complex(_sum(a) % 11, _sum(a) % 7 - 3)


def _one(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    return lambda *arguments: itertools.repeat(function(*arguments), 1)


MODULES: Mapping[str, Callable[..., Iterator[Any]]] = {
    "fill": _fill,
    "make": _make,
    "step": _step,
    "add": _add,
    "mix": lambda a, b: _add(a, b),
    "bump": _bump,
    "split": _split,
    "turn": _turn,
    "blend": lambda a, e, *_: _step(a, _sum(e)),
    "total": _one(lambda a, *_: float(_sum(a))),
    "count": _one(lambda a, *_: _sum(a) % 97),
    "small": _one(lambda a, *_: _sum(a) % 101 - 50),
    "tiny": _one(lambda a, *_: _sum(a) % 5),
    "half": _one(lambda a, *_: _sum(a) % 103 + 0.5),
    "even": _one(lambda a, *_: _sum(a) % 3 != 0),
    "phase": _phase,
    "gain": _one(lambda a, x: float((_number(x) * 2 + _sum(a)) % MODULUS)),
    "pystep": _one(lambda a, s, *_: (3 * _whole(a) + int(s % MODULUS)) % MODULUS),
    "pyback": _pyback,
    "pybump": _one(lambda a: (_whole(a) * 2 + 1) % MODULUS),
    "pykeep": _one(lambda a, *_: float(_whole(a).sum() % MODULUS)),
}
