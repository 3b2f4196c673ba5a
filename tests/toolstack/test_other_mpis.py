"""MPIs that are laid out as Debian has them, beside each other; Open MPI under mpi4py."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse._cache import code_directory
from pse.errors import RunError, UsageError
from pse.runtime.launch import _mpiexec
from pse.toolstack import (
    Mpi,
    _elf as elf,
    _library as library,
    _shipped as shipped,
    _stack as stack,
    find_mpi,
)

INCLUDE = Path(__file__).parents[2] / "cext" / "toolstack" / "tools" / "mpi_include.cmake"


@pytest.fixture
def library_file(tmp_path):
    """Compile a small library: ``library_file("libmpi.so.40", "int x;")``, with options of the linker."""

    def compile_library(name, text, *options):
        path = tmp_path / "lib" / "x86_64-linux-gnu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tmp_path / "library.c"
        source.write_text(text)
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", str(source), *options, "-o", str(path)]
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


@pytest.mark.parametrize(
    ("launcher", "name"), [("orterun", "libmpi.so.40"), ("mpiexec.hydra", "libmpich.so.12")]
)
def test_of_mpis_beside_each_other_tools_are_for_the_launchers(library_file, tmp_path, launcher, name):
    made = {each: library_file(each, "int x;") for each in ("libmpi.so.40", "libmpich.so.12")}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / launcher).touch(mode=0o755)
    (tmp_path / "bin" / "mpiexec").symlink_to(launcher)
    assert find_mpi([str(tmp_path / "bin" / "mpiexec")]).path == made[name]


def test_intels_launcher_keeps_the_machines_topology_and_binds_no_rank(tmp_path, monkeypatch):
    for name in ("mpiexec", "hydra_pmi_proxy", "hydra_bstrap_proxy"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert _mpiexec.rank_environment({}, _mpiexec.find_mpiexec()) == {"I_MPI_PIN": "0"}


@pytest.mark.parametrize(
    ("ours", "up", "given"),
    [
        ({}, True, "lo"),
        ({}, False, None),
        ({"UCX_TLS": "tcp"}, True, None),
        ({"UCX_NET_DEVICES": "eth0"}, True, "eth0"),
    ],
)
def test_ucx_keeps_to_the_loopback_on_one_machine_unless_told_otherwise(monkeypatch, ours, up, given):
    monkeypatch.setattr(_mpiexec, "_loopback_is_up", lambda: up)
    mpich = _mpiexec.Mpiexec("mpiexec", hydra=True)
    assert _mpiexec.rank_environment(ours, mpich, local=True).get("UCX_NET_DEVICES") == given
    assert _mpiexec.rank_environment(ours, mpich).get("UCX_NET_DEVICES") == ours.get("UCX_NET_DEVICES")


@pytest.mark.parametrize("searched", [True, False])
def test_why_the_library_can_not_be_loaded_is_told(
    library_file, tmp_path, shared_cache, monkeypatch, searched
):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    needed = library_file("libneeded.so.1", "int needed;")
    routines = "int PMPI_Init(void) { return 0; } int MPI_Init(void) { return 0; }"
    mpi = library_file("libmpi.so.12", routines, "-Wl,--no-as-needed", needed, "-Wl,-rpath,$ORIGIN")
    variables = {"LD_PRELOAD": str(library.library(Mpi(mpi)))}
    foreign = tmp_path / "foreign" / needed.name
    if searched:
        foreign.parent.mkdir()
        foreign.write_text("of another MPI, for another machine\n")
        variables["LD_LIBRARY_PATH"] = str(foreign.parent)
    else:
        needed.unlink()
    done = subprocess.run(
        [sys.executable, "-c", "import ctypes; ctypes.CDLL(None).MPI_Init(None, None)"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    wrong, help = done.stderr.splitlines()
    assert done.returncode == 2
    assert wrong.startswith(f"error: MPI was called, but its library {mpi} can't be loaded: ")
    if searched:
        assert f": {foreign}: " in wrong
        assert help.endswith(f"take directories of another MPI out of it ({foreign.parent})")
    else:
        assert f": {needed.name}: cannot open shared object file" in wrong
        assert help == f"help: `ldd {mpi}` lists what it needs, and what is missing"


def test_mpi4py_is_told_that_a_library_is_open_mpi(library_file, monkeypatch):
    monkeypatch.delenv("MPI4PY_MPIABI", raising=False)
    ours = library_file("libmpi.so.40", "int ompi_mpi_comm_self;")
    assert stack._mpi4py_variables(Mpi(ours)) == {"MPI4PY_MPIABI": "openmpi"}
    assert stack._mpi4py_variables(Mpi(library_file("libmpi.so.12", "int x;"))) == {}
    monkeypatch.setitem(os.environ, "MPI4PY_MPIABI", "mpich")
    assert stack._mpi4py_variables(Mpi(ours)) == {}


def test_what_tools_are_made_of_for_other_libraries_is_installed():
    rules = (INCLUDE.parent / "CMakeLists.txt").read_text()
    installed = rules.partition("if(NOT PSE_IN_TREE)")[2].partition("endif()")[0]
    names = (*shipped.RECORDER, *shipped.TABLES, *shipped.ELF, "c_engine.h")
    assert not [name for name in names if f"/{name}\n" not in installed and f"/{name} " not in installed]


def test_the_build_finds_the_header_of_a_wheel_whose_mpicc_does_not_know_where_it_is(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "include").mkdir()
    mpicc = tmp_path / "bin" / "mpicc"
    mpicc.write_text('#!/bin/sh\necho gcc -I"${I_MPI_ROOT:-NOWHERE}/include" -I/no/such/place -L/lib -lmpi\n')
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


def test_the_command_line_warns_in_lines_for_users(pse, library_file, tmp_path):
    routines = "int PMPI_Init(void) { return 0; } int MPI_Init(void) { return 0; }"
    path = library_file("libmpi.so.40", routines)
    header = tmp_path / "include" / "x86_64-linux-gnu" / "openmpi" / "mpi.h"
    header.parent.mkdir(parents=True)
    header.write_text("#error not for you")
    done = pse("tools", "library", "--mpi", path, env={"PSE_CACHE": str(tmp_path / "cache")})
    assert done.code == 0
    first, second = done.err.splitlines()
    assert first.startswith("warning: the tools that come with pse are missing: ")
    assert second.startswith("warning: tools that wrap MPI_Send, but not MPI_Send_c, will not see calls of")


@pytest.mark.parametrize(
    ("header", "why"), [(None, "there is no mpi.h near "), ("this is none", "mpi.h declares no MPI routine")]
)
def test_who_asks_for_a_tool_that_could_not_be_made_hears_why(pse, library_file, tmp_path, header, why):
    routines = "int PMPI_Init(void) { return 0; } int MPI_Init(void) { return 0; }"
    path = library_file("libmpi.so.40", routines)
    if header is not None:
        place = tmp_path / "include" / "x86_64-linux-gnu" / "openmpi"
        place.mkdir(parents=True)
        (place / "mpi.h").write_text(header)
    (tmp_path / "conf").write_text("module check\n")
    environment = {"PSE_CACHE": str(tmp_path / "cache")}
    for _ in range(2):  # The stack is made once.
        done = pse("tools", "check", tmp_path / "conf", "--mpi", path, env=environment)
        assert done.code == 2
        assert "there is no tool `check` in the directories of PSE_TOOLS_PATH, and the tools" in done.err
        assert why in done.err
        assert "install this MPI's headers" in done.err


@pytest.fixture
def compiling(mpi, monkeypatch, tmp_path):
    """Have the shipped tools made for this MPI in a cache of its own; gives the list of what is made."""
    made = []
    monkeypatch.setenv("PSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "_fits", lambda shared: False)
    monkeypatch.setattr(
        shipped, "_build", lambda line, known, names, place: made.append(place) or place.mkdir()
    )
    return made


def test_several_ranks_compile_the_tools_once_and_say_so(mpi, compiling, capfd):
    shared = elf.read(mpi.path)
    with ThreadPoolExecutor(3) as pool:
        places = set(pool.map(lambda _: shipped.tools_for(mpi, shared), range(3)))
    assert compiling == list(places)
    assert capfd.readouterr().err == f"compiling the MPI tools for {mpi.path}, once: half a minute or so\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_tools_that_somebody_else_left_in_the_cache_are_refused(mpi, compiling):
    place = shipped.tools_for(mpi, elf.read(mpi.path))
    (place / "count.so").touch()
    os.chown(place / "count.so", 12345, -1)
    with pytest.raises(RunError, match=r"count\.so belongs to user 12345"):
        shipped.tools_for(mpi, elf.read(mpi.path))


def test_a_cache_that_can_not_be_used_is_named(mpi, compiling):
    (code_directory() / "toolstack").parent.mkdir(parents=True, exist_ok=True)
    (code_directory() / "toolstack").touch()
    with pytest.raises(
        RunError, match=r"the cache of the tool stack can't be used: (File exists|Not a directory)"
    ):
        shipped.tools_for(mpi, elf.read(mpi.path))


def test_a_configuration_that_can_not_be_read_is_named_before_anything_is_compiled(
    mpi, monkeypatch, tmp_path
):
    monkeypatch.setattr(stack, "library", lambda mpi: pytest.fail("the tools are compiled"))
    for path, why in ((tmp_path / "none.conf", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(UsageError, match=f"the configuration of the tool stack can't be read: {why}"):
            stack.environment(str(path), mpi)
