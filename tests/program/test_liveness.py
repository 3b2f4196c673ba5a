"""Liveness against two independent references, on random structured programs.

`reference` answers the same question by reachability over an explicit control flow graph of (point, tag)
pairs; `Simulation` executes paths as the runtime would, reference by reference, and trusts nothing but the
doors of `Liveness`.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import networkx as nx
import pytest
from hypothesis import event, given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.language.check._ir import (
    Argument,
    Assign,
    CallSite,
    For,
    If,
    ModuleReference,
    Output,
    Parallel,
    Reduction,
    ResolvedProgram,
    Statement,
    Swap,
    Tag,
    While,
)
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Binary, Expression, Name, Number
from pse.language.types._types import Direction, Distribution, Element, Parameter, Pattern, Signature, Type
from pse.program import build_graph
from pse.program._liveness import Liveness
from pse.program._liveness_solver import analyse_liveness
from pse.program._loop_exits import analyse_run_liveness
from pse.program._placement import ThreadKey

SPAN = Span("random.coven", 1, 1, 1, 2)
ARRAYS = ("a", "b", "c", "d")
SCALARS = ("s", "t")
ARRAY = Type(Element.F64, (Name("N"),), Distribution(Pattern.BLOCK, (0,)))
SCALAR = Type(Element.F64, (), Distribution(Pattern.REPLICATED))
MODULE = ModuleReference("f", Signature("f", ()), None, "pse.std", 1, "std")

# ---------------------------------------------------------------- building programs


def call(
    site: int,
    thread: str | None = "thread_A",
    *,
    reads: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
    makes: tuple[str, ...] = (),
    scalar: Expression | None = None,
    size: Expression | None = None,
    reduces: tuple[str, str] | None = None,
    parallel: bool = False,
) -> CallSite:
    """A call site: inputs `reads`, in-outs `changes`, outputs `makes` and ``(output, target)`` reduced."""

    def argument(tag: str | None, direction: Direction, value: Expression) -> Argument:
        return Argument(Parameter("x", direction, ARRAY), value, tag, SPAN)

    inputs = [argument(tag, Direction.IN, Name(tag)) for tag in reads]
    inputs += [argument(tag, Direction.INOUT, Name(tag)) for tag in changes]
    inputs += [argument(None, Direction.IN, scalar)] if scalar is not None else []
    out = Parameter("y", Direction.OUT, ARRAY)
    outputs = [Output(out, tag, ARRAY, SPAN) for tag in makes]
    if reduces is not None:
        outputs.append(Output(out, reduces[0], SCALAR, SPAN, Reduction(reduces[1], "sum", SPAN)))
    dimensions = {"n": size} if size is not None else {}
    partition = "P" if parallel else None
    return CallSite(
        site, MODULE, tuple(inputs), tuple(outputs), thread, parallel, partition, dimensions, SPAN, "f"
    )


def program(*body: Statement, counters: tuple[str, ...] = ()) -> ResolvedProgram:
    tags = {name: Tag(name, ARRAY, SPAN) for name in ARRAYS}
    tags |= {name: Tag(name, SCALAR, SPAN) for name in SCALARS}
    tags |= {name: Tag(name, SCALAR, SPAN, loop_counter=True) for name in counters}
    return ResolvedProgram("random", "random.coven", "", (), (), (), tags, body)


A, B = ThreadKey("root", "thread_A"), ThreadKey("root", "thread_B")
PB, PC = ThreadKey("parallel", "thread_B"), ThreadKey("parallel", "thread_C")

# ---------------------------------------------------------------- random programs


@dataclass
class Scope:
    """What is known where the next statement is generated."""

    draw: st.DrawFn
    sure: set[str]  # written on every path
    maybe: set[str]  # written on some path
    frozen: frozenset[str] = frozenset()  # inside inflight: what stood before the loop
    parallel: bool = False
    depth: int = 0
    sites: Iterator[int] = field(default_factory=itertools.count)
    counters: list[str] = field(default_factory=list)
    visible: tuple[str, ...] = ()

    def some(self, tags: list[str], most: int) -> tuple[str, ...]:
        return tuple(self.draw(st.lists(st.sampled_from(tags), max_size=most, unique=True))) if tags else ()

    def scalar(self) -> Expression:
        known = [Name(name) for name in SCALARS if name in self.sure] + [Name(name) for name in self.visible]
        one = self.draw(st.sampled_from([Number(3), Name("N"), *known]))
        return Binary("<", one, Number(5)) if self.draw(st.booleans()) else one

    def inner(self, **changes: object) -> "Scope":
        return replace(self, sure=set(self.sure), depth=self.depth + 1, **changes)  # type: ignore[arg-type]

    def write(self, *tags: str) -> None:
        self.sure.update(tags)
        self.maybe.update(tags)


def generate_call(scope: Scope) -> Statement:
    free = [tag for tag in ARRAYS if tag not in scope.frozen]
    known = [tag for tag in ARRAYS if tag in scope.sure]
    changes = scope.some([tag for tag in known if tag in free], 1)
    reads = scope.some([tag for tag in known if tag not in changes], 2)
    makes = scope.some([tag for tag in free if tag not in changes], 2)
    targets = [tag for tag in SCALARS if tag not in scope.frozen]
    spare = [tag for tag in free if tag not in (*changes, *makes)]
    reduces = None
    if scope.parallel and spare and targets and scope.draw(st.booleans()):
        reduces = (scope.draw(st.sampled_from(spare)), scope.draw(st.sampled_from(targets)))
    labels = ["thread_B", "thread_C"] if scope.parallel else ["thread_A", "thread_B", None]
    site = call(
        next(scope.sites),
        scope.draw(st.sampled_from(labels)),
        reads=reads,
        changes=changes,
        makes=makes,
        scalar=scope.scalar() if scope.draw(st.booleans()) else None,
        size=scope.scalar() if scope.draw(st.integers(0, 3)) == 0 else None,
        reduces=reduces,
        parallel=scope.parallel,
    )
    scope.write(*makes, *(reduces or ()))
    return site


def generate_assign(scope: Scope) -> Statement | None:
    targets = [tag for tag in SCALARS if tag not in scope.frozen]
    if not targets:
        return None
    value, tag = scope.scalar(), scope.draw(st.sampled_from(targets))
    scope.write(tag)
    return Assign(tag, value, SPAN)


def generate_swap(scope: Scope) -> Statement | None:
    known = [tag for tag in ARRAYS if tag in scope.sure and tag not in scope.frozen]
    return Swap(*scope.draw(st.permutations(known))[:2], SPAN) if len(known) >= 2 else None


def generate_if(scope: Scope) -> Statement:
    condition = scope.scalar()
    first, second = scope.inner(), scope.inner()
    then, otherwise = generate_block(first, 3), generate_block(second, 2)
    scope.sure |= first.sure & second.sure
    return If(condition, then, otherwise, SPAN)


def generate_while(scope: Scope) -> Statement:
    # The condition may be read again after the body, so that it is drawn from what stood before.
    return While(scope.scalar(), scope.scalar(), generate_block(scope.inner(), 3), SPAN)


def generate_for(scope: Scope) -> Statement:
    counter = f"k{len(scope.counters)}"
    scope.counters.append(counter)
    lower, upper = scope.scalar(), scope.scalar()
    visible = (*scope.visible, counter)
    if scope.draw(st.booleans()):
        return For(counter, lower, upper, None, generate_block(scope.inner(visible=visible), 3), SPAN)
    inner = scope.inner(visible=visible, frozen=scope.frozen | scope.maybe, maybe=set(scope.maybe))
    return For(counter, lower, upper, Number(2), generate_block(inner, 3), SPAN)


def generate_parallel(scope: Scope) -> Statement:
    inner = scope.inner(parallel=True)
    body = generate_block(inner, 3)
    scope.sure |= inner.sure
    return Parallel("P", body, SPAN)


def generate_block(scope: Scope, most: int) -> tuple[Statement, ...]:
    kinds = [generate_call, generate_call, generate_call, generate_assign, generate_swap]
    if scope.depth < 3:
        kinds += [generate_if, generate_while, generate_for]
        kinds += [] if scope.parallel else [generate_parallel, generate_parallel]
    made = [scope.draw(st.sampled_from(kinds))(scope) for _ in range(scope.draw(st.integers(0, most)))]
    return tuple(statement for statement in made if statement is not None)


@st.composite
def programs(draw: st.DrawFn) -> ResolvedProgram:
    scope = Scope(draw, set(), set())
    return program(*generate_block(scope, 7), counters=tuple(scope.counters))


# ---------------------------------------------------------------- reference 1: reachability

Point = tuple[str, int]


def own_names(expression: Expression, live: Liveness) -> set[str]:
    """Tags in an expression, by a walk of the test's own."""
    match expression:
        case Name(id=name):
            return {name} & live.tags.keys()
        case Binary(left=left, right=right):
            return own_names(left, live) | own_names(right, live)
    return set()


