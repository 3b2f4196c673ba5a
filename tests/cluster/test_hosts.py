"""Which machine gets which ranks: whole processors, wherever the machines are named."""

import pytest

from pse.program import Placement
from pse.runtime.launch._mpiexec import Hosts, Mpiexec, mpiexec_command, spread_ranks

THREADS = Placement(("thread_A",), ("thread_B", "thread_C"))


@pytest.mark.parametrize(
    ("names", "processors", "expected"),
    [
        ("a", 3, "a:7"),
        ("a,b", 2, "a:3,b:2"),
        ("a, b ,c", 7, "a:7,b:4,c:4"),
        ("a,b,c", 2, "a:3,b:2"),
        ("a,b", 1, "a:3"),
        ("a:5,b", 2, "a:5,b"),
    ],
)
def test_machines_get_whole_processors_unless_counts_are_named(names, processors, expected):
    assert spread_ranks(Hosts(names), THREADS, processors) == Hosts(expected)


def test_a_program_without_parallel_stays_on_the_first_machine():
    assert spread_ranks(Hosts("a,b"), Placement(("thread_A", "thread_B"), ()), 1) == Hosts("a:2")


def test_a_host_file_is_spread_as_well_unless_it_has_counts(tmp_path):
    plain, counted = tmp_path / "plain", tmp_path / "counted"
    plain.write_text("# machines\na\n\nb # the other\n")
    counted.write_text("a slots=3\nb slots=2\n")
    assert spread_ranks(Hosts(file=str(plain)), THREADS, 2) == Hosts("a:3,b:2")
    assert spread_ranks(Hosts(file=str(counted)), THREADS, 2) == Hosts(file=str(counted))


@pytest.mark.parametrize(
    ("lines", "ours", "words"),
    [
        ("a:3\nb:2 # the other\n", False, ["--host", "a:3,b:2"]),
        ("a slots=3\nb slots=2\n", False, ["--hostfile", "FILE"]),
        ("a:3\nb:2\n", True, ["-f", "FILE"]),
    ],
)
def test_a_host_file_with_counts_is_understood_by_open_mpi_too(tmp_path, lines, ours, words):
    file = tmp_path / "hosts"
    file.write_text(lines)
    line = mpiexec_command(Mpiexec("mpiexec", hydra=ours), 5, Hosts(file=str(file)), [])
    assert line[1:3] == [word.replace("FILE", str(file)) for word in words]


def test_ranks_without_hosts_stay_on_this_machine():
    assert spread_ranks(Hosts(), THREADS, 2) == Hosts()


def test_the_command_line_wins_over_the_environment():
    named = {"PSE_HOSTS": "n0,n1"}
    assert Hosts.chosen(None, None, named) == Hosts("n0,n1")
    assert Hosts.chosen("a", None, named) == Hosts("a")
    assert Hosts.chosen(None, "machines", named) == Hosts(None, "machines")
    assert Hosts.chosen(None, None, {"PSE_HOSTS": ""}) == Hosts()
