"""Times of several hosts: comparisons of clocks, chains of them, and what can't be believed."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import patch_header, set_host, small_definitions, write_rank

from pse import trace
from pse.trace import EventType

BEGIN, END = 1_000_000_000, 11_000_000_000  # When clocks are compared, by the true clock.


def sync(time, offset, reference=0, bound=100):
    kind = EventType.CLOCK_SYNC
    return {"time": time, "type": kind, "a": offset & (2**64 - 1), "b": bound, "c": reference}


def call(enter, leave):
    return {"time": leave, "type": EventType.MODULE_LEAVE, "site": 0, "b": enter}


@pytest.fixture(scope="session")
def write_on():
    """Write one rank's file on a host; its wall clock was 0 when its clock was `zero`."""

    def write(directory, rank, host, rows, zero=0):
        path = write_rank(directory, rank, rows)
        set_host(path, host)
        patch_header(path, "start_real", struct.pack("<qQ", 0, zero))

    return write


BORN = {"time": 0, "type": EventType.PHASE, "a": 1}


class Clock:
    """A host's clock that is `ahead` of the true one and runs `drift` too fast."""

    def __init__(self, ahead, drift):
        self.ahead, self.drift = ahead, drift

    def show(self, true):
        return int(true + self.ahead + self.drift * true)

    def sync(self, true, other, reference=0):
        return sync(self.show(true), other.show(true) - self.show(true), reference)


TRUE = Clock(0, 0)


