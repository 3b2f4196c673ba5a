"""Fortran routines that stand in a library beside MPI's: tools that wrap them chain as those of C do.

The embedded MPI has no Fortran, so the library beside it is a small one of the test's.
"""

import subprocess
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

pytestmark = pytest.mark.mpi

BESIDE = """
#include <mpi.h>
void pmpi_init_(int *code) { *code = MPI_Init(0, 0); }
void pmpi_barrier_(int *comm, int *code) { *code = MPI_Barrier(MPI_COMM_WORLD); }
void pmpi_finalize_(int *code) { *code = MPI_Finalize(); }
#pragma weak mpi_init_ = pmpi_init_
#pragma weak mpi_barrier_ = pmpi_barrier_
#pragma weak mpi_finalize_ = pmpi_finalize_
"""
PROGRAM = """
void mpi_init_(int *), mpi_barrier_(int *, int *), mpi_finalize_(int *);
int main(void)
{
    int comm = 0x44000000, code; /* MPI_COMM_WORLD */
    mpi_init_(&code);
    for (int i = 0; i < 3; i++)
        mpi_barrier_(&comm, &code);
    mpi_finalize_(&code);
    return code;
}
"""
FORTRAN_ONLY = """
#include <stdio.h>
extern void pmpi_barrier_(int *, int *), pmpi_finalize_(int *);
static int barriers;
void mpi_barrier_(int *comm, int *code) { barriers++; pmpi_barrier_(comm, code); }
void mpi_finalize_(int *code) { fprintf(stderr, "%d in Fortran\\n", barriers); pmpi_finalize_(code); }
"""
C_ONLY = """
#include <mpi.h>
#include <stdio.h>
static int barriers;
int MPI_Barrier(MPI_Comm comm) { barriers++; return PMPI_Barrier(comm); }
int MPI_Finalize(void) { fprintf(stderr, "%d in C\\n", barriers); return PMPI_Finalize(); }
"""


# As most tools have them; what Fortran's routine calls goes through C's wrapper too.
BOTH = FORTRAN_ONLY.replace("#include <stdio.h>", "").replace("in Fortran", "by name") + C_ONLY.replace(
    "static int barriers;", ""
).replace("in C", "in both")
BOTH = "#include <stdio.h>\n" + BOTH


@pytest.fixture(scope="module")
def beside(mpi, tmp_path_factory) -> tuple[Path, Path]:
    """Give the MPI library in a directory with one of Fortran's, and a program that needs both."""
    if not mpi.path.name.startswith("libmpi.so.12"):
        pytest.skip("another MPI's library of Fortran has another name")
    place = tmp_path_factory.mktemp("fortran")
    library, program = place / "libmpi.so.12", place / "program"
    library.symlink_to(mpi.path)
    (place / "beside.c").write_text(BESIDE)
    (place / "program.c").write_text(PROGRAM)
    fortran = place / "libmpifort.so.12"
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{fortran.name}", f"-I{mpi.include}"]
    # Where the MPI brings a library of Fortran, ours is found before it; else the MPI goes first, beside
    # which it finds what it needs.
    own = (mpi.path.parent / fortran.name).exists()
    places = (place, mpi.path.parent) if own else (mpi.path.parent, place)
    run = [mpi.path, f"-Wl,--disable-new-dtags,-rpath,{places[0]}:{places[1]}"]
    subprocess.run(["cc", *flags, place / "beside.c", "-o", fortran, *run], check=True)
    subprocess.run(["cc", place / "program.c", "-o", program, fortran, *run], check=True)
    return library, program


@pytest.mark.parametrize("order", ["fc", "cf", "bcf", "cbf"])
def test_tools_of_both_languages_see_their_calls(order, beside, tool, pse, tmp_path):
    library, program = beside
    made = {"f": tool("fortran_only", FORTRAN_ONLY, "-Wl,-z,now"), "c": tool("c_only", C_ONLY)}
    made["b"] = tool("both", BOTH)
    conf = tmp_path / "tools.conf"
    conf.write_text("".join(f"module {made[letter]}\n" for letter in order))
    command = [
        "tools",
        "run",
        "-c",
        conf,
        "--mpi",
        library,
        "--",
        beside_python("mpiexec"),
        "-n",
        "3",
        program,
    ]
    done = pse(*command)
    assert done.code == 0
    each = ["3 in C", "3 in Fortran"] + ["3 in both"] * ("b" in order)
    assert sorted(done.err.splitlines()) == sorted(each * 3)


@pytest.mark.parametrize(("name", "seen"), [("world", 3), ("self", 0)])
def test_communicators_of_fortran_are_told_apart(name, seen, beside, tool, pse, tmp_path):
    library, program = beside
    conf = tmp_path / "tools.conf"
    conf.write_text(f"module {tool('fortran_only', FORTRAN_ONLY, '-Wl,-z,now')}\n  communicator {name}\n")
    command = ["tools", "run", "-c", conf, "--mpi", library, "--", program]
    done = pse(*command)
    assert (done.code, done.err) == (0, f"{seen} in Fortran\n")


def test_a_program_in_c_runs_beside_it(beside, tool, ring, pse, tmp_path):
    library, _ = beside
    conf = tmp_path / "tools.conf"
    conf.write_text(f"module {tool('fortran_only', FORTRAN_ONLY, '-Wl,-z,now')}\n")
    done = pse("tools", "run", "-c", conf, "--mpi", library, "--", ring)
    assert (done.code, done.err) == (0, "")
