"""Patterns written in Python: both forms are understood, and what is no partition of the axis is named."""

import numpy as np
import pytest

from pse.errors import ProgramError
from pse.modules import ModuleError
from pse.runtime.distribution import _index_sets as index_sets, _user_distributions as user_distributions

PATTERNS = """
import itertools
import numpy as np
calls = itertools.count()
def owners(extent, partitions):
    return (np.arange(extent) * 5) % partitions
def lists(extent, partitions):
    return [range(part, extent, partitions) for part in range(partitions)]
def backwards(extent, partitions):
    return [[*range(part, extent, partitions)][::-1] for part in range(partitions)]
def short(extent, partitions):
    return [0] * (extent - 2)
def long(extent, partitions):
    return [0] * (extent + 1)
def outside(extent, partitions):
    return [partitions if i == 3 else 0 for i in range(extent)]
def negative(extent, partitions):
    return [-1 if i == 2 else 0 for i in range(extent)]
def lost(extent, partitions):
    return [[0, 1], [3, 4, 5]] + [[]] * (partitions - 2)
def doubled(extent, partitions):
    return [[0, 1, 2], [2, 3, 4, 5]] + [[]] * (partitions - 2)
def twice(extent, partitions):
    return [[0, 1, 1], [2, 3, 4, 5]] + [[]] * (partitions - 2)
def beyond(extent, partitions):
    return [[0, 1, 2, 9], [3, 4, 5]] + [[]] * (partitions - 2)
def few(extent, partitions):
    return [[*range(extent)]]
def real(extent, partitions):
    return np.zeros(extent)
def none(extent, partitions):
    return None
def words(extent, partitions):
    return ["a"] * extent
def raises(extent, partitions):
    raise KeyError("no such place")
def leaves(extent, partitions):
    raise SystemExit(5)
def moody(extent, partitions):
    return [next(calls) % partitions] * extent
value = 3
"""


@pytest.fixture
def dealt(tmp_path):
    (tmp_path / "deal.py").write_text(PATTERNS)

    def ask(name, extent=6, parts=3):
        pieces = user_distributions.pieces(f"{tmp_path}/deal.py:{name}", extent, parts)
        return [index_sets.indices(index_set).tolist() for index_set in pieces]

    return ask


@pytest.mark.parametrize(("name", "same"), [("lists", lambda i: i % 3), ("owners", lambda i: i * 5 % 3)])
def test_owners_and_lists_both_deal_out_indices(dealt, name, same):
    assert dealt(name, 20) == [[i for i in range(20) if same(i) == part] for part in range(3)]


def test_pieces_hold_their_indices_in_ascending_order(dealt):
    assert dealt("backwards", 5, 2) == [[0, 2, 4], [1, 3]]


@pytest.mark.parametrize(("name", "extent"), [("owners", 0), ("lists", 0), ("owners", 1), ("lists", 1)])
def test_patterns_deal_out_each_of_very_few_indices_once(dealt, name, extent):
    assert sorted(index for piece in dealt(name, extent) for index in piece) == [*range(extent)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("short", r"short\(6, 3\) returned partitions for 4 indices; expected 6"),
        ("long", r"long\(6, 3\) returned partitions for 7 indices; expected 6"),
        ("outside", r"outside\(6, 3\) assigned index 3 to partition 3; partitions go from 0 to 2"),
        ("negative", r"negative\(6, 3\) assigned index 2 to partition -1"),
        ("lost", r"lost\(6, 3\) assigned index 2 to none of 3 partitions"),
        ("doubled", r"doubled\(6, 3\) assigned index 2 twice: to partitions 0 and 1"),
        ("twice", r"twice\(6, 3\) assigned index 1 twice: to partition 0"),
        ("beyond", r"beyond\(6, 3\) assigned index 9 to partition 0; indices go from 0 to 5"),
        ("few", r"few\(6, 3\) returned 1 list of indices; expected one for each of 3 partitions"),
        ("none", r"none\(6, 3\) returned .*; expected integers"),
        ("real", r"real\(6, 3\) returned .*; expected integers"),
        ("words", r"words\(6, 3\) returned .*; expected integers"),
        ("moody", r"moody\(6, 3\) returns something else when called again"),
        ("value", r"deal.py has no function value"),
        ("nowhere", r"deal.py has no function nowhere"),
    ],
)
def test_what_is_no_partition_is_named(dealt, name, words):
    with pytest.raises(ProgramError, match=words):
        dealt(name)


@pytest.mark.parametrize(("name", "words"), [("raises", "no such place"), ("leaves", "SystemExit: 5")])
def test_a_function_that_fails_is_named_with_its_own_frames(dealt, name, words):
    with pytest.raises(ModuleError, match=rf"{name}\(6, 3\) failed") as failure:
        dealt(name)
    assert words in failure.value.traceback


def test_a_pattern_in_a_file_that_does_not_exist_is_refused():
    with pytest.raises(ProgramError, match=r"pattern nowhere.py:deal: there is no file nowhere.py"):
        user_distributions.pieces("nowhere.py:deal", 4, 2)


def test_large_regular_patterns_stay_few_combs(tmp_path):
    (tmp_path / "deal.py").write_text(PATTERNS)
    pieces = user_distributions.pieces(f"{tmp_path}/deal.py:owners", 100_000, 7)
    assert [len(index_set) for index_set in pieces] == [1] * 7
    assert np.sum([strided.size for index_set in pieces for strided in index_set]) == 100_000


def test_a_run_ends_before_it_begins(pse, tmp_path):
    (tmp_path / "deal.py").write_text(PATTERNS)
    (tmp_path / "bad.coven").write_text(
        """coven 1
import "deal.py" { doubled }
partition P = 2
program bad {
  var f64[6] @ doubled(0) u
  zero() -> u
  gather(u) -> whole
  print("never", whole)
}
"""
    )
    ended = pse("run", "bad.coven", "-p", "1", cwd=tmp_path)
    assert ended.code == 1
    assert "bad.coven:7:3: pattern deal.py:doubled: doubled(6, 2) assigned index 2 twice" in ended.err
    assert "never" not in ended.out
    checked = pse("check", "bad.coven", cwd=tmp_path)
    assert (checked.code, "no errors" in checked.out) == (0, True), "checking executes nothing"
