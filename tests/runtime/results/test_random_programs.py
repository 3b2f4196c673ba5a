"""Random programs give, bit for bit, what they mean: on any number of processors, whatever the sizes and
depths.

Every example is a program of some tens of statements, run with all ranks as threads over a poisoned
arena, on one node, on two, or without shared memory; `oracle` interprets it one statement at a time.
"""

import random
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings, strategies as st
from pse_testing.example_counts import tried
from pse_testing.harness import make_job, run
from pse_testing.oracle import Oracle
from pse_testing.program_writer import Node, Writer, programs, write_modules

from pse.modules.load._imports import import_python
from pse.runtime.distribution import _trees as trees
from pse.runtime.distribution._load_balancer import better

# Not shrunk: a smaller program seldom meets its ranks in the same order, and one that hangs takes its time.
SETTINGS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}
TEMPLATES = Path(__file__).parents[1] / "programs"
PLACES = {
    "between guard pages": {"debug": True},
    "one node": {},
    "two nodes": {"nodes": lambda rank: rank % 2},
    "no shared memory": {"shared_memory": False},
    "serial": {"serial": True},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The modules of random programs."""
    folder = tmp_path_factory.mktemp("random")
    write_modules(folder, TEMPLATES)
    return folder


class Notes(dict):
    """What modules note down, by label and counter; called from several ranks' threads."""

    def __init__(self, program):
        super().__init__()
        self.lock = threading.Lock()
        self.modules = [import_python(m.source, m.path) for m in program.modules if m.language == "python"]
        for module in self.modules:
            module.sink = self

    def __call__(self, label, k, value):
        with self.lock:
            self.setdefault((label, k), []).append(value)

    def let_go(self):
        """Make the modules give up the arrays that they keep."""
        for module in self.modules:
            module.kept.clear()


def assert_same(got, expected):
    assert got.keys() == expected.keys()
    for key, arrays in expected.items():
        assert len(got[key]) == len(arrays), key
        for ours, theirs in zip(got[key], arrays, strict=True):
            same = (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())
            assert same, f"{key}:\n{ours}\nexpected:\n{theirs}"


def check_run(program, processors, rows, columns, decide=lambda: better, **how):
    """Run a program and interpret it; both must note down the same."""
    job = make_job(program, processors, values={"N": rows, "M": columns}, **how)
    expected = Oracle(program, job.environment, processors).run()
    got = Notes(program)
    try:
        run(job, poison=True, tidy=got.let_go, decide=decide)
    finally:
        got.let_go()
    assert_same(got, expected)


@st.composite
def circumstances(draw):
    """Processors, sizes (fewer rows than partitions too), limits and depths."""
    depth = draw(st.integers(1, 2))
    return {
        "processors": draw(st.integers(1, 3)),
        "rows": draw(st.integers(1, 7)),
        "columns": draw(st.integers(1, 7)),
        "local_limit": draw(st.sampled_from([0, 100, 1 << 20])),
        "depths": lambda thread: depth,
        "pauses": draw(st.booleans()),
        "placement": draw(st.sampled_from(["block", "cyclic"])),
    }


@tried(12)
@pytest.mark.parametrize("place", PLACES)
def test_a_random_program_gives_what_it_means(folder, place, examples):
    @settings(max_examples=examples, **SETTINGS)
    @given(programs(folder), circumstances())
    def check(written, how):
        note(written.text)
        check_run(written.program, **how, **PLACES[place])

    check()


@tried(8)
def test_random_spans_of_computing_change_nothing(folder, monkeypatch, examples):
    """Modules that take random times meet each other in ever new orders."""
    monkeypatch.setenv("PSE_TEST_SPIN", "100")

    @settings(max_examples=examples, **SETTINGS)
    @given(programs(folder, size=24), circumstances())
    def check(written, how):
        note(written.text)
        check_run(written.program, **how)

    check()


class HandingOn(Writer):
    """Draws a program in which arrays go on under other names without a copy, and are changed then."""

    def parallel_choices(self):
        return [self.kept, self.copied, self.changed] * 4 + super().parallel_choices()

    def root_choices(self):
        return [self.whole_copy, self.changed_root] * 4 + super().root_choices()

    def kept(self):
        """A redistribution that leaves every piece as it is, and may leave the array unread."""
        source = self.pick(lambda k: k.distributed)
        if source is None:
            return []
        name = self.output(source[1])
        return [Node(f"{self.label(True)}redistribute({source[0]}) -> {name} @ {source[1].place}")]

    def copied(self):
        source = self.pick(lambda k: k.distributed)
        return [Node(f"{self.label(True)}copy({source[0]}) -> {self.output(source[1])}")] if source else []

    def changed(self, parallel=True):
        goal = self.pick(lambda k: k.distributed if parallel else k.place == "root", writable=True)
        module = self.draw(st.sampled_from(["k.bump({}, 1.5)", "py.pybump({})"]))
        return [Node(self.label(parallel) + module.format(goal[0]))] if goal else []

    def changed_root(self):
        return self.changed(parallel=False)


@st.composite
def handing_on(draw, folder):
    return HandingOn(draw, 24).program(folder)


@tried(8)
@pytest.mark.parametrize("place", PLACES)
def test_arrays_that_are_handed_on_keep_their_values(folder, place, examples):
    @settings(max_examples=examples, **SETTINGS)
    @given(handing_on(folder), circumstances())
    def check(written, how):
        note(written.text)
        check_run(written.program, **how, **PLACES[place])

    check()


def anywhere(seed):
    """Moves partitions about as chance has it, the same on every rank."""
    chance = random.Random(seed)

    def decide(owners, loads, processors, cost, bound):
        assert len(owners) == len(loads)
        return tuple(chance.randrange(processors) for _ in owners) if chance.random() < 0.7 else None

    return decide


@tried(6)
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_goes_from_node_to_node_along_a_tree_changes_nothing(folder, monkeypatch, ranks, examples):
    """So many ranks on a node; each passes on to one other node at most."""
    monkeypatch.setattr(trees, "NODES", 1)

    @settings(max_examples=examples, **SETTINGS)
    @given(programs(folder, size=24), circumstances())
    def check(written, how):
        note(written.text)
        check_run(written.program, **how, nodes=lambda rank: rank // ranks)

    check()


@tried(6)
@pytest.mark.parametrize("place", [*PLACES, "three nodes in a row"])
def test_partitions_that_move_change_nothing(folder, monkeypatch, place, examples):
    monkeypatch.setattr(trees, "NODES", 1)
    where = PLACES.get(place, {"nodes": lambda rank: rank % 3})

    @settings(max_examples=examples, **SETTINGS)
    @given(programs(folder, size=20), circumstances(), st.integers(1, 2), st.integers())
    def check(written, how, every, seed):
        note(written.text)
        how["processors"] += 1
        check_run(written.program, **how, **where, balance=every, decide=lambda: anywhere(seed))

    check()
