"""Projection: what one rank has to do, written down as a plan.

Every rank walks the whole program's control flow as far as it takes part in it, executes its own call
sites, and expects what others define for it: an endpoint projection, as known from choreographic
programming (Carbone and Montesi, "Deadlock-freedom-by-design", POPL 2013). `calls` lowers call sites,
`graph` says who reads what. A rejected design is a central scheduler: with replicated control flow nobody
sends control messages at all.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pse.language.check import Assign, CallSite, For, If, ModuleReference, Parallel, Swap, While
from pse.language.diagnostics import Span
from pse.language.types import Apply, Binary, Element, Expression, Name, Number
from pse.modules import LoadedModule, set_services
from pse.runtime._sequencer import Plan, mail_services
from pse.runtime.plan._call_lowering import CallLowering
from pse.runtime.plan._communicators import Communicator
from pse.runtime.plan._edges import (
    Edge,
    Role,
    edge_of,
    inflight_loops,
    is_entry,
    is_own,
)
from pse.runtime.plan._fiber_lowering import Spreading
from pse.runtime.plan._iteration_completion import Counting
from pse.runtime.plan._job import Job
from pse.runtime.plan._position import Here
from pse.runtime.plan._slots import Slots
from pse.runtime.plan._tables import Operation, Tables


@dataclass(frozen=True)
class Projection:
    """A rank's plan, and the modules that Python calls for it by call site."""

    plan: Plan
    who: str  # this rank's thread, processor, number and host, for people
    modules: Mapping[int, LoadedModule]
    sites: Mapping[int, CallSite]
    places: Sequence[Span | None]  # of every instruction, in the program
    arguments: Sequence[tuple[int, int, int]]  # kind, slot and expression of every argument
    remote: bool  # whether this rank has peers that it reaches through MPI
    communicators: Mapping[int, Communicator]  # of modules that take one, by call site
    slots: Mapping[tuple[str, int | None], int]  # by tag, and partition where each has a value of its own


def project(
    job: Job,
    rank: int,
    load: Callable[[ModuleReference], LoadedModule],
    communicators: Mapping[int, Communicator] | None = None,
) -> Projection:
    """Write the plan of one rank; loads (and builds) the modules that it calls.

    Without `communicators` (by call site), a plan that needs some can't be run.

    Raises
    ------
    ProgramError
        If the program uses what this version doesn't run: it says what, where, and what to do.
    """
    set_services(mail_services())
    return Projector(job, rank, load, communicators or {}).run()


