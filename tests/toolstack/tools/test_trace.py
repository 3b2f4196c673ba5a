"""The tool trace: what ranks do in MPI, as events that pse.trace reads."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pse.trace
from pse.analysis import analyze
from pse.trace import NONE, Collective, EventType, TextKind
from pse.trace.format import high32, low32
from pse.trace.query import mpi_communicators, routine_threads, thread_begins

PROGRAMS = Path(__file__).parent / "programs"
INT = 4
INEXACT = 100  # ns, of the processor's counter

pytestmark = pytest.mark.mpi


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "not" / "there" / "yet"


@pytest.fixture
def traced(program, stacked_program, directory):
    """Run traced.c under the tool, and open what it has recorded."""

    def run(ranks):
        one = program("traced", (PROGRAMS / "traced.c").read_text())
        done = stacked_program(ranks, f"module trace\n  argument directory {directory}\n", one)
        assert (done.code, done.err) == (0, "")
        return pse.trace.open(directory)

    return run


def ends(events):
    """Number, partner and tag of messages' events."""
    return list(
        zip(events["a"].tolist(), low32(events["b"]).tolist(), high32(events["b"]).tolist(), strict=True)
    )


def test_times_of_threads_are_in_order(program, stacked_program, directory):
    threads = program("many_threads", (PROGRAMS / "many_threads.c").read_text(), "-pthread")
    assert stacked_program(3, f"module trace\n  argument directory {directory}\n", threads).code == 0
    trace = pse.trace.open(directory)
    cube = analyze(trace)
    assert trace.problems == cube.problems == ()
    waited = cube.exclusive("thread_wait").sum(axis=1)
    paths = {cube.path_text(path) for path in np.flatnonzero(waited)}
    assert paths == {"program / pthread_join"}
    assert not any("begin_thread" in cube.path_text(path) for path in range(len(cube.call_paths)))
    calls, threads = trace.routine_calls()[0], routine_threads(trace)
    for rank in trace.ranks:
        own, began = calls["rank"] == rank, thread_begins(trace, rank)
        for number in set(threads[own].tolist()) - {0}:
            enters = calls["enter"][own & (threads == number)]
            assert 0 < began[number][0] < enters.min()
    for rank in trace.ranks:
        events = trace.events(rank)
        posts, came = (
            events[events["type"] == kind] for kind in (EventType.MPI_RECEIVE_POST, EventType.MPI_RECEIVE)
        )
        asked = dict(zip(posts["c"].tolist(), high32(posts["b"]).tolist(), strict=True))
        assert [asked[request] for request in came["c"].tolist()] == high32(came["b"]).tolist()
        assert len(trace.select(rank, EventType.MPI_SEND)) == 16 * 100
        assert len(trace.select(rank, EventType.MPI_RECEIVE)) == 16 * 100


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_message_and_request_is_recorded_from_start_to_completion(traced, ranks):
    trace = traced(ranks)
    assert trace.problems == ()
    for rank in trace.ranks:
        following, last = (rank + 1) % ranks, (rank - 1) % ranks
        ring = [(INT * i, i) for i in range(10)] + [(3 * INT, 20)] * 2
        sends = trace.select(rank, EventType.MPI_SEND)
        assert ends(sends) == [(size, following, tag) for size, tag in ring]
        received = trace.select(rank, EventType.MPI_RECEIVE)
        assert sorted(ends(received)) == sorted((size, last, tag) for size, tag in ring)
        posted = trace.select(rank, EventType.MPI_RECEIVE_POST)
        assert ends(posted)[:3] == [(400, NONE, 0), (400, last, 1), (400, NONE, 2)]
        check_requests(trace, rank, sends, posted, received)


def check_requests(trace, rank, sends, posted, received):
    """Each start has a number of its own, and ends once: complete or cancelled."""
    started = Counter(high32(np.concatenate([sends["c"], posted["c"]])).tolist())
    assert max(started.values()) == 1
    complete = high32(trace.select(rank, EventType.MPI_SEND_COMPLETE)["c"]).tolist()
    cancelled = high32(trace.select(rank, EventType.MPI_REQUEST_CANCEL)["c"]).tolist()
    of_receives = [number for number in high32(received["c"]).tolist() if number]
    assert sorted(complete) == sorted(high32(sends["c"]).tolist())
    assert sorted(of_receives + cancelled) == sorted(high32(posted["c"]).tolist())
    assert len(received) - len(of_receives) == 2  # MPI_Mrecv has no request.


def test_all_that_a_call_tells_after_it_has_the_time_of_its_end(traced):
    events = traced(1).events(0)
    told = np.flatnonzero(np.isin(events["type"], [EventType.MPI_RECEIVE, EventType.MPI_COLLECTIVE_END]))
    following = np.minimum(told + 1, len(events) - 1)
    is_last = events["type"][following] == EventType.REGION_LEAVE
    assert is_last.sum() == 10
    assert events["time"][told[is_last]].tolist() == events["time"][following[is_last]].tolist()


