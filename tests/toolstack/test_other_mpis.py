"""MPIs that are laid out as Debian has them, beside each other; Open MPI under mpi4py."""

import os
import subprocess
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.runtime.launch import _mpiexec
from pse.toolstack import Mpi, _library as library, _stack as stack

INCLUDE = Path(__file__).parents[2] / "cext" / "toolstack" / "tools" / "mpi_include.cmake"


@pytest.fixture
def library_file(tmp_path):
    """Compile a small library: ``library_file("libmpi.so.40", "int x;")``."""

    def compile_library(name, text):
        path = tmp_path / "lib" / "x86_64-linux-gnu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tmp_path / "library.c"
        source.write_text(text)
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", str(source), "-o", str(path)]
        subprocess.run(command, check=True)
        return path

    return compile_library


@pytest.mark.parametrize(("name", "kind"), [("libmpi.so.40", "openmpi"), ("libmpich.so.12", "mpich")])
def test_each_mpi_of_debian_has_its_own_header(library_file, tmp_path, name, kind):
    for each in ("openmpi", "mpich"):
        include = tmp_path / "include" / "x86_64-linux-gnu" / each
        include.mkdir(parents=True)
        (include / "mpi.h").touch()
    assert Mpi.at(library_file(name, "int x;")).include == include.with_name(kind)


def test_open_mpis_launcher_is_told_from_mpichs_beside_it(tmp_path, monkeypatch):
    for name in ("orterun", "hydra_pmi_proxy", "mpiexec.hydra"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    for target, hydra in (("orterun", False), ("mpiexec.hydra", True)):
        (tmp_path / "mpiexec").unlink(missing_ok=True)
        (tmp_path / "mpiexec").symlink_to(target)
        assert _mpiexec.find_mpiexec().hydra is hydra


def test_intels_launcher_keeps_the_machines_topology(tmp_path, monkeypatch):
    for name in ("mpiexec", "hydra_pmi_proxy", "hydra_bstrap_proxy"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert _mpiexec.rank_environment({}, _mpiexec.find_mpiexec()) == {}


def test_mpi4py_is_told_that_a_library_is_open_mpi(library_file, monkeypatch):
    monkeypatch.delenv("MPI4PY_MPIABI", raising=False)
    ours = library_file("libmpi.so.40", "int ompi_mpi_comm_self;")
    assert stack._mpi4py_variables(Mpi(ours)) == {"MPI4PY_MPIABI": "openmpi"}
    assert stack._mpi4py_variables(Mpi(library_file("libmpi.so.12", "int x;"))) == {}
    monkeypatch.setitem(os.environ, "MPI4PY_MPIABI", "mpich")
    assert stack._mpi4py_variables(Mpi(ours)) == {}


def test_the_build_finds_the_header_of_a_wheel_whose_mpicc_does_not_know_where_it_is(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "include").mkdir()
    mpicc = tmp_path / "bin" / "mpicc"
    mpicc.write_text('#!/bin/sh\necho gcc -I"${I_MPI_ROOT:-NOWHERE}/include" -I/nowhere -L/lib -lmpi\n')
    mpicc.chmod(0o755)
    script = tmp_path / "look.cmake"
    script.write_text(f"include({INCLUDE})\npse_find_mpi_include(found)\nmessage(STATUS ${{found}})\n")
    environment = os.environ | {"CMAKE_PROGRAM_PATH": str(tmp_path / "bin")}
    environment.pop("I_MPI_ROOT", None)
    command = [beside_python("cmake"), "-P", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"-- {tmp_path}/include\n"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (None, "there is no mpi.h near"),
        ("#error not for you", "not for you"),
        ("int PMPI_Init(int *argc char ***argv);", "error: expected"),
    ],
)
def test_tools_that_can_not_be_compiled_are_missing_with_a_word(library_file, tmp_path, header, why):
    mpi = Mpi(library_file("libmpi.so.40", "int PMPI_Init(void) { return 0; }"))
    if header is not None:
        (tmp_path / "mpi.h").write_text(header)
        mpi = Mpi(mpi.path, tmp_path)
    with pytest.warns(UserWarning, match=f"the tools that come with pse are missing: .*{why}.*mpicc"):
        assert not library.shipped_tools(mpi).exists()
