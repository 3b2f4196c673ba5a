"""From a program and a trace of it to the operations of a run, with what each needs of others.

The walk goes through the program as the run did.  Bounds and conditions that parameters decide are worked
out; where data decided, the trace tells: the next call of each thread is in the loop's body, or it is not.
While walking, it is kept for every tag which operation made it and who read it since, as `graph.liveness`
does for the program as text.  A long loop is walked in part: rounds spread over all of it stand for the rest.

May touch: nothing.  Next rooms: `measured` has the durations, `simulation` lets the operations run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pse.advise.measured import Measured
from pse.advise.operations import Calls, Decision, Input, Kind, Loop, Node, Operation, Push, Unrolled
from pse.advise.sizes import exchanges, number, pieces, whole
from pse.advise.texts import Subject
from pse.graph import Walk, analyse
from pse.graph.walk import condition_names, entry_names, inouts_of, outputs_of, read_names
from pse.language.errors import EvaluationError
from pse.language.evaluation import evaluate
from pse.language.expressions import Expression, Value, names
from pse.language.resolved import Assign, CallSite, For, If, Parallel, ResolvedProgram, Swap, While
from pse.language.types import Element
from pse.trace import NONE, EventType

ROOT = -1
BUDGET = 2000
"""Calls that are simulated; longer runs are simulated in part."""
LEAST_ROUNDS = 8
"""Rounds of a loop that are simulated at least, if it has as many."""

Made = dict[int, tuple[int, ...]]
"""The operations that made a tag: one for each partition, or one at `ROOT`."""


@dataclass(frozen=True)
class Setting:
    """What is assumed of a run: its parameters, processors, and how much faster or slower call sites are."""

    environment: Mapping[str, Value]
    processors: int
    factors: Mapping[int, float] = field(default_factory=dict)


def unroll(subject: Subject, observed: Observed, setting: Setting) -> Unrolled:
    """Walk a program as a run of it did, in a setting that may be another one."""
    return _Unrolling(subject.program, subject.walk, observed, setting).run()


def observe(subject: Subject, measured: Measured) -> Observed:
    """Sort a trace's calls for walks."""
    return Observed(measured, {site.id for site in subject.walk.sites if subject.sends_mail(site)})


class Observed:
    """A trace's calls, by TPH, call site and partition; and their order on each thread, for decisions."""

    def __init__(self, measured: Measured, posting: set[int]) -> None:
        self.measured = measured
        self.cpu, self.rest = measured.split
        self.rest = self.rest + measured.parked(posting)
        self.engine = measured.engine
        self.processors = [measured.definitions.ranks[int(rank)].processor for rank in measured.calls["rank"]]
        calls = measured.calls
        self.procs = measured.processors
        self.partitions = np.where(calls["partition"] == NONE, ROOT, calls["partition"].astype(np.int64))
        seats = measured.definitions.ranks
        at_root = {rank.rank for rank in seats if rank.region == "root"}
        self.by_place: dict[tuple[int, int, int], list[int]] = {}
        self.sequences: dict[tuple[int, str], dict[int, list[int]]] = {}
        lowest = min((int(p) for p in self.partitions if p >= 0), default=0)
        order = np.argsort(calls["enter"], kind="stable")
        columns = (order, *(calls[name][order] for name in ("rank", "tph", "site")), self.partitions[order])
        for index, rank, tph, site, given in zip(*(column.tolist() for column in columns), strict=True):
            partition = ROOT if rank in at_root else given
            self.by_place.setdefault((tph, site, partition), []).append(index)
            if partition in (ROOT, lowest):
                thread = (min(partition, 0), seats[rank].thread)
                self.sequences.setdefault(thread, {}).setdefault(tph, []).append(site)
        self.first = int(calls["tph"].min())
        self.contexts = self._contexts()
        self.seen = len(calls)

    def _contexts(self) -> dict[tuple[int, int], list[int]]:
        """Contexts of each parent and loop, in the order of their beginning."""
        found: dict[tuple[int, int], list[int]] = {}
        known: set[int] = set()
        for rank in self.measured.trace.ranks:
            for event in self.measured.trace.select(rank, EventType.CONTEXT_BEGIN):
                if (tph := int(event["tph"])) not in known:
                    known.add(tph)
                    self.first = min(self.first, int(event["a"])) or self.first
                    found.setdefault((int(event["a"]), int(event["c"]) & 0xFFFFFFFF), []).append(tph)
        return {key: sorted(tphs) for key, tphs in found.items()}

    def has_partition(self, site: int) -> int:
        """How many partitions a call site had."""
        return 1 + max((p for _, s, p in self.by_place if s == site), default=0)


