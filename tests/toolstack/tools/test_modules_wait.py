"""Modules with communicators wait by coopwait unless told otherwise; other programs run without tools."""

import os
import re
import shutil

import pytest
from pse_testing.jobs import TWO_NODES, rank_variable

from pse.runtime.request import rank_arguments
from pse.runtime.request._prepared import Request

MODULES = """
import resource, socket, sys, time
from pathlib import Path

#@ coven module meet(in comm c) collective
def meet(c):
    c.Barrier()
    if c.rank == 0:
        time.sleep(0.6)
    begin, naps = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    c.Barrier()
    used, naps = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - naps
    right = c.allreduce(c.rank) == c.size * (c.size - 1) // 2
    sys.stdout.write(f"rank {c.rank} {right} {used:.2f} {naps}\\n")

#@ coven module plain(in i64 n)
def plain(n):
    sys.stdout.write(f"{'libpse_tools' in Path('/proc/self/maps').read_text()}\\n")
"""
COMPILED = """
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

//@ coven module meet(in comm c) collective
int meet(MPI_Comm c)
{
    struct rusage before, after;
    int rank, one = 1, sum, size;
    MPI_Comm_rank(c, &rank), MPI_Comm_size(c, &size);
    MPI_Barrier(c);
    if (rank == 0)
        usleep(600000);
    getrusage(RUSAGE_SELF, &before);
    clock_t begin = clock();
    MPI_Barrier(c);
    double used = (double)(clock() - begin) / CLOCKS_PER_SEC;
    getrusage(RUSAGE_SELF, &after);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
    printf("rank %d %s %.2f %ld\\n", rank, sum == size ? "True" : "False", used,
           after.ru_nvcsw - before.ru_nvcsw);
    return 0;
}
"""
MEET = """coven 1
import "m.py" { meet }
partition P = procs
program p {
  PARALLEL over P {
    thread_A meet()
  }
}
"""
PLAIN = """coven 1
import "m.py" { plain }
program p {
  thread_A plain(1)
}
"""
ODD = """
import os
if os.environ.get("RANK") in os.environ["CHANGED"].split():
    name, _, value = os.environ["CHANGE"].partition("=")
    os.environ[name] = value
"""
WARNING = "warning: modules that wait in MPI keep a core busy, since the tool coopwait is missing on host "
LITTLE, HALF = 0.1, 0.3
"""Seconds of a wait of 0.6 s that looks may use, at memory and at the network; whoever spins uses all."""
MANY = 20
"""Whoever sleeps while it waits has slept more often than that; whoever spins never sleeps."""


@pytest.fixture
def written(tmp_path, monkeypatch, shared_cache):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    (tmp_path / "m.py").write_text(MODULES)
    (tmp_path / "m.c").write_text(COMPILED)
    (tmp_path / "meet.coven").write_text(MEET)
    (tmp_path / "compiled.coven").write_text(MEET.replace("m.py", "m.c"))
    (tmp_path / "plain.coven").write_text(PLAIN)
    return tmp_path


@pytest.fixture
def changed(written, monkeypatch):
    """Let some ranks begin with another environment: ``changed("1 3", "PSE_CACHE=/somewhere")``."""
    (written / "site").mkdir()
    (written / "site" / "sitecustomize.py").write_text(ODD.replace("RANK", rank_variable()))

    def change(ranks, what):
        for name, value in {"PYTHONPATH": str(written / "site"), "CHANGED": ranks, "CHANGE": what}.items():
            monkeypatch.setenv(name, value)

    return change


def waited(finished, ranks):
    """Give the processor time and the naps of rank 1, after a look at all results."""
    assert finished.code == 0, finished.err
    lines = re.findall(r"^rank (\d+) True (\S+) (\d+)$", finished.out, re.MULTILINE)
    assert sorted(int(rank) for rank, _, _ in lines) == list(range(ranks)), finished.out
    (one,) = [(float(used), int(naps)) for rank, used, naps in lines if rank == "1"]
    return one


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("program", "nodes"), [("meet.coven", {}), ("meet.coven", TWO_NODES), ("compiled.coven", TWO_NODES)]
)
def test_modules_with_communicators_wait_without_processor_time(written, pse, program, nodes):
    done = pse("run", program, "-p", "3", env=nodes)
    used, naps = waited(done, 3)
    assert (used < (HALF if nodes else LITTLE), naps > MANY, "warning" in done.err) == (True, True, False), (
        done.err
    )


@pytest.mark.mpi
def test_a_single_rank_waits_for_nobody(written, pse):
    done = pse("run", "meet.coven", "-p", "1")
    assert (done.code, "warning" in done.err) == (0, False), done.err


