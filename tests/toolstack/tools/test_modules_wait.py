"""Modules with communicators wait by coopwait unless told otherwise; other programs run without tools."""

import pytest

MODULES = """
import os, sys, time

#@ coven module meet(in comm c) collective
def meet(c):
    c.Barrier()
    if c.rank == 0:
        time.sleep(0.6)
    begin = time.process_time()
    c.Barrier()
    sys.stdout.write(f"rank {c.rank} used {time.process_time() - begin:.2f} {'PSE_TOOLS' in os.environ}\\\\n")

#@ coven module plain(in i64 n)
def plain(n):
    sys.stdout.write(f"{'PSE_TOOLS' in os.environ}\\\\n")
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


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODULES.replace("\\\\n", "\\n"))
    (tmp_path / "meet.coven").write_text(MEET)
    (tmp_path / "plain.coven").write_text(PLAIN)


def used(finished):
    assert finished.code == 0, finished.err
    line = next(line for line in finished.out.splitlines() if "rank 1 used" in line)
    time, under = line.split()[-2:]
    return float(time), under == "True"


@pytest.mark.mpi
def test_modules_with_communicators_wait_without_processor_time(written, pse):
    time, under = used(pse("run", "meet.coven", "-p", "3"))
    assert under
    assert time < 0.1


@pytest.mark.mpi
def test_it_can_be_turned_off(written, pse):
    _, under = used(pse("run", "meet.coven", "-p", "3", "--tools", "off"))
    assert not under


@pytest.mark.mpi
def test_other_programs_have_no_tools_under_them(written, pse):
    done = pse("run", "plain.coven")
    assert (done.code, "False" in done.out) == (0, True), done.err


@pytest.mark.mpi
def test_named_tools_take_the_place_of_coopwait(written, tmp_path, pse):
    (tmp_path / "count.conf").write_text("module count\nargument output calls\n")
    assert used(pse("run", "meet.coven", "-p", "3", "--tools", "count.conf"))[1]
    calls = dict(line.split()[:2] for line in (tmp_path / "calls").read_text().splitlines()[1:])
    assert int(calls["MPI_Barrier"]) >= 6


@pytest.mark.mpi
def test_where_it_cannot_be_had_the_run_goes_on(written, tmp_path, monkeypatch, pse):
    monkeypatch.setenv("PSE_TOOLS_PATH", str(tmp_path))
    (tmp_path / "coopwait.so").write_text("no tool")
    done = pse("run", "meet.coven", "-p", "3")
    assert not used(done)[1]
    assert "warning: modules wait in MPI by spinning, without the tool coopwait: " in done.err
