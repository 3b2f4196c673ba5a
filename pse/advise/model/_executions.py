"""Executions of call sites as operations: how long each takes, where, and what it needs and makes.

Durations are those of the trace, next in order at its place; partitions that are cut otherwise than in the
run take in proportion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pse.advise.model._dataflow import Dataflow
from pse.advise.model._operations import Input, Kind, Operation, Push
from pse.advise.model._root_handover import pushed
from pse.advise.model._trace_cursor import ROOT, Cursor
from pse.advise.model._transfer_sizes import pieces, whole
from pse.language.check import PROCS, CallSite, ResolvedProgram
from pse.language.types import Element, Value
from pse.program import Walk, exchanges, inouts_of, outputs_of, read_names

Strands = dict[int, list[int]]
"""The operations of each place, in their order."""


@dataclass(frozen=True)
class Setting:
    """What is assumed of a run: its parameters, processors, and how much slower or faster call sites are.

    Attributes
    ----------
    environment : mapping of str to value
        What parameters and partitions are.
    processors : int
        How many there are.
    factors : mapping of int to float
        What the times of a call site are multiplied by.
    """

    environment: Mapping[str, Value]
    processors: int
    factors: Mapping[int, float] = field(default_factory=dict)


class Executions:
    """Makes the operations of a run.

    Attributes
    ----------
    groups : list of int
        How many calls each group has that meet in a communicator.
    places : dict
        For how many partitions each call site is executed.
    """

    def __init__(
        self, program: ResolvedProgram, walk: Walk, cursor: Cursor, flow: Dataflow, setting: Setting
    ) -> None:
        self._program, self._cursor, self._flow, self._setting = program, cursor, flow, setting
        self._observed = cursor.observed
        self.groups: list[int] = []
        self.places: dict[int, int] = {}
        self._old_counts = {s.id: self._observed.partitions_of(s.id) for s in walk.sites if s.parallel}
        self._owners: dict[tuple[int, int], int | None] = {}
        self._pushed = pushed(program, walk)

    def execute(self, site: CallSite, strands: Strands) -> None:
        """Pass a call site for all its places, and add their operations to strands unless the walk is dry."""
        places = range(self._count(site)) if site.parallel else (ROOT,)
        durations = [self._duration(site, place, len(places)) for place in places]
        if self._cursor.dry:
            return
        self.places[site.id] = len(places)
        made = [self._new(Kind.CALL, site, place, len(places)) for place in places]
        for operation, (cpu, rest) in zip(made, durations, strict=True):
            operation.cpu, operation.rest = cpu, rest
            operation.pushes = self._pushes(site, len(places)) if site.parallel else []
        if _is_collective(site) and len(made) > 1:
            self._meet(made)
        if exchanges(site):
            self._exchange(site, made, strands)
        for place, operation in zip(places, made, strict=True):
            self._read(site, place, len(places), operation)
            strands.setdefault(place, []).append(operation.number)
        self._make(site, places, made)

    def _count(self, site: CallSite) -> int:
        value = self._flow.environment.get(site.partition or PROCS, self._setting.processors)
        return int(str(value))

    # How long, and where.

    def _duration(self, site: CallSite, place: int, count: int) -> tuple[float, float]:
        """CPU seconds and others of the next execution; pieces of another size take in proportion."""
        then = self._old_counts.get(site.id, 1) if place != ROOT else 1
        index = self._cursor.take(site, place, place * then // count if place != ROOT else ROOT)
        if index is None:
            return 0.0, 0.0
        factor = self._setting.factors.get(site.id, 1.0) * (then / count if place != ROOT else 1.0)
        self._owners[site.id, place] = self._owner(site, place, count, index)
        cpu = float(self._observed.cpu[index]) * factor + float(self._observed.engine[index])
        return cpu, float(self._observed.rest[index]) * factor

    def _owner(self, site: CallSite, place: int, count: int, index: int) -> int | None:
        """Where a partition is: where it was, or in blocks if there are other numbers of them now."""
        processor = self._observed.processors[index]
        as_then = self._setting.processors == self._observed.measured.processors
        if place == ROOT or (count == self._old_counts[site.id] and as_then):
            return processor
        return place * self._setting.processors // count

    def _new(self, kind: Kind, site: CallSite, place: int, count: int) -> Operation:
        blocks = None if place == ROOT else place * self._setting.processors // count
        processor = self._owners.get((site.id, place), blocks)
        operation = Operation(len(self._flow.operations), kind, site.id, processor)
        self._flow.operations.append(operation)
        return operation

    # What they need.

    def _pushes(self, site: CallSite, count: int) -> list[Push]:
        """What the root may read is handed to it whenever it is made, whether it reads it or not."""
        tags, environment = self._program.tags, self._flow.environment
        return [
            Push(readers, f"{site.id} {tag}", whole(tags[tag].type, environment) / count)
            for tag, readers in self._pushed.get(site.id, ())
        ]

    def _meet(self, made: Sequence[Operation]) -> None:
        """Calls that meet: who waited least in there had the others there already."""
        least = min(operation.rest for operation in made)
        for operation in made:
            operation.group, operation.rest = len(self.groups), least
        self.groups.append(len(made))

    def _exchange(self, site: CallSite, made: Sequence[Operation], strands: Strands) -> None:
        """Partitions offer their pieces, and each takes those that it needs."""
        tag = next(argument.tag for argument in site.inputs if argument.tag)
        offers = [self._new(Kind.OFFER, site, place, len(made)) for place in range(len(made))]
        for place, offer in enumerate(offers):
            offer.inputs = self._flow.inputs(tag, place, len(made))
            strands.setdefault(place, []).append(offer.number)
            if site.module.name == "exchange":
                self._flow.read(tag, place, offer.number)
        for place, operation in enumerate(made):
            for other, size in pieces(site, self._program, place, len(made), self._flow.environment):
                operation.inputs.append(Input(offers[other].number, None, size))
                if site.module.name not in ("exchange", "shift"):
                    self._flow.read(tag, other, operation.number)

    def _read(self, site: CallSite, place: int, count: int, operation: Operation) -> None:
        for name in sorted(read_names(site) & self._flow.made.keys()):
            operation.inputs += self._flow.inputs(name, place, count)
            if not exchanges(site):
                self._flow.read(name, place, operation.number)

    # What they make.

    def _make(self, site: CallSite, places: Sequence[int], made: Sequence[Operation]) -> None:
        for place, operation in zip(places, made, strict=True):
            for tag in sorted(inouts_of(site)):
                self._flow.change(tag, place, operation)
        targets = {output.reduction.target for output in site.outputs if output.reduction}
        for tag in outputs_of(site) - targets:
            self._flow.define(tag, {place: (op.number,) for place, op in zip(places, made, strict=True)})
        for target in sorted(targets):
            combined = self._new(Kind.COMBINE, site, 0, len(places))
            combined.inputs = [Input(operation.number, None, 0.0) for operation in made]
            self._flow.made[target] = {ROOT: (combined.number,)}
        for tag in outputs_of(site) | inouts_of(site):
            self._flow.environment.pop(tag, None)


def _is_collective(site: CallSite) -> bool:
    signature = site.module.signature
    return signature.collective or any(p.type.element is Element.COMM for p in signature.parameters)