class Projector:
    """One rank's projection under construction."""

    def __init__(
        self,
        job: Job,
        rank: int,
        load: Callable[[ModuleReference], LoadedModule],
        communicators: Mapping[int, Communicator],
    ) -> None:
        self.job, self.rank, self.communicators = job, rank, communicators
        self.live, self.walk = job.liveness, job.liveness.walk
        self.here = Here(job, rank)
        self.key, self.processor = self.here.key, self.here.processor
        self.tables, self.slots = Tables(), Slots(self.here)
        self.code: list[list[int]] = []
        self.place: Span | None = None
        self.places: list[Span | None] = []
        self.loops = inflight_loops(self.walk)
        self.calls = CallLowering(job, self.here, self.tables, self.slots, load, self.emit, communicators)
        self.spreading: Spreading | None = None  # inside PARALLEL over virtual partitions

    def run(self) -> Projection:
        """Write everything down."""
        self.block(0)
        self.emit(Operation.END)
        for row in self.code:
            self.tables.add("instructions", *row)
        remote = [self.job.is_remote(self.rank, peer) for peer in range(len(self.job.nodes))]
        numbers = {
            "rank": self.rank,
            "ranks": len(self.job.nodes),
            "partition": 0xFFFFFFFF if self.processor is None else self.processor,
            "slots": len(self.slots.numbers),
            "loops": len(self.loops),
            "loads": sum(map(len, self.job.placements.values())) if self.job.balance else 0,
            "local_limit": self.job.local_limit,
            "shared": self.job.shared_memory,
            "has_remote": any(remote),
        }
        self.forward()
        for step in self.loops:
            self._count(step)
        numbered = list(self.job.edges.numbered())
        sites = [edge.site for edge, _ in numbered]
        depths = [self._depth(edge) for edge, _ in numbered]
        ensemble = self.job.ranks_of(self.key)
        plan = self.tables.plan(numbers, sites, depths, remote, ensemble)
        sites_by_id = {site.id: site for site in self.walk.sites}
        arguments = [row[:3] for row in self.tables.rows["arguments"]]
        who = f"{self.live.placement.describe(self.rank)}, rank {self.rank}, host {socket.gethostname()}"
        return Projection(
            plan,
            who,
            self.calls.modules,
            sites_by_id,
            self.places,
            arguments,
            any(remote),
            self.communicators,
            self.slots.numbers,
        )

    def forward(self) -> None:
        """Note what this rank passes on to others as it comes."""
        for site in self.walk.sites:
            for edge in self.calls.values(site):
                self._forward(site, edge)
        for handed in chain(*self.live.exits.values()):
            self._forward(self.walk.sites[handed.site], edge_of(handed))

    def _forward(self, site: CallSite, edge: Edge) -> None:
        number, handover = self.job.edges.number(edge), self.calls.handover
        self.tables.forwards[number] = handover.passed_on(site, edge)
        self.tables.credits[number] = handover.credits(site, edge)

    def _depth(self, edge: Edge) -> int:
        """Places in this rank's queue for an edge, counted in arrays; 0 where nothing bounds it."""
        array = self.job.program.tags[edge.tag].type
        if edge.role not in (Role.VALUE, Role.EXIT) or array.scalar:
            return 0
        pieces = self.job.pieces(array) if self.key.region == "root" and array.distribution.distributed else 1
        return pieces * self.job.depths(self.key.label)

    def emit(self, operation: Operation, a: int = 0, b: int = 0, c: int = 0) -> list[int]:
        """Append an instruction; returns it, so that a jump's target can be filled in."""
        self.code.append([operation, a, b, c])
        self.places.append(self.place)
        return self.code[-1]

    def drop(self, tags: frozenset[str]) -> None:
        """Let go of tags."""
        for tag in sorted(tags):
            for slot in self.each(tag):
                self.emit(Operation.DROP, slot)

    def each(self, tag: str) -> list[int]:
        """Give the slots that a tag has here: one, or those of the partitions at hand.

        A fiber leaves alone what the partitions of its rank share.
        """
        slots = []
        for lane in self.here.lanes(self.job.program.tags[tag].type):
            if lane is None and self.here.fiber:
                continue
            with self.here.at(lane if lane is not None else self.here.partition, fiber=self.here.fiber):
                slots.append(self.slots.of(tag))
        return slots

    def expression(self, tree: Expression) -> int:
        """Store a scalar expression."""
        return self.tables.expression(tree, self.slots.load)

    def assigned(self, assign: Assign) -> int:
        """Give the expression for a tag's new value; an integer that a real tag gets is real from then on."""
        real = self.job.program.tags[assign.tag].type.element in (Element.F32, Element.F64)
        return self.expression(Apply("f64", (assign.value,)) if real else assign.value)

    def block(self, number: int) -> None:
        """Write the statements of a block that concern this rank."""
        self.drop(self.live.drops_at_entry(number, self.key))
        steps = [step for step in self.walk.blocks[number].steps if self._concerns(step)]
        if self.spreading is not None:
            self.spreading.block(steps)
            return
        for step in steps:
            self.statement(step)

    def _concerns(self, step: int) -> bool:
        """Whether this rank executes some of a statement, or gets something where it ends."""
        handed = self.live.exits.get(step, ())
        return self.live.participates(self.key, step) or any(self.key in e.readers for e in handed)

    def statement(self, step: int) -> None:
        """Write one statement, and what is handed over where it ends."""
        self.place = self.walk.steps[step].statement.span
        if self.live.participates(self.key, step):
            self._inner(step)
        for handed in self.live.exits.get(step, ()):
            self.place = self.walk.steps[step].statement.span
            self.calls.at_exit(handed)

    def _inner(self, step: int) -> None:
        match self.walk.steps[step].statement:
            case CallSite() as site:
                self.calls.lower(site)
            case Assign() as assign:
                self.emit(Operation.ASSIGN, self.slots.of(assign.tag), self.assigned(assign))
                self.drop(self.live.last_uses(step, self.key) - {assign.tag})
            case Swap() as swap:
                for left, right in zip([*self.each(swap.left)], [*self.each(swap.right)], strict=True):
                    self.emit(Operation.SWAP, left, right)
            case If() as branch:
                self.branch(step, branch)
            case While() as loop:
                self.while_loop(step, loop)
            case For() as loop:
                self.for_loop(step, loop) if loop.inflight is None else self.fork(step, loop)
            case Parallel() as parallel:
                self.parallel(step, parallel)

    def parallel(self, step: int, parallel: Parallel) -> None:
        """Write a region: in line, or spread over the partitions of this rank."""
        body = self.walk.steps[step].blocks[0]
        if self.processor is None or self.job.is_plain(parallel.partition):
            with self.here.at(self.processor):
                self.block(body)
            return
        self.spreading = Spreading(self, parallel.partition)
        self.block(body)
        self.spreading = None

    def branch(self, step: int, branch: If) -> None:
        """Write an `if`."""
        then, otherwise = self.walk.steps[step].blocks
        skip = self.emit(Operation.JUMP_UNLESS, 0, self.expression(branch.condition))
        self.drop(self.live.drops_at_header(step, self.key))
        self.block(then)
        end = self.emit(Operation.JUMP)
        skip[1] = len(self.code)
        self.drop(self.live.drops_at_header(step, self.key))
        self.block(otherwise)
        end[1] = len(self.code)

    def while_loop(self, step: int, loop: While) -> None:
        """Write a `while`, which counts its rounds."""
        rounds, limit = f"%rounds{step}", f"%limit{step}"
        self.emit(Operation.ASSIGN, self.slots.of(rounds), self.tables.constant(0))
        self.emit(Operation.ASSIGN, self.slots.of(limit), self.expression(loop.limit))
        within = Binary("<", Name(rounds), Name(limit))
        self.repeat(step, Binary("and", loop.condition, within), rounds)

    def for_loop(self, step: int, loop: For) -> None:
        """Count in a slot of our own: the body may be done with the loop's counter before its end."""
        count, upper = f"%count{step}", f"%upper{step}"
        self.emit(Operation.ASSIGN, self.slots.of(count), self.expression(loop.lower))
        self.emit(Operation.ASSIGN, self.slots.of(upper), self.expression(loop.upper))
        self.repeat(step, Binary("<", Name(count), Name(upper)), count, loop.counter)

    def repeat(self, step: int, condition: Expression, count: str, counter: str | None = None) -> None:
        """Emit a loop that goes on while the condition holds; the body sees its count as `counter`."""
        self.drop(self.live.drops_at_header(step, self.key))
        head = len(self.code)
        self.pause(step)
        leave = self.emit(Operation.JUMP_UNLESS, 0, self.expression(condition))
        if counter is not None:
            self.emit(Operation.ASSIGN, self.slots.of(counter), self.expression(Name(count)))
        self.block(self.walk.steps[step].blocks[0])
        self.emit(
            Operation.ASSIGN, self.slots.of(count), self.expression(Binary("+", Name(count), Number(1)))
        )
        self.emit(Operation.JUMP, head)
        leave[1] = len(self.code)
        self.drop(self.live.drops_at_exit(step, self.key))

    def pause(self, step: int) -> None:
        """Emit a pause if this is a loop of the program itself, which all ranks follow then."""
        if self.job.pauses and is_own(self.walk, step):
            self.emit(Operation.PAUSE, step, is_entry(self.walk, step))

    def fork(self, step: int, loop: For) -> None:
        """Emit an inflight loop: its body is code of its own, run by a context for each iteration."""
        assert loop.inflight is not None
        bounds = [self.expression(tree) for tree in (loop.lower, loop.upper, loop.inflight)]
        self.pause(step)
        body = len(self.code) + 2
        row = (
            self.loops[step],
            self.slots.of(loop.counter),
            *bounds,
            body,
            self._nested(step),
        )
        self.emit(Operation.FORK, self.tables.add("loops", *row))
        skip = self.emit(Operation.JUMP)
        self.block(self.walk.steps[step].blocks[0])
        self.emit(Operation.END)
        skip[1] = len(self.code)
        self.drop(self.live.drops_at_header(step, self.key) | self.live.drops_at_exit(step, self.key))

    def _count(self, step: int) -> None:
        """Note how this rank and the others know how far they are in an inflight loop."""
        runs = self.live.participates(self.key, step) and not self._nested(step)
        found = self.job.counting(step, self.rank) if runs else Counting()
        lists = (found.watched, found.counted, found.told, found.relayed)
        first = len(self.tables.participants)
        self.tables.participants.extend(chain(*lists))
        self.tables.add("countings", first, *map(len, lists), found.speaker, found.top)

    def _nested(self, step: int) -> bool:
        return any(around in self.loops for around in self.walk.ancestors(step))
