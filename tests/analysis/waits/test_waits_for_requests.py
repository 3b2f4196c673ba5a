"""Waits for requests: of persistent and partitioned messages in a real run, of collective operations."""

import sys

import numpy as np
import pytest
from pse_testing.jobs import beside_python
from pse_testing.planted_waits import ROUTINES, PlantedWaits
from pse_testing.traces import region_rows, text_rows

from pse.analysis import analyze, severities_json
from pse.trace import NONE, Collective, EventType, SendMode, open as open_trace, pair
from pse.trace.format import high32
from pse.trace.query import mpi_messages

DELAY = 0.1
PROGRAM = f"""
import time
import numpy as np
from mpi4py import MPI

world, data = MPI.COMM_WORLD, np.zeros(4)
first = world.rank == 0
ordinary = None if first else world.Irecv(np.empty(4), 0, 6)
made = [world.Send_init(data, 1, 5) if first else world.Recv_init(data, 0, 5)]
if hasattr(world, "Psend_init") and "Open MPI" not in MPI.Get_library_version():  # It hangs there.
    made.append(world.Psend_init(data, 2, 1, 6) if first else world.Precv_init(data, 2, 0, 6))
for number, request in enumerate(made):
    world.Barrier()
    if first:
        time.sleep({DELAY})
    request.Start()
    if first and number:
        request.Pready(1)
        time.sleep({3 * DELAY})
        request.Pready_list([0])
    request.Wait()
    request.Free()
if first:
    world.Send(data, 1, 6)
else:
    ordinary.Wait()
world.Barrier()
if first:
    for tag in (9, 8):
        time.sleep({DELAY})
        world.Send(data, 1, tag)
else:
    posted = [world.Irecv(np.empty(4), MPI.ANY_SOURCE, tag) for tag in (8, 9)]
    assert MPI.Request.Waitsome(posted) == [1]
    assert MPI.Request.Waitsome(posted) == [0]
if len(made) > 1:
    pair = [world.Psend_init(data, 1, 1, 7) if first else world.Precv_init(data, 1, 0, 7) for _ in range(2)]
    for request in pair if first else pair[::-1]:
        request.Start()
    world.Barrier()
    for request in pair:
        if first:
            request.Pready(0)
            time.sleep({DELAY})
        else:
            request.Wait()
    for request in pair:
        request.Wait()
        request.Free()
makes = [world.Dup, lambda: MPI.Win.Allocate(8, comm=world),
         lambda: MPI.File.Open(world, "data", MPI.MODE_CREATE | MPI.MODE_RDWR),
         lambda: world.Create_group(world.Get_group())]
results = []
for make in (*makes, lambda: results[1].Fence(), lambda: results[2].Close(), lambda: results[1].Free()):
    if first:
        time.sleep({DELAY})
    results.append(make())
    world.Barrier()
try:
    world.Send(data, 99)
except MPI.Exception:
    pass
if first:
    print(len(made))
"""


@pytest.mark.mpi
def test_persistent_partitioned_and_some_requests_wait_for_late_senders(pse, tmp_path):
    (tmp_path / "late.py").write_text(PROGRAM)
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory late\n")
    command = [beside_python("mpiexec"), "-n", "2", sys.executable, "late.py"]
    done = pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    cube = analyze(tmp_path / "late")
    assert cube.problems == ()
    late = cube.by_region("mpi_latesender")
    assert late["MPI_Waitsome"][1] >= 1e9 * DELAY
    assert cube.total("mpi_latesender_wo") == 0
    sender, receiver = late["MPI_Wait"]
    assert sender == 0
    joint = cube.by_region("mpi_other_wait")
    assert {name.removesuffix("_c") for name in joint} == {f"MPI_{name}" for name in (
        *("Comm_dup", "Comm_create_group"), *("Win_allocate", "Win_fence", "Win_free"),
        *("File_open", "File_close"),
    )}  # fmt: skip
    assert all(waited >= 0.9e9 * DELAY for _, waited in joint.values())
    made = int(done.out)
    assert receiver >= 1e9 * DELAY * (3 if made > 1 else 0.5)  # the last partition, too, is waited for
    if made > 1:
        assert_that_channels_are_apart(open_trace(tmp_path / "late"))


