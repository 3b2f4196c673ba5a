"""Projection: what one rank has to do, written down as a plan.

Every rank walks the whole program's control flow as far as it takes part in it, executes its own call
sites, and expects what others define for it: an endpoint projection, as known from choreographic
programming (Carbone and Montesi, "Deadlock-freedom-by-design", POPL 2013). `CallLowering` lowers
call sites, `pse.program` says who reads what. A rejected design is a central scheduler: with replicated
control flow nobody sends control messages at all.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from pse._abi.plan import NO_LOAD, ArgumentRow, CountingRow, FiberRow, InstructionRow, LoopRow, Operation
from pse.errors import ProgramError
from pse.language.check import Assign, CallSite, For, If, ModuleReference, Parallel, Swap, While
from pse.language.diagnostics import Span
from pse.language.types import Apply, Binary, Element, Expression, Name, Number, Unary, evaluate
from pse.modules import LoadedModule, ModuleError, set_services
from pse.program import Walk
from pse.records import dataclass
from pse.runtime._sequencer import Plan, Sequencer, messaging_services
from pse.runtime.plan._call_lowering import CallLowering
from pse.runtime.plan._communicators import Communicator
from pse.runtime.plan._edges import Edge, Role, edge_of, inflight_loops, is_entry, is_own
from pse.runtime.plan._fiber_lowering import (
    Run,
    lower_combinations,
    refuse_shared_outputs,
    released_by,
    sites_of,
    split_into_runs,
)
from pse.runtime.plan._iteration_completion import IterationCompletion
from pse.runtime.plan._job import Job
from pse.runtime.plan._lowered import Assignment, Drop, Exchange
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._plan_builder import PlanBuilder
from pse.runtime.plan._slots import live_slot
from pse.trace.format import NONE


@dataclass(frozen=True)
class Projection:
    """A rank's plan, and the modules that Python calls for it by call site."""

    plan: Plan
    who: str  # this rank's thread, processor, number and host, for people
    modules: Mapping[int, LoadedModule]
    sites: Mapping[int, CallSite]
    places: Sequence[Span | None]  # of every instruction, in the program
    arguments: Sequence[tuple[int, int, int]]  # kind, slot and expression of every argument
    walk: Walk
    remote: bool  # whether this rank has peers that it reaches through MPI
    communicators: Mapping[int, Communicator]  # of modules that take one, by call site
    slots: Mapping[tuple[str, int | None], int]  # by tag, and partition where each has a value of its own
    dynamic: frozenset[str] = frozenset()  # tags of which modules decide how many rows they have


@dataclass(frozen=True)
class Incarnation:
    """What a rank runs between two migrations: the job with its placements, its plan, and its sequencer."""

    job: Job
    projection: Projection
    sequencer: Sequencer


def round_counter(loop: For | While, step: int) -> str:
    """Name the hidden slot in which a loop that isn't `inflight` counts its rounds."""
    return f"%count{step}" if isinstance(loop, For) else f"%rounds{step}"


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
    set_services(messaging_services())
    return _Projector(job, rank, load, communicators or {}).run()


