"""Random programs with receives from any rank, tests and reductions: the same schedule each time they run."""

import hashlib
import random
import sys
import time

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
DECIDED = ["epoch", "receiver", "source", "receive", "send", "bytes", "tag", "kind"]  # All but the slice.


def run(comm, seed, pauses):
    """Run a program that depends on the seed; give all that it saw. `pauses` disturb its timing."""
    dice, delay, seen = random.Random(seed), random.Random(pauses * 1000 + rank), []
    for tag in range(12):
        step = dice.choice(("any", "any", "tests", "waitany", "sum", "probe"))
        size, root, rounds = dice.choice((1, 100, 10_000)), dice.randrange(ranks), dice.randrange(1, 3)
        if pauses:
            time.sleep(delay.random() * 1e-3)
        if step == "sum":
            comm.Allreduce(np.random.default_rng((seed, rank)).random(50), total := np.zeros(50))
            seen.append(total.tobytes())
        elif rank != root:
            for _ in range(rounds):
                comm.Send(np.full(size, float(rank)), root, tag)
        elif step in ("any", "probe"):
            seen += receive(comm, size, tag, rounds * (ranks - 1), step == "probe")
        else:
            seen += watch(comm, size, tag, rounds, step == "tests")
    comm.Barrier()
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def receive(comm, size, tag, count, probes):
    into, status = np.zeros(size), MPI.Status()
    for _ in range(count):
        if probes:
            comm.Probe(MPI.ANY_SOURCE, tag, status)
            yield status.Get_source()
        comm.Recv(into, MPI.ANY_SOURCE, tag, status)
        yield status.Get_source(), into[0]


def watch(comm, size, tag, rounds, tests):
    others = [one for one in range(ranks) if one != rank] * rounds
    requests = [comm.Irecv(np.zeros(size), other, tag) for other in others]
    while tests and not bcs.Request.Testall(requests):
        yield "no"
    while any(requests):
        yield bcs.Request.Waitany(requests)


def ordered(seed):
    """What is seen, and the schedule, are a function of the program."""
    found = []
    for pauses in range(3):
        with bcs.Comm(world, schedule=100_000, slice=100e-6, mode=mode, table=buffers) as comm:
            saw = run(comm, seed, pauses)
            found.append((saw, sorted(comm.schedule()[DECIDED].tolist()), comm.totals()["epochs"]))
    assert found[0] == found[1] == found[2], (seed, [(one[0], one[2]) for one in found])


def replayed(seed):
    """What depends on timing is seen again when its schedule is replayed, whatever the timing is then."""
    with bcs.Comm(world, ordered=False, schedule=1_000_000, slice=100e-6) as comm:
        saw = run(comm, seed, 1)
        schedule = np.concatenate(world.allgather(comm.schedule()))  # A node knows its own ranks' part.
    for pauses in (0, 2):
        with bcs.Comm(world, ordered=False, replay=schedule, slice=100e-6) as comm:
            assert run(comm, seed, pauses) == saw


mode = sys.argv[2] if sys.argv[2:] else "early"
buffers = int(sys.argv[3]) if sys.argv[3:] else 1024
for seed in range(int(sys.argv[1])):
    ordered(seed)
    if mode == "early":
        replayed(seed)
