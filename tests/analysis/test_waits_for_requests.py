"""Late senders of persistent and partitioned requests, in a real run."""

import sys
from pathlib import Path

import pytest

from pse.analysis import analyze

DELAY = 0.1
PROGRAM = f"""
import time
import numpy as np
from mpi4py import MPI

world, data = MPI.COMM_WORLD, np.zeros(4)
first = world.rank == 0
made = [world.Send_init(data, 1, 5) if first else world.Recv_init(data, 0, 5)]
if hasattr(world, "Psend_init"):
    made.append(world.Psend_init(data, 2, 1, 6) if first else world.Precv_init(data, 2, 0, 6))
for number, request in enumerate(made):
    world.Barrier()
    if first:
        time.sleep({DELAY})
    request.Start()
    if first and number:
        request.Pready_range(0, 1)
    request.Wait()
    request.Free()
if first:
    print(len(made))
"""


@pytest.mark.mpi
def test_persistent_and_partitioned_requests_wait_for_late_senders(pse, tmp_path):
    (tmp_path / "late.py").write_text(PROGRAM)
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory late\n")
    command = [Path(sys.executable).parent / "mpiexec", "-n", "2", sys.executable, "late.py"]
    done = pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    cube = analyze(tmp_path / "late")
    assert cube.problems == ()
    sender, receiver = cube.by_region("mpi_latesender")["MPI_Wait"]
    assert sender == 0
    assert receiver >= 0.9e9 * DELAY * int(done.out)