def site_reads(site: CallSite, live: Liveness) -> set[str]:
    tags = {argument.tag for argument in site.inputs if argument.tag}
    expressions = [argument.value for argument in site.inputs if not argument.tag]
    expressions += site.dimensions.values()
    return tags.union(*(own_names(e, live) for e in expressions))


def site_writes(site: CallSite) -> set[str]:
    changed = {a.tag for a in site.inputs if a.tag and a.parameter.direction is Direction.INOUT}
    reduced = {output.reduction.target for output in site.outputs if output.reduction}
    return changed | {output.tag for output in site.outputs} | reduced


def written(statement: Statement) -> set[str]:
    match statement:
        case CallSite():
            return site_writes(statement)
        case Assign():
            return {statement.tag}
        case Swap():
            return {statement.left, statement.right}
    return set()


class Reference:
    """Liveness of one thread by reachability; `ways` are (from, to, killed tags, swap)."""

    def __init__(self, live: Liveness, thread: ThreadKey) -> None:
        self.live, self.thread = live, thread
        self.ways: list[tuple[Point, Point, set[str], Swap | None]] = []
        self._block(0, ("end", 0))
        self.active: set[int] = set()
        own = [s.id for s in live.walk.steps if self._is_mine(s.statement)]
        while True:
            self._activate(own)
            self.alive = self._reach()
            before = len(self.active)
            own = [
                s.id
                for s in live.walk.steps
                if any((("after", s.id), t) in self.alive for t in written(s.statement))
            ]
            self._activate(own)
            if len(self.active) == before:
                return

    def tags_at(self, point: Point) -> set[str]:
        return {tag for at, tag in self.alive if at == point}

    def _is_mine(self, statement: Statement) -> bool:
        return isinstance(statement, CallSite) and self.live.placement.thread_of(statement) == self.thread

    def _activate(self, steps: list[int]) -> None:
        for step in steps:
            self.active |= {step, *self.live.walk.ancestors(step)}

    def _block(self, block: int, end: Point) -> None:
        at: Point = ("entry", block)
        for step in self.live.walk.blocks[block].steps:
            self.ways.append((at, ("before", step), set(), None))
            self._step(step)
            at = ("after", step)
        self.ways.append((at, end, set(), None))

    def _step(self, step: int) -> None:
        node, blocks = self.live.walk.steps[step].statement, self.live.walk.steps[step].blocks
        before, after, head = ("before", step), ("after", step), ("head", step)
        if not blocks:
            swap = node if isinstance(node, Swap) else None
            self.ways.append((before, after, set() if swap else written(node), swap))
            return
        self.ways.append((before, head, set(), None))
        loop = isinstance(node, For | While)
        if loop:
            self.ways.append((head, after, set(), None))
        for block in blocks:
            counter = {node.counter} if isinstance(node, For) else set()
            self.ways.append((head, ("entry", block), counter, None))
            self._block(block, ("back", step) if loop else after)
        if loop:
            inside = self._inside(step) if isinstance(node, For) and node.inflight else set()
            self.ways.append((("back", step), head, inside, None))

    def _inside(self, loop: int) -> set[str]:
        steps = [s for s in self.live.walk.steps if loop in self.live.walk.ancestors(s.id)]
        return set().union(*(written(s.statement) for s in steps))

    def _reads(self) -> Iterator[tuple[Point, str]]:
        for step in self.active:
            node = self.live.walk.steps[step].statement
            at, expressions = "before", []
            match node:
                case CallSite() if self._is_mine(node):
                    yield from (((at, step), tag) for tag in site_reads(node, self.live))
                case Assign():
                    expressions = [node.value]
                case If():
                    expressions = [node.condition]
                case For():
                    expressions = [node.lower, node.upper]
                case While():
                    yield from ((("head", step), tag) for tag in own_names(node.condition, self.live))
                    expressions = [node.limit]
            for expression in expressions:
                yield from (((at, step), tag) for tag in own_names(expression, self.live))

    def _reach(self) -> set[tuple[Point, str]]:
        graph = nx.DiGraph()
        for start, end, killed, swap in self.ways:
            for tag in self.live.tags:
                other = {swap.left: swap.right, swap.right: swap.left}.get(tag, tag) if swap else tag
                if tag not in killed:
                    graph.add_edge((start, tag), (end, other))
        reads = set(self._reads())
        graph.add_nodes_from(reads)
        return reads.union(*(nx.ancestors(graph, read) for read in reads))


