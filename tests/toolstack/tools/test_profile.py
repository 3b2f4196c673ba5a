"""profile: every call site with its calls, times and bytes, at the line that made the call."""

import re

import pytest

from pse.text import count_text

PYTHON = """
import time
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
def exchange(n):
    out, back = np.ones(n), np.zeros(n)
    comm.Sendrecv(out, (comm.rank + 1) % comm.size, 0, back, (comm.rank - 1) % comm.size)
for _ in range(5):
    exchange(100)
if comm.rank == 0:
    time.sleep(0.2)
comm.Barrier()
comm.Alltoall(np.ones(4 * comm.size), np.ones(4 * comm.size))
"""

C = """
#include <mpi.h>
static void sum(int times)
{
    int in = 1, out;
    while (times-- > 0)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* line 7 */
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    sum(3);
    sum(4);
    return MPI_Finalize();
}
"""


def site(report, routine):
    """The rows of a routine in the report: where it was called, and its statistics by rank."""
    place = re.search(rf"^ +\d+ {routine} +(/.*|\S+ \(.*|\S+:\d+ .*)$", report, re.MULTILINE)
    rows = re.findall(
        rf"^ +\d+ {routine} +(\*|\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", report, re.MULTILINE
    )
    return place and place[1], {row[0]: [float(n) for n in row[1:]] for row in rows}


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_sites_of_a_python_program_are_its_own_lines(stacked, large, tmp_path, ranks):
    script = tmp_path / "script.py"
    script.write_text(PYTHON)
    done = stacked(ranks, f"module profile\nargument output {tmp_path}/profile\n", str(script))
    assert done.code == 0, done.err
    report = (tmp_path / "profile").read_text()
    place, rows = site(report, f"MPI_Sendrecv{large}")
    assert place == f"{script}:8 exchange"
    assert rows["*"][0] == 5 * ranks
    assert rows["*"][4] == 5 * ranks * 800
    assert site(report, f"MPI_Alltoall{large}")[1]["0"][4] == 4 * 8 * ranks
    assert report.startswith(f"Profile of MPI: {count_text(ranks, 'rank')}, ")
    assert "MPI_Init" not in report.split("\n", 1)[1]


@pytest.mark.mpi
def test_waiting_time_is_where_it_was_waited(stacked, tmp_path):
    done = stacked(3, f"module profile\nargument output {tmp_path}/profile\n", "-c", PYTHON)
    assert done.code == 0, done.err
    _, rows = site((tmp_path / "profile").read_text(), "MPI_Barrier")
    least, mean, greatest = rows["1"][1:4]
    assert least == mean == greatest
    assert mean > 150_000


@pytest.mark.mpi
@pytest.mark.parametrize(("depth", "sites"), [(1, 1), (2, 2)])
def test_sites_of_a_c_program_have_files_and_lines(stacked_program, program, depth, sites):
    done = stacked_program(3, f"module profile\nargument depth {depth}\n", program("sums", C, "-g", "-O0"))
    assert done.code == 0, done.err
    assert done.err.count("sums.c:7 sum") == sites
    calls = re.findall(r"^ +\d+ MPI_Allreduce +\* +(\d+)", done.err, re.MULTILINE)
    assert sum(map(int, calls)) == 21
    assert len(calls) == sites
    if depth == 2:
        assert "sums.c:7 sum < " in done.err
        assert "sums.c:12 main" in done.err


@pytest.mark.mpi
def test_other_tools_above_do_not_hide_the_callers(stacked_program, program):
    done = stacked_program(1, "module count\nmodule profile\n", program("sums", C, "-g", "-O0"))
    assert done.code == 0, done.err
    assert "sums.c:7 sum" in done.err


def test_a_wrong_depth_is_refused(stacked):
    done = stacked(1, "module profile\nargument depth 9\n", "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert "`argument depth 9`: expected a whole number from 1 to 8" in done.err
