"""Rows that partitions see because they are near: against a search among all of them in NumPy."""

import itertools
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse.errors import PseError
from pse.modules.load._imports import import_python

PYTHON = """
import numpy as np
from pse import partition
case, seen = None, {}

#@ coven module draw(in i64 d, out f64 x[?k, d])
def draw(d):
    return case.x
#@ coven module owners(in f64 x[n, d], out i64 owner[n])
def owners(x):
    return case.owners(x)
#@ coven module domain(in i64 d, out f64 box[3, d])
def domain(d):
    return case.box(partition.index)
#@ coven module spoil(inout i64 near[k, c])
def spoil(near):
    near[:1, 1] = 77
#@ coven module number(in f64 x[n, d], out f64 mark[n])
def number(x):
    return 1000.0 * partition.index + np.arange(len(x))
#@ coven module pull(in f64 marks[m], out f64 y[m, 2])
def pull(marks):
    return np.stack([marks, np.full(len(marks), 1.0 + partition.index)], axis=1)
#@ coven module begin(in f64 x[n, d], out f64 sums[n, 2])
def begin(x):
    return np.zeros((len(x), 2))
#@ coven module move(inout f64 x[n, d])
def move(x):
    x += 0.25
#@ coven module keep(in f64 x[n, d], in f64 there[m, d], in f64 later[m, d], in f64 marks[m],
#@     in f64 sums[n, 2])
def keep(x, there, later, marks, sums):
    seen[partition.index] = [a.copy() for a in (x, there, later, marks, sums)]
"""
PROGRAM = """coven 1
import "m.py" {{ draw, owners, domain, number, pull, begin, move, keep }}
partition P = {partitions}
program near {{
  draw({axes}) -> x
  scatter(x) -> xs @ block(0)
  PARALLEL over P {{
    owners(xs) -> owner
    migrate(xs, by = owner) -> mine
    domain({axes}) -> box @ block(0)
    number(mine) -> mark
    begin(mine) -> sums
    thread_B border(mine, box, reach = {reach!r}) -> near
    thread_C images(mine, by = near, box = box) -> there
    thread_B ghosts(mark, by = near) -> marks
    pull(marks) -> y
    thread_C add_back(y, near, sums)
    move(mine)
    images(mine, by = near, box = box) -> later
    keep(mine, there, later, marks, sums)
  }}
}}
"""
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
    {"processors": 1, "serial": True},
]


@dataclass(frozen=True)
class Case:
    """Positions in a box that is cut by a grid."""

    x: np.ndarray
    grid: tuple[int, ...]
    side: np.ndarray
    periodic: np.ndarray
    reach: float

    @property
    def partitions(self):
        return int(np.prod(self.grid))

    def owners(self, x):
        cell = np.clip((x / self.side * self.grid).astype(int), 0, np.array(self.grid) - 1)
        return np.ravel_multi_index(tuple(cell.T), self.grid)

    def box(self, index):
        at, width = np.array(np.unravel_index(index, self.grid)), self.side / self.grid
        return np.array([at * width, (at + 1) * width, self.side * self.periodic])

    def seen(self):
        """Give, for each partition, (from, row, position) of what it sees, in order."""
        pieces = [self.x[self.owners(self.x) == p] for p in range(self.partitions)]
        most = int(np.ceil(self.reach / self.side.min())) + 1
        found = [[] for _ in pieces]
        turns = [range(-most, most + 1) if one else (0,) for one in self.periodic]
        for p, (q, k) in itertools.product(
            range(self.partitions), itertools.product(range(self.partitions), itertools.product(*turns))
        ):
            if p == q and not any(k):
                continue
            low, high, period = self.box(p)
            there = pieces[q] + np.array(k) * period
            far = np.maximum(np.maximum(low - there, there - high), 0)
            rows = np.flatnonzero((far**2).sum(axis=1) <= self.reach**2)
            found[p] += [(q, row, there[row]) for row in rows]
        return pieces, found


def play(case, folder, **how):
    (folder / "m.py").write_text(PYTHON)
    module = import_python(str(folder / "m.py"), "m.py")
    module.case, module.seen = case, {}
    text = PROGRAM.format(partitions=case.partitions, axes=len(case.grid), reach=case.reach)
    run(make_job(compile_program(text, folder / "p.coven"), **how), poison=True)
    return dict(module.seen)


def check(case, told):
    pieces, found = case.seen()
    sums = [np.zeros((len(piece), 2)) for piece in pieces]
    for p, listed in enumerate(found):
        for q, row, _ in listed:
            sums[q][row] += 1000 * q + row, 1 + p
    for p, (x, there, later, marks, added) in told.items():
        np.testing.assert_array_equal(x, pieces[p] + 0.25)
        np.testing.assert_array_equal(marks, [1000 * q + row for q, row, _ in found[p]])
        expected = np.array([place for *_, place in found[p]]).reshape(there.shape)
        np.testing.assert_array_equal(there, expected)
        np.testing.assert_allclose(later, expected + 0.25, rtol=1e-14, atol=1e-14)  # Near 0 digits are lost.
        np.testing.assert_array_equal(added, sums[p])
    assert len(told) == case.partitions