class _Unrolling:
    def __init__(self, program: ResolvedProgram, walk: Walk, observed: Observed, setting: Setting) -> None:
        self.program, self.walk, self.observed, self.setting = program, walk, observed, setting
        self.environment: dict[str, Value] = dict(setting.environment)
        self.operations: list[Operation] = []
        self.groups: list[int] = []
        self.places: dict[int, int] = {}
        self.made: dict[str, Made] = {}
        self.readers: dict[tuple[str, int], list[int]] = {}
        self.counts: dict[tuple[int, int, int], int] = {}
        self.pointers: dict[tuple[int, str, int], int] = {}
        self.contexts: dict[tuple[int, int], int] = {}
        self.tph = observed.first
        self.depth = 0
        self.dry = False
        self.thinning = max(1.0, observed.seen / BUDGET)
        loops = [
            s.id for s in walk.steps if isinstance(s.statement, For) and s.statement.inflight is not None
        ]
        self.loop_numbers = {step: index for index, step in enumerate(loops)}
        self.threads = {site.id: site.thread for site in observed.measured.definitions.sites}
        self.old_counts = {site.id: observed.has_partition(site.id) for site in walk.sites if site.parallel}
        self.owners: dict[tuple[int, int], int | None] = {}
        self.pushed = self._pushed()
        self.sites_in: dict[int, frozenset[int]] = self._sites_in()

    def run(self) -> Unrolled:
        return Unrolled(self.operations, self._block(0), self.groups, self.places)

    def _sites_in(self) -> dict[int, frozenset[int]]:
        """The call sites in every block."""
        found: dict[int, set[int]] = {block.id: set() for block in self.walk.blocks}
        for step in self.walk.steps:
            if isinstance(step.statement, CallSite):
                block: int | None = step.block
                while block is not None:
                    found[block].add(step.statement.id)
                    owner = self.walk.blocks[block].owner
                    block = None if owner is None else self.walk.steps[owner].block
        return {block: frozenset(sites) for block, sites in found.items()}

    # Statements.

    def _block(self, block: int) -> list[Node]:
        nodes: list[Node] = []
        run: list[CallSite] = []
        for step in self.walk.blocks[block].steps:
            statement = self.walk.steps[step].statement
            if isinstance(statement, CallSite) and statement.parallel:
                run.append(statement)
                if any(output.reduction for output in statement.outputs):
                    nodes += self._calls(run)
                continue
            nodes += self._calls(run)
            nodes += self._statement(step)
        return nodes + self._calls(run)

    def _statement(self, step: int) -> list[Node]:
        blocks = self.walk.steps[step].blocks
        match self.walk.steps[step].statement:
            case CallSite() as site:
                return self._calls([site])
            case Assign(tag=tag, value=value):
                self._assign(tag, value)
            case Swap(left=left, right=right):
                self._swap(left, right)
            case Parallel():
                return self._block(blocks[0])
            case If() as branch:
                decision = self._decision(
                    read_names(branch), self.sites_in[blocks[0]] | self.sites_in[blocks[1]]
                )
                chosen = blocks[0] if self._holds(branch.condition, blocks[0]) else blocks[1]
                return [*decision, *self._block(chosen)]
            case For() | While() as loop:
                return self._loop(step, loop, blocks[0])
        return []

    def _assign(self, tag: str, value: Expression) -> None:
        sources = [s for name in sorted(names(value)) for s in self._makers(name, ROOT)]
        self.made[tag] = {ROOT: tuple(dict.fromkeys(sources))}
        self.environment.pop(tag, None)
        try:
            self.environment[tag] = evaluate(value, self.environment)
        except EvaluationError:
            return

    def _swap(self, left: str, right: str) -> None:
        self.made[left], self.made[right] = self.made.get(right, {}), self.made.get(left, {})
        for partition in {p for name, p in self.readers if name in (left, right)}:
            one, other = (left, partition), (right, partition)
            self.readers[one], self.readers[other] = self.readers.get(other, []), self.readers.get(one, [])

    def _decision(self, read: frozenset[str], sites: frozenset[int]) -> list[Node]:
        """Everybody who goes on by it needs what a bound or condition reads."""
        inputs = [Input(s, None, 0.0) for name in sorted(read) for s in self._makers(name, ROOT)]
        return [Decision(inputs, sites)] if inputs and not self.dry else []

    # Decisions.

    def _holds(self, condition: Expression, block: int) -> bool:
        try:
            return bool(evaluate(condition, self.environment))
        except EvaluationError:
            return self._next_is_in(block, all)

    def _next_is_in(self, block: int, enough: object = any) -> bool:
        """Whether the threads that have something in a block were about to do that, as the trace has it."""
        sites = self.sites_in[block]
        votes = []
        for (region, label), by_tph in self.observed.sequences.items():
            concerned = {
                s.id for s in self.walk.sites if s.id in sites and self._thread(s) == (region, label)
            }
            if concerned:
                sequence = by_tph.get(self.tph, [])
                place = self.pointers.get((region, label, self.tph), 0)
                votes.append(place < len(sequence) and sequence[place] in concerned)
        return bool(votes) and (all(votes) if enough is all else any(votes))

    def _thread(self, site: CallSite) -> tuple[int, str]:
        return (0 if site.parallel else ROOT, self.threads.get(site.id, ""))

    # Loops.

    def _loop(self, step: int, loop: For | While, block: int) -> list[Node]:
        once = entry_names(loop) - self.environment.keys()
        nodes = self._decision(once, self.sites_in[block])
        inflight = number(loop.inflight, self.environment) if isinstance(loop, For) else None
        node = Loop(step, [], 0, inflight, self.sites_in[block])
        before = dict(self.made) if inflight else None
        self.depth += 1
        thinning = self.thinning
        for _ in self._rounds(step, loop, block, node):
            condition = condition_names(loop) - self.environment.keys()
            head = self._decision(condition, node.sites)
            body = self._block(block)
            if not self.dry:
                node.rounds.append(head + body)
        self.thinning = thinning
        self.depth -= 1
        if isinstance(loop, For):
            self.environment.pop(loop.counter, None)
        if before is not None:
            self.made = before
        return [*nodes, node] if node.rounds and not self.dry else nodes

    def _rounds(self, step: int, loop: For | While, block: int, node: Loop) -> Iterator[None]:
        """Bring the walk into each round that is walked."""
        bounds = self._bounds(loop)
        if isinstance(loop, For) and loop.inflight is not None:
            yield from self._in_flight(step, loop, node, bounds)
        elif bounds is None and (self.depth > 1 or not self._is_plain(block)):
            yield from self._by_the_trace(loop, block, node)
        elif bounds is None or self._is_plain(block):
            yield from self._sampled(loop, block, node, bounds)
        else:
            yield from self._counted(loop, node, bounds)

    def _bounds(self, loop: For | While) -> range | None:
        if isinstance(loop, While):
            return None
        lower, upper = number(loop.lower, self.environment), number(loop.upper, self.environment)
        return None if lower is None or upper is None else range(lower, upper)

    def _kept(self, total: int) -> int:
        """How many of so many rounds are walked; what is inside has to be thinned out less then."""
        kept = min(total, max(LEAST_ROUNDS, round(total / self.thinning)))
        self.thinning = max(1.0, self.thinning * kept / max(total, 1))
        return kept

    def _is_plain(self, block: int) -> bool:
        """Whether every round makes the same calls: no data decides anything in it."""
        waiting = [block]
        while waiting:
            for step in self.walk.blocks[waiting.pop()].steps:
                statement = self.walk.steps[step].statement
                if isinstance(statement, If | While) or (isinstance(statement, For) and statement.inflight):
                    return False
                waiting += self.walk.steps[step].blocks
        return True

    def _in_flight(self, step: int, loop: For, node: Loop, bounds: range | None) -> Iterator[None]:
        outer, key = self.tph, (self.tph, self.loop_numbers[step])
        there = self.observed.contexts.get(key, [])
        first = self.contexts.get(key, 0)
        node.total = len(bounds) if bounds is not None else len(there) - first
        self.contexts[key] = first + node.total
        kept = self._kept(node.total)
        made = dict(self.made)
        for index in _spread(node.total, kept):
            self.made = dict(made)
            self.tph = there[(first + index) % len(there)] if there else outer
            if bounds is not None:
                self.environment[loop.counter] = bounds[index]
            yield
        self.tph = outer

    def _by_the_trace(self, loop: For | While, block: int, node: Loop) -> Iterator[None]:
        """Go on while the trace does: no more rounds than it has calls."""
        before = self.dry
        for index in range(self.observed.seen + 1):
            if not self._next_is_in(block):
                break
            self.dry = before or index >= max(LEAST_ROUNDS, BUDGET // 20)
            node.total = index + 1
            yield
        self.dry = before

    def _counted(self, loop: For | While, node: Loop, bounds: range) -> Iterator[None]:
        node.total, before = len(bounds), self.dry
        kept = self._kept(node.total)
        for index, value in enumerate(bounds):
            self.dry = before or index >= kept
            if isinstance(loop, For):
                self.environment[loop.counter] = value
            yield
        self.dry = before

    def _sampled(self, loop: For | While, block: int, node: Loop, bounds: range | None) -> Iterator[None]:
        """Rounds spread over a loop whose rounds all make the same calls: the first tells how many."""
        if bounds is not None and not bounds:
            return
        if bounds is None and not self._next_is_in(block):
            return
        counts, pointers = dict(self.counts), dict(self.pointers)
        if isinstance(loop, For) and bounds is not None:
            self.environment[loop.counter] = bounds[0]
        yield
        each = {key: value - counts.get(key, 0) for key, value in self.counts.items()}
        each = {key: value for key, value in each.items() if value}
        steps = {key: value - pointers.get(key, 0) for key, value in self.pointers.items()}
        node.total = len(bounds) if bounds is not None else self._rounds_seen(counts, each)
        for index in _spread(node.total, self._kept(node.total))[1:]:
            self.counts.update({key: counts.get(key, 0) + index * value for key, value in each.items()})
            if isinstance(loop, For) and bounds is not None:
                self.environment[loop.counter] = bounds[index]
            yield
        self.counts.update({key: counts.get(key, 0) + node.total * value for key, value in each.items()})
        self.pointers = {k: pointers.get(k, 0) + node.total * v for k, v in steps.items()}

    def _rounds_seen(
        self, counts: Mapping[tuple[int, int, int], int], each: Mapping[tuple[int, int, int], int]
    ) -> int:
        """How many rounds of a loop that stands in no other the trace has calls for."""
        found = (
            (len(self.observed.by_place.get(key, ())) - counts.get(key, 0)) // value
            for key, value in each.items()
            if key in self.observed.by_place
        )
        return max(1, max(found, default=1))

    # Calls.

    def _calls(self, run: list[CallSite]) -> list[Node]:
        """Make the operations of calls in a row; they are done with then."""
        strands: dict[int, list[int]] = {}
        for site in run:
            self._call(site, strands)
        run.clear()
        return [Calls(list(strands.values()))] if strands else []

    def _call(self, site: CallSite, strands: dict[int, list[int]]) -> None:
        places = range(self._count(site)) if site.parallel else (ROOT,)
        durations = [self._duration(site, place, len(places)) for place in places]
        if self.dry:
            return
        self.places[site.id] = len(places)
        made = [
            self._new(Kind.CALL, site, place, len(places), *d)
            for place, d in zip(places, durations, strict=True)
        ]
        if _is_collective(site) and len(made) > 1:
            self._meet(made)
        if exchanges(site):
            self._exchange(site, made, strands)
        for place, operation in zip(places, made, strict=True):
            self._read(site, place, len(places), operation)
            strands.setdefault(place, []).append(operation.number)
        for place, operation in zip(places, made, strict=True):
            self._change(site, place, operation)
            operation.pushes = self._pushes(site, len(places)) if site.parallel else []
        self._define(site, places, made)

    def _pushes(self, site: CallSite, count: int) -> list[Push]:
        """What the root may read is handed to it whenever it is made, whether it reads it or not."""
        return [
            Push(readers, f"{site.id} {tag}", whole(self.program.tags[tag].type, self.environment) / count)
            for tag, readers in self.pushed.get(site.id, ())
        ]

    def _pushed(self) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
        """Find the arrays made in PARALLEL that root threads may read, and the call sites that do."""
        live = analyse(self.program)
        at_root = [site for site in self.walk.sites if not site.parallel]
        found: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        for site in self.walk.sites:
            for tag in sorted(outputs_of(site) | inouts_of(site)) if site.parallel else ():
                if self.program.tags[tag].type.scalar:
                    continue
                if any(key.region == "root" for key in live.readers(site, tag)):
                    readers = tuple(other.id for other in at_root if self._names_of(tag) & read_names(other))
                    found.setdefault(site.id, []).append((tag, readers))
        return found

    def _names_of(self, tag: str) -> set[str]:
        """The names under which a tag's array may be read: its own, and those it is swapped with."""
        known = {tag}
        swaps = [s.statement for s in self.walk.steps if isinstance(s.statement, Swap)]
        for _ in swaps:
            for swap in swaps:
                if known & {swap.left, swap.right}:
                    known |= {swap.left, swap.right}
        return known

    def _count(self, site: CallSite) -> int:
        value = self.environment.get(site.partition or "procs", self.setting.processors)
        return int(str(value))

    def _duration(self, site: CallSite, place: int, count: int) -> tuple[float, float]:
        """CPU seconds and others of the next execution; pieces of another size take in proportion."""
        key = (self.tph, site.id, place)
        occurrence = self.counts[key] = self.counts.get(key, 0) + 1
        if place <= 0:
            self._pass_by(site)
        then = self.old_counts.get(site.id, 1) if place != ROOT else 1
        old = place * then // count if place != ROOT else ROOT
        there = self.observed.by_place.get((self.tph, site.id, old))
        if not there:
            return 0.0, 0.0
        index = there[(occurrence - 1) % len(there)]
        factor = self.setting.factors.get(site.id, 1.0) * (then / count if place != ROOT else 1.0)
        self.owners[site.id, place] = self._owner(site, place, count, index)
        cpu = float(self.observed.cpu[index]) * factor + float(self.observed.engine[index])
        return cpu, float(self.observed.rest[index]) * factor

    def _owner(self, site: CallSite, place: int, count: int, index: int) -> int | None:
        """Where a partition is: where it was, or in blocks if there are other numbers of them now."""
        processor = self.observed.processors[index]
        if place == ROOT or (
            count == self.old_counts[site.id] and self.setting.processors == self.observed.procs
        ):
            return processor
        return place * self.setting.processors // count

    def _pass_by(self, site: CallSite) -> None:
        region, label = self._thread(site)
        key = (region, label, self.tph)
        sequence = self.observed.sequences.get((region, label), {}).get(self.tph, [])
        place = self.pointers.get(key, 0)
        if place < len(sequence) and sequence[place] == site.id:
            self.pointers[key] = place + 1

    def _new(
        self, kind: Kind, site: CallSite, place: int, count: int, cpu: float = 0.0, rest: float = 0.0
    ) -> Operation:
        blocks = None if place == ROOT else place * self.setting.processors // count
        processor = self.owners.get((site.id, place), blocks)
        operation = Operation(len(self.operations), kind, site.id, processor, cpu, rest)
        self.operations.append(operation)
        return operation

    def _meet(self, made: Sequence[Operation]) -> None:
        """Calls that meet: who waited least in there had the others there already."""
        least = min(operation.rest for operation in made)
        for operation in made:
            operation.group, operation.rest = len(self.groups), least
        self.groups.append(len(made))

    def _exchange(self, site: CallSite, made: Sequence[Operation], strands: dict[int, list[int]]) -> None:
        tag = next(argument.tag for argument in site.inputs if argument.tag)
        offers = []
        for place in range(len(made)):
            offer = self._new(Kind.OFFER, site, place, len(made))
            offer.inputs = self._inputs(tag, place, len(made))
            offers.append(offer)
            strands.setdefault(place, []).append(offer.number)
            if site.module.name == "exchange":
                self.readers.setdefault((tag, place), []).append(offer.number)
        for place, operation in enumerate(made):
            for other, size in pieces(site, self.program, place, len(made), self.environment):
                operation.inputs.append(Input(offers[other].number, None, size))
                if site.module.name not in ("exchange", "shift"):
                    self.readers.setdefault((tag, other), []).append(operation.number)

    def _read(self, site: CallSite, place: int, count: int, operation: Operation) -> None:
        for name in sorted(read_names(site)):
            if name not in self.made:
                continue
            operation.inputs += self._inputs(name, place, count)
            if not exchanges(site):
                self.readers.setdefault((name, place), []).append(operation.number)

    def _inputs(self, name: str, place: int, count: int) -> list[Input]:
        kind = self.program.tags[name].type
        sources = self._makers(name, place)
        if kind.scalar:
            return [Input(source, None, 0.0) for source in sources]
        parts = count if place != ROOT else max(len(sources), 1)
        size = whole(kind, self.environment) / (parts if kind.distribution.distributed else 1)
        return [Input(s, f"{self.operations[s].site} {name}", size) for s in sources]

    def _makers(self, name: str, place: int) -> list[int]:
        """Operations that made what a tag stands for, as a place sees it: its own piece, or all of it."""
        made = self.made.get(name, {})
        if place != ROOT:
            return list(made.get(place, made.get(ROOT, ())))
        return [source for sources in made.values() for source in sources]

    def _change(self, site: CallSite, place: int, operation: Operation) -> None:
        for tag in sorted(inouts_of(site)):
            readers = self.readers.pop((tag, place), [])
            operation.after += [reader for reader in readers if reader != operation.number]
            self.made.setdefault(tag, {})
            self.made[tag] = {**self.made[tag], place: (operation.number,)}

    def _define(self, site: CallSite, places: Sequence[int], made: Sequence[Operation]) -> None:
        targets = {output.reduction.target for output in site.outputs if output.reduction}
        for tag in outputs_of(site) - targets:
            self.made[tag] = {place: (op.number,) for place, op in zip(places, made, strict=True)}
            for place in places:
                self.readers.pop((tag, place), None)
        for target in targets:
            combined = self._new(Kind.COMBINE, site, 0, len(places))
            combined.inputs = [Input(operation.number, None, 0.0) for operation in made]
            self.made[target] = {ROOT: (combined.number,)}
        for tag in outputs_of(site) | inouts_of(site):
            self.environment.pop(tag, None)


def _is_collective(site: CallSite) -> bool:
    signature = site.module.signature
    return signature.collective or any(p.type.element is Element.COMM for p in signature.parameters)


def _spread(total: int, kept: int) -> list[int]:
    """Numbers of rounds, from the first to the last, evenly."""
    if kept <= 1:
        return list(range(min(total, kept)))
    return [round(index * (total - 1) / (kept - 1)) for index in range(kept)]