@pytest.mark.parametrize("ranks", [1, 3])
def test_times_are_those_of_the_systems_clock(program, stacked_program, directory, ranks, tmp_path):
    """Also where they come from the processor's counter, which is set by that clock again and again."""
    clocks = program("clocks", (PROGRAMS / "clocks.c").read_text())
    tools = f"module trace\n  argument directory {directory}\n"
    assert stacked_program(ranks, tools, clocks, str(tmp_path / "times")).code == 0
    trace = pse.trace.open(directory)
    for rank in trace.ranks:
        before, after = np.fromfile(f"{tmp_path}/times.{rank}", np.int64).reshape(-1, 2).T
        events = trace.events(rank)
        of_call = events["a"] == events["a"][np.flatnonzero(events["type"] == EventType.REGION_ENTER)[2]]
        for kind in (EventType.REGION_ENTER, EventType.REGION_LEAVE):
            times = events["time"][(events["type"] == kind) & of_call].astype(np.int64)
            assert len(times) == len(before) > 100
            assert (times > before - INEXACT).all()
            assert (times < after + INEXACT).all()


@pytest.mark.parametrize("ranks", [1, 3])
def test_collective_operations_say_root_and_bytes(traced, ranks):
    trace = traced(ranks)
    for rank in trace.ranks:
        begun = trace.select(rank, EventType.MPI_COLLECTIVE_BEGIN)
        ended = trace.select(rank, EventType.MPI_COLLECTIVE_END)
        half = (ranks - rank % 2 + 1) // 2
        at_root = ranks if rank == ranks - 1 else 0
        total = sum(range(ranks))
        expected = [
            (Collective.CREATE_COMMUNICATOR, NONE, 0, 0),
            (Collective.BCAST, 0, half * 16 if rank < 2 else 0, 16),
            *2 * [(Collective.CREATE_COMMUNICATOR, NONE, 0, 0), (Collective.ALLREDUCE, NONE, 4, 4)],
            (Collective.GATHER, ranks - 1, 20, 20 * at_root),
            (Collective.REDUCE_SCATTER, NONE, INT * total, INT * rank * ranks),
            (Collective.SCAN, NONE, 8 * (ranks - rank), 8 * (rank + 1)),
            (Collective.ALLREDUCE, NONE, 24 * ranks, 24 * ranks),
            (Collective.BARRIER, NONE, 0, 0),
        ]
        assert begun["flags"].tolist() == [row[0] for row in expected]
        assert begun["a"].tolist() == [row[1] for row in expected]
        found = zip(ended["flags"].tolist(), ended["a"].tolist(), ended["b"].tolist(), strict=True)
        assert list(found) == [(row[0], *row[2:]) for row in expected]
        assert begun["c"].tolist() == ended["c"].tolist()
        assert [bool(number) for number in high32(begun["c"])] == [False] * 10 + [True]  # MPI_Ibarrier


def test_communicators_are_the_same_on_all_ranks(traced):
    trace = traced(3)
    by_rank = [mpi_communicators(trace, rank) for rank in range(3)]
    named = [{made.name: made for made in known.values()} for known in by_rank]
    assert {known["MPI_COMM_WORLD"] for known in named} == {named[0]["MPI_COMM_WORLD"]}
    even, odd = named[0]["half of the world"], named[1]["half of the world"]
    assert named[2]["half of the world"] == even != odd
    assert (even.leader, even.size, odd.leader, odd.size) == (0, 2, 1, 1)
    members = trace.select(0, EventType.MPI_COMMUNICATOR_RANKS)
    mine = members[low32(members["a"]) == even.number]
    assert [low32(mine["b"]), high32(mine["b"]), low32(mine["c"])] == [0, 2, NONE]
    check_copies(trace)


def check_copies(trace):
    """Each copy of a communicator is another one, whatever its handle, and gone before the next one."""
    freed = low32(trace.select(0, EventType.MPI_COMMUNICATOR_FREE)["a"]).tolist()
    sums = trace.select(0, EventType.MPI_COLLECTIVE_BEGIN)
    on = low32(sums["c"][sums["flags"] == Collective.ALLREDUCE]).tolist()
    assert len({*freed}) == len(freed) == 3
    assert on[:2] == freed[1:]