@settings(max_examples=some_of(150), deadline=None)
@given(programs())
def test_liveness_is_what_reachability_says(random: ResolvedProgram) -> None:
    live = analyse_liveness(random)
    for thread in live.placement.keys:
        reference = Reference(live, thread)
        for step in live.walk.steps:
            assert live.live_before(step.id, thread) == reference.tags_at(("before", step.id)), step
            assert live.live_after(step.id, thread) == reference.tags_at(("after", step.id)), step
            assert live.participates(thread, step.id) == (step.id in reference.active), step
            if isinstance(step.statement, For | While | If):
                assert live.live_at_head(step.id, thread) == reference.tags_at(("head", step.id)), step
        for block in live.walk.blocks:
            assert live.threads[thread].entry[block.id] == reference.tags_at(("entry", block.id)), block


# ---------------------------------------------------------------- reference 2: execution of paths


class Simulation:
    """One path through a program, every thread holding references to versions of tags.

    `decisions` are the outcomes of branches (0, 1) and the trips of loops (0 to 2), in order; past their
    end the first choice is taken, and `choices` says how many there were at each.
    """

    def __init__(self, live: Liveness, decisions: tuple[int, ...]) -> None:
        self.live, self.decisions = live, decisions
        self.choices: list[int] = []
        self.versions = itertools.count()
        self.makers: dict[int, set[int]] = {}  # the calls that a version stems from
        self.flows: set[tuple[int, int | str]] = set()  # from call to call, loop or branch
        self.newest: dict[str, int] = {}
        self.held: dict[ThreadKey, dict[str, int]] = {key: {} for key in live.placement.keys}

    def run(self) -> None:
        self.block(0)
        assert all(not slots for slots in self.held.values()), f"never released: {self.held}"

    def decide(self, choices: int) -> int:
        self.choices.append(choices)
        place = len(self.choices) - 1
        return self.decisions[place] if place < len(self.decisions) else 0

    def read(self, thread: ThreadKey, tags: set[str], reader: int | str) -> None:
        for tag in tags:
            self.flows |= {(maker, reader) for maker in self.makers.get(self.newest[tag], ())}
            assert self.held[thread].get(tag) == self.newest[tag], (
                f"{thread} reads {tag}: {self.held[thread]}"
            )

    def release(self, thread: ThreadKey, tags: frozenset[str]) -> None:
        for tag in tags:
            assert tag in self.held[thread], f"{thread} releases {tag} which it does not hold"
            del self.held[thread][tag]

    def take(self, thread: ThreadKey, tag: str) -> None:
        assert tag not in self.held[thread], f"{thread} still holds an older {tag}"
        self.held[thread][tag] = self.newest[tag]

    def followers(self, step: int) -> list[ThreadKey]:
        return [key for key in self.held if self.live.participates(key, step)]

    def block(self, block: int) -> None:
        for thread in self.held:
            self.release(thread, self.live.drops_at_entry(block, thread))
        for step in self.live.walk.blocks[block].steps:
            bystanders = [key for key in self.held if not self.live.participates(key, step)]
            kept = {key: dict(self.held[key]) for key in bystanders}
            self.step(step)
            assert kept == {key: self.held[key] for key in bystanders}, (
                f"statement {step} touches a bystander"
            )
            self.hand_over(step)

    def hand_over(self, step: int) -> None:
        for handed in self.live.exits.get(step, ()):
            assert self.held[handed.maker].get(handed.tag) == self.newest[handed.tag], handed
            for key in handed.readers:
                self.take(key, handed.tag)
            if self.live.is_done_with(handed):
                self.release(handed.maker, frozenset((handed.tag,)))

    def step(self, step: int) -> None:
        match self.live.walk.steps[step].statement:
            case CallSite() as site:
                self.call(site)
            case Assign() as assign:
                self.assign(step, assign)
            case Swap(left=left, right=right):
                for names in (self.newest, *(self.held[key] for key in self.followers(step))):
                    exchanged = {right: names.pop(left, None), left: names.pop(right, None)}
                    names.update({tag: version for tag, version in exchanged.items() if version is not None})
            case If() as branch:
                self.header(step, own_names(branch.condition, self.live))
                self.block(self.live.walk.steps[step].blocks[self.decide(2)])
            case Parallel():
                self.block(self.live.walk.steps[step].blocks[0])
            case For() as loop:
                self.header(step, own_names(loop.lower, self.live) | own_names(loop.upper, self.live))
                self.loop(step)
            case While() as loop:
                self.header(step, own_names(loop.limit, self.live))
                self.loop(step)

    def header(self, step: int, tags: set[str]) -> None:
        for key in self.followers(step):
            self.read(key, tags, f"step {step}")
        for key in self.held:
            self.release(key, self.live.drops_at_header(step, key))

    def loop(self, step: int) -> None:
        node = self.live.walk.steps[step].statement
        (body,) = self.live.walk.steps[step].blocks
        for _ in range(self.decide(3)):
            self.condition(step)
            outside = {key: dict(slots) for key, slots in self.held.items()}
            known = dict(self.newest)
            if isinstance(node, For):
                self.newest[node.counter] = next(self.versions)
                for key in self.held:
                    if node.counter in self.live.threads[key].entry[body]:
                        self.take(key, node.counter)
            self.block(body)
            if isinstance(node, For) and node.inflight:
                assert self.held == outside, "an iteration in flight changes what is outside"
                self.newest = known
        self.condition(step)
        for key in self.held:
            self.release(key, self.live.drops_at_exit(step, key))

    def condition(self, step: int) -> None:
        node = self.live.walk.steps[step].statement
        if isinstance(node, While):
            for key in self.followers(step):
                self.read(key, own_names(node.condition, self.live), f"step {step}")

    def call(self, site: CallSite) -> None:
        mine = self.live.placement.thread_of(site)
        self.read(mine, site_reads(site, self.live), site.id)
        over = self.live.last_uses(site, mine)
        self.release(mine, over)
        for tag in site_writes(site):
            self.newest[tag] = next(self.versions)
            self.makers[self.newest[tag]] = {site.id}
            for key in self.live.readers(site, tag):
                kept = key == mine and tag not in over and tag in self.held[mine]
                if kept:
                    del self.held[mine][tag]  # the reference of the in-out now stands for the new version
                self.take(key, tag)
        changed = {a.tag for a in site.inputs if a.tag and a.parameter.direction is Direction.INOUT}
        anew = site_writes(site) - changed
        assert self.live.dead_outputs(site) == {t for t in anew if mine not in self.live.readers(site, t)}

    def assign(self, step: int, assign: Assign) -> None:
        operands = {tag: self.newest[tag] for tag in own_names(assign.value, self.live)}
        self.newest[assign.tag] = version = next(self.versions)
        self.makers[version] = set().union(*(self.makers.get(old, ()) for old in operands.values()))
        for key in self.followers(step):
            assert operands == {tag: self.held[key].get(tag) for tag in operands}
            self.release(key, self.live.last_uses(step, key))
            self.take(key, assign.tag)


