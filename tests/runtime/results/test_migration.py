"""Rows that go to the partition that a number for each of them names: on a node and between nodes."""

import re

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse import partition
from pse.errors import PseError
from pse.modules.load._imports import import_python

PYTHON = """
import numpy as np
from pse import partition
given, told = {}, {}

#@ coven module draw(in i64 n, out f64 x[n, 2])
def draw(n):
    return np.arange(2.0 * n).reshape(n, 2)
#@ coven module owners(in f64 x[n, 2], in i64 k, out i64 owner[n])
def owners(x, k):
    return given["owners"](x, k)
#@ coven module some(in f64 x[n, 2], out i64 owner[?k])
def some(x):
    return np.zeros(len(x) - (partition.index == 2), np.int64)
#@ coven module label(in f64 x[n, 2], out u8 name[n])
def label(x):
    return (x[:, 0] % 251).astype(np.uint8)
#@ coven module first(in f64 x[n, 2], out f64 row[1, 2])
def first(x):
    return x[:1].copy()
#@ coven module place(in f64 x[n, 2], out i64 address[1])
def place(x):
    return np.array([x.ctypes.data])
#@ coven module tell(in string name, in T x[...])
def tell(name, x):
    told[name] = x.copy()
"""
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
    {"processors": 1, "serial": True},
]


@pytest.fixture
def play(tmp_path):
    """Run a program's body with rules that say where rows go; gives what it told, by name."""
    (tmp_path / "m.py").write_text(PYTHON)
    module = import_python(str(tmp_path / "m.py"), "m.py")

    def played(body, owners, processors=1, **how):
        module.given, module.told = {"owners": owners}, {}
        text = f"""coven 1
import "m.py" {{ draw, owners, some, label, first, place, tell }}
partition P = 5
program rows {{
  draw(23) -> x
  scatter(x) -> xs @ block(0)
{body}
}}
"""
        run(make_job(compile_program(text, tmp_path / "p.coven"), processors, **how), poison=True)
        return dict(module.told)

    return played


TWICE = """
  PARALLEL over P {
    owners(xs, 0) -> to
    label(xs) -> names @ block(0)
    migrate(xs, by = to) -> ys
    migrate(names, by = to) -> moved
    owners(ys, 1) -> on
    thread_C migrate(ys, by = on) -> zs
    thread_C migrate(moved, by = on) -> again
  }
  gather(ys) -> once
  gather(zs) -> whole
  gather(again) -> labels
  tell("once", once)
  tell("whole", whole)
  tell("labels", labels)"""


def by_hand(pieces, owners, k):
    """Give the pieces after a migration: in the order of the partitions that rows come from."""
    to = [owners(piece, k) for piece in pieces]
    return [
        np.concatenate([piece[o == p] for piece, o in zip(pieces, to, strict=True)])
        for p in range(len(pieces))
    ]


def scattered(x, k):
    """Some partitions get nothing, others more than they had."""
    return ((x[:, 0] + k).astype(np.int64) * 7 % 5) // 2 + k


@pytest.mark.parametrize("place", PLACES)
def test_rows_come_in_the_order_of_the_partitions_that_they_are_from(play, place):
    told = play(TWICE, scattered, **place)
    pieces = np.array_split(np.arange(46.0).reshape(23, 2), 5)
    once = by_hand(pieces, scattered, 0)
    twice = by_hand(once, scattered, 1)
    assert len({len(piece) for piece in once}) > 2
    np.testing.assert_array_equal(told["once"], np.concatenate(once))
    np.testing.assert_array_equal(told["whole"], np.concatenate(twice))
    np.testing.assert_array_equal(told["labels"], np.concatenate(twice)[:, 0] % 251)


def test_rows_that_stay_are_in_the_order_that_they_had(play):
    told = play(TWICE, lambda x, k: np.full(len(x), partition.index), processors=2)
    np.testing.assert_array_equal(told["whole"], np.arange(46.0).reshape(23, 2))


IN_PLACE = """
  PARALLEL over P {
    owners(xs, 0) -> to
    migrate(xs, by = to) -> ys
    owners(ys, 1) -> back
    place(ys) -> from @ block(0)
    migrate(ys, by = back) -> zs
    place(zs) -> at @ block(0)
  }
  gather(from) -> before
  gather(at) -> after
  gather(zs) -> whole
  tell("before", before)
  tell("after", after)
  tell("whole", whole)"""
AFTERWARDS = """
  gather(ys) -> kept
  tell("kept", kept)"""


def around(x, k):
    """The first row goes to the next partition, others stay; then the other way round."""
    return np.where(np.arange(len(x)) == 0, (partition.index + 1 + k) % 5, partition.index)


@pytest.mark.parametrize("place", PLACES)
def test_rows_that_nobody_needs_any_more_migrate_where_they_are(play, place):
    told = play(IN_PLACE, around, **place)
    pieces = np.array_split(np.arange(46.0).reshape(23, 2), 5)
    came = [pieces[k - 1][:1] for k in range(5)]
    once = [pieces[0][1:], came[0], *(row for k in range(1, 5) for row in (came[k], pieces[k][1:]))]
    np.testing.assert_array_equal(told["after"], told["before"])
    kept = play(IN_PLACE + AFTERWARDS, around, **place)
    np.testing.assert_array_equal(kept["kept"], np.concatenate(once))
    np.testing.assert_array_equal(kept["whole"], told["whole"])


EVENLY = """
  PARALLEL over P {
    owners(xs, 0) -> to
    migrate(xs, by = to) -> ys
    thread_C redistribute(ys) -> even @ block(0)
    thread_D first(even) -> begins @ block(0)
  }
  gather(even) -> whole
  gather(begins) -> starts
  tell("whole", whole)
  tell("starts", starts)"""


@pytest.mark.parametrize("place", PLACES)
def test_rows_that_modules_made_are_shared_out_evenly_in_their_order(play, place):
    """Five partitions, some of them empty; the blocks are those of an array of 23 rows."""
    told = play(EVENLY, scattered, **place)
    whole = np.concatenate(by_hand(np.array_split(np.arange(46.0).reshape(23, 2), 5), scattered, 0))
    np.testing.assert_array_equal(told["whole"], whole)
    np.testing.assert_array_equal(told["starts"], [part[0] for part in np.array_split(whole, 5)])


@pytest.mark.parametrize("wrong", [5, -1, 1 << 40])
def test_a_partition_that_does_not_exist_is_an_error(play, wrong):
    def owners(x, k):
        return np.where(x[:, 0] == 24.0, wrong, 0)

    said = f"migrate: row 2 of partition 2 is to go to partition {wrong}"
    with pytest.raises(PseError, match=re.escape(said)) as caught:
        play(TWICE, owners, processors=2)
    assert caught.value.help == "there are partitions 0 to 4"


def test_an_owner_for_each_row_is_expected(play):
    body = "  PARALLEL over P { some(xs) -> to  migrate(xs, by = to) -> ys  sum(ys) -> s reduce t(sum) }"
    with pytest.raises(PseError, match="partition 2 has 5 rows, but 4 numbers of partitions"):
        play(body + "\n  print(t)", None, processors=2)
