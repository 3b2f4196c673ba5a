"""Lowering of call sites: what a rank does for each, and what it releases after."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pse._abi.plan import ArgumentKind, CallKind
from pse.errors import ProgramError
from pse.language.check import CallSite, ModuleReference
from pse.language.types import Type
from pse.modules import LoadedModule
from pse.program import LoopExit
from pse.runtime.plan._communicators import Communicator
from pse.runtime.plan._edges import Edge, edge_of
from pse.runtime.plan._halo_lowering import lower_exchange, lower_shift
from pse.runtime.plan._job import Job
from pse.runtime.plan._lowered import Argument, Assignment, Call, EngineOperation, Expect, Lowered
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._redistribution_lowering import lower_gather, lower_redistribution, lower_scatter
from pse.runtime.plan._reduction_lowering import contributions, expect_reduced, lower_reduction
from pse.runtime.plan._shapes import Shapes


class CallLowering:
    """Lowers the call sites of one rank.

    Attributes
    ----------
    context : LoweringContext
        What lowering may ask.
    modules : dict of int to LoadedModule
        The modules that were loaded for calls so far, by call site.
    """

    def __init__(
        self,
        job: Job,
        rank: int,
        load: Callable[[ModuleReference], LoadedModule],
        communicators: Mapping[int, Communicator],
    ) -> None:
        self.context, self.load = LoweringContext.of(job, rank, communicators), load
        self.modules: dict[int, LoadedModule] = {}

    def lower(self, site: CallSite, position: Position) -> list[Lowered]:
        """Say what this rank does for a call site: execute it, or expect what it defines."""
        if self.context.placement.thread_of(site) != self.context.key:
            return self._expect(site, position)
        name = site.module.name if site.module.language == "std" else ""
        if name in _DISTRIBUTED:
            return _DISTRIBUTED[name](self.context, site, position)
        self._refuse_distributed_at_root(site)
        return self._execute(site, name, position)

    def at_exit(self, handed: LoopExit, position: Position) -> list[Lowered]:
        """Say what this rank does where a loop has ended: hand a tag over, or expect it."""
        edge, array = edge_of(handed), self.context.tag_type(handed.tag)
        if self.context.key in handed.readers:
            return self._expect_along(edge, array, position)
        if self.context.key != handed.maker:
            return []
        lanes = position.lanes(array)
        return [
            self._hand_over(handed, edge, position if lane == position.partition else position.at(lane))
            for lane in lanes
        ]

    def expect_shared(self, site: CallSite) -> list[Lowered]:
        """Expect what comes of a call in PARALLEL for all partitions of this rank together."""
        if self.context.placement.thread_of(site) == self.context.key:
            reduced = [o.reduction.target for o in site.outputs if o.reduction and self.context.processor]
            return [expected for tag in reduced for expected in expect_reduced(self.context, site, tag)]
        return [
            Expect(edge.tag, None, edge)
            for edge in self.context.values[site.id]
            if self.context.is_live_after(site, edge.tag)
            and not self.context.shapes.type_of(site, edge.tag).distribution.distributed
        ]

    def _expect(self, site: CallSite, position: Position) -> list[Lowered]:
        """Expect what another thread defines and this one may read."""
        found: list[Lowered] = []
        for edge in self.context.values[site.id]:
            if self.context.is_live_after(site, edge.tag):
                array = self.context.shapes.type_of(site, edge.tag)
                found += self._expect_along(edge, array, position)
        return found

    def _expect_along(self, edge: Edge, array: Type, position: Position) -> list[Lowered]:
        pieces = self.context.job.pieces(array) if array.distribution.distributed else 0
        return [
            Expect(edge.tag, lane, edge, lane, pieces if lane is None else 0)
            for lane in position.lanes(array)
        ]

    def _hand_over(self, handed: LoopExit, edge: Edge, position: Position) -> Call:
        site = self.context.live.walk.sites[handed.site]
        releases = [handed.tag] if self.context.live.is_done_with(handed) else []
        pushes = self.context.handovers.value(site, edge, position)
        operation = EngineOperation(source=handed.tag, silent=True)
        return Call(site, CallKind.PUBLISH, position, (), pushes, releases, operation)

    def _refuse_distributed_at_root(self, site: CallSite) -> None:
        tags = [a.tag for a in site.inputs if a.tag] + [o.tag for o in site.outputs]
        for tag in tags:
            if not site.parallel and self.context.shapes.type_of(site, tag).distribution.distributed:
                shown = self.context.shown(tag)
                raise ProgramError(
                    f"{site.span}: {site.label} works on the distributed tag {shown} outside PARALLEL: "
                    "this version can't run that",
                    help=f"move the call into PARALLEL, or gather {shown} first",
                )

    def _execute(self, site: CallSite, name: str, position: Position) -> list[Lowered]:
        """Call a user's module, or an operation of the engine on one partition's own values."""
        if name in ("copy", "replicate") and site.outputs[0].type.scalar:
            value = site.inputs[0].value
            return [Assignment(site.outputs[0].tag, position.partition, value, folded=True)]
        operation, function = EngineOperation(), 0
        releases = self.context.releases(site, position)
        texts: list[Assignment] = []
        if name in ("copy", "replicate", "zero"):
            kind = CallKind.ZERO if name == "zero" else CallKind.DUPLICATE
            operation = operation if name == "zero" else self._duplication(site, releases)
            arguments = [self.context.arguments.output(site, site.outputs[0], position)]
        else:
            kind, function, given = self._module(site, position)
            texts = [
                Assignment(str(a.tag), position.partition, a.value) for a in given if a.value and _is_text(a)
            ]
            arguments = [a._replace(value=None) if _is_text(a) else a for a in given]
        reduced = [output for output in site.outputs if output.reduction]
        targets = {output.reduction.target for output in reduced if output.reduction}
        edges = [edge for edge in self.context.values[site.id] if edge.tag not in targets]
        pushes = [push for edge in edges for push in self.context.handovers.value(site, edge, position)]
        pushes += contributions(self.context, site, position)
        releases += [text.tag for text in texts]
        found: list[Lowered] = [
            *texts,
            Call(site, kind, position, arguments, pushes, releases, operation, function=function),
        ]
        for output in reduced if not position.fiber else ():
            found += lower_reduction(self.context, site, output, position)
        return found

    def _duplication(self, site: CallSite, releases: Sequence[str]) -> EngineOperation:
        """Copy an array; one that nobody reads any more may be handed on as it is."""
        source = str(site.inputs[0].tag)
        is_given_up = source in {*releases, site.outputs[0].tag}
        alias = is_given_up and self.context.live.last_use_everywhere(site, source)
        return EngineOperation(source=source, alias=alias)

    def _module(self, site: CallSite, position: Position) -> tuple[CallKind, int, list[Argument]]:
        """Load a module; gives who calls it, its address, and its arguments."""
        loaded = self.load(site.module)
        if site.module.language == "std":
            loaded = _with_context(loaded, site, self.context.shapes)
        self.modules[site.id] = loaded
        arguments = self.context.arguments.all_of(site, position, loaded.native is not None)
        if loaded.native is None:
            return CallKind.PYTHON, 0, arguments
        return CallKind.NATIVE, loaded.native, arguments


def _with_context(module: LoadedModule, site: CallSite, shapes: Shapes) -> LoadedModule:
    """Tell a standard module where the pieces lie of its array, and whether other calls wait for it."""
    function = module.callable
    taken = inspect.signature(function).parameters if function is not None else ()
    if function is not None and "pieces" in taken:
        function = functools.partial(function, pieces=shapes.layout(site))
    if function is not None and "tells" in taken:
        told = any(output.parameter.name == "done" for output in site.outputs)
        function = functools.partial(function, tells=told)
    return replace(module, callable=function)


def _is_text(argument: Argument) -> bool:
    """Whether an argument is a string that is not constant."""
    return argument.kind is ArgumentKind.TEXT and argument.tag is not None


_DISTRIBUTED: Mapping[str, Callable[[LoweringContext, CallSite, Position], list[Lowered]]] = {
    "scatter": lower_scatter,
    "gather": lower_gather,
    "transpose": lower_redistribution,
    "redistribute": lower_redistribution,
    "reshape": lower_redistribution,
    "resize": lower_redistribution,
    "exchange": lower_exchange,
    "shift": lower_shift,
}
"""Operations in which pieces go from partition to partition."""