def paths(live: Liveness, most: int) -> Iterator[Simulation]:
    """Run the paths of a program, at most so many; each is given before it runs."""
    waiting: list[tuple[int, ...]] = [()]
    for _ in range(most):
        if not waiting:
            return
        decisions = waiting.pop()
        simulation = Simulation(live, decisions)
        yield simulation
        taken = len(decisions)
        for place in range(taken, len(simulation.choices)):
            stem = decisions + (0,) * (place - taken)
            waiting += [(*stem, choice) for choice in range(1, simulation.choices[place])]


@settings(max_examples=some_of(150), deadline=None)
@given(programs(), st.sampled_from([analyse_liveness, analyse_run_liveness]))
def test_every_path_reads_what_it_holds_and_releases_it_once(
    random: ResolvedProgram, solve: Callable[[ResolvedProgram], Liveness]
) -> None:
    live = solve(random)
    event(f"{sum(map(len, live.exits.values()))} hand-overs at exits")
    for simulation in paths(live, 60):
        simulation.run()


@settings(max_examples=some_of(100), deadline=None)
@given(programs())
def test_what_flows_on_some_path_is_an_edge_of_the_graph(random: ResolvedProgram) -> None:
    graph = build_graph(random)
    for simulation in paths(graph.liveness, 30):
        simulation.run()
        assert simulation.flows <= set(graph.nx.edges())