def assert_that_channels_are_apart(trace):
    """The sender makes the first one ready first, the receiver starts the second one first."""
    messages = mpi_messages(trace)
    one, other = np.sort(messages[messages["tag"] == 7], order="channel")
    assert one["posted"] > other["posted"]
    assert one["sent"] < other["sent"]


AMONG_NEIGHBORS = f"""
import time
import numpy as np
from mpi4py import MPI

world, late = MPI.COMM_WORLD, {DELAY}
first, size = world.rank == 0, world.size
path = world.Create_dist_graph_adjacent([world.rank - 1] if not first else [],
                                        [world.rank + 1] if world.rank + 1 < size else [])
line = world.Create_cart([size], periods=[False])
graph = world.Create_graph(range(2, 2 * size + 1, 2), [(r + s) % size for r in range(size) for s in (-1, 1)])
data, room = np.zeros(2), np.zeros(4)
# Open MPI fails where who has no neighbours on one side gives no room there.
into, out = max(path.indegree, 1), max(path.outdegree, 1)
for made in (path, line, graph):
    world.Barrier()
    if world.rank == 1:
        time.sleep(late)
    made.Neighbor_allgather(data, room[:2 * into] if made is path else room)
if world.rank == 1:
    world.Recv(room[:1], world.size - 1)
    time.sleep(late)
request = path.Ineighbor_alltoall(data[:2 * out], room[:2 * into])
if world.rank == world.size - 1:
    world.Send(data[:1], 1)
request.Wait()
"""


@pytest.mark.mpi
def test_neighbours_are_waited_for_in_graphs_and_grids(pse, tmp_path):
    """Rank 1 comes late: in the path rank 2 waits for it, in the line and the ring both others do."""
    (tmp_path / "near.py").write_text(AMONG_NEIGHBORS)
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory near\n")
    command = [beside_python("mpiexec"), "-n", "3", sys.executable, "near.py"]
    done = pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    opened = open_trace(tmp_path / "near")
    cube = analyze(tmp_path / "near")
    assert cube.problems == ()
    assert cube.by_region("mpi_neighbor_wait").popitem()[1] == planted_by_times(opened)
    assert sum(planted_by_times(opened)) > 0
    first, _, last = cube.by_region("mpi_nonblocking_wait")["MPI_Wait"]
    assert (first, last > 0) == (0, True)


def times_of(opened, rank, kind):
    """When a rank began, or ended, the blocking operations among neighbours."""
    events = opened.select(rank, kind)
    chosen = (events["flags"] == Collective.NEIGHBOR_ALLGATHER) & (high32(events["c"]) == 0)
    return opened.run_times(rank, events["time"][chosen]).tolist()


def planted_by_times(opened):
    """How long three ranks waited for the neighbours that `AMONG_NEIGHBORS` gives them, by their times."""
    neighbours = [[[], [0], [1]], [[1], [0, 2], [1]], [[1, 2], [0, 2], [0, 1]]]
    begins, ends = (
        [times_of(opened, rank, kind) for rank in range(3)]
        for kind in (EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END)
    )
    waits = [0.0] * 3
    for number, of_ranks in enumerate(neighbours):
        for rank, sources in enumerate(of_ranks):
            latest = max((begins[source][number] for source in sources), default=0)
            waits[rank] += max(0, min(latest, ends[rank][number]) - begins[rank][number])
    return waits


START = 50
COMPLETES = [(2000, 4500), (4200, 4500), (4100, 4500)]
"""When the ranks enter and leave the call that completes an operation."""


