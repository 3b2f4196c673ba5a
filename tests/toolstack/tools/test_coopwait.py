"""coopwait: programs give the same results with it, and waiting ranks leave the cores to others."""

import subprocess
from pathlib import Path

import pytest
from pse_testing.example_counts import nightly

PROGRAMS = Path(__file__).parent / "programs"
CEXT = Path(__file__).parents[3] / "cext"
COOPWAIT = "module coopwait\n"
LITTLE = 0.1
"""Seconds of a wait of a second that looks now and then may use: whoever spins uses all of it."""
MANY = 20
"""Whoever sleeps while it waits has slept more often than that; whoever spins never sleeps."""


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("ranks", "seed"),
    [(1, 1), (3, 2), *nightly((2, 4), (3, 1), (4, 3))],
)
def test_every_blocking_routine_gives_what_it_gives_without(
    stacked_program, calls, called_without_tools, ranks, seed
):
    waiting = stacked_program(ranks, COOPWAIT, calls, str(seed), "40")
    assert waiting.code == 0, waiting.err
    assert waiting.out == called_without_tools(ranks, str(seed), "40")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_large_count_forms_give_what_they_give_without(stacked, ranks):
    plain, waiting = (stacked(ranks, conf, str(PROGRAMS / "calls.py"), "5", "30") for conf in ("", COOPWAIT))
    assert (plain.code, waiting.code) == (0, 0), plain.err + waiting.err
    assert waiting.out == plain.out


LATE = """
import resource, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    time.sleep(1.0)
begin, naps = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
{wait}
used, naps = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - naps
print(f"{{rank}} {{used:.3f}} {{naps}}\\n", end="", flush=True)
"""


def check_sleepers(out, ranks, least=MANY):
    """All ranks but 0, which comes a second late, have slept instead of looking all the time."""
    said = {int(rank): (float(used), int(naps)) for rank, used, naps in map(str.split, out.splitlines())}
    assert sorted(said) == list(range(ranks))
    assert all(used < LITTLE and naps > least for rank, (used, naps) in said.items() if rank), said


@pytest.mark.mpi
@pytest.mark.parametrize(
    "wait",
    [
        "comm.Barrier()",
        "comm.bcast(1)",
        "comm.send(1, 1 - comm.rank) if comm.rank == 0 else comm.recv(source=0)",
        "comm.Split(0)",
        "window = MPI.Win.Allocate(8, comm=comm); window.Fence(); window.Free()",
    ],
)
def test_a_waiting_rank_uses_no_processor_time(stacked, wait):
    done = stacked(2, COOPWAIT, "-c", LATE.format(wait=wait))
    assert done.code == 0, done.err
    check_sleepers(done.out, 2)


def test_two_that_wait_on_one_core_do_not_keep_each_other_awake(program):
    """Whoever comes back from a yield finds cold caches: a look that takes long then has moved no data."""
    includes = [f"-I{CEXT / 'backoff'}", f"-I{CEXT / 'abi' / 'include'}"]
    sources = [str(CEXT / "backoff" / name) for name in ("backoff.c", "clock.c")]
    text = (PROGRAMS / "cold_looks.c").read_text()
    looks = program("cold_looks", text, *includes, *sources, "-pthread")
    used = float(subprocess.run([looks], capture_output=True, text=True, check=True).stdout)
    assert used < LITTLE


LOCKED = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, comm=comm)
if comm.rank == 0:
    window.Lock(0)
comm.Barrier()
begin = time.process_time()
if comm.rank == 0:
    time.sleep(1.0)
else:
    window.Lock(0)
window.Unlock(0)
used = time.process_time() - begin
window.Free()
if comm.rank == 1:
    print(MPI.Get_library_version().split()[2], used)
"""


@pytest.mark.mpi
def test_what_has_no_nonblocking_form_waits_without_processor_time_by_mpis_own_wait(stacked):
    done = stacked(2, COOPWAIT, "-c", LOCKED)
    assert done.code == 0, done.err
    version, used = done.out.split()
    if not version.startswith("5."):
        pytest.skip(f"MPI {version} does not let others run at each look")
    assert float(used) < 2 * LITTLE, (
        f"rank 1 used {used} s of processor time while another had the lock for 1 s"
    )


POLLED = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 0:
    time.sleep(0.5)
    comm.send(None, 1)
else:
    request, looks = comm.irecv(source=0), 0
    while not request.test()[0]:
        looks += 1
    print(looks > 10_000)
"""


@pytest.mark.mpi
def test_what_only_looks_does_not_sleep(stacked):
    done = stacked(2, COOPWAIT, "-c", POLLED)
    assert (done.code, done.out.split()) == (0, ["True"]), done.err


@pytest.mark.mpi
def test_finalize_waits_without_processor_time(stacked):
    done = stacked(3, COOPWAIT, "-c", LATE.format(wait="MPI.Finalize()"))
    assert done.code == 0, done.err
    check_sleepers(done.out, 3, least=0)  # Where MPI has an end without waiting, or waits in the kernel.


THREADS = """
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
comms = [world.Dup() for _ in range(4)]
sums = [0] * 4
def work(i):
    comm = comms[i]
    for n in range(50):
        sums[i] += comm.allreduce(n)
        sums[i] += comm.sendrecv(n, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(f"{sums == [1225 * (world.size + 1)] * 4}\\n", end="")
"""


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_threads_wait_each_for_itself(stacked, ranks):
    done = stacked(ranks, COOPWAIT, "-c", THREADS)
    assert (done.code, done.out.split()) == (0, ["True"] * ranks), done.err


LARGE = """
import mpi4py
mpi4py.rc.thread_level = "single"
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
for count in (1, 1000, 4095, 4096, 20_000, 65_535, 65_536, 300_000):
    whole = MPI.DOUBLE.Create_contiguous(count).Commit()
    given = np.arange(count, dtype=float) if comm.rank == 0 else np.empty(count)
    comm.Bcast([given, 1, whole] if comm.rank == 0 else [given, count, MPI.DOUBLE])
    assert (given == np.arange(count)).all()
    total = np.empty(count)
    for group in (comm, MPI.COMM_SELF):
        group.Allreduce(given + comm.rank, total)
        assert (total == group.size * given + (1 if group.size == 2 else comm.rank)).all()
        group.Reduce(given, total)
        assert group.rank or (total == group.size * given).all()
    whole.Free()
print("right\\n", end="", flush=True)
"""


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 2])
def test_messages_of_all_sizes_are_right_whichever_way_they_go(stacked, ranks):
    done = stacked(ranks, COOPWAIT, "-c", LARGE)
    assert done.code == 0, done.err
    assert done.out == "right\n" * ranks


SPAWNING = """
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
if parent != MPI.COMM_NULL:
    parent.Barrier()
    parent.Disconnect()
else:
    for _ in range(10):
        children = MPI.COMM_WORLD.Spawn(sys.executable, sys.argv, 3)
        children.Barrier()
        children.Disconnect()
"""


@pytest.mark.mpi
def test_ranks_and_those_that_they_spawn_meet_by_the_same_routines(stacked, tmp_path):
    """Blocking operations don't match nonblocking ones."""
    path = tmp_path / "spawning.py"
    path.write_text(SPAWNING)
    done = stacked(3, COOPWAIT, path, bare_may_fail=True)
    assert done.code == 0, done.err