# ---------------------------------------------------------------- by hand


def test_a_tag_goes_to_its_readers_and_is_freed_after_the_last() -> None:
    make, look = call(0, makes=("a",)), call(1, "thread_B", reads=("a",), parallel=True)
    gather = call(2, reads=("a",))
    live = analyse_liveness(program(make, Parallel("P", (look,), SPAN), gather))
    assert live.readers(make, "a") == {A, PB}
    assert live.last_uses(look, PB) == {"a"}
    assert live.frees(look) == frozenset()
    assert live.frees(gather) == {"a"}
    assert live.last_use_everywhere(gather, "a")
    assert not live.last_use_everywhere(look, "a")


def test_a_branch_drops_what_it_does_not_read() -> None:
    make, use = call(0, makes=("a",)), call(1, reads=("a",))
    live = analyse_liveness(program(make, If(Name("N"), (use,), (), SPAN)))
    then, otherwise = live.walk.steps[1].blocks
    assert live.drops_at_entry(then, A) == frozenset()
    assert live.drops_at_entry(otherwise, A) == {"a"}
    assert live.frees_at_entry(otherwise) == {"a"}


def test_a_loop_keeps_its_inputs_until_it_ends() -> None:
    make, use = call(0, makes=("a",)), call(1, reads=("a",))
    live = analyse_liveness(program(make, While(Name("N"), Number(9), (use,), SPAN)))
    assert live.last_uses(use, A) == frozenset()
    assert live.drops_at_exit(1, A) == {"a"}
    assert live.frees_at_exit(1) == {"a"}


