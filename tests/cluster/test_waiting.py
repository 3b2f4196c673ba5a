"""Modules that wait in MPI leave their core on every node, or on none where one node can't have coopwait."""

import re
import subprocess

import pytest

pytestmark = pytest.mark.mpi

MODULE = """
import resource, socket, sys, time

#@ coven module meet(in comm c) collective
def meet(c):
    c.Barrier()
    if c.rank == 0:
        time.sleep(0.6)
    begin, naps = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    c.Barrier()
    used, naps = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - naps
    right = c.allreduce(c.rank) == c.size * (c.size - 1) // 2
    sys.stdout.write(f"rank {c.rank} {socket.gethostname()} {right} {used:.2f} {naps}\\n")
"""
PROGRAM = """coven 1
import "m.py" { meet }
partition P = procs
program p {
  PARALLEL over P {
    thread_A meet()
  }
}
"""
BROKEN = """
import os, socket
if socket.gethostname() == os.environ["BROKEN"]:
    os.environ["PSE_TOOLS_PATH"] = os.path.dirname(__file__)
"""
MANY = 20


@pytest.fixture
def program(tmp_path):
    (tmp_path / "m.py").write_text(MODULE)
    (tmp_path / "p.coven").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def run(cluster, program):
    """Run the program on so many processors; gives what each rank says, by host, and standard error."""

    def start(processors, *options):
        command = ["run", "p.coven", "-p", str(processors), *options]
        done = cluster.run(command, capture_output=True, text=True, timeout=100, cwd=program)
        assert done.returncode == 0, done.stderr
        lines = re.findall(r"^rank (\d+) (\S+) True (\S+) (\d+)$", done.stdout, re.MULTILINE)
        said = {int(rank): (host, float(used), int(naps)) for rank, host, used, naps in lines}
        assert sorted(said) == list(range(processors)), done.stdout
        return said, done.stderr

    return start


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Have a node whose `coopwait` is no tool: ``broken("n1")``."""
    (tmp_path / "coopwait.so").write_text("no tool")
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda host: monkeypatch.setenv("BROKEN", host)


@pytest.mark.parametrize("processors", [1, 3])
def test_ranks_of_all_nodes_wait_without_processor_time(run, processors):
    said, err = run(processors)
    assert "warning" not in err
    assert {host for host, _, _ in said.values()} == ({"n0", "n1"} if processors > 1 else {"n0"})
    assert all(used < 0.3 and naps > MANY for rank, (_, used, naps) in said.items() if rank), said


def test_where_a_node_cannot_have_it_the_run_goes_on_and_names_it(run, broken):
    broken("n1")
    said, err = run(3)
    assert all(naps < MANY for _, _, naps in said.values()), said
    assert (
        "warning: modules that wait in MPI keep a core busy, since the tool coopwait is missing on host n1: "
        in err
    )
    assert "tool `coopwait`: it is not a shared object (an ELF file)\n" in err


def test_a_tool_that_crashes_on_one_node_ends_the_run_by_name(cluster, program, broken):
    source = program / "crash.c"
    source.write_text(
        "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", program / "coopwait.so"], check=True)
    broken("n1")
    done = cluster.run(["run", "p.coven", "-p", "3"], capture_output=True, text=True, timeout=60, cwd=program)
    assert done.returncode == 3
    assert "tool `coopwait` crashed in its initialisation: Aborted" in done.stderr
