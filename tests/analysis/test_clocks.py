"""Clocks that are wrong: comparisons correct them, the controlled logical clock repairs what is left."""

import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import patch_header

from pse import trace
from pse.analysis import METRICS, analyze
from pse.analysis.clocks._clock_repair import LATENCY, moved_times, points_of, repair_clocks
from pse.analysis.clocks._host_alignment import ORDER_DTYPE, align_hosts
from pse.analysis.patterns._collective import Operations
from pse.analysis.replay._clocks import MESSAGE_DTYPE, least_latencies
from pse.analysis.replay._collective_parts import PART_DTYPE
from pse.analysis.replay._stream_placement import Streams
from pse.trace import NONE, Collective

HOSTS = ["FZJ/n0", "FZJ/n1", "BRS/n2", "BRS/n2"]
SECOND = 1_000_000_000
YEAR = 31_557_600
"""s."""


def planted(clocks, are_compared=True):
    """Messages between all neighbours and collective operations, for two seconds; each waits 10 ms."""
    found = PlantedWaits(4, [[0, 1, 2, 3]], HOSTS, clocks, are_compared)
    for number in range(50):
        source = number % 4
        found.late_sender(0, source, (source + 1) % 4, SECOND // 100, tag=1, wildcard=number % 2 == 0)
        found.late_receiver(0, source, (source + 3) % 4, SECOND // 100, tag=2, buffered=False)
        name = ("MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Scan")[number % 5]
        found.collective(0, name, [0, SECOND // 100, 0, 0], [40, 50, 60, 70], root=number % 4)
    return found


def written(program, directory):
    """Write it with wall clocks that are the clocks of the events."""
    program.write(directory)
    for rank in range(program.ranks):
        patch_header(directory / f"rank-{rank:05}.mpi.events", "start_real", struct.pack("<qQ", 0, 0))
    return trace.open(directory)


def totals(cube):
    return {metric.name: cube.total(metric.name) for metric in METRICS if metric.unit == "ns"}


def test_clocks_that_are_off_and_drift_give_the_same_waits_once_they_are_compared(tmp_path):
    right = totals(analyze(written(planted({}), tmp_path / "right")))
    clocks = {"FZJ/n0": (10**12, 2e-5), "FZJ/n1": (5, -5e-5), "BRS/n2": (3 * SECOND, 5e-5)}
    cube = analyze(written(planted(clocks), tmp_path / "off"))
    found = totals(cube)
    assert cube.problems == ()
    assert {name for name in found if found[name]} == {name for name in right if right[name]}
    completions = {name: right[name] for name in right if "completion" in name}
    for name in right.keys() - completions:
        assert found[name] == pytest.approx(right[name], rel=1e-4, abs=200), name
    assert all((cube.own(metric.name) > -1).all() for metric in METRICS)


def test_what_comparisons_leave_is_repaired_and_told(tmp_path):
    opened = written(planted({"BRS/n2": (30_000_000, 1e-4)}, are_compared=False), tmp_path / "run")
    wrong, cube = analyze(opened, repair=False), analyze(opened)
    assert wrong.problems[-1].endswith("too early; waits there are wrong")
    *_, said, off = cube.problems
    assert said.startswith("by the clocks of their ranks, ")
    assert "at most 30.1 ms too early" in said
    assert said.endswith("their times were repaired, and none is left")
    assert off.startswith("clocks of hosts were set by what went to and fro between them; if they run evenly")
    assert re.search(r"BRS/n2 by \d+ ns at most", off)
    assert all((cube.own(metric.name) >= 0).all() for metric in METRICS)


WAITS = ("latesender", "latereceiver", "latebroadcast", "earlyscan", "wait_nxn", "barrier_wait")


def test_waits_of_hosts_whose_clocks_nobody_compared_are_found_all_the_same(tmp_path):
    """Late receivers, too: a synchronous send ends after its receive was posted, which tells of clocks."""
    start = 20_000 * SECOND
    right = analyze(written(planted({}), tmp_path / "right"))
    for number, (ahead, drift) in enumerate([(10_000, 0.0), (-30_000_000, 1e-4), (10_000 * SECOND, -1e-5)]):
        clocks = {
            "FZJ/n0": (start, 0.0),
            "FZJ/n1": (start - ahead // 3, drift / 2),
            "BRS/n2": (start + ahead, drift),
        }
        cube = analyze(written(planted(clocks, are_compared=False), tmp_path / f"run{number}"))
        for name in WAITS:
            assert cube.total(f"mpi_{name}") == pytest.approx(right.total(f"mpi_{name}"), rel=1e-3), name


def test_clocks_are_set_between_bounds_and_compared_ones_by_no_more_than_necessary():
    """Host 1 is 200 to 300 ns late at first, and loses 1 µs in 100 ms; host 2 only gets something."""
    rows = [row for at in range(0, 100_000_000, 10_000_000) for row in (
        (0, at, 1, at - 200 - at // 100_000, 0), (1, at, 0, at + 300 + at // 100_000, 0),
        (0, at, 2, at - 50, 0),
    )]  # fmt: skip
    orders = np.array(rows, ORDER_DTYPE)
    (free,), (held,) = (align_hosts(orders, compared) for compared in ((), {1}))
    assert (free.host, held.host) == (1, 1)
    times = np.array([0, 50_000_000, 90_000_000])
    assert (free.line.convert(times) - times).tolist() == pytest.approx([250, 750, 1150], abs=2)
    assert free.bound == pytest.approx(50, abs=2)
    assert (held.line.convert(times) - times >= np.array([200, 700, 1100]) - 1).all()
    assert (held.line.convert(times) <= free.line.convert(times)).all()
    assert not align_hosts(orders[orders["later_host"] == 2], ())


@pytest.mark.parametrize(("ahead", "shown"), [(10, "10.0 s"), (80 * YEAR, "80 years")])
def test_clocks_that_differ_by_more_than_the_run_are_told(tmp_path, ahead, shown):
    """Nothing comes back from the other host, so that nobody knows when messages were there."""
    clocks = {"FZJ/n0": (ahead * SECOND, 0.0), "FZJ/n1": (ahead * SECOND, 0.0)}
    program = PlantedWaits(4, [[0, 1, 2, 3]], HOSTS, clocks, are_compared=False)
    for _ in range(50):
        program.late_sender(0, 0, 2, SECOND // 50, tag=1, wildcard=False)
    cube = analyze(written(program, tmp_path / "run"))
    assert cube.problems[-1] == (
        f"clocks differ by {shown} or more, but no rank ran longer than 1.00 s: waits for ranks with "
        "other clocks can't be known, and what is shown of them (waits, completion, delays) means nothing"
    )
    assert any(f"at most {shown} too early; their times can't be repaired" in text for text in cube.problems)


def test_comparisons_that_no_clocks_give_are_not_believed(tmp_path):
    run = written(planted({"BRS/n2": (10, 0.5)}), tmp_path / "run")
    assert re.fullmatch(
        "the comparisons of the clock of BRS/n2 with that of FZJ/n0 differ by [0-9.]+ ms within [0-9.]+ s, "
        "as no clocks do; only the first is used",
        run.clock.problems[0],
    )


@st.composite
def histories(draw):
    """Events of some ranks in an order that happened, with clocks that are wrong by up to 1 µs."""
    ranks = draw(st.integers(2, 4))
    now, messages, operations = 0, [], []
    skew = [draw(st.integers(0, 1000)) for _ in range(ranks)]
    kinds = (Collective.BARRIER, Collective.BCAST, Collective.REDUCE, Collective.SCAN, Collective.ALLTOALL)
    for _ in range(draw(st.integers(1, 25))):
        now += draw(st.integers(1, 200)) + 2
        if draw(st.booleans()):
            one, other = draw(st.permutations(range(ranks)))[:2]
            messages.append((one, now + skew[one], other, now + draw(st.integers(1, 50)) + skew[other]))
            now = now + 60
        else:
            root, kind = draw(st.integers(0, ranks - 1)), draw(st.sampled_from(kinds))
            begins = [draw(st.integers(0, 100)) for _ in range(ranks)]
            rows = [(now + begins[r] + skew[r], now + max(begins) + 1 + r + skew[r]) for r in range(ranks)]
            operations.append((kind, root, rows))
            now += max(begins) + 10
    return messages, operations


def parts_of(operations):
    rows = [
        (
            0,
            len(own),
            number,
            rank,
            0,
            root,
            rank,
            kind,
            kind != Collective.BARRIER,
            kind != Collective.BARRIER,
            False,
            NONE,
            times[0],
            *times,
        )
        for number, (kind, root, own) in enumerate(operations)
        for rank, times in enumerate(own)
    ]
    parts = np.array(rows, PART_DTYPE) if rows else np.empty(0, PART_DTYPE)
    starts = np.flatnonzero(parts["place"] == 0)
    is_root = parts["root"] == parts["place"]
    columns = (parts[name].copy() for name in ("begin", "end"))
    columns = (parts["side"], *columns, parts["sends"], parts["receives"], is_root, parts["source"])
    return parts, Operations(starts, *columns) if rows else None


def moved_to(moved, rank, time):
    """When an event is after the repair."""
    return int(moved[rank].of(np.array([time]))[0]) if rank in moved else time


@settings(max_examples=some_of(80), deadline=None)
@given(histories())
def test_after_the_repair_everything_is_after_what_it_needs(history):
    messages, operations = history
    parts, rows = parts_of(operations)
    columns = np.array(messages, float).reshape(-1, 4)
    ends = tuple(points_of(columns[:, at], columns[:, at + 1], is_end=at > 0) for at in (0, 2))
    latency = np.arange(len(messages)) % 7 + LATENCY
    moved = moved_times(repair_clocks(ends, latency, parts, rows))
    for (sender, sent, receiver, received), least in zip(messages, latency, strict=True):
        assert moved_to(moved, receiver, received) >= moved_to(moved, sender, sent) + least
    for kind, root, own in operations:
        begins = [moved_to(moved, rank, begin) for rank, (begin, _) in enumerate(own)]
        for rank, (_, end) in enumerate(own):
            needed = {
                Collective.BCAST: [begins[root]] if rank != root else [0],
                Collective.REDUCE: begins[:root] + begins[root + 1 :] if rank == root else [0],
                Collective.SCAN: begins[: rank + 1],
            }.get(kind, begins)
            assert moved_to(moved, rank, end) >= max(needed) + (max(needed) > 0)
    for own in moved.values():  # Time runs forward, and is never moved back.
        times = np.arange(-200_000, 20_000)
        now = own.of(times)
        assert (now >= times).all()
        assert (np.diff(now) >= 0).all()


def test_times_without_violations_stay_and_circles_end(tmp_path):
    ranks, none = np.array([0, 1]), np.empty(0, PART_DTYPE)
    fine = (
        points_of(ranks, np.array([5.0, 6]), is_end=False),
        points_of(ranks[::-1], np.array([9.0, 9]), is_end=True),
    )
    latency = np.full(2, LATENCY)
    assert not len(repair_clocks(fine, latency, none, None))
    circle = (
        points_of(ranks, np.array([9.0, 9]), is_end=False),
        points_of(ranks[::-1], np.array([5.0, 6]), is_end=True),
    )
    assert set(moved_times(repair_clocks(circle, latency, none, None))) <= {0, 1}


def test_a_jump_is_spread_over_the_time_before_it_as_far_as_messages_leave_time(tmp_path):
    """Rank 1's clock is 1000 ns late; it sends at 60,000 what rank 0 has at 60,400, 300 ns later at least."""
    sends = points_of(np.array([0, 1]), np.array([101_000.0, 60_000]), is_end=False)
    receives = points_of(np.array([1, 0]), np.array([100_100.0, 60_400]), is_end=True)
    moved = moved_times(repair_clocks((sends, receives), np.array([100, 300]), np.empty(0, PART_DTYPE), None))
    assert set(moved) == {1}
    times = np.array([0, 100, 20_100, 60_000, 80_050, 100_099, 100_100, 100_200, 500_000])
    shifts = (moved[1].of(times) - times).tolist()
    # 1000 ns over 100,000 ns; but not before the message of 60,000, which can be 100 ns later.
    assert shifts == [0, 0, 33, 100, 550, 999, 1000, 1000, 997]


def test_messages_take_at_least_as_long_as_was_measured(tmp_path):
    """On a host that is the shortest of its messages, between hosts half of a round trip, else 1 ns."""
    streams = Streams(np.zeros(4, "<i4"), ["FZJ/n0", "FZJ/n1", "BRS/n2"], np.array([0, 1, 2, 2], "<i4"))
    messages = np.array(
        [(2, 3, 5.0, 65.0), (2, 3, 100.0, 150.0), (0, 1, 5.0, 5.0), (1, 2, 5.0, 7.0)], MESSAGE_DTYPE
    )
    compared, alone = (
        written(planted({}, are_compared), tmp_path / f"run{are_compared}").clock for are_compared in (1, 0)
    )
    assert least_latencies(messages, compared, streams).tolist() == [50, 50, 100, 100]
    assert least_latencies(messages, alone, streams).tolist() == [50, 50, 1, 1]
