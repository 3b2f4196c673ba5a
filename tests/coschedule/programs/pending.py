"""Random programs that have many more operations under way than the layer has buffers, and must end.

WHAT ROUNDS MOST [MODE]: through MPI, as it is (``mpi``), or through pse.bcs.Comm (``bcs``).  In strict slices
of MPI no operation blocks alone: thousands would take seconds.
"""

import random
import sys
from collections import defaultdict

import numpy as np
from mpi4py import MPI

SIZES = (0, 1, 100, 20_000)  # The last is longer than what travels with a descriptor.
COLLECTIVES = 150  # More than may be under way at once.


def exchange(comm, request, seed, most, ways=()):
    """Run one program; ranks post in orders of their own, and every message has a receive."""
    dice, order = random.Random(seed), random.Random(f"{seed} {comm.rank}")
    way, messages = dice.choice(ways or (together, backwards, receives_first, tests)), defaultdict(list)
    for number in range(dice.randint(most // 2, most)):
        ends = dice.randrange(comm.size), dice.randrange(comm.size), dice.randrange(4)
        messages[ends].append(np.full(dice.choices(SIZES, (5, 80, 14, 1))[0], float(number)))
    sends = [ends for ends, found in messages.items() if ends[0] == comm.rank for _ in found]
    receives = [ends for ends, found in messages.items() if ends[1] == comm.rank for _ in found]
    order.shuffle(sends), order.shuffle(receives)
    kinds = [dice.choice(("Ibarrier", "Iallreduce", "Ialltoall")) for _ in range(dice.randrange(COLLECTIVES))]
    expected = [messages[ends][i] for ends, i in numbered(receives)]
    came = [np.full_like(message, -1) for message in expected]
    post_send = [
        lambda name, ends=ends, i=i: getattr(comm, name)(messages[ends][i], *ends[1:])
        for ends, i in numbered(sends)
    ]
    post_receive = [
        lambda name, ends=ends, into=into: getattr(comm, name)(into, ends[0], ends[2])
        for ends, into in zip(receives, came, strict=True)
    ]
    results = []
    post_collective = [lambda _, kind=kind: begin(comm, kind, results) for kind in kinds]
    way(request, order, post_send, post_receive, post_collective)
    for found, message in zip(came, expected, strict=True):
        assert np.array_equal(found, message), (seed, way)
    for _, found, result in results:
        assert np.array_equal(found, result), (seed, way)


def numbered(keys):
    """Each with how often it was there before: messages between two ranks with one tag keep their order."""
    seen = defaultdict(int)
    for key in keys:
        yield key, seen[key]
        seen[key] += 1


def begin(comm, kind, results):
    if kind == "Ibarrier":
        return comm.Ibarrier()
    if kind == "Iallreduce":
        own, found, result = np.array([3.0]), np.zeros(1), np.array([comm.size * 3.0])
        request = comm.Iallreduce(own, found)
    else:
        pieces = np.arange(comm.size)
        own, found, result = comm.rank * 10.0 + pieces, np.zeros(comm.size), pieces * 10.0 + comm.rank
        request = comm.Ialltoall(own, found)
    results.append((own, found, result))
    return request


def mixed(order, *lists):
    """Take from all lists in random order, from each in its own."""
    left = [iter(one) for one in lists]
    places = [place for place, one in enumerate(lists) for _ in one]
    order.shuffle(places)
    return [next(left[place]) for place in places]


def together(request, order, sends, receives, collectives):
    """Everything is under way before anything is waited for."""
    named = [[("Isend", one) for one in sends], [("Irecv", one) for one in receives]]
    posted = [post(name) for name, post in mixed(order, *named, [("", one) for one in collectives])]
    order.shuffle(posted)
    request.Waitall(posted)


def backwards(request, order, sends, receives, collectives):
    """What was sent first may be received last."""
    posted = [post("Isend") for post in mixed(order, sends, collectives)]
    for post in receives:
        post("Recv")
    request.Waitall(posted)


def receives_first(request, order, sends, receives, collectives):
    """All that comes has a place before the first blocking send."""
    posted = [post("Irecv") for post in mixed(order, receives, collectives)]
    for post in sends:
        post("Send")
    request.Waitall(posted)


def tests(request, order, sends, receives, collectives):
    """Nobody blocks."""
    named = [[("Isend", one) for one in sends], [("Irecv", one) for one in receives]]
    posted = [post(name) for name, post in mixed(order, *named, [("", one) for one in collectives])]
    while not request.Testall(posted):
        continue


if __name__ == "__main__":
    what, rounds, most, mode = (*sys.argv[1:], "early")[:4]
    for seed in range(int(rounds)):
        if what == "mpi":
            exchange(MPI.COMM_WORLD, MPI.Request, seed, int(most), (together,) if mode == "strict" else ())
            continue
        from pse import bcs

        table = random.Random(seed).randrange(20)
        with bcs.Comm(table=table, mode=mode, adapt=False, ordered=bool(seed % 2)) as comm:
            exchange(comm, bcs.Request, seed, int(most))