@pytest.mark.mpi
def test_coopwait_can_be_turned_off(written, pse):
    assert waited(pse("run", "meet.coven", "-p", "3", "--tools", "off"), 3)[1] < MANY


@pytest.mark.mpi
def test_a_bare_mpirun_has_it_too_and_other_tools_in_its_place(written, mpiexec):
    assert waited(mpiexec(3, "-m", "pse", "meet.coven"), 3)[1] > MANY
    (written / "count.conf").write_text("module count\nargument output calls\n")
    assert waited(mpiexec(3, "-m", "pse", "meet.coven", "--tools", "count.conf"), 3)[1] < MANY
    assert "MPI_Barrier " in (written / "calls").read_text()


@pytest.mark.mpi
def test_tools_that_are_not_there_end_the_ranks_of_a_bare_mpirun(written, mpiexec):
    done = mpiexec(3, "-m", "pse", "plain.coven", "--tools", "none.conf")
    assert (done.code, done.err.count("error: ")) == (2, 1)
    assert "none.conf: the configuration of the tool stack can't be read" in done.err


@pytest.mark.mpi
def test_other_programs_have_no_tools_under_them(written, pse):
    done = pse("run", "plain.coven")
    assert (done.code, "False" in done.out) == (0, True), done.err


@pytest.mark.mpi
def test_named_tools_take_the_place_of_coopwait(written, pse):
    (written / "count.conf").write_text("module count\nargument output calls\n")
    assert waited(pse("run", "meet.coven", "-p", "3", "--tools", "count.conf"), 3)[1] < MANY
    calls = dict(line.split()[:2] for line in (written / "calls").read_text().splitlines()[1:])
    assert int(calls["MPI_Barrier"]) >= 6


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", ["0", "3", "0 1 2 3 4"])
def test_where_one_rank_cannot_have_it_all_go_without(written, changed, pse, ranks):
    (written / "coopwait.so").write_text("no tool")
    changed(ranks, f"PSE_TOOLS_PATH={written}")
    done = pse("run", "meet.coven", "-p", "5", env=TWO_NODES)
    assert waited(done, 5)[1] < MANY
    host = os.uname().nodename + (" and 1 other host" if " " in ranks else "")
    assert done.err.count(WARNING) == 1
    assert f"{WARNING}{host}: " in done.err
    assert "tool `coopwait`: it is not a shared object (an ELF file)\n" in done.err


@pytest.fixture
def own(written, shared_cache):
    """A cache for one node, without an object of the stack."""
    (written / "cache" / "grammar").mkdir(parents=True)
    for tables in (shared_cache / "grammar").glob("*.json"):
        shutil.copy(tables, written / "cache" / "grammar")
    return written / "cache"


@pytest.mark.mpi
def test_a_node_that_finds_a_damaged_object_makes_another(own, changed, pse, preload, shared_cache):
    damaged = own / preload.relative_to(shared_cache)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(preload.read_bytes()[:3000])
    for note in (shared_cache / "toolstack").glob("known-*"):
        if note.read_text() == str(preload):
            (own / "toolstack" / note.name).write_text(str(damaged))
    changed("1 3", f"PSE_CACHE={own}")
    done = pse("run", "meet.coven", "-p", "4", env=TWO_NODES, timeout=180)  # All tools may be compiled.
    assert (waited(done, 4)[1] > MANY, "warning" in done.err) == (True, False), done.err


@pytest.mark.mpi
def test_a_node_without_a_compiler_takes_what_the_launcher_has_made(written, changed, pse):
    changed("0 1 2", "CC=/nowhere/cc")
    done = pse("run", "meet.coven", "-p", "3", env=TWO_NODES)
    assert (waited(done, 3)[1] > MANY, "warning" in done.err) == (True, False), done.err


@pytest.mark.mpi
def test_a_node_that_can_neither_find_nor_make_one_says_why(own, changed, pse, preload, monkeypatch):
    monkeypatch.setenv("CC", "/nowhere/cc")
    changed("1", f"PSE_CACHE={own}")
    done = pse("run", "meet.coven", "-p", "3", env=TWO_NODES)
    assert waited(done, 3)[1] < MANY
    words = "the tool stack needs a C compiler, and CC=/nowhere/cc can't be found\n"
    assert f"{WARNING}{os.uname().nodename}: {words}" in done.err


def test_resumed_runs_wait_alike():
    request = Request("", {}, checkpoint="kept", resume=True, coopwait=True)
    assert "--coopwait" in rank_arguments(request)
