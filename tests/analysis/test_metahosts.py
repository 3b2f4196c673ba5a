"""Metahosts: who says where a rank ran, what does not fit, and waits between metahosts."""

import json
import socket
import sys

import pytest
from pse_testing.jobs import beside_python
from pse_testing.planted_waits import PlantedWaits

from pse.analysis import analyze, cube_text, severities_json
from pse.errors import UsageError
from pse.trace import EventType, open as open_trace

HOSTS = ["FZJ/n0", "FZJ/n1", "BRS/n2"]


def planted_in(directory, hosts=()):
    """Rank 1 waits for rank 0, rank 2 for rank 1, all for rank 2 in a barrier."""
    planted = PlantedWaits(len(HOSTS), [[0, 1, 2]], hosts)
    planted.late_sender(0, 0, 1, wait=500, tag=1, wildcard=False)
    planted.late_sender(0, 1, 2, wait=700, tag=1, wildcard=False)
    planted.collective(0, "MPI_Barrier", [0, 100, 300], [10, 10, 10])
    return planted.write(directory / "run")


@pytest.fixture
def listed(tmp_path):
    """Write a file of metahosts."""

    def write(*lines):
        (tmp_path / "metahosts").write_text("\n".join(lines))
        return tmp_path / "metahosts"

    return write


def machines(cube):
    return [location.machine for location in cube.locations]


def test_waits_for_other_metahosts_are_the_grid_versions(tmp_path):
    cube = analyze(planted_in(tmp_path, HOSTS))
    assert machines(cube) == ["FZJ", "FZJ", "BRS"]
    assert [location.node for location in cube.locations] == ["n0", "n1", "n2"]
    assert cube.exclusive("mpi_latesender").sum(axis=0).tolist() == [0, 500, 700]
    assert cube.exclusive("mpi_latesender_grid").sum(axis=0).tolist() == [0, 0, 700]
    assert cube.exclusive("mpi_barrier_wait_grid").sum(axis=0).tolist() == [300, 200, 0]
    lines = "\n".join(cube_text(cube))
    assert "3 ranks, 3 nodes and 2 machines" in lines
    assert "Late sender (grid): program / MPI_Recv (rank 2 700 ns)" in lines
    assert "Late sender: program / MPI_Recv (rank 1 500 ns)" in lines
    found = severities_json(cube)
    assert found["grid"]["mpi_latesender_grid"] == {"MPI_Recv": [0, 0, 0.7]}
    assert found["machines"] == ["FZJ", "FZJ", "BRS"]
    assert cube.problems == ()


def test_of_one_metahost_there_is_no_word_of_grids(tmp_path):
    cube = analyze(planted_in(tmp_path))
    assert "grid" not in "\n".join(cube_text(cube)) + json.dumps(severities_json(cube))


def test_a_file_says_where_ranks_ran(tmp_path, listed):
    run = planted_in(tmp_path, HOSTS)
    cube = analyze(run, metahosts=listed("# two sites", "one  n0 n2  # of three", "two ranks 1"))
    assert machines(cube) == ["one", "two", "one"]
    assert cube.exclusive("mpi_latesender_grid").sum(axis=0).tolist() == [0, 500, 700]
    marked = listed("one n0 n2", "two ranks 1")
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes())  # As some editors of Windows write.
    assert machines(analyze(run, metahosts=marked)) == ["one", "two", "one"]
    assert machines(analyze(run, metahosts=listed("\x1b[31mone n*"))) == [r"\x1b[31mone"] * 3
    assert machines(analyze(run, metahosts=listed("all FZJ/* ranks", "all ranks 2"))) == ["all"] * 3
    assert cube.problems == ()


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        (["a n?", "b node*"], ["F:2: no rank of the trace ran on a host node*",
                               "F names 2 metahosts, of which b has none of the trace's 3 ranks"]),
        (["a ranks 0-1 2-9"], ["F:1: the trace has 1 of the ranks 2-9"]),
        (["a n0"], ["F names no metahost for ranks 1-2: the trace's is taken"]),
        (["a ranks 0", "b ranks 1", "c ranks 2", "d ranks 3", "e ranks 4"],
         ["F:4: the trace has no rank 3", "F:5: the trace has no rank 4",
          "F names 5 metahosts, of which d and e have none of the trace's 3 ranks"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_trace_is_told(tmp_path, listed, lines, problems):
    path = listed(*lines)
    cube = analyze(planted_in(tmp_path, HOSTS), metahosts=path)
    assert list(cube.problems) == [problem.replace("F", str(path), 1) for problem in problems]


def test_ranks_of_one_node_in_two_metahosts_are_told(tmp_path, listed):
    cube = analyze(planted_in(tmp_path, ["m/n0"] * 3), metahosts=listed("a ranks 0", "b ranks 1-2"))
    assert cube.problems == ("ranks of node n0 are in the metahosts a and b: they count as 2 nodes",)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "F names no metahosts"),
        (["a"], "F:1: metahost a has neither hosts nor ranks"),
        (["a ranks"], "F:1: metahost a has neither hosts nor ranks"),
        (["a n0", "b ranks 3-1"], "F:2: '3-1' is not a rank or a range of ranks"),
        (["a n0", "b ranks x"], "F:2: 'x' is not a rank or a range of ranks"),
        (["a n0", "", "b ranks 0"], "F:3: rank 0 on host n0 is in metahost b, but line 1 has it in a"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(pse, tmp_path, listed, lines, message):
    path, run = listed(*lines), planted_in(tmp_path, HOSTS)
    done = pse("analyze", run.path, "--metahosts", path)
    assert done.code == 2
    assert message.replace("F", str(path)) in done.err
    with pytest.raises(UsageError, match="can't be read: No such file"):
        analyze(run, metahosts=tmp_path / "none")


@pytest.mark.mpi
def test_the_environment_names_the_metahost_of_a_rank(pse, tmp_path):
    (tmp_path / "meet.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    (tmp_path / "trace.conf").write_text("module trace\n  argument directory met\n")
    parts = [
        ["-n", number, "/usr/bin/env", f"PSE_METAHOST={name}", sys.executable, "meet.py"]
        for number, name in (("2", "FZJ"), ("1", "BRS"))
    ]
    command = [beside_python("mpiexec"), *parts[0], ":", *parts[1]]
    assert pse("tools", "run", "-c", "trace.conf", "--", *command, cwd=tmp_path).code == 0
    syncs = open_trace(tmp_path / "met").select(2, EventType.CLOCK_SYNC)
    assert syncs["a"].tolist() == [0, 0]  # They have one clock: what is measured is noise.
    cube = analyze(tmp_path / "met")
    assert machines(cube) == ["FZJ", "FZJ", "BRS"]
    assert cube.total("mpi_barrier_wait") == cube.total("mpi_barrier_wait_grid") > 0
    assert cube.problems == (
        f"ranks of node {socket.gethostname()} are in the metahosts BRS and FZJ: they count as 2 nodes",
    )
