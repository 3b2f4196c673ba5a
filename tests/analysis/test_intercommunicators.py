"""Messages and collective operations between two groups; communicators with processes of another job."""

import sys

import numpy as np
import pytest
from pse_testing.jobs import beside_python
from pse_testing.planted_waits import PlantedWaits

from pse.analysis import analyze
from pse.analysis.cube._metrics import WAIT_OF_DELAY
from pse.trace import EventType
from pse.trace.format import CommunicatorFlag

BETWEEN, FIRST, SECOND = 1, [0, 2], [1, 3, 4]
"""The intercommunicator, with the ranks of its groups."""
DELAY = 0.2
PROGRAM = f"""
import time
import numpy as np
from mpi4py import MPI

world, data = MPI.COMM_WORLD, np.zeros(2)
second = world.rank % 2
own = world.Split(second)
between = own.Create_intercomm(0, world, 1 - second)


def late(rank):
    world.Barrier()
    if world.rank == rank:
        time.sleep({DELAY})


late(0)
if world.rank == 0:
    between.Send(data, 0)
if world.rank == 1:
    between.Recv(data, MPI.ANY_SOURCE)
late(2)
between.Allreduce(data, np.empty(2))
late(1)
between.Bcast(data, (MPI.ROOT if world.rank == 1 else MPI.PROC_NULL) if second else 0)
"""
DELAYS = {metric: name for name, metric in WAIT_OF_DELAY.items()}


@pytest.fixture
def program():
    """Give ranks 0 and 2 as one group, 1, 3 and 4 as another."""
    made = PlantedWaits(5, [[0, 1, 2, 3, 4], [*FIRST, *SECOND]])
    for rank, row in _made(made, BETWEEN + 1):
        row["flags"] = CommunicatorFlag.TWO_GROUPS
        row["flags"] |= CommunicatorFlag.SECOND_GROUP if rank in SECOND else 0
    return made


def _made(program, number):
    for rank, rows in enumerate(program.rows):
        for row in rows:
            if row["type"] == EventType.MPI_COMMUNICATOR and row["a"] & 0xFFFFFFFF == number:
                yield rank, row


@pytest.mark.parametrize(
    ("name", "begins", "ends", "root", "metric", "waits"),
    [
        # Nobody waits for ranks of the own group: rank 4 comes last, and ranks 0 and 2 wait for it.
        ("MPI_Barrier", [0, 50, 10, 20, 90], [2, 2, 2, 2, 2], None, "mpi_barrier_wait", [90, 40, 40, 30, 0]),
        ("MPI_Allreduce", [0, 50, 10, 20, 90], [2] * 5, None, "mpi_wait_nxn", [90, 40, 40, 30, 0]),
        ("MPI_Allreduce", [0, 50, 10, 20, 90], [3, 2, 2, 2, 7], None, "mpi_nxn_completion", [1, 0, 0, 0, 5]),
        ("MPI_Bcast", [0, 50, 10, 20, 90], [2] * 5, 1, "mpi_latebroadcast", [0, 40, 0, 30, 0]),
        ("MPI_Reduce", [0, 50, 10, 20, 90], [2] * 5, 0, "mpi_earlyreduce", [10, 0, 0, 0, 0]),
    ],
)
def test_ranks_wait_for_the_other_group(program, tmp_path, name, begins, ends, root, metric, waits):
    program.collective(BETWEEN, name, begins, ends, root or 0)
    _as_between_groups(program, root)
    cube = analyze(program.write(tmp_path / "run"))
    assert cube.problems == ()
    assert cube.by_region(metric).get(name, [0] * 5) == waits
    if metric in DELAYS:
        costs = sum(cube.total(f"delay_{DELAYS[metric]}{term}") for term in ("", "_longterm"))
        assert costs == pytest.approx(sum(waits))


def _as_between_groups(program, root):
    """Let only the root and the other group take part in what has a root."""
    for rank in FIRST if root is not None else ():
        if program.communicators[BETWEEN].index(rank) != root:
            for row in program.rows[rank]:
                if row["type"] == EventType.MPI_COLLECTIVE_BEGIN:
                    row["a"] = 0xFFFFFFFF
                if row["type"] == EventType.MPI_COLLECTIVE_END:
                    row["a"] = row["b"] = 0


def test_messages_between_groups_are_matched(program, tmp_path):
    program.late_sender(BETWEEN, source=0, target=4, wait=300, tag=7, wildcard=False)
    program.late_receiver(BETWEEN, source=3, target=2, wait=200, tag=8, buffered=False)
    cube = analyze(program.write(tmp_path / "run"))
    assert cube.problems == ()
    assert cube.by_region("mpi_latesender") == {"MPI_Recv": [0, 0, 0, 0, 300]}
    assert cube.by_region("mpi_latereceiver") == {"MPI_Ssend": [0, 0, 0, 205, 0]}


def test_what_goes_to_another_job_is_left_out_by_name(program, tmp_path):
    for _, row in _made(program, BETWEEN + 1):
        row["flags"] = CommunicatorFlag.TWO_GROUPS | CommunicatorFlag.OTHER_JOB
    program.late_sender(BETWEEN, source=0, target=4, wait=300, tag=7, wildcard=False)
    program.collective(BETWEEN, "MPI_Barrier", [0, 50, 10, 20, 90], [2] * 5)
    cube = analyze(program.write(tmp_path / "run"))
    assert cube.problems == (
        "2 sends and receives with processes of another job, such as spawned ones: left out",
        "5 parts of collective operations with processes of another job, such as spawned ones: left out",
    )
    assert cube.total("mpi_latesender") == cube.total("mpi_barrier_wait") == 0


@pytest.mark.mpi
def test_waits_between_groups_in_a_real_run(pse, tmp_path):
    (tmp_path / "groups.py").write_text(PROGRAM)
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory run\n")
    command = [beside_python("mpiexec"), "-n", "4", sys.executable, "groups.py"]
    done = pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    cube = analyze(tmp_path / "run")
    assert cube.problems == ()
    for metric, routine, waiting, others in (
        ("mpi_latesender", "MPI_Recv", [1], [0, 2, 3]),
        ("mpi_wait_nxn", "MPI_Allreduce", [1, 3], []),
        ("mpi_latebroadcast", "MPI_Bcast", [0, 2], [1, 3]),
    ):
        regions = cube.by_region(metric)  # mpi4py takes large counts where MPI has them.
        waits = np.array(regions.get(f"{routine}_c", regions.get(routine)))
        assert min(waits[waiting]) > 0.5e9 * DELAY
        assert not waits[others].any()