class _Projector:
    """One rank's plan under construction: it follows the program's control flow."""

    def __init__(
        self,
        job: Job,
        rank: int,
        load: Callable[[ModuleReference], LoadedModule],
        communicators: Mapping[int, Communicator],
    ) -> None:
        self.job, self.rank, self.communicators = job, rank, communicators
        self.live, self.walk = job.liveness, job.liveness.walk
        self.calls = CallLowering(job, rank, load, communicators)
        self.context = self.calls.context
        self.key, self.processor = self.context.key, self.context.processor
        self.position = self.context.position
        self.builder = PlanBuilder(self.position)
        self.tables, self.slots = self.builder.tables, self.builder.slots
        self.loops = inflight_loops(self.walk)

    def run(self) -> Projection:
        """Lower the whole program."""
        for name, value in self.job.live.items():
            self._assign(live_slot(name), Number(value), self.position)
        self._block(0, self.position)
        self.builder.emit(Operation.END)
        self.tables.extend(InstructionRow, self.builder.code)
        self._forward()
        for step in self.loops:
            self._count(step)
        remote = [self.job.is_remote(self.rank, peer) for peer in range(len(self.job.nodes))]
        arguments = [(row.kind, row.slot, row.expression) for row in self.tables.rows[ArgumentRow]]
        who = f"{self.live.placement.describe(self.rank)}, rank {self.rank}, host {socket.gethostname()}"
        return Projection(
            self._plan(remote),
            who,
            self.calls.modules,
            {site.id: site for site in self.walk.sites},
            self.builder.spans,
            arguments,
            self.walk,
            any(remote),
            self.communicators,
            self.slots.numbers,
            self.context.shapes.dynamic,
        )

    def _plan(self, remote: Sequence[bool]) -> Plan:
        numbers = {
            "rank": self.rank,
            "ranks": len(self.job.nodes),
            "partition": NONE if self.processor is None else self.processor,
            "slots": len(self.slots.numbers),
            "loops_count": len(self.loops),
            "loads_count": sum(map(len, self.job.placements.values())) if self.job.balance else 0,
            "local_limit": self.job.local_limit,
            "shared": self.job.shared_memory,
            "has_remote": any(remote),
        }
        numbered = list(self.job.edges.numbered())
        sites = [edge.site for edge, _ in numbered]
        depths = [self._depth(edge) for edge, _ in numbered]
        return self.tables.plan(numbers, sites, depths, remote, self.job.ranks_of(self.key))

    def _forward(self) -> None:
        """Note what this rank passes on to others as it comes."""
        exits = chain(*self.live.exits.values())
        edges = [edge for site in self.walk.sites for edge in self.context.values[site.id]]
        for edge in chain(edges, map(edge_of, exits)):
            number, site = self.job.edges.number(edge), self.walk.sites[edge.site]
            self.tables.forwards[number] = self.context.handovers.passed_on(site, edge)
            self.tables.credits[number] = self.context.handovers.credits(site, edge)

    def _depth(self, edge: Edge) -> int:
        """Places in this rank's queue for an edge, counted in arrays; 0 where nothing bounds it."""
        array = self.context.tag_type(edge.tag)
        if edge.role not in (Role.VALUE, Role.EXIT) or array.scalar:
            return 0
        pieces = self.job.pieces(array) if self.key.region == "root" and array.distribution.distributed else 1
        return pieces * self.job.depths(self.key.label)

    def _drop(self, tags: frozenset[str], position: Position) -> None:
        """Append that tags are not needed any more."""
        self.builder.append(
            Drop(tag, lane) for tag in sorted(tags) for lane in position.lanes(self.context.tag_type(tag))
        )

    def _block(self, number: int, position: Position) -> None:
        """Lower the statements of a block that concern this rank."""
        self._drop(self.live.drops_at_entry(number, self.key), position)
        steps = [step for step in self.walk.blocks[number].steps if self._concerns(step)]
        for item in steps if position.spread is None else split_into_runs(self.context, steps):
            if isinstance(item, Run):
                self._spread(item, position)
            else:
                self._statement(item, position)

    def _concerns(self, step: int) -> bool:
        """Whether this rank executes some of a statement, or gets something where it ends."""
        handed = self.live.exits.get(step, ())
        return self.live.participates(self.key, step) or any(self.key in e.readers for e in handed)

    def _statement(self, step: int, position: Position) -> None:
        """Lower one statement, and what is handed over where it ends."""
        self.builder.span = self.walk.steps[step].statement.span
        if self.live.participates(self.key, step):
            self._inner(step, position)
        for handed in self.live.exits.get(step, ()):
            self.builder.span = self.walk.steps[step].statement.span
            self.builder.append(self.calls.at_exit(handed, position))

    def _inner(self, step: int, position: Position) -> None:
        match self.walk.steps[step].statement:
            case CallSite() as site:
                self._call(site, position)
            case Assign() as assign:
                self.builder.append([Assignment(assign.tag, position.partition, self._assigned(assign))])
                self._drop(self.live.last_uses(step, self.key) - {assign.tag}, position)
            case Swap(left, right):
                lanes = position.lanes(self.context.tag_type(left))
                self.builder.append(Exchange(left, right, lane) for lane in lanes)
            case If() as branch:
                self._branch(step, branch, position)
            case While() as loop:
                self._while(step, loop, position)
            case For() as loop:
                self._for(step, loop, position) if loop.inflight is None else self._fork(step, loop, position)
            case Parallel() as parallel:
                self._parallel(step, parallel)

    def _call(self, site: CallSite, position: Position) -> None:
        with located(site):
            self.builder.append(self.calls.lower(site, position))

    def _assigned(self, assign: Assign) -> Expression:
        """Give a tag's new value; an integer that a real tag gets is real from then on."""
        real = self.context.tag_type(assign.tag).element in (Element.F32, Element.F64)
        return Apply("f64", (assign.value,)) if real else assign.value

    def _parallel(self, step: int, parallel: Parallel) -> None:
        """Lower a region: in line, or spread over the partitions of this rank."""
        in_line = self.processor is None or self.job.is_plain(parallel.partition)
        position = self.position.at(self.processor) if in_line else self.position.over(parallel.partition)
        self._block(self.walk.steps[step].blocks[0], position)

    def _spread(self, run: Run, position: Position) -> None:
        """Lower a run of calls as fibers, one for each partition of this rank."""
        sites = sites_of(self.context, run)
        for site in sites:
            refuse_shared_outputs(self.context, site, str(position.spread))
        spread, jump = self.builder.emit(Operation.SPREAD), self.builder.emit(Operation.JUMP)
        fibers = [self._fiber(run, position, number) for number in position.partitions]
        for combination in lower_combinations(self.context, run, position):
            fibers.append(FiberRow(len(self.builder.code), combination.partition, NO_LOAD))
            self.builder.append(combination.lowered)
            self.builder.emit(Operation.END)
        self.builder.set_operands(spread, *self.tables.extend(FiberRow, fibers))
        self.builder.set_target(jump)
        # Not before: a call may read what it reduces into.
        for site in sites:
            self.builder.append(self.calls.expect_shared(site))
        for tags in released_by(self.context, run):
            self._drop(tags, position)

    def _fiber(self, run: Run, position: Position, partition: int) -> FiberRow:
        """Lower one partition's way through a run."""
        start = len(self.builder.code)
        for step in run.steps:
            self._statement(step, position.at(partition, fiber=True))
        self.builder.emit(Operation.END)
        return FiberRow(start, partition, self.job.load_of(str(position.spread), partition))

    def _branch(self, step: int, branch: If, position: Position) -> None:
        """Lower an `if`."""
        then, otherwise = self.walk.steps[step].blocks
        skip = self._jump_unless(branch.condition, position)
        self._drop(self.live.drops_at_header(step, self.key), position)
        self._block(then, position)
        end = self.builder.emit(Operation.JUMP)
        self.builder.set_target(skip)
        self._drop(self.live.drops_at_header(step, self.key), position)
        self._block(otherwise, position)
        self.builder.set_target(end)

    def _jump_unless(self, condition: Expression, position: Position) -> int:
        """Append a jump that is taken unless a condition holds; its target is set later."""
        value = self.builder.expression(condition, position.partition)
        return self.builder.emit(Operation.JUMP_UNLESS, 0, value)

    def _assign(self, tag: str, value: Expression, position: Position) -> None:
        self.builder.append([Assignment(tag, position.partition, value)])

    def _while(self, step: int, loop: While, position: Position) -> None:
        """Lower a `while`, which counts its rounds."""
        rounds, limit = round_counter(loop, step), f"%limit{step}"
        self.builder.append([Assignment(rounds, position.partition, Number(0), folded=True)])
        self._assign(limit, loop.limit, position)
        within = Binary("<", Name(rounds), Name(limit))
        self._repeat(step, loop, Binary("and", loop.condition, within), position)

    def _for(self, step: int, loop: For, position: Position) -> None:
        """Lower a `for`; it counts in a hidden slot: the body may release the loop's counter early."""
        count, upper = round_counter(loop, step), f"%upper{step}"
        self._assign(count, loop.lower, position)
        self._assign(upper, loop.upper, position)
        before = "<" if self._stride(loop) > 0 else ">"
        self._repeat(step, loop, Binary(before, Name(count), Name(upper)), position)

    def _stride(self, loop: For | While) -> int:
        """Give by how much a loop counts; the checker has seen that it is known before the run."""
        tree = loop.step if isinstance(loop, For) else None
        return 1 if tree is None else int(str(evaluate(tree, self.job.environment)))

    def _repeat(self, step: int, loop: For | While, condition: Expression, position: Position) -> None:
        """Lower a loop that runs while the condition holds, and until a `break`."""
        count = round_counter(loop, step)
        self._drop(self.live.drops_at_header(step, self.key), position)
        head = len(self.builder.code)
        self._pause(step)
        if loop.stop is not None:
            condition = Binary("and", Unary("not", Name(loop.stop)), condition)
        leave = self._jump_unless(condition, position)
        if isinstance(loop, For):
            self._assign(loop.counter, Name(count), position)
        self._block(self.walk.steps[step].blocks[0], position)
        self._assign(count, _stepped(count, self._stride(loop)), position)
        self.builder.emit(Operation.JUMP, head)
        self.builder.set_target(leave)
        self._drop(self.live.drops_at_exit(step, self.key), position)

    def _pause(self, step: int) -> None:
        """Append a pause if this is a loop of the program itself, which all ranks follow then."""
        if self.job.pauses and is_own(self.walk, step):
            self.builder.emit(Operation.PAUSE, step, is_entry(self.walk, step))

    def _fork(self, step: int, loop: For, position: Position) -> None:
        """Lower an `inflight` loop: its body is code of its own, run by a context for each iteration."""
        assert loop.inflight is not None
        trees = (loop.lower, loop.upper, loop.inflight)
        lower, upper, inflight = (self.builder.expression(tree, position.partition) for tree in trees)
        self._pause(step)
        counter, body = self.slots.of(loop.counter, position.partition), len(self.builder.code) + 2
        row = LoopRow(
            self.loops[step], counter, lower, upper, inflight, body, self._stride(loop), self._is_nested(step)
        )
        self.builder.emit(Operation.FORK, self.tables.add(row))
        skip = self.builder.emit(Operation.JUMP)
        self._block(self.walk.steps[step].blocks[0], position)
        self.builder.emit(Operation.END)
        self.builder.set_target(skip)
        self._drop(
            self.live.drops_at_header(step, self.key) | self.live.drops_at_exit(step, self.key), position
        )

    def _count(self, step: int) -> None:
        """Add how this rank and the others know how far they are in an `inflight` loop."""
        runs = self.live.participates(self.key, step) and not self._is_nested(step)
        found = self.job.iteration_completion(step, self.rank) if runs else IterationCompletion()
        lists = (found.watched, found.counted, found.told, found.relayed)
        first = len(self.tables.participants)
        self.tables.participants.extend(chain(*lists))
        watched, counted, told, relayed = map(len, lists)
        self.tables.add(CountingRow(first, watched, counted, told, relayed, found.speaker, found.top))

    def _is_nested(self, step: int) -> bool:
        return any(around in self.loops for around in self.walk.ancestors(step))


def _stepped(count: str, stride: int) -> Expression:
    """Count on; a count that would leave 64 bits stops at their end, where no round is left."""
    if abs(stride) == 1:
        return Binary("+", Name(count), Number(stride))
    nearer, end = ("min", (1 << 63) - 1) if stride > 0 else ("max", -(1 << 63))
    return Binary("+", Apply(nearer, (Name(count), Number(end - stride))), Number(stride))


@contextlib.contextmanager
def located(site: CallSite) -> Iterator[None]:
    """Let errors say where a call site is."""
    try:
        yield
    except (ProgramError, ModuleError) as error:
        place = str(site.span)
        error.message = error.message if error.message.startswith(place) else f"{place}: {error.message}"
        raise
