"""The length of time slices: longer where too many come late, all ranks from the same slice on."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pse import bcs
from pse.coschedule import _layer_setup
from pse.coschedule._coschedule import paced, shortest_slice
from pse.errors import UsageError

LENGTHS = (100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
WINDOW, TOLERATED = 500, 5
PROGRAM = Path(__file__).parent / "programs" / "late.py"


@given(st.sampled_from(LENGTHS), st.lists(st.integers(0, WINDOW - 1), max_size=TOLERATED, unique=True))
def test_one_late_slice_in_a_hundred_changes_nothing(length, late):
    lateness = np.full(WINDOW, length // 10)
    lateness[late] += 1
    slices = np.arange(1, 3 * WINDOW + 1) * length
    assert paced(length, list(lateness) * 3) == [(begin, length) for begin in slices]


@given(st.sampled_from(LENGTHS[:-1]), st.integers(0, WINDOW - TOLERATED - 1), st.integers(0, 3))
def test_one_more_makes_slices_longer_from_that_one_on(length, before, windows):
    on_time, late = [0] * (windows * WINDOW + before), [length // 10 + 1] * (TOLERATED + 1)
    found = paced(length, [*on_time, *late, 0, 0])
    longer = LENGTHS[LENGTHS.index(length) + 1]
    assert [one for _, one in found] == [length] * (len(found) - 3) + [longer] * 3
    first = found[-3][0]
    assert first == length * (len(found) - 2)
    assert [begin for begin, _ in found[-2:]] == [first + longer, first + 2 * longer]


@given(st.integers(100_000, 20_000_000), st.lists(st.sampled_from([0, 10**9]), max_size=2000))
def test_slices_are_never_shorter_than_asked_for(length, lateness):
    found = [one for _, one in paced(length, lateness)]
    assert found == sorted(found)
    assert all(one == length or one in LENGTHS for one in found)


@given(st.integers(0, 10**9))
def test_the_shortest_slice_that_works_is_half_left_by_late_strobes(lateness):
    shortest = shortest_slice(lateness)
    shorter = [one for one in LENGTHS if one < shortest]
    assert shortest in LENGTHS
    assert shortest >= 2 * lateness or shortest == LENGTHS[-1]
    assert all(one < 2 * lateness for one in shorter)


def test_a_machine_that_is_busy_for_a_moment_is_asked_again():
    busy, late, quiet = 10**7, 200_000, 10_000
    assert shortest_slice(250_000, iter([busy] * 10 + [quiet]).__next__) == 100_000
    assert shortest_slice(250_000, iter([quiet]).__next__) == 100_000
    assert shortest_slice(250_000, iter([busy, late] + [busy] * 50).__next__) == 500_000


def test_what_is_too_short_for_the_machine_is_told_with_what_works():
    _layer_setup._check_pace(500_000, 500_000)
    with pytest.raises(
        UsageError, match="of 250 µs are too short for this machine: the shortest that works is 500"
    ):
        _layer_setup._check_pace(250_000, 500_000)


@pytest.mark.mpi
def test_slices_of_a_rank_that_is_stopped_become_longer(mpiexec, tmp_path):
    ended = mpiexec(2, PROGRAM, env={"PSE_BCS_EMDS": str(tmp_path)})
    if "are too short for this machine" in ended.err:
        pytest.skip("this machine was too busy for time slices of 250 µs from the beginning")
    assert ended.code == 0, ended.err
    length, replayed = map(int, ended.out.split())
    assert (length > 250_000, replayed) == (True, 250_000), ended.err
    slices = bcs.load_slices(tmp_path)
    assert slices["length"][0] == 250_000
    last = slices["length"][-1]  # Those of Free may have become longer again.
    assert last >= length
    first = slices["slice"][np.flatnonzero(slices["length"] == last)[0]]
    said = "warning: more than 1 % of the time slices of 250 µs came late, so from slice "
    assert f"{said}{first} on they take {last // 1000} µs\n" in ended.err
    assert ended.err.count("warning") == 1