@pytest.mark.parametrize("ranks", [1, 3])
def test_routines_nest_and_events_are_inside_of_them(stacked, directory, ranks):
    done = stacked(ranks, f"module trace\n  argument directory {directory}\n", PROGRAMS / "correct.py")
    assert (done.code, done.err) == (0, "")
    trace = pse.trace.open(directory)
    for rank in trace.ranks:
        texts, inside = trace.texts(rank), []
        places = {number for kind, number in texts if kind == TextKind.REGION_PLACE}
        for event in trace.events(rank):
            if event["type"] == EventType.REGION_ENTER:
                inside.append((event["a"], event["time"]))
            elif event["type"] == EventType.REGION_LEAVE:
                assert inside.pop() == (event["a"], event["b"])
                assert texts[TextKind.REGION, int(event["a"])].startswith("MPI_") != (event["a"] in places)
            else:
                assert inside or event["type"] == EventType.TEXT
        assert inside == []
        assert np.all(np.diff(trace.events(rank)["time"].astype("i8")) >= 0)


def test_the_summary_counts_calls_and_bytes(traced, pse, directory):
    traced(3)
    shown = pse("trace", "summary", directory)
    assert (shown.code, shown.err) == (0, "")
    assert "MPI_Allreduce" in shown.out
    row = next(line.split() for line in shown.out.splitlines() if line.startswith("MPI_COMM_WORLD"))
    assert row[1:8] == ["3", "0", "12", "204", "B", "12", "204"]
    assert shown.out.count("half of the world") == 3


TOGETHER = """
import os
from mpi4py import MPI
import pse.trace
directory, rank = os.environ["PSE_TRACE_DIRECTORY"], MPI.COMM_WORLD.rank
if rank == 0:
    pse.trace.create(directory)
MPI.COMM_WORLD.barrier()
with pse.trace.Recorder(directory, rank) as recorder:
    recorder.record(pse.trace.EventType.MARKER, a=1)
    MPI.COMM_WORLD.barrier()
    recorder.record(pse.trace.EventType.MARKER, a=2)
"""


def test_the_runtimes_events_and_mpis_are_read_as_one(stacked, tmp_path):
    done = stacked(3, "module trace\n", "-c", TOGETHER, env={"PSE_TRACE_DIRECTORY": str(tmp_path)})
    assert (done.code, done.err) == (0, "")
    trace = pse.trace.open(tmp_path)
    for rank in range(3):
        kinds = trace.events(rank)["type"].tolist()
        begin = kinds.index(EventType.MARKER)
        between = [EventType.REGION_ENTER, EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END]
        expected = [EventType.MARKER, *between, EventType.REGION_LEAVE, EventType.MARKER]
        assert [kind for kind in kinds[begin:] if kind != EventType.TEXT][:6] == expected
        assert trace.files[rank].closed


def test_a_file_of_another_run_is_left_out(stacked, tmp_path):
    env = {"PSE_TRACE_DIRECTORY": str(tmp_path)}
    assert stacked(1, "module trace\n", "-c", TOGETHER, env=env).code == 0
    pse.trace.Recorder(tmp_path, 0).close()
    trace = pse.trace.open(tmp_path)
    assert "rank-00000.mpi.events belongs to another run; it is left out" in trace.problems
    assert len(trace.events(0)) == 0


def test_an_older_run_with_more_ranks_leaves_nothing(traced, directory):
    traced(3)
    assert traced(1).ranks == (0,)


def test_trace_without_a_directory_does_not_start(stacked):
    done = stacked(1, "module trace\n", "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert "tool `trace`: no directory to write to" in done.err
    assert "or set the variable PSE_TRACE_DIRECTORY" in done.err


HOSTS = """
/* Two ranks on each host, whose clocks differ by 1000 s. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int host(void) { return getenv(RANK_VARIABLE) ? atoi(getenv(RANK_VARIABLE)) / 2 : 0; }
int gethostname(char *name, size_t room) { snprintf(name, room, "host%d", host()); return 0; }
int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    const int failed = real(id, time);
    if (id == CLOCK_MONOTONIC)
        time->tv_sec += 1000 * host();
    return failed;
}
"""


def test_clocks_of_hosts_are_compared(stacked, tool, preload, tmp_path):
    hosts = tool("hosts", HOSTS, "-ldl")
    conf = f"module trace\n  argument directory {tmp_path}/trace\n"
    done = stacked(5, conf, "-c", "from mpi4py import MPI", env={"LD_PRELOAD": f"{hosts} {preload}"})
    assert (done.code, done.err) == (0, "")
    trace = pse.trace.open(tmp_path / "trace")
    assert trace.problems == ()
    for rank in range(5):
        syncs = trace.events(rank)[trace.events(rank)["type"] == EventType.CLOCK_SYNC]
        compared = rank in (2, 4)  # The first of their hosts; rank 0's clock is the one that counts.
        assert len(syncs) == 2 * compared
        assert all(abs(offset + 1000e9 * (rank // 2)) < 1e7 for offset in syncs["a"].view("<i8"))
        assert all(bound < 1e7 for bound in syncs["b"])
