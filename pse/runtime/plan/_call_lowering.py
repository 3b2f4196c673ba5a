"""Lowering of call sites: what this rank does for each, and what it releases after.

`projection` walks the control flow and comes here for every call site that concerns its rank; `arguments`
binds parameters, `handover` says who gets what; `exchanges` lowers the operations on distributed tags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pse._abi.coven import Reduction
from pse.errors import ProgramError
from pse.language.check import CallSite, ModuleReference, Output
from pse.language.types import Type
from pse.modules import LoadedModule, ModuleError
from pse.program import LoopExit
from pse.runtime.distribution import _trees as trees
from pse.runtime.plan import _halo_lowering as neighbours, _redistribution_lowering as exchanges
from pse.runtime.plan._arguments import Arguments
from pse.runtime.plan._communicators import Communicator, waits_for_turn
from pse.runtime.plan._edges import Edge, Role, edge_of
from pse.runtime.plan._handover import Engine, HandOver, Push
from pse.runtime.plan._job import Job
from pse.runtime.plan._partition_sets import Regions
from pse.runtime.plan._position import Here
from pse.runtime.plan._shapes import Shapes
from pse.runtime.plan._slots import Slots
from pse.runtime.plan._tables import CallKind, Operation, Tables


class CallLowering:
    """Lowers the call sites of one rank."""

    def __init__(
        self,
        job: Job,
        here: Here,
        tables: Tables,
        slots: Slots,
        load: Callable[[ModuleReference], LoadedModule],
        emit: Callable[..., list[int]],
        communicators: Mapping[int, Communicator],
    ) -> None:
        self.job, self.here, self.tables, self.slots = job, here, tables, slots
        self.edges, self.load, self.emit = job.edges, load, emit
        self.live, self.placement = job.liveness, job.liveness.placement
        self.rank, self.key, self.processor = here.rank, here.key, here.processor
        self.shapes = Shapes(job, here)
        self.handover = HandOver(job, here, tables, slots, self.shapes)
        self.arguments = Arguments(job, tables, slots, self.shapes, self._gathered_here, communicators)
        self.regions = Regions(job, here, tables)
        self.modules: dict[int, LoadedModule] = {}

    def lower(self, site: CallSite) -> None:
        """Emit what this rank does for a call site: execute it, or expect what it defines."""
        try:
            self._execute(site) if self.placement.thread_of(site) == self.key else self._expect(site)
        except (ProgramError, ModuleError) as error:
            place = str(site.span)
            error.message = error.message if error.message.startswith(place) else f"{place}: {error.message}"
            raise

    def values(self, site: CallSite) -> list[Edge]:
        """Give the edges on which a site's definitions travel."""
        return [edge for edge in self.edges if edge.site == site.id and edge.role is Role.VALUE]

    def _expect(self, site: CallSite) -> None:
        """Expect what another thread defines and this one may read."""
        live = self.live.live_after(self.live.walk.step_of_site[site.id], self.key)
        for edge in self.values(site):
            if edge.tag in live:
                self._expect_along(edge, self.shapes.type_of(site, edge.tag))

    def _expect_along(self, edge: Edge, array: Type) -> None:
        for lane in self.here.lanes(array):
            if lane is None and self.here.fiber:
                continue  # The partitions of this rank share it: it was expected before they began.
            count = self.job.pieces(array) if lane is None and array.distribution.distributed else 0
            with self.here.at(lane if lane is not None else self.here.partition, fiber=self.here.fiber):
                self.expect(edge.tag, edge, count, lane)

    def at_exit(self, handed: LoopExit) -> None:
        """Emit what this rank does where a loop has ended: hand a tag over, or expect it."""
        edge = edge_of(handed)
        array = self.job.program.tags[handed.tag].type
        if self.key in handed.readers:
            self._expect_along(edge, array)
        elif self.key == handed.maker:
            for lane in self.here.lanes(array):
                with self.here.at(lane if lane is not None else self.here.partition):
                    self._hand_over(handed, edge)

    def _hand_over(self, handed: LoopExit, edge: Edge) -> None:
        site = self.live.walk.sites[handed.site]
        releases = [handed.tag] if self.live.is_done_with(handed) else []
        pushes = self.handover.value(site, edge)
        engine = Engine(source=handed.tag, silent=True)
        self.call(site, CallKind.PUBLISH, self.arguments.count(), pushes, releases, engine)

    def expect_shared(self, site: CallSite) -> None:
        """Expect what comes of a call in PARALLEL for all partitions of this rank together."""
        if self.placement.thread_of(site) != self.key:
            self._expect_replicated(site)
            return
        for output in site.outputs:
            if output.reduction and self.processor:
                self._expect_reduced(site, output.reduction.target)

    def _expect_replicated(self, site: CallSite) -> None:
        live = self.live.live_after(self.live.walk.step_of_site[site.id], self.key)
        for edge in self.values(site):
            array = self.shapes.type_of(site, edge.tag)
            if edge.tag in live and not array.distribution.distributed:
                self.expect(edge.tag, edge, 0)

    def _expect_reduced(self, site: CallSite, target: str) -> None:
        if target in self.live.live_after(self.live.walk.step_of_site[site.id], self.key):
            self.expect(target, Edge(site.id, target, Role.VALUE), 0)

    def expect(self, tag: str, edge: Edge, count: int, lane: int | None = None) -> None:
        """Emit that a tag's value (or `count` pieces of it) will come along an edge."""
        self.emit(Operation.EXPECT, self.slots.of(tag), self.edges.number(edge, lane), count)

    def _execute(self, site: CallSite) -> None:
        name = site.module.name if site.module.language == "std" else ""
        if name in _OPERATIONS:
            _OPERATIONS[name](self, site)
            return
        self._refuse_distributed_at_root(site)
        self._call(site, name)

    def _refuse_distributed_at_root(self, site: CallSite) -> None:
        tags = [a.tag for a in site.inputs if a.tag] + [o.tag for o in site.outputs]
        for tag in tags:
            if not site.parallel and self.shapes.type_of(site, tag).distribution.distributed:
                shown = self.job.program.tags[tag].display or tag
                raise ProgramError(
                    f"{site.span}: {site.label} works on the distributed tag {shown} outside PARALLEL: "
                    "that doesn't run yet",
                    help=f"write it inside PARALLEL, or gather {shown} first",
                )

    def _call(self, site: CallSite, name: str) -> None:
        """A module of the user's, or an operation of the engine that needs no exchange."""
        if name in ("copy", "replicate") and site.outputs[0].type.scalar:
            value = self.arguments.expression(site.inputs[0].value)
            self.emit(Operation.ASSIGN, self.slots.of(site.outputs[0].tag), value)
            return
        first, engine, function = self.arguments.count(), Engine(), 0
        if name in ("copy", "replicate", "zero"):
            kind = CallKind.ZERO if name == "zero" else CallKind.DUPLICATE
            engine = Engine(source=None if name == "zero" else site.inputs[0].tag)
            self.arguments.output(site, site.outputs[0])
        else:
            kind, function = self._module(site)
            self.arguments.all_of(site)
        reduced = {o.reduction.target for o in site.outputs if o.reduction}
        edges = [edge for edge in self.values(site) if edge.tag not in reduced]
        pushes = [push for edge in edges for push in self.handover.value(site, edge)]
        self.call(
            site, kind, first, pushes + self._contributions(site), self.releases(site), engine, function
        )
        for output in site.outputs:
            if output.reduction and not self.here.fiber:
                self.reduce(site, output)

    def _module(self, site: CallSite) -> tuple[CallKind, int]:
        loaded = self.modules[site.id] = self.load(site.module)
        return (CallKind.PYTHON, 0) if loaded.native is None else (CallKind.NATIVE, loaded.native)

    def call(
        self,
        site: CallSite,
        kind: CallKind,
        first_argument: int,
        pushes: Sequence[Push],
        releases: Sequence[str],
        engine: Engine,
        function: int = 0,
    ) -> None:
        """Emit a call whose argument rows are the last ones, from `first_argument` on."""
        count = self.arguments.count() - first_argument
        where = f", partition {self.here.partition}" if self.here.fiber else ""
        text = self.tables.text(f"module {site.label}, {site.span}{where}")
        source, target = (-1 if tag is None else self.slots.of(tag) for tag in (engine.source, engine.target))
        row = self.tables.add(
            "calls", kind, site.id, first_argument, count, self.handover.store(pushes), len(pushes),
            *self.tables.release([self.slots.of(tag) for tag in releases]), source, target, *engine.parts,
            engine.combination, engine.alias, engine.silent,
            waits_for_turn(site, kind), self.regions.number(site),
            engine.clear, engine.lend, function, text,
        )  # fmt: skip
        self.emit(Operation.CALL, row)

    def releases(self, site: CallSite) -> list[str]:
        """Tags that this rank is done with after the call."""
        anew = {output.tag for output in site.outputs}
        reduced = {output.reduction.target for output in site.outputs if output.reduction}
        done = ((self.live.last_uses(site, self.key) - anew) | self.live.dead_outputs(site)) - reduced
        return [tag for tag in sorted(done) if not self.here.fiber or self.is_apart(tag)]

    def is_apart(self, tag: str) -> bool:
        """Whether each partition of this rank has a value of its own of a tag."""
        return self.here.is_apart(self.job.program.tags[tag].type)

    def given_up(self, site: CallSite, tag: str) -> list[str]:
        """Give the tag if this rank reads it at the site for the last time."""
        return [tag] if tag in self.live.last_uses(site, self.key) else []

    def _gathered_here(self, site: CallSite, output: Output) -> bool:
        """Whether a root thread may read the pieces of an output, and all partitions live on this node."""
        readers = self.live.readers(site, output.tag) | self.live.readers_at_exits(site, output.tag)
        peers = (self.placement.rank_of(self.key, p) for p in range(self.job.processors))
        near = self.job.shared_memory and not any(self.job.is_remote(self.rank, peer) for peer in peers)
        return near and any(key.region == "root" for key in readers)

    def _contributions(self, site: CallSite) -> list[Push]:
        """Send this partition's scalars on their way into reductions."""
        return [self._contribution(site, output, output.tag) for output in site.outputs if output.reduction]

    def _contribution(self, site: CallSite, output: Output, tag: str) -> Push:
        """Hand a scalar to the place in the tree where it is combined.

        That is this partition's own if others are below it, and `tag` is not yet combined with theirs.
        """
        assert output.reduction is not None
        edge, own = Edge(site.id, output.reduction.target, Role.CONTRIBUTION), self.here.partition or 0
        place, index = own, 0
        if own and (tag != output.tag or not self.branches(site, output, own)):
            place, index = trees.above(own)
        processor = self.job.owners(self.job.set_of(output.type))[place] if place else 0
        rank = self.placement.rank_of(self.key, processor)
        return Push(tag, edge, rank, index, lane=place or None)

    def branches(self, site: CallSite, output: Output, partition: int) -> bool:
        """Whether a partition combines what comes from others, on their way to the first."""
        pieces = self.job.pieces(output.type) if site.parallel else 1
        return partition > 0 and len(trees.below(partition, pieces)) > 0

    def reduce(self, site: CallSite, output: Output) -> None:
        """The first processor reduces, and hands the result to every reader; others take part on the way."""
        assert output.reduction is not None
        if self.processor:
            if self.branches(site, output, self.here.partition or 0):
                self.combine(site, output)
            self._expect_reduced(site, output.reduction.target)
            return
        target = output.reduction.target
        value = Edge(site.id, target, Role.VALUE)
        live = target in self.live.live_after(self.live.walk.step_of_site[site.id], self.key)
        pushes = self.handover.value(site, value)
        self._combine(site, output, None, target, pushes, [] if live else [target])

    def combine(self, site: CallSite, output: Output) -> None:
        """Combine this partition's scalar with those below it, and hand that on."""
        assert output.reduction is not None
        partial = f"%combined{site.id}.{output.reduction.target}"
        push = self._contribution(site, output, partial)
        self._combine(site, output, self.here.partition, partial, [push], [partial])

    def _combine(
        self,
        site: CallSite,
        output: Output,
        place: int | None,
        target: str,
        pushes: Sequence[Push],
        releases: Sequence[str],
    ) -> None:
        assert output.reduction is not None
        contribution = Edge(site.id, output.reduction.target, Role.CONTRIBUTION)
        gathered = f"%contributions{site.id}.{output.reduction.target}"
        pieces = self.job.pieces(output.type) if site.parallel else 1
        self.expect(gathered, contribution, 1 + len(trees.below(place or 0, pieces)), place)
        combination = Reduction[output.reduction.operation.upper()]
        engine = Engine(source=gathered, target=target, combination=combination, silent=True)
        first = self.arguments.count()
        self.call(site, CallKind.COMBINE, first, pushes, [gathered, *releases], engine)


_OPERATIONS: dict[str, Callable[[CallLowering, CallSite], None]] = {
    "scatter": exchanges.scatter,
    "gather": exchanges.gather,
    "transpose": exchanges.exchange,
    "redistribute": exchanges.exchange,
    "exchange": neighbours.exchange,
    "shift": neighbours.shift,
}