def some(seed, n, grid, periodic, reach):
    """Particles in one half of the box, so that partitions may be empty."""
    random = np.random.default_rng(seed)
    side = random.uniform(2, 5, len(grid))
    x = random.uniform(0, 1, (n, len(grid))) * side * ([0.5] + [1] * (len(grid) - 1))
    return Case(x, grid, side, np.array(periodic), reach)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "case",
    [
        some(1, 60, (2, 2, 1), (True, True, True), 1.0),
        some(2, 3000, (4,), (False,), 1.5),  # Rows from beyond the neighbour; some partitions are empty.
    ],
    ids=["grid", "slabs"],
)
def test_partitions_see_what_is_near_to_their_boxes(case, place, tmp_path):
    check(case, play(case, tmp_path, **place))


@settings(max_examples=some_of(12), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(0, 30),
    grid=st.sampled_from([(1,), (3,), (2, 2), (3, 1), (2, 1, 2), (1, 1, 1)]),
    periodic=st.tuples(*[st.booleans()] * 3),
    reach=st.sampled_from([0.0, 0.3, 1.0, 6.0]),
    processors=st.integers(1, 3),
    nodes=st.integers(1, 2),
)
def test_whatever_the_grid_is(seed, n, grid, periodic, reach, processors, nodes, tmp_path_factory):
    case = some(seed, n, grid, periodic[: len(grid)], reach)
    where = {"processors": processors, "nodes": lambda rank: rank % nodes}
    check(case, play(case, tmp_path_factory.mktemp("ghosts"), **where))


class Wrong(Case):
    def box(self, index):
        made = super().box(index)
        made[self.what] = self.value(index)
        return made


def wrong_box(what, value):
    case = some(3, 20, (2, 2), (True, True), 1.0)
    made = Wrong(**{name: getattr(case, name) for name in case.__dataclass_fields__})
    object.__setattr__(made, "what", what)
    object.__setattr__(made, "value", value)
    return made


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            wrong_box(2, lambda p: 3.0 + p),
            "border: the periods are [3.0, 3.0] in partition 0, and [4.0, 4.0] in",
        ),
        (wrong_box((0, 1), lambda p: -np.inf), "has no end along axis 1, which is periodic"),
        (wrong_box((0, 1), lambda p: np.nan), "border: the box of partition "),
        (wrong_box((1, 1), lambda p: 1e9), "more than 100 periods from a box"),
        (replace(some(3, 20, (2, 2), (True, True), 1.0), reach=-1.0), "border: reach is -1.0 in partition "),
    ],
)
def test_boxes_that_cannot_be_are_errors(case, said, tmp_path):
    with pytest.raises(PseError, match=re.escape(said)) as caught:
        play(case, tmp_path, processors=1)
    assert caught.value.help


def test_a_position_that_is_no_number_is_named(tmp_path):
    case = some(4, 10, (2,), (False,), 1.0)
    case.x[7] = np.nan
    lost = replace(case)
    object.__setattr__(lost, "owners", lambda x: np.zeros(len(x), np.int64))
    with pytest.raises(PseError, match=re.escape("border: row 7 of partition 0 is at (nan,)")):
        play(lost, tmp_path, processors=2)


STALE = """coven 1
import "m.py" { draw, owners, domain }
partition P = 2
program stale {
  draw(1) -> x
  scatter(x) -> xs @ block(0)
  PARALLEL over P {
    domain(1) -> box @ block(0)
    border(xs, box, reach = 9.0) -> near
    owners(xs) -> owner
    migrate(xs, by = owner) -> mine
    ghosts(mine, by = near) -> seen
  }
  gather(seen) -> all
  print(all)
}
"""


def test_a_list_of_rows_that_have_gone_is_refused(tmp_path):
    (tmp_path / "m.py").write_text(PYTHON)
    case = some(5, 10, (2,), (False,), 9.0)
    object.__setattr__(case, "owners", lambda x: np.zeros(len(x), np.int64))
    import_python(str(tmp_path / "m.py"), "m.py").case = case
    with pytest.raises(PseError, match="ghosts: partition 1 is to show row 4, and has 0 rows") as caught:
        run(make_job(compile_program(STALE, tmp_path / "p.coven"), 2), poison=True)
    assert caught.value.help == "make the list anew by `border` when rows have migrated"


def test_a_list_that_names_no_partition_is_refused(tmp_path):
    (tmp_path / "m.py").write_text(PYTHON)
    import_python(str(tmp_path / "m.py"), "m.py").case = some(5, 10, (2,), (False,), 9.0)
    text = STALE.replace("domain }", "domain, spoil }").replace("owners(xs) -> owner", "spoil(inout near)")
    text = text.replace("    migrate(xs, by = owner) -> mine\n", "").replace("ghosts(mine", "ghosts(xs")
    with pytest.raises(PseError, match="ghosts: row 0 of the list is about partition 77, of 2") as caught:
        run(make_job(compile_program(text, tmp_path / "p.coven"), 2), poison=True)
    assert caught.value.help == "give a list that `border` has made"
