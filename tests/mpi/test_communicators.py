"""Modules with communicators, in every language, under real MPI."""

import json
import re
import shutil
from pathlib import Path

import pytest
from pse_testing.jobs import TWO_NODES

from pse.modules._errors import BuildError
from pse.modules.build._libraries import find_mpi_compiler

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """One folder with the programs, so modules are built once; outside what must be empty in the end."""
    return shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("comm") / "programs")


def run(pse, here, name, processors, **environment):
    return pse("run", name, "-p", str(processors), "--report", "json", cwd=here, env=environment, timeout=240)


@pytest.mark.parametrize(("processors", "environment"), [(1, {}), (3, {}), (3, TWO_NODES)])
def test_modules_call_mpi_collectives_with_iterations_in_flight(pse, here, processors, environment):
    ended = run(pse, here, "totals.coven", processors, **environment)
    assert ended.code == 0, ended.err
    calls = {(site["label"], site["thread"]): site["calls"] for site in json.loads(ended.out)["sites"]}
    assert calls["total", "thread_C"] == calls["summed", "thread_B"] == 12 * processors


def test_in_parallel_communicators_have_the_grid_of_the_partitions(pse, here):
    ended = pse("run", "neighbors.coven", "-p", "4", "-q", cwd=here, timeout=240)
    assert ended.code == 0, ended.err
    assert sorted(ended.out.splitlines()) == [
        "0 [2, 2] [0, 0] [0, 0] [-1, 2, -1, 1]",
        "1 [2, 2] [0, 0] [0, 1] [-1, 3, 0, -1]",
        "2 [2, 2] [0, 0] [1, 0] [0, -1, -1, 3]",
        "3 [2, 2] [0, 0] [1, 1] [1, -1, 2, -1]",
    ]


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran")
def test_fortran_gets_its_handle(pse, here):
    ended = run(pse, here, "handle.coven", 2)
    assert ended.code == 0, ended.err


def test_an_error_in_mpi_names_the_call_site(pse, here):
    ended = run(pse, here, "wrong.coven", 2)
    assert ended.code == 3
    assert re.search(
        r"error: module wrong, wrong\.coven:8:21 made a call of MPI that failed: .*[Ii]nvalid rank", ended.err
    ), ended.err


def test_virtual_partitions_are_refused_before_the_run(pse, here):
    text = (here / "totals.coven").read_text().replace("P = procs", "P = 2 * procs")
    (here / "many.coven").write_text(text)
    ended = run(pse, here, "many.coven", 2)
    assert ended.code == 1
    assert "many.coven:19:7: total takes a communicator" in ended.err
    assert "P has 4 partitions on 2 processors" in ended.err
    assert "write partition P = procs" in ended.err


def test_without_the_headers_of_mpi_the_build_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"x\.c needs MPI's headers to be built, and there is no mpicc"):
        find_mpi_compiler("x.c", "c")


def test_intels_compiler_is_told_where_it_is(tmp_path, monkeypatch):
    mpicc = tmp_path / "bin" / "mpicc"
    mpicc.parent.mkdir()
    mpicc.write_text('#!/bin/sh\necho gcc -I"$I_MPI_ROOT/include" -Xlinker -rpath -Xlinker /lib -lmpi\n')
    mpicc.chmod(0o755)
    monkeypatch.delenv("I_MPI_ROOT", raising=False)
    monkeypatch.setattr("sys.executable", str(mpicc.with_name("python")))
    library = find_mpi_compiler("x.c", "c")
    assert library.compile_flags == (f"-I{tmp_path}/include",)
    assert library.link_flags == ("-Wl,-rpath", "-Wl,/lib", "-lmpi")
