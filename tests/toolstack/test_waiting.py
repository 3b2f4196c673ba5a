"""A stack that a running program gets in two steps: prepared, which may fail, and engaged, which can't."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pse.toolstack import _elf as elf

PROGRAM = """
import ctypes, sys
from mpi4py import MPI

path, configuration, late = sys.argv[1:]
stack = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
stack.pse_toolstack_prepare.restype = ctypes.c_char_p
why = stack.pse_toolstack_prepare(configuration.encode())
MPI.COMM_WORLD.Barrier()
if why is None:
    stack.pse_toolstack_engage()
MPI.COMM_WORLD.Barrier()
assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
assert ctypes.CDLL(late).meet() == 0
again = why or stack.pse_toolstack_prepare(configuration.encode())
sys.stdout.write(again.decode() + "\\n")
"""
LATE = """
#include <mpi.h>
int meet(void) { return MPI_Barrier(MPI_COMM_WORLD); }
"""


@pytest.fixture
def late(tool, mpi):
    """A library that calls MPI, to be loaded when the stack is there."""
    return tool("late", LATE, str(mpi.path))


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "library_first"), [(1, False), (3, False), (3, True)])
def test_calls_go_through_the_tools_once_the_stack_is_engaged(
    mpiexec, preload, mpi, tmp_path, late, ranks, library_first
):
    (tmp_path / "tools.conf").write_text("module count\nargument output calls\n")
    environment = {"LD_PRELOAD": str(mpi.path)} if library_first else {}
    command = ("-c", PROGRAM, preload, tmp_path / "tools.conf", late)
    done = mpiexec(ranks, *command, cwd=tmp_path, env=environment)
    assert (done.code, done.out) == (0, "the process has a stack of tools already\n" * ranks), done.err
    calls = dict(line.split()[:2] for line in (tmp_path / "calls").read_text().splitlines()[1:])
    assert int(calls["MPI_Barrier"]) == 2 * ranks  # Not the first one; that of what was loaded later, too.


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ("modul count", "`modul`"),
        ("module nowhere", "tool `nowhere`"),
        ("module ./cut.so", "tool `cut`: the file is damaged: parts of it are missing"),
        ("module ./text.so", "tool `text`: it is not a shared object (an ELF file)"),
    ],
)
def test_a_stack_that_cannot_be_says_why_and_the_program_goes_on(
    preload, tmp_path, tools, late, configuration, words
):
    whole = tools["plain"].read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.so").write_text("no tool")
    (tmp_path / "tools.conf").write_text(configuration)
    command = [sys.executable, "-c", PROGRAM, preload, tmp_path / "tools.conf", late]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path}/tools.conf:1: ")
    assert words in done.stdout


def test_a_file_that_is_cut_short_is_not_whole(preload, tmp_path):
    assert elf.is_whole(preload)
    for kept in 0, 40, 3000, preload.stat().st_size // 2:
        shutil.copy(preload, tmp_path / "cut.so")
        with open(tmp_path / "cut.so", "r+b") as file:
            file.truncate(kept)
        assert not elf.is_whole(tmp_path / "cut.so")
    assert not elf.is_whole(Path("/nowhere"))
