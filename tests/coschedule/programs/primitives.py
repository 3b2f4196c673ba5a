"""What the core primitives do among all ranks; each writes what it saw to RANK.json in the folder given."""

import json
import random
import resource
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs

folder, rounds, length = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
WORDS = 3
RELATIONS = (">=", "<", "==", "!=")
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
seen = {}


def wait_for_all():
    """A barrier that leaves the cores to others."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(1e-4)


def properties(memory):
    """Each stated property, once."""
    last = size - 1
    if rank == 0:
        memory.xfer_and_signal(np.arange(1, 4), 16, local=1, remote=2)
        seen["local"] = memory.test_event(1, timeout=30)
    seen["remote"] = memory.test_event(2, timeout=30)
    seen["again"] = memory.test_event(2, block=False)
    seen["block"] = np.frombuffer(memory.read(16, 24), np.int64).tolist()
    wait_for_all()
    memory.xfer_and_signal(np.array([rank + 10]), 40, [rank])
    if rank == last:
        memory.xfer_and_signal(b"\7" * 8, 48, [last], local=3, remote=3)
        seen["both"] = [memory.test_event(3, timeout=30), memory.test_event(3, timeout=30)]
    memory.variable(40)  # Waits for this rank's own operations.
    wait_for_all()
    if rank == last:
        cases = [
            (">=", 10),
            (">=", 11),
            ("<", 10 + size),
            ("<", last + 10),
            ("==", 10),
            ("!=", 9),
            ("!=", last + 10),
        ]
        seen["compared"] = [memory.compare_and_write(40, *case) for case in cases]
        seen["one"] = memory.compare_and_write(40, "==", last + 10, [last])
        seen["written"] = memory.compare_and_write(40, "<", 1000, [0, last], write=(64, -5))
        seen["not written"] = memory.compare_and_write(40, "<", 0, write=(64, 6))
    wait_for_all()
    seen["variable"] = memory.variable(64)
    seen["view"] = int(memory.view[64:72].view(np.int64)[0])


def sleep_long(memory):
    """What a blocked test costs."""
    wait_for_all()
    began, switched = time.thread_time(), resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    seen["slept"] = memory.test_event(5, timeout=0.4)
    seen["cpu"] = time.thread_time() - began
    seen["switches"] = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - switched


def operate(memory, chance, base, number):
    """Do one operation at random and note it as the checker wants it."""
    nodes = sorted(chance.sample(range(size), chance.randint(1, size)))
    word, kind = chance.randrange(WORDS), chance.choice(("put", "compare", "compare", "read"))
    own = 100 * (rank + 1) + number
    if kind == "read":
        values = np.frombuffer(memory.read(base, 8 * WORDS), np.int64).tolist()
        return "Read", [rank, values]
    if kind == "put":
        values = [own, -own][: WORDS - word]
        memory.xfer_and_signal(np.array(values), base + 8 * word, nodes)
        return "Put", [word, values, nodes]
    relation = chance.choice(RELATIONS)
    value = memory.variable(base + 8 * word) if chance.random() < 0.5 else chance.randrange(400)
    written = [chance.randrange(WORDS), 1000 + own] if chance.random() < 0.8 else []
    write = (base + 8 * written[0], written[1]) if written else None
    answer = memory.compare_and_write(base + 8 * word, relation, value, nodes, write=write)
    return "Compare", [word, relation, value, nodes, written, answer]


def stress(memory):
    """Histories: in each round all ranks work on variables of their own."""
    chance = random.Random(rank)
    seen["histories"] = []
    for turn in range(rounds):
        wait_for_all()
        seen["histories"].append([operate(memory, chance, 8 * WORDS * turn, one) for one in range(length)])


def count(memory):
    """All ranks increase a counter by compare-and-write until it did so ten times."""
    wait_for_all()
    done = 0
    while done < 10:
        here = memory.variable(0)
        done += memory.compare_and_write(0, "==", here, write=(0, here + 1))
    wait_for_all()
    seen["counter"] = memory.variable(0)


with bcs.GlobalMemory(comm, 128) as memory:
    properties(memory)
    sleep_long(memory)
with bcs.GlobalMemory(comm, 8 * WORDS * rounds) as memory:
    stress(memory)
with bcs.GlobalMemory(comm, 8) as memory:
    count(memory)
(folder / f"{rank}.json").write_text(json.dumps(seen))
