"""Late receivers in a real program of MPI: what its sends waited for, from the tool `trace`."""

import sys

import numpy as np
import pytest
from pse_testing.jobs import beside_python

from pse import trace
from pse.analysis import wait_chain
from pse.runtime.launch import find_mpiexec

pytestmark = pytest.mark.mpi
NAMES = {1: "MPI_Ssend", 2: "MPI_Send", 4: "MPI_Wait"}
PROGRAM = """
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
large, small, times = np.zeros(1 << 20), np.zeros(4), np.zeros(5)


def receive(into, tag, after):
    while not world.Iprobe(0, after):  # The sender is in its call, or past it if `after` is another.
        pass
    time.sleep(0.05)
    times[tag] = time.monotonic()
    world.Recv(into, 0, tag)


world.Barrier()
if world.rank == 0:
    world.Ssend(small, 1, 1)
    times[1] = time.monotonic()
    world.Send(large, 1, 2)
    times[2] = time.monotonic()
    world.Send(small, 1, 3)
    world.Send(small, 1, 5)
    request = world.Isend(large, 1, 4)
    world.Send(small, 1, 6)
    request.Wait()
    times[4] = time.monotonic()
elif world.rank == 1:
    receive(small, 1, 1)
    receive(large, 2, 2)
    receive(small, 3, 5)
    world.Recv(small, 0, 5)
    receive(large, 4, 6)
    world.Recv(small, 0, 6)
received = world.bcast(times, 1)
if world.rank == 0:
    print(*np.flatnonzero(times > received))
"""


def test_sends_that_wait_for_their_receive_lead_to_the_receiver(pse, tmp_path):
    (tmp_path / "late.py").write_text(PROGRAM)
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory late\n")
    command = [beside_python("mpiexec"), "-n", "3", sys.executable, "late.py"]
    done = pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    opened = trace.open(tmp_path / "late")
    calls, names = opened.routine_calls()
    found = {}
    is_mpi = np.array([name.startswith("MPI_") for name in names])
    for call in calls[(calls["rank"] == 0) & is_mpi[calls["routine"]]]:
        chain = wait_chain(opened, 0, int(call["enter"]) + 1)
        end = chain.links[0].ended_by
        if end is not None and end.was_late_receiver:
            found[end.message.tag] = (names[call["routine"]].removesuffix("_c"), chain.links[1].rank)
    # Intel MPI may take a large message in while its receiver looks for others: then none is known to wait.
    waited = set(map(int, done.out.split()))
    assert waited == set(NAMES) or find_mpiexec().intel
    expected = NAMES if waited == set(NAMES) else {1: NAMES[1]}
    assert found == {tag: (name, 1) for tag, name in expected.items()}
