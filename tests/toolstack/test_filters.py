"""Filters: layers that see some routines, communicators or times only, and stacks of communicators."""

import os
import subprocess

import pytest

from pse.toolstack import Mpi, _library as library, _shipped as shipped

pytestmark = pytest.mark.mpi

# Tells routine and communicator; the communicator of MPI_Sendrecv is an argument on the stack.
WATCH = """
#include <mpi.h>
#include <stdio.h>
static int tell(const char *routine, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "-";
    int length, rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (comm != MPI_COMM_NULL)
        PMPI_Comm_get_name(comm, name, &length);
    if (rank == 0)
        fprintf(stderr, "> " NAME " %s %s\\n", routine, name);
    return 0;
}
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int result = PMPI_Init_thread(argc, argv, required, provided);
    tell("Init_thread", MPI_COMM_NULL);
    return result;
}
int MPI_Finalize(void) { tell("Finalize", MPI_COMM_NULL); return PMPI_Finalize(); }
int MPI_Barrier(MPI_Comm c) { tell("Barrier", c); return PMPI_Barrier(c); }
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    tell("Bcast", c);
    return PMPI_Bcast(b, n, t, root, c);
}
int MPI_Get_processor_name(char *name, int *length)
{
    tell("Get_processor_name", MPI_COMM_NULL);
    return PMPI_Get_processor_name(name, length);
}
int MPI_Comm_free(MPI_Comm *c) { tell("Comm_free", *c); return PMPI_Comm_free(c); }
int MPI_Sendrecv(const void *sb, int sn, MPI_Datatype st, int to, int tag, void *rb, int rn, MPI_Datatype rt,
                 int from, int also, MPI_Comm c, MPI_Status *s)
{
    tell("Sendrecv", c);
    return PMPI_Sendrecv(sb, sn, st, to, tag, rb, rn, rt, from, also, c, s);
}
"""

PROGRAM = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
other = world.Dup()
other.Set_name("other")
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
for comm in world, MPI.COMM_SELF, other:
    comm.Barrier()
    comm.Bcast(np.zeros(2), 0)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got = np.zeros(1)
    comm.Sendrecv(np.full(1, comm.rank + 1.0), right, 5, got, left, 5)
    assert got[0] == left + 1
MPI.Get_processor_name()
other.Free()
"""

WORLD, SELF, OTHER = (
    [f"{routine} {name}" for routine in ("Barrier", "Bcast", "Sendrecv")]
    for name in ("MPI_COMM_WORLD", "MPI_COMM_SELF", "other")
)
END = ["Get_processor_name -", "Comm_free other"]


@pytest.fixture
def watch(tool):
    return lambda name="watch": tool(name, WATCH, f'-DNAME="{name}"')


def seen(finished, name="watch"):
    """What the layer of that name told, without the beginning and the end."""
    assert finished.code == 0, finished.err
    start = f"> {name} "
    lines = [line.removeprefix(start) for line in finished.err.splitlines() if line.startswith(start)]
    assert (lines[0], lines[-1]) == ("Init_thread -", "Finalize -")
    return lines[1:-1]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], [*WORLD, *SELF, *OTHER, *END]),
        (["only MPI_Barrier"], [WORLD[0], SELF[0], OTHER[0]]),
        (["only MPI_Bcast MPI_Get_processor_name"], [WORLD[1], SELF[1], OTHER[1], END[0]]),
        (["except MPI_Bcast MPI_Sendrecv"], [WORLD[0], SELF[0], OTHER[0], *END]),
        (["only MPI_Barrier MPI_Bcast", "except MPI_Bcast"], [WORLD[0], SELF[0], OTHER[0]]),
        (["communicator world"], [*WORLD, *END]),
        (["communicator self"], [*SELF, *END]),
        (["communicator other"], [*OTHER, *END]),
        (["communicator self other"], [*SELF, *OTHER, *END]),
        (["communicator self", "communicator world"], [*WORLD, *SELF, *END]),
        (["communicator nobody"], END),
        (["communicator world", "only MPI_Sendrecv"], [WORLD[2]]),
        (["from 1000"], []),
        (["until 1000"], [*WORLD, *SELF, *OTHER, *END]),
        (["until 1000", "communicator other", "except MPI_Comm_free"], [*OTHER, END[0]]),
    ],
    ids=", ".join,
)
def test_a_filtered_layer_sees_what_its_filters_leave(watch, stacked, filters, expected):
    configuration = "\n  ".join([f"module {watch()}", *filters])
    assert seen(stacked(1, configuration, "-c", PROGRAM)) == expected


def test_a_filtered_layer_sees_the_same_on_three_ranks(watch, stacked):
    assert seen(stacked(3, f"module {watch()}\ncommunicator other", "-c", PROGRAM)) == [*OTHER, *END]


def test_names_with_blanks_stand_in_quotes(watch, stacked):
    configuration = f'module "{watch()}" as watch\n  communicator self "the other one"'
    program = PROGRAM.replace('Set_name("other")', 'Set_name("the other one")')
    lines = seen(stacked(1, configuration, "-c", program))
    assert [line.replace("the other one", "other") for line in lines] == [*SELF, *OTHER, *END]
    assert lines[-1] == "Comm_free the other one"


def test_each_communicator_has_a_stack_of_its_own(watch, stacked):
    configuration = f"""
    module {watch("first")}
        communicator world
    module {watch("second")}
        communicator world other
    module {watch("third")}
        communicator other
    """
    finished = stacked(1, configuration, "-c", PROGRAM)
    assert seen(finished, "first") == [*WORLD, *END]
    assert seen(finished, "second") == [*WORLD, *OTHER, *END]
    assert seen(finished, "third") == [*OTHER, *END]
    calls = [line.split()[1:3] for line in finished.err.splitlines() if line.endswith("MPI_COMM_WORLD")]
    assert calls == [
        [name, routine] for routine in ("Barrier", "Bcast", "Sendrecv") for name in ("first", "second")
    ]


def test_a_filter_hides_setting_up_by_its_name_only(watch, stacked):
    finished = stacked(
        1, f"module {watch()}\nexcept MPI_Init_thread MPI_Finalize\nonly MPI_Barrier", "-c", PROGRAM
    )
    assert [line for line in finished.err.splitlines() if line.startswith(">")] == [
        f"> watch {line}" for line in (WORLD[0], SELF[0], OTHER[0])
    ]


@pytest.mark.parametrize("directive", ["only", "except"])
def test_an_unknown_routine_is_an_error_with_its_line(watch, stacked, tmp_path, directive):
    finished = stacked(1, f"module {watch()}\n\n{directive} MPI_Barrier MPI_Sned", "-c", PROGRAM)
    assert finished.code == 2
    assert f"{tmp_path / 'tools.conf'}:3: this MPI has no routine `MPI_Sned`" in finished.err


TIMED = """
from mpi4py import MPI
import time
began = time.monotonic()
MPI.COMM_WORLD.Barrier()
while time.monotonic() - began < 1.6:
    MPI.COMM_SELF.Barrier()
    time.sleep(0.05)