def started(directory, operation, root, bytes_, completed_by="MPI_Wait", beside=()):
    """Three ranks start an operation, the last one late; rank 0 waits for it."""
    program = PlantedWaits(3, [[0, 1, 2]])
    for rank, (begin, end) in enumerate(COMPLETES):
        common = {"flags": operation, "c": pair(1, 9)}
        start = 1000 if rank < 2 else 4000
        sends, receives = bytes_[rank]
        begun = {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": start, "a": root, **common}
        ended = {"type": EventType.MPI_COLLECTIVE_END, "time": end, "a": sends, "b": receives, **common}
        program.rows[rank] += text_rows(START, "MPI_Istart")
        program.rows[rank] += region_rows(START, start, start + 10, [begun])
        program.call(rank, completed_by, begin, end, ended, *(beside if rank == 0 else ()))
    return analyze(program.write(directory / "run"))


ALL = [(8, 8)] * 3


@pytest.mark.parametrize(
    ("operation", "root", "bytes_", "metric", "wait"),
    [
        (Collective.ALLREDUCE, NONE, ALL, "mpi_nonblocking_wait", 2000),
        (Collective.BARRIER, NONE, [(0, 0)] * 3, "mpi_nonblocking_barrier_wait", 2000),
        (Collective.BCAST, 2, [(0, 8), (0, 8), (8, 8)], "mpi_nonblocking_wait", 2000),
        (Collective.BCAST, 1, [(0, 8), (8, 8), (0, 8)], "mpi_nonblocking_wait", 0),  # Its root came early.
        (Collective.GATHER, 0, [(8, 8), (8, 0), (8, 0)], "mpi_nonblocking_wait", 2000),
        (Collective.GATHER, 1, [(8, 0), (8, 8), (8, 0)], "mpi_nonblocking_wait", 0),
        (Collective.SCAN, NONE, ALL, "mpi_nonblocking_wait", 0),  # Rank 0 needs nobody's data.
        (Collective.ALLTOALLV, NONE, ALL, "mpi_nonblocking_wait", 2000),
        (Collective.NEIGHBOR_ALLGATHER, NONE, ALL, "mpi_nonblocking_wait", 2000),
        (Collective.NEIGHBOR_ALLTOALLW, NONE, [(8, 8), (8, 8), (0, 8)], "mpi_nonblocking_wait", 0),
    ],
)
def test_who_completes_a_collective_operation_waits_for_its_data(
    tmp_path, operation, root, bytes_, metric, wait
):
    cube = started(tmp_path, operation, root, bytes_)
    assert cube.problems == ()
    assert cube.by_region(metric) == ({"MPI_Wait": [wait, 0, 0]} if wait else {})
    above = "mpi_synchronization" if operation == Collective.BARRIER else "mpi_collective"
    lasted = sum(end - begin for begin, end in COMPLETES)
    assert severities_json(cube)["severities"].get(metric) == (
        {"MPI_Wait": [wait / 1e3, 0, 0]} if wait else None
    )
    assert (cube.total(above), cube.total("mpi_point2point")) == (lasted, 0)
    assert cube.by_region(metric.replace("mpi_", "delay_").removesuffix("_wait")) == (
        {"program": [0, 0, wait]} if wait else {}
    )


def test_calls_that_test_or_complete_messages_too_do_not_wait_for_collective_operations(tmp_path):
    cube = started(tmp_path / "tests", Collective.ALLREDUCE, NONE, ALL, "MPI_Testall")
    assert (cube.total("mpi_nonblocking_wait"), cube.total("mpi_point2point")) == (0, 0)
    done = {"type": EventType.MPI_SEND_COMPLETE, "time": 4500, "c": pair(1, 8)}
    cube = started(tmp_path / "mixed", Collective.ALLREDUCE, NONE, ALL, "MPI_Waitall", [done])
    assert cube.total("mpi_nonblocking_wait") == 0
    assert cube.by_region("mpi_point2point") == {"MPI_Waitall": [2500, 0, 0]}
    assert cube.by_region("mpi_collective") == {"MPI_Waitall": [0, 300, 400]}


def test_cancelled_sends_are_no_messages(tmp_path):
    program = PlantedWaits(2, [[0, 1]])
    cancelled = program.request(0)
    program.call(0, "MPI_Isend", 1000, 1010, program.send(0, 1000, 1, 0, 7, cancelled))
    cancel = {"type": EventType.MPI_REQUEST_CANCEL, "time": 1100, "c": pair(1, cancelled)}
    program.call(0, "MPI_Wait", 1090, 1110, cancel)
    program.late_sender(0, source=0, target=1, wait=300, tag=7, wildcard=False)
    run = program.write(tmp_path / "run")
    assert analyze(run).problems == ()
    assert analyze(run).by_region("mpi_latesender") == {"MPI_Recv": [0, 300]}
    assert len(mpi_messages(run)) == 1


def test_blocking_sends_that_failed_are_no_messages(tmp_path):
    """The first one goes to a rank that does not exist, the second one of two alike fails, too."""
    program = PlantedWaits(2, [[0, 1]])
    failed = {"type": EventType.MPI_REQUEST_CANCEL, "c": pair(1, 0)}
    for begin, target, rows in ((900, 99, [failed]), (920, 1, []), (940, 1, [failed])):
        told = [row | {"time": begin + 5, "b": pair(target, 7)} for row in rows]
        sent = program.send(0, begin + 1, 1, 0, 7) | {"b": pair(target, 7)}
        program.call(0, "MPI_Send", begin, begin + 10, sent, *told)
    program.call(1, "MPI_Recv", 900, 1000, program.receive(999, 0, 0, 7))
    run = program.write(tmp_path / "run")
    assert analyze(run).problems == ()
    assert analyze(run).by_region("mpi_latesender") == {"MPI_Recv": [0, 20]}
    assert mpi_messages(run)["sent"].tolist() == [921]


def test_receives_of_which_requests_were_freed_may_have_got_what_nobody_received(tmp_path):
    program = PlantedWaits(2, [[0, 1]])
    program.call(1, "MPI_Irecv", 900, 910, program.post(901, 0, 0, 7, program.request(1)))
    program.call(0, "MPI_Send", 920, 930, program.send(0, 921, 1, 0, 7))
    assert analyze(program.write(tmp_path / "run")).problems == (
        "1 send without a receive in the trace; "
        "1 receive whose requests were freed or never completed may have got them",
    )


def test_partitioned_messages_and_others_of_one_tag_are_apart(tmp_path):
    """The partitioned one was posted first and comes last; between them a probe finds the other one."""
    program = PlantedWaits(2, [[0, 1]])
    partitioned = {"flags": SendMode.PARTITIONED}
    program.call(1, "MPI_Irecv", 1000, 1005, program.post(1000, 0, 0, 7, 1) | partitioned)
    probed = program.receive(1225, 0, 0, 7) | {"type": EventType.MPI_PROBE}
    program.call(0, "MPI_Bsend", 1210, 1215, program.send(0, 1211, 1, 0, 7))
    program.call(1, "MPI_Probe", 1010, 1230, probed)
    program.call(0, "MPI_Isend", 1750, 1755, program.send(0, 1751, 1, 0, 7, 1, SendMode.PARTITIONED))
    program.call(1, "MPI_Wait", 1240, 1760, program.receive(1759, 0, 0, 7, 1) | partitioned)
    program.call(1, "MPI_Recv", 1770, 1775, program.receive(1774, 0, 0, 7))
    run = program.write(tmp_path / "run")
    assert analyze(run).by_region("mpi_latesender") == {"MPI_Probe": [0, 200], "MPI_Wait": [0, 510]}
    messages = mpi_messages(run)
    assert messages[["sent", "received", "mode"]].tolist() == [(1211, 1774, 0), (1751, 1759, 4)]


def test_collective_operations_that_failed_are_left_out(tmp_path):
    program = PlantedWaits(3, [[0, 1, 2]])
    begun = {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": 1000, "a": NONE, "c": pair(1, 0)}
    program.call(1, "MPI_Barrier", 999, 1010, begun | {"flags": Collective.BARRIER})
    program.collective(0, "MPI_Barrier", [0, 100, 100], [2, 2, 2])
    cube = analyze(program.write(tmp_path / "run"))
    assert cube.problems == ()
    assert cube.by_region("mpi_barrier_wait") == {"MPI_Barrier": [100, 0, 0]}


def test_threads_are_in_collective_operations_of_several_communicators_at_once(tmp_path):
    program = PlantedWaits(2, [[0, 1], [0, 1]])
    for rank, (first, second) in enumerate([(1000, 1500), (3000, 1600)]):
        rows = [(80, first, 1, 1), (80, second, 2, 2), (81, 3100, 1, 1), (81, 3200, 2, 2)]
        for kind, time, thread, number in sorted(rows, key=lambda row: row[1]):
            thread_row = {"type": EventType.THREAD, "time": time, "a": thread}
            begin = {1: first, 2: second}[thread]
            row = {"type": kind, "time": time, "flags": Collective.BARRIER, "a": NONE, "c": pair(number, 0)}
            around = {"type": EventType.REGION_ENTER if kind == 80 else EventType.REGION_LEAVE}
            around |= {"time": time, "a": ROUTINES.index("MPI_Barrier"), "b": begin if kind == 81 else 0}
            inside = [around, row] if kind == 80 else [row | {"a": 0}, around]
            program.rows[rank] += [thread_row, *inside]
    cube = analyze(program.write(tmp_path / "run"))
    assert cube.problems == ()
    assert cube.by_region("mpi_barrier_wait") == {"MPI_Barrier": [2100, 0]}