@given(
    ahead=st.integers(0, 10**15),
    drift=st.floats(-1e-4, 1e-4),
    times=st.lists(st.integers(BEGIN // 2, 2 * END), min_size=1, max_size=20),
)
@settings(max_examples=some_of(60), deadline=None)
def test_a_clock_that_is_off_and_drifts_is_corrected(tmp_path_factory, write_on, ahead, drift, times):
    directory, clock = tmp_path_factory.mktemp("drift"), Clock(ahead, drift)
    write_on(directory, 0, "a", [BORN])
    rows = [clock.sync(BEGIN, TRUE), clock.sync(END, TRUE), call(clock.show(BEGIN), clock.show(END))]
    write_on(directory, 1, "b", rows)
    read = trace.open(directory)
    assert read.clock.problems == ()
    shown = read.run_times(1, np.array([clock.show(time) for time in times], "<u8"))
    assert shown == pytest.approx(np.array(times), abs=50)


def test_tables_of_two_hosts_are_comparable(tmp_path, write_on):
    clock = Clock(5_000_000_000, 1e-5)
    messages = [(1_100_000_000, 1_200_000_000), (5_000_000_000, 5_000_001_000)]
    sends = [
        {"time": sent, "type": EventType.SEND, "b": trace.pair(1, 0), "c": number}
        for number, (sent, _) in enumerate(messages)
    ]
    receives = [
        {"time": clock.show(got), "type": EventType.RECEIVE, "b": trace.pair(0, 0), "c": number}
        for number, (_, got) in enumerate(messages)
    ]
    write_on(tmp_path, 0, "a", [BORN, *sends])
    write_on(tmp_path, 1, "b", [clock.sync(BEGIN, TRUE), *receives, clock.sync(END, TRUE)])
    table = trace.open(tmp_path).messages()
    assert table["sent"].tolist() == [sent for sent, _ in messages]
    assert table["received"] == pytest.approx([got for _, got in messages], abs=50)


def test_comparisons_form_chains_and_hosts_share_a_clock(tmp_path, write_on):
    first, second = Clock(10**12, 0), Clock(3 * 10**12, 2e-5)
    write_on(tmp_path, 0, "a", [BORN])
    write_on(tmp_path, 1, "b", [first.sync(BEGIN, TRUE), first.sync(END, TRUE)])
    write_on(tmp_path, 2, "c", [second.sync(BEGIN, first, 1), second.sync(END, first, 1)])
    write_on(tmp_path, 3, "c", [call(second.show(BEGIN), second.show(END))])
    read = trace.open(tmp_path)
    last = read.module_calls()[-1]
    assert [last["enter"], last["leave"]] == pytest.approx([BEGIN, END], abs=50)
    assert read.span == pytest.approx(END, abs=50)


def test_uncompared_hosts_have_their_wall_clocks_and_that_is_said(tmp_path, write_on):
    write_on(tmp_path, 0, "a", [call(100, 200)], zero=100)
    write_on(tmp_path, 1, "b", [call(5150, 5300)], zero=5000)
    read = trace.open(tmp_path)
    assert read.clock.problems == (
        "the clocks of a, b were not compared: times of different hosts are those of their wall clocks",
    )
    assert read.module_calls()["leave"].tolist() == [0, 200]


def test_a_run_that_broke_off_was_compared_once(tmp_path, write_on):
    write_on(tmp_path, 0, "a", [BORN])
    write_on(tmp_path, 1, "b", [sync(5000, -4000), call(5000, 6000)])
    read = trace.open(tmp_path)
    assert read.clock.problems == (
        "the clock of b was compared only once: how much it drifted later is not known",
    )
    assert read.run_times(1, np.array([6000], "<u8")).tolist() == [2000]


def test_a_comparison_that_turns_time_round_is_not_believed(tmp_path, write_on):
    write_on(tmp_path, 0, "a", [BORN])
    write_on(tmp_path, 1, "b", [sync(5000, -4000), call(5000, 6000), sync(9000, -9000)])
    read = trace.open(tmp_path)
    assert read.clock.problems[0] == (
        "the comparisons of the clock of b with that of a would make time run backwards; "
        "only the first is used"
    )
    assert read.run_times(1, np.array([5000, 9000], "<u8")).tolist() == [1000, 5000]


def test_comparisons_in_a_circle_are_left_out(tmp_path, write_on):
    write_on(tmp_path, 0, "a", [sync(10, 5, reference=1), call(0, 10)])
    write_on(tmp_path, 1, "b", [sync(10, 5, reference=0)])
    read = trace.open(tmp_path)
    assert "the clock of b was compared in a circle; that comparison is left out" in read.problems


def test_two_hosts_of_one_name_are_told(tmp_path, write_on):
    write_on(tmp_path, 0, "node", [BORN])
    write_on(tmp_path, 1, "node", [sync(10**9, -4000)])
    assert trace.open(tmp_path).clock.problems == ()
    write_on(tmp_path, 1, "node", [sync(10**9, 5 * 10**9)])
    assert trace.open(tmp_path).clock.problems == (
        "ranks 0 and 1 both call their host node, but its clock differs by 5.00 s: "
        "times of its ranks can't be compared",
    )


def test_hosts_stay_comparable_where_the_reference_is_lost(tmp_path, write_on):
    ahead = {1: Clock(10**12, 0), 2: Clock(7 * 10**12, 0)}
    for rank, clock in ahead.items():
        rows = [clock.sync(BEGIN, TRUE), call(clock.show(BEGIN), clock.show(END)), clock.sync(END, TRUE)]
        write_on(tmp_path, rank, f"n{rank}", rows)
    calls = trace.open(tmp_path).module_calls()
    assert calls["enter"].tolist() == [0, 0]
    assert calls["leave"].tolist() == [END - BEGIN] * 2


def test_the_definitions_tell_the_host_of_a_lost_rank(tmp_path, write_on):
    clock = Clock(10**12, 0)
    hosts = ["a", "a", "b"]
    ranks = [replace(rank, host=host) for rank, host in zip(small_definitions().ranks, hosts, strict=True)]
    trace.write_definitions(tmp_path, small_definitions(ranks=tuple(ranks)))
    write_on(tmp_path, 1, "a", [BORN, call(BEGIN, END)])
    write_on(tmp_path, 2, "b", [clock.sync(BEGIN, TRUE), call(clock.show(BEGIN), clock.show(END))])
    read = trace.open(tmp_path)
    assert "not compared" not in "".join(read.problems)
    assert read.module_calls()["enter"].tolist() == [BEGIN, BEGIN]


def test_between_comparisons_offsets_are_interpolated_and_beyond_them_the_mean_drift_goes_on(
    tmp_path, write_on
):
    write_on(tmp_path, 0, "a", [BORN])
    points = {1000: 0, 2000: 40, 5000: 40}
    write_on(tmp_path, 1, "b", [sync(time, offset) for time, offset in points.items()])
    times = np.array([0, 1000, 1500, 2000, 3000, 9000], "<u8")
    shown = trace.open(tmp_path).run_times(1, times) - times.astype("<i8")
    assert shown.tolist() == [-10, 0, 20, 40, 40, 80]


@given(
    words=st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), max_size=4),
    zero=st.integers(0, 2**64 - 1),
)
@settings(max_examples=some_of(60), deadline=None)
def test_senseless_comparisons_are_never_more_than_a_problem(tmp_path_factory, write_on, words, zero):
    directory = tmp_path_factory.mktemp("senseless")
    write_on(directory, 0, "a", [call(0, 10)])
    rows = [{"type": EventType.CLOCK_SYNC, "time": time, "a": a, "b": 0, "c": c} for time, a, c in words]
    write_on(directory, 1, "b", rows, zero)
    read = trace.open(directory)
    if 1 in read.ranks:  # Else its clock is impossible.
        assert read.run_times(1, np.array([0, 2**63, 2**64 - 1], "<u8")).dtype == np.dtype("<i8")
    assert isinstance(trace.summarize(read).to_json(), dict)
