"""Garbage collection is exact: buffers are freed at their last use, neither before nor after.

That nothing is read after it is freed, or before it is written, is what poison shows in all the random
programs (`harness.run`), which also see that nothing is left at the end. Here the trace tells when each
buffer was freed.
"""

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings, strategies as st
from pse_testing.harness import compile_program, make_job, run
from pse_testing.lifetimes import Lifetimes
from pse_testing.program_writer import Writer, write_modules

import pse.trace
from pse.modules.load._imports import import_python
from pse.trace import EventType

TEMPLATES = Path(__file__).parents[1] / "programs"
SETTINGS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The modules of random programs."""
    folder = tmp_path_factory.mktemp("lifetimes")
    write_modules(folder, TEMPLATES)
    return folder


@pytest.fixture
def traces(tmp_path):
    """Give a new folder for a trace, again and again."""
    numbers = iter(range(10**6))

    def fresh():
        path = tmp_path / str(next(numbers))
        path.mkdir()
        return path

    return fresh


class OneThread(Writer):
    """Draws a program of one thread, whose calls so come in the order of the program."""

    def __init__(self, draw, size):
        super().__init__(draw, size)
        self.root_labels = self.parallel_labels = ["thread_A"]
        self.in_flight = False

    def segment_body(self):
        return None

    def scatter(self):
        return []

    def root_choices(self):
        choices = [self.fill, self.turned, self.noted, self.swap, self.swap, self.assign]
        choices += [self.whole_scalar, self.whole_copy, self.gain, self.zero_root]
        return choices + [lambda: self.compute(False)] * 5

    def compute(self, parallel):
        # What Python keeps is freed when Python lets it go.
        return [node for node in super().compute(parallel) if "pykeep" not in node.head]

    def turned(self):
        # The engine's own transposition may take room for a piece meanwhile.
        nodes = super().turned()
        for node in nodes:
            node.head = node.head.replace("transpose(", "k.turn(")
        return nodes

    def flight(self, parallel, depth):
        if self.in_flight:
            return self.for_loop(parallel, depth)
        self.in_flight = True
        nodes = super().flight(parallel, depth)
        self.in_flight = False
        return nodes

    def parallel(self, parallel, depth):
        return self.for_loop(parallel, depth)


def observed(trace):
    """The order of calls, and for every buffer by which call it was made and after which it was freed."""
    order, lives, live = [], Counter(), {}
    running = False
    for event in trace.events(0):
        kind = event["type"]
        if kind == EventType.MODULE_ENTER:
            order.append(int(event["site"]))
        if kind in (EventType.MODULE_ENTER, EventType.MODULE_LEAVE):
            running = kind == EventType.MODULE_ENTER
        if kind == EventType.ALLOCATE:
            assert event["b"] not in live, "given out twice"
            live[event["b"]] = len(order) + (not running)
        if kind == EventType.FREE:
            lives[live.pop(event["b"]), len(order)] += 1
            assert not running, "freed while a call runs"
    assert live == {}, "never freed"
    return order, lives


def carry_out(job, **how):
    """Run a job over poisoned memory; nobody looks at what it notes down."""
    for module in job.program.modules:
        if module.language == "python":
            import_python(module.source, module.path).sink = lambda label, k, value: None
    return run(job, poison=True, **how)


def check_lifetimes(program, folder, **how):
    job = make_job(program, 1, values={"N": 4, "M": 3}, **how)
    expected = Lifetimes(program, job.environment, 1)
    expected.run()
    carry_out(job, trace=folder)
    order, lives = observed(pse.trace.open(folder))
    assert order == expected.order
    assert lives == expected.lives


@st.composite
def one_thread_programs(draw, folder):
    return OneThread(draw, 16).program(folder)


@pytest.mark.parametrize("examples", [20, pytest.param(100, marks=pytest.mark.nightly)])
def test_every_buffer_is_freed_after_its_last_use(folder, traces, examples):
    @settings(max_examples=examples, **SETTINGS)
    @given(one_thread_programs(folder), st.sampled_from([0, 1 << 20]))
    def check(written, local_limit):
        note(written.text)
        check_lifetimes(written.program, traces(), local_limit=local_limit)

    check()


# With more threads, who is the last to hold a buffer is a matter of chance, but only among those who use it.
ROUNDS = """coven 1
import "kernels_f64.c" as k
import "pykernels_f64.py" as py
param i64 N = 32
param i64 M = 32
param i64 rounds = 5
partition P = procs
segment twice(f64[N, M] @ block(0) x, f64 s) -> (f64[N, M] @ block(0) z) {
  PARALLEL over P { thread_B k.step(x, s) -> y  thread_C k.step(y, s) -> z }
}
program rounds {
  var f64 s = 0.0
  LOOP {
    thread_A k.fill(3, N, M) -> a
    thread_A scatter(a) -> x @ block(0)
    twice(x, 1.0) -> z
    PARALLEL over P {
      thread_C transpose(z) -> v @ block(0)
      thread_B k.total(v) -> t reduce e(sum)
      if e > 0.0 { thread_B k.step(v, e) -> w } else { thread_C k.step(v, 2.0) -> w }
    }
    thread_A gather(w) -> b
    thread_D py.note("b", 0, b)
    ROUND
  }
}
"""
LOOPS = {
    "for": ("for j in 0 .. rounds", ""),
    "while": ("while s < f64(rounds) max rounds", "s = s + 1.0"),
    "inflight": ("for j in 0 .. rounds inflight 2", ""),
}


def written(loop):
    head, foot = LOOPS[loop]
    return ROUNDS.replace("LOOP", head).replace("ROUND", foot)


def users(walk):
    """For every site, those after which what it makes may be freed: its own, and those that read it.

    What the engine itself makes may be a view of what it reads.
    """
    found = {}
    for site in reversed(walk.sites):
        made = {output.tag for output in site.outputs}
        readers = [other for other in walk.sites if made & {argument.tag for argument in other.inputs}]
        seen = [found.get(reader.id, set()) for reader in readers if reader.module.language == "std"]
        found[site.id] = {site.id, *(reader.id for reader in readers)}.union(*seen)
    return found


def merged(trace):
    """All events of a run with their ranks, in the order of time."""
    found = [(int(e["time"]), rank, at, e) for rank in trace.ranks for at, e in enumerate(trace.events(rank))]
    return [(rank, event) for _, rank, _, event in sorted(found, key=lambda entry: entry[:3])]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("processors", [1, 2])
def test_buffers_that_threads_share_are_freed_by_who_uses_them_last(folder, traces, loop, processors):
    program = compile_program(written(loop), folder / "rounds.coven")
    where = traces()
    job = make_job(program, processors)
    carry_out(job, trace=where)
    used, last, made, freed = users(job.liveness.walk), {}, Counter(), Counter()
    for rank, event in merged(pse.trace.open(where)):
        if event["type"] in (EventType.MODULE_ENTER, EventType.MODULE_LEAVE):
            last[rank] = event
        elif event["type"] == EventType.ALLOCATE:
            made[int(event["b"])] += int(event["a"])
        elif event["type"] == EventType.FREE:
            freed[int(event["b"])] += int(event["a"])
            assert last[rank]["type"] == EventType.MODULE_LEAVE
            # With iterations side by side, a branch may be decided after a call of another iteration.
            assert loop == "inflight" or int(last[rank]["site"]) in used[int(event["site"])]
    assert made == freed


@pytest.fixture(scope="module")
def on_two_nodes(folder, tmp_path_factory):
    """The trace of a run on two nodes."""
    program = compile_program(written("for"), folder / "rounds.coven")
    where = tmp_path_factory.mktemp("two-nodes")
    carry_out(make_job(program, 3, nodes=lambda rank: rank % 2), trace=where)
    return pse.trace.open(where)


def test_buffers_that_other_nodes_send_are_recorded_as_allocated(on_two_nodes):
    changes = Counter()
    for rank in on_two_nodes.ranks:
        for event in on_two_nodes.events(rank):
            sign = {EventType.ALLOCATE: 1, EventType.FREE: -1}.get(event["type"], 0)
            changes[int(event["b"])] += sign * int(event["a"])
    assert set(changes.values()) == {0}


def test_waits_for_one_tag_that_polls_interrupt_are_one(on_two_nodes):
    waits = 0
    for rank in on_two_nodes.ranks:
        events = on_two_nodes.events(rank)
        for end, begin in itertools.pairwise(events):
            if (end["type"], begin["type"]) != (EventType.WAIT_END, EventType.WAIT_BEGIN):
                continue
            same = all(end[name] == begin[name] for name in ("flags", "site", "tph", "a"))
            assert not same or begin["time"] - end["time"] > 1_000_000
        waits += on_two_nodes.files[rank].counts[EventType.WAIT_END]
    assert waits > 0


@pytest.mark.parametrize("loop", LOOPS)
def test_a_long_loop_needs_no_more_memory_than_a_short_one(folder, loop):
    program = compile_program(written(loop), folder / "rounds.coven")
    result = carry_out(make_job(program, 2, values={"rounds": 150}))
    assert result.arenas[0].allocations > 150 * 4
    # Six tags, each of 8 KiB and a head, in three versions at most: used, and in two places of a queue.
    assert result.arenas[0].peak < 6 * 3 * (9 << 10)


def test_a_scalar_that_a_module_does_not_write_shows_poison(tmp_path):
    (tmp_path / "k.c").write_text(
        "#include <stdint.h>\n//@ coven module leave(in i64 how, out f64 x, out i64 n)\n"
        "int leave(int64_t how, double *x, int64_t *n)\n"
        "{\n    if (how)\n        *x = *n = how;\n    return 0;\n}\n"
    )
    (tmp_path / "m.py").write_text(
        "told = []\n#@ coven module tell(in f64 x, in i64 n)\n"
        "def tell(x, n):\n    told.append((float(x), int(n)))\n"
    )
    text = (
        'coven 1\nimport "k.c" { leave }\nimport "m.py" { tell }\nprogram p {\n'
        "  for how in 0 .. 2 { leave(how) -> x, n   tell(x, n) }\n}\n"
    )
    run(make_job(compile_program(text, tmp_path / "p.coven"), 1), poison=True)
    (x, n), written = import_python(str(tmp_path / "m.py"), "m.py").told
    assert (f"{x:.1e}", n, written) == ("1.8e+127", 0x5A5A5A5A5A5A5A5A, (1.0, 1))
