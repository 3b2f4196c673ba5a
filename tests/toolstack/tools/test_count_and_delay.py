"""count: the table says which calls were made.  delay: chosen calls take longer, and sleep meanwhile."""

import pytest

CALLS = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
a, b = np.ones(4), np.zeros(4)
for _ in range(comm.rank + 2):
    request = comm.Isend(a, comm.rank)
    comm.Recv(b, comm.rank)
    request.Wait()
comm.Allreduce(MPI.IN_PLACE, a)
"""

C_CALLS = """
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, in = 1, out;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i <= rank; i++)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    return MPI_Finalize();
}
"""


def rows(text):
    """The table's rows, by routine."""
    return {
        line.split()[0]: [int(n) for n in line.split()[1:]] for line in text.splitlines() if line[:3] == "MPI"
    }


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_counts_of_a_python_program(stacked, large, tmp_path, ranks):
    done = stacked(ranks, f"module count\nargument output {tmp_path}/counts\n", "-c", CALLS)
    assert done.code == 0, done.err
    table = rows((tmp_path / "counts").read_text())
    own = [rank + 2 for rank in range(ranks)]
    assert table[f"MPI_Recv{large}"] == [sum(own), *own]
    assert table[f"MPI_Allreduce{large}"] == [ranks, *[1] * ranks]
    assert table["MPI_Finalize"] == [ranks, *[1] * ranks]
    assert "MPI_Bcast" not in table


@pytest.mark.mpi
def test_counts_of_a_c_program_go_to_standard_error(stacked_program, program):
    done = stacked_program(3, "module count\n", program("allreduces", C_CALLS))
    assert done.code == 0, done.err
    assert rows(done.err)["MPI_Allreduce"] == [6, 1, 2, 3]
    assert "rank 2" in done.err


@pytest.mark.mpi
def test_a_file_that_cannot_be_written_is_named(stacked):
    done = stacked(1, "module count\nargument output /no/such/place\n", "-c", CALLS)
    assert "can't write /no/such/place: No such file or directory" in done.err
    assert "MPI_Finalize" in done.err


DELAYED = """
import time
from mpi4py import MPI
def shortest(call):
    times, used = [], time.process_time()
    for _ in range(20):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times), time.process_time() - used
barrier, used = shortest(MPI.COMM_SELF.Barrier)
other, _ = shortest(MPI.COMM_SELF.Get_topology)
print(f"{barrier >= 0.005} {used < 0.05} {other < 0.005}\\n", end="")
"""


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_chosen_routines_take_longer_and_sleep(stacked, ranks):
    conf = "module delay\nargument microseconds 5000\nargument routines MPI_Barrier MPI_Bcast\n"
    done = stacked(ranks, conf, "-c", DELAYED)
    assert (done.code, done.out.splitlines()) == (0, ["True True True"] * ranks), done.err


def test_a_name_means_both_forms(stacked):
    body = "import time\nfrom mpi4py import MPI\nb = time.perf_counter()\n"
    body += "MPI.COMM_SELF.bcast(1)\nprint(time.perf_counter() - b > 0.05)"
    done = stacked(1, "module delay\nargument microseconds 50000\nargument routines MPI_Bcast\n", "-c", body)
    assert (done.code, done.out.strip()) == (0, "True"), done.err


SOME = """
import time
from mpi4py import MPI
times = {call: [] for call in range(1, 10)}
for _ in range(5):
    for own in times.values():
        begin = time.perf_counter()
        MPI.COMM_SELF.Bcast(bytearray(1))
        own.append(time.perf_counter() - begin)
print(*(call for call, own in times.items() if min(own) >= 0.02))
"""
"""Where others take the core away from a call, they do not from all five of its kind."""


def test_only_some_calls_take_longer(stacked):
    conf = "module delay\nargument microseconds 20000\nargument routines MPI_Bcast\nargument every 3\n"
    done = stacked(1, conf, "-c", SOME)
    assert (done.code, done.out.strip()) == (0, "3 6 9"), done.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "the length of the pauses is missing: give it as `argument microseconds NUMBER`"),
        ("argument microseconds ten\n", "`argument microseconds ten`: expected a number from 0 to 1e9"),
        (
            "argument microseconds 5\nargument every 1.5\n",
            "`argument every 1.5`: expected a whole number from 1 to 1e9",
        ),
        (
            "argument microseconds 5\nargument every 0\n",
            "`argument every 0`: expected a whole number from 1 to 1e9",
        ),
        (
            "argument microseconds 5\nargument routines MPI_Sent\n",
            "`argument routines`: this MPI has no routine `MPI_Sent`: write names as in C (MPI_Send)",
        ),
    ],
)
def test_delay_refuses_what_it_does_not_understand(stacked, arguments, complaint):
    done = stacked(1, f"module delay\n{arguments}", "-c", CALLS)
    assert done.code == 2
    assert complaint in done.err
    assert "tools.conf:1" in done.err