"""


def test_a_window_of_time_opens_and_closes(watch, stacked):
    configuration = f"module {watch('early')}\nuntil 1.5\nmodule {watch('late')}\nfrom 1.5"
    finished = stacked(1, configuration, "-c", TIMED)
    early, late = seen(finished, "early"), seen(finished, "late")
    assert early[0] == "Barrier MPI_COMM_WORLD"
    assert set(late) == {"Barrier MPI_COMM_SELF"}
    names = [line.split()[1] for line in finished.err.splitlines() if "Barrier" in line]
    assert names == sorted(names)


# An MPI library whose Fortran entry points don't call C's: handles there are addresses of ints.
FORTRAN_MPI = """
#include <mpi.h>
#include <string.h>
#undef MPI_Comm_f2c
#undef PMPI_Comm_f2c
#define BOTH(result, name, parameters, body) result name parameters body result P##name parameters body
BOTH(int, MPI_Init, (int *c, char ***v), { return 0; })
BOTH(int, MPI_Finalize, (void), { return 0; })
BOTH(int, MPI_Comm_rank, (MPI_Comm c, int *r), { *r = 0; return 0; })
BOTH(MPI_Comm, MPI_Comm_f2c, (MPI_Fint f), { return f == 0 ? MPI_COMM_WORLD : f; })
BOTH(int, MPI_Comm_get_name, (MPI_Comm c, char *n, int *l), { strcpy(n, c == 7 ? "other" : ""); return 0; })
BOTH(int, MPI_Barrier, (MPI_Comm c), { return 0; })
void mpi_barrier_(int *comm, int *error) { *error = 0; }
void pmpi_barrier_(int *comm, int *error) { *error = 0; }
"""
FORTRAN_TOOL = """
#include <stdio.h>
void pmpi_barrier_(int *comm, int *error);
void mpi_barrier_(int *comm, int *error) { printf("%d\\n", *comm); pmpi_barrier_(comm, error); }
"""
FORTRAN_CALLS = """
void mpi_barrier_(int *comm, int *error);
int main(void) { for (int c = 0, e; c < 10; c++) mpi_barrier_(&c, &e); return 0; }
"""


@pytest.fixture(scope="module")
def fortran_calls(mpi, tmp_path_factory, shared_cache):
    """Compile the calls, their MPI and the tool; give the folder, and the object that is preloaded."""
    if mpi.path.name.startswith("libmpi.so.40"):
        pytest.skip("the library of this test has handles that are numbers; Open MPI's are addresses")
    folder = tmp_path_factory.mktemp("fortran")
    for name, text in ("mpi", FORTRAN_MPI), ("tool", FORTRAN_TOOL), ("calls", FORTRAN_CALLS):
        (folder / f"{name}.c").write_text(text)
    shared = ["cc", "-shared", "-fPIC", "-w", f"-I{mpi.include}"]
    fake = folder / mpi.path.name
    for line in (
        [*shared, "mpi.c", f"-Wl,-soname,{mpi.path.name}", "-o", fake.name],
        [*shared, "tool.c", "-o", "tool.so"],
        ["cc", "calls.c", fake.name, f"-Wl,--disable-new-dtags,-rpath,{folder}", "-o", "calls"],
    ):
        subprocess.run(line, cwd=folder, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PSE_CACHE", str(shared_cache))
        # Nothing here loads the tools that come with pse: to compile them for this MPI takes 20 s.
        patch.setattr(shipped, "tools_for", lambda *_: shipped.BUILT)
        return folder, library.library(Mpi(fake, mpi.include))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("communicator world", [0]),
        ("communicator other", [7]),
        ("communicator world other", [0, 7]),
        ("only MPI_Finalize", []),
        ("except MPI_Barrier", []),
        ("only mpi_barrier_", list(range(10))),
    ],
)
def test_fortrans_entry_points_are_filtered_too(fortran_calls, filters, expected):
    folder, preload = fortran_calls
    (folder / "conf").write_text(f"module ./tool.so\n{filters}")
    variables = {"LD_PRELOAD": str(preload), "PSE_TOOLS": str(folder / "conf")}
    done = subprocess.run(
        [folder / "calls"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == [str(comm) for comm in expected]
