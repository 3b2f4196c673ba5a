"""Tools written in Python: what they see, in which order, what they may do wrong; and events from C tools."""

import pytest

pytestmark = pytest.mark.mpi

HEAD = """
import sys
import numpy as np
from mpi4py import MPI
from pse.errors import UsageError
from pse.toolstack import Ring, Tool
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")  # in one piece, among ranks
def ring(count, comm=world, tag=0):
    out, back = np.full(count, rank + 1.0), np.zeros(count)
    request = comm.Irecv(back, (rank - 1) % size, tag)
    comm.Send(out, (rank + 1) % size, tag)
    request.Wait()
    assert (back == (rank - 1) % size + 1).all()
"""


@pytest.fixture
def python(preload, mpiexec):
    """Run Python without a preloaded stack, though its object is made: tools attach themselves."""

    def run(ranks, text):
        return mpiexec(ranks, "-c", HEAD + text)

    return run


def good(finished):
    assert (finished.code, finished.err) == (0, ""), finished.err
    return sorted(finished.out.splitlines())


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_tool_sees_calls_while_it_is_attached(python, ranks):
    text = """
class Lengths(Tool):
    def __init__(self):
        self.seen = []

    def MPI_Send(self, buffer, count, datatype, destination, tag, comm):
        self.seen.append((count, destination, MPI.Datatype.fromhandle(datatype).Get_size()))

    def MPI_Wait(self, request, status):
        self.seen.append("wait")
        return self.PMPI_Wait(request, status)

ring(4)
with Lengths() as tool:
    ring(5)
ring(6)
assert tool.seen == [(5, (rank + 1) % size, 8), "wait"], tool.seen
say(rank)
"""
    assert good(python(ranks, text)) == [str(rank) for rank in range(ranks)]


def test_a_tool_can_change_a_call(python):
    text = """
class Swap(Tool):
    def MPI_Comm_rank(self, comm, rank):
        return self.PMPI_Comm_size(comm, rank)

with Swap():
    assert world.Get_rank() == size
assert world.Get_rank() == rank
say("good")
"""
    assert good(python(3, text)) == ["good"] * 3


def test_tools_stand_on_each_other_and_on_tools_in_c(tool, stacked):
    below = tool(
        "below",
        """
#include <mpi.h>
#include <stdio.h>
int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    int result = PMPI_Comm_rank(comm, rank);
    *rank *= 10;
    return result;
}
""",
    )
    text = """
import ctypes
class Add(Tool):
    def __init__(self, value):
        self.value = value

    def MPI_Comm_rank(self, comm, rank):
        result = self.PMPI_Comm_rank(comm, rank)
        ctypes.c_int.from_address(rank).value += self.value
        return result

class Double(Tool):
    def MPI_Comm_rank(self, comm, rank):
        result = self.PMPI_Comm_rank(comm, rank)
        ctypes.c_int.from_address(rank).value *= 2
        return result

assert world.Get_rank() == 10 * world.Get_rank() // 10
real = world.Get_rank() // 10
with Add(1) as first:
    with Double():
        assert world.Get_rank() == 2 * (10 * real + 1)
        try:
            first.detach()
        except UsageError as error:
            say(error)
    assert world.Get_rank() == 10 * real + 1
assert world.Get_rank() == 10 * real
"""
    assert (
        good(stacked(3, f"module {below}", "-c", HEAD + text))
        == ["tools that were attached later have to be detached first"] * 3
    )


def test_a_method_that_raises_is_reported_and_the_program_goes_on(python):
    text = """
class Broken(Tool):
    calls = 0

    def MPI_Send(self, *arguments):
        Broken.calls += 1
        if rank == 1:
            self.PMPI_Send(*arguments)
        raise RuntimeError("no idea")

with Broken():
    ring(3)
    ring(3)
assert Broken.calls == 1
"""
    finished = python(3, text)
    assert finished.code == 0
    assert finished.err.count("pse tools: Broken.MPI_Send failed; the tool is switched off") == 3
    assert finished.err.count("RuntimeError: no idea") == 3


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("def MPI_Sned(self, *a): pass", "this MPI has no routine MPI_Sned"),
        ("def MPI_Wait(self, request): pass", "Wrong.MPI_Wait must take the 2 arguments of MPI_Wait"),
    ],
)
def test_a_wrong_method_is_named(python, method, words):
    text = f"""
class Wrong(Tool):
    {method}

try:
    Wrong().attach()
except UsageError as error:
    say(error)
ring(2)
"""
    (line,) = good(python(1, text))
    assert line.startswith(words)


def test_arrays_of_calls_that_go_on_are_kept(python):
    text = """
class Exchange(Tool):
    def MPI_Ialltoallv(self, *arguments):
        self.seen = True

with Exchange() as tool:
    for n in range(1, 50):
        out, back = np.full(n * size, float(rank)), np.zeros(n * size)
        counts, places = [n] * size, [n * i for i in range(size)]
        world.Ialltoallv([out, counts, places, MPI.DOUBLE], [back, counts, places, MPI.DOUBLE]).Wait()
        assert (back == np.repeat(np.arange(size), n)).all()
    say(tool.seen)
"""
    assert good(python(3, text)) == ["True"] * 3


def test_a_tool_that_is_never_detached_leaves_in_time(python):
    text = """
class All(Tool):
    def MPI_Finalize(self):
        say("not reached")
    def MPI_Comm_free(self, comm):
        say("freed")
All().attach()
world.Dup().Free()
"""
    assert good(python(3, text)) == ["freed"] * 3


def test_a_method_takes_calls_from_several_threads(python):
    text = """
import threading
class Tags(Tool):
    def __init__(self):
        self.wrong = self.calls = 0

    def MPI_Send(self, buffer, count, datatype, destination, tag, comm):
        self.wrong += count != tag
        self.calls += 1
        return self.PMPI_Send(buffer, count, datatype, destination, tag, comm)

def run(own):
    for _ in range(200):
        ring(own, comms[own], own)

comms = {own: world.Dup() for own in (1, 2, 3)}
with Tags() as tool:
    threads = [threading.Thread(target=run, args=(own,)) for own in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
say(tool.calls, tool.wrong)
"""
    assert good(python(1, text)) == ["600 0"]


EMITTER = """
#include <mpi.h>
#include "pse_tools.h"
struct event { int count, destination; };
static struct pse_ring *ring;
int pse_tool_start(const struct pse_tools *tools)
{
    ring = tools->ring(tools->self, "sends", "i4 count, i4 destination", sizeof(struct event), 8);
    return !ring;
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    struct event event = {n, to};
    pse_ring_put(ring, &event);
    return PMPI_Send(b, n, t, to, tag, c);
}
"""


def test_events_of_a_tool_in_c_are_taken_in_python(tool, stacked):
    text = """
events = Ring("sends", [("count", "i4"), ("destination", "i4")])
assert events.signature == "i4 count, i4 destination"
for count in (3, 4):
    ring(count)
taken = events.take()
assert taken["count"].tolist() == [3, 4] and set(taken["destination"]) == {(rank + 1) % size}
assert len(events.take()) == 0
for count in range(12):
    ring(count)
assert events.take()["count"].tolist() == list(range(8)) and events.lost == 4
for wrong in (lambda: Ring("receives", "i4"), lambda: Ring("sends", "i4")):
    try:
        wrong()
    except UsageError as error:
        say(error) if rank == 0 else None
"""
    assert good(stacked(3, f"module {tool('emitter', EMITTER)}", "-c", HEAD + text)) == [
        "events of the ring `sends` have 8 bytes (i4 count, i4 destination), not 4",
        "no tool of this process has a ring `receives`",
    ]