def test_a_root_thread_follows_a_branch_in_which_its_tag_is_defined() -> None:
    """The thread has no call in there, but must know whether to expect a new version."""
    first, again = call(0, makes=("a",)), call(2, "thread_B", makes=("a",), parallel=True)
    reduce_ = call(1, "thread_B", reduces=("b", "s"), parallel=True)
    look = call(3, reads=("a",))
    branch = If(Name("s"), (Parallel("P", (again,), SPAN),), (), SPAN)
    live = analyse_liveness(program(first, Parallel("P", (reduce_,), SPAN), branch, look))
    assert live.participates(A, live.walk.step_of_site[2])
    assert live.readers(reduce_, "s") == {A, PB}
    assert live.readers(again, "a") == {A}
    assert live.dead_outputs(reduce_) == {"b"}


def test_swap_renames_and_a_thread_that_needs_neither_stays_out() -> None:
    make, use = call(0, makes=("a", "b")), call(1, "thread_B", reads=("a",))
    live = analyse_liveness(program(make, Swap("a", "b", SPAN), use))
    assert live.readers(make, "b") == {B}
    assert live.readers(make, "a") == frozenset()
    assert live.dead_outputs(make) == {"a", "b"}
    assert not live.participates(A, 1)
    assert live.participates(B, 1)


def test_an_assignment_is_made_by_those_who_read_it() -> None:
    make = call(0, "thread_B", reduces=("b", "s"), parallel=True)
    scale = Assign("t", Binary("*", Name("s"), Number(2)), SPAN)
    live = analyse_liveness(program(Parallel("P", (make,), SPAN), scale, call(1, scalar=Name("t"))))
    assert live.participates(A, 2)
    assert not live.participates(PB, 2)
    assert live.readers(make, "s") == {A}
    assert live.last_uses(2, A) == {"s"}


def test_nothing_crosses_iterations_in_flight() -> None:
    make, use = call(0, makes=("a",)), call(1, "thread_B", reads=("a",))
    live = analyse_liveness(
        program(For("k", Number(0), Name("N"), Number(3), (make, use), SPAN), counters=("k",))
    )
    assert live.last_uses(use, B) == {"a"}
    assert live.live_at_head(0, B) == frozenset()


def test_a_definition_in_flight_never_leaves_its_iteration() -> None:
    before, inside, after = call(0, makes=("a",)), call(1, makes=("a",)), call(2, "thread_B", reads=("a",))
    loop = For("k", Number(0), Name("N"), Number(3), (inside,), SPAN)
    live = analyse_liveness(program(before, loop, after, counters=("k",)))
    assert live.readers(before, "a") == {B}
    assert live.readers(inside, "a") == frozenset()


def test_deep_nesting_is_no_recursion() -> None:
    body: tuple[Statement, ...] = (call(0, makes=("a",)), call(1, reads=("a",)))
    for _ in range(5000):
        body = (If(Name("N"), body, (), SPAN),)
    live = analyse_liveness(program(*body))
    assert live.frees(live.walk.sites[1]) == {"a"}


@pytest.mark.parametrize("statement", [0, 1])
def test_a_statement_without_readers_has_no_followers(statement: int) -> None:
    live = analyse_liveness(program(Assign("s", Number(1), SPAN), Swap("a", "b", SPAN)))
    assert not any(live.participates(key, statement) for key in live.placement.keys)
