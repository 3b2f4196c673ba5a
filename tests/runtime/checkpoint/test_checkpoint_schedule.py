"""When checkpoints are taken."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from pse.errors import UsageError
from pse.runtime.checkpoint._schedule import Decision, Every, Schedule


def saves(schedule, times):
    """Pass pauses at given times; gives the numbers of those met at, and of those at which was saved."""
    due, met, saved = schedule.first, [], []
    for rounds, now in enumerate(times, 1):
        if rounds >= due:
            decision = schedule.meet(rounds, now, entry=False, before_entry=False)
            assert decision.due > rounds
            met.append(rounds)
            saved += [rounds] * decision.save
            due = decision.due
    return met, saved


@pytest.mark.parametrize(("text", "every"), [("7", Every(7, None)), ("2s", Every(None, 2.0))])
def test_every_is_rounds_or_seconds(text, every):
    assert Every.parse(text) == every


@pytest.mark.parametrize("text", ["", "0", "0s", "-1", "1.5", "s", "1m", "nan", "1e3s", "١", "9" * 20])
def test_what_every_does_not_mean_is_named(text):
    with pytest.raises(UsageError, match=r"--every .*: expected a number of rounds or of seconds"):
        Every.parse(text)


def test_every_tenth_round_is_saved():
    met, saved = saves(Schedule(Every(10, None), 0, 0.0), range(1, 35))
    assert saved == [10, 20, 30]
    assert met == [1, 3, 7, 10, 15, 20, 25, 30]  # About every 5 s: a stop may have to wait for a meeting.


def test_a_resumed_run_counts_on():
    schedule = Schedule(Every(10, None), 25, 0.0)
    assert schedule.first == 26
    saved = [schedule.meet(n, 0.0, entry=False, before_entry=False).save for n in (26, 34, 35)]
    assert saved == [False, False, True]


@settings(deadline=None)
@given(pace=st.floats(1e-6, 40.0), seconds=st.floats(0.5, 60.0))
def test_seconds_pass_between_checkpoints_and_meetings_are_few(pace, seconds):
    times = [pace * n for n in range(1, 2000)]
    met, saved = saves(Schedule(Every(None, seconds), 0, 0.0), times)
    at = [0.0, *(times[n - 1] for n in saved)]
    gaps = [b - a for a, b in itertools.pairwise(at)]
    assert all(seconds <= gap <= 2 * max(seconds, pace) + pace for gap in gaps)
    if times[-1] > 4 * max(seconds, pace):
        assert saved
    often = seconds / 2.5  # Two meetings are at most 5 s apart, and where rounds allow at least half of that.
    assert len(met) <= 30 + (16 + often) * len(saved) or pace * 4 > seconds


def test_a_loop_in_flight_is_saved_at_its_beginning():
    schedule = Schedule(Every(None, 60.0), 0, 0.0)
    assert schedule.meet(1, 0.1, entry=True, before_entry=False).save


def test_a_checkpoint_that_is_due_waits_for_a_loop_in_flight_but_for_one_pause_only():
    schedule = Schedule(Every(3, None), 0, 0.0)
    assert schedule.meet(3, 0.0, entry=False, before_entry=True) == Decision(False, 4)
    assert schedule.meet(4, 0.0, entry=False, before_entry=True) == Decision(True, 6)
