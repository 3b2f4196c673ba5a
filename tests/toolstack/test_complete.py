"""Calls that tools easily miss: before Init and after Finalize, in sessions, from threads, from Fortran."""

import shutil
import subprocess

import pytest

pytestmark = pytest.mark.mpi

# Counts calls without MPI and without locks; a send whose length isn't its tag is wrong.
COUNT = """
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_long sends, wrong, versions, sessions, events, spawned;
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    sends++;
    wrong += n != tag;
    return PMPI_Send(b, n, t, to, tag, c);
}
int MPI_Get_library_version(char *v, int *n) { versions++; return PMPI_Get_library_version(v, n); }
int MPI_Session_init(MPI_Info i, MPI_Errhandler e, MPI_Session *s)
{
    sessions++;
    return PMPI_Session_init(i, e, s);
}
int MPI_Session_finalize(MPI_Session *s) { sessions++; return PMPI_Session_finalize(s); }
int MPI_T_init_thread(int r, int *provided) { events++; return PMPI_T_init_thread(r, provided); }
int MPI_T_cvar_get_num(int *n) { events++; return PMPI_T_cvar_get_num(n); }
int MPI_Comm_get_parent(MPI_Comm *parent) { spawned++; return PMPI_Comm_get_parent(parent); }
static void report(void)
{
    fprintf(stderr, "> sends %ld wrong %ld versions %ld sessions %ld events %ld children %ld\\n", sends,
            wrong, versions, sessions, events, spawned);
}
__attribute__((constructor)) static void begin(void) { atexit(report); }
"""


@pytest.fixture
def count(tool):
    return f"module {tool('count', COUNT)}"


def counted(finished):
    """The figures of all processes, added up."""
    assert finished.code == 0, finished.err
    total: dict[str, int] = {}
    for line in finished.err.splitlines():
        words = line.split()[1:] if line.startswith("> ") else []
        for name, number in zip(words[::2], words[1::2], strict=True):
            total[name] = total.get(name, 0) + int(number)
    return {name: number for name, number in total.items() if number}


def test_calls_before_init_and_after_finalize_are_counted(count, stacked):
    text = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
assert not MPI.Is_initialized()
MPI.Get_library_version()
MPI.Init()
MPI.Finalize()
MPI.Get_library_version()
"""
    assert counted(stacked(3, count, "-c", text)) == {"versions": 6}


def test_calls_in_a_session_without_init_are_counted(count, stacked):
    text = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
session = MPI.Session.Init()
comm = MPI.Intracomm.Create_from_group(session.Create_group("mpi://WORLD"))
assert not MPI.Is_initialized()
request = comm.Irecv(bytearray(3), (comm.rank - 1) % comm.size, 3)
comm.Send(bytearray(3), (comm.rank + 1) % comm.size, 3)
request.Wait()
comm.Free()
session.Finalize()
"""
    assert counted(stacked(3, count, "-c", text, bare_may_fail=True)) == {"sends": 3, "sessions": 6}


def test_calls_of_mpi_t_are_counted(count, stacked):
    text = """
import ctypes
from mpi4py import MPI
MPI.COMM_SELF.Barrier()
here = ctypes.CDLL(None)
number = ctypes.c_int()
here.MPI_T_init_thread(0, ctypes.byref(number))
here.MPI_T_cvar_get_num(ctypes.byref(number))
assert number.value > 10
"""
    assert counted(stacked(1, count, "-c", text))["events"] == 2


def test_spawned_processes_have_the_stack_too(count, stacked, tmp_path):
    family = tmp_path / "family.py"
    family.write_text("""
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    children = MPI.COMM_WORLD.Spawn(sys.executable, sys.argv, 2)
    children.Disconnect()
else:
    parent.Disconnect()
""")
    assert counted(stacked(1, count, family, bare_may_fail=True))["children"] == 3


# Each thread sends messages of its own length, which is also their tag: a shim that mixes up threads is seen.
THREADS = """
#include <mpi.h>
#include <pthread.h>
#define THREADS 4
#define MESSAGES 2000
static void *run(void *own)
{
    int length = 10 + (int)(long)own, back = 0;
    MPI_Count got;
    MPI_Status status;
    MPI_Comm comm;
    char out[64], in[64];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        MPI_Irecv_c(in, sizeof in, MPI_BYTE, 0, length, comm, &request);
        MPI_Send_c(out, length, MPI_BYTE, 0, length, comm);
        MPI_Wait(&request, &status);
        MPI_Get_count_c(&status, MPI_BYTE, &got);
        back += got != length;
    }
    MPI_Comm_free(&comm);
    return (void *)(long)back;
}
int main(void)
{
    pthread_t thread[THREADS];
    int provided;
    long lost = 0;
    void *result;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++, lost += (long)result)
        pthread_join(thread[i], &result);
    MPI_Finalize();
    return provided != MPI_THREAD_MULTIPLE || lost;
}
"""


@pytest.mark.parametrize("filters", ["", "\ncommunicator nobody MPI_COMM_SELF", "\nuntil 1000"])
def test_threads_do_not_disturb_each_other_in_shims_and_filters(count, program, stacked_program, filters):
    finished = stacked_program(1, count + filters, program("threads", THREADS, "-pthread"))
    assert counted(finished) == ({} if "nobody" in filters else {"sends": 8000})


# Through C's interface, which every MPI library has.
FORTRAN = """
program ring
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function MPI_Init(argc, argv) bind(c, name="MPI_Init")
      import; type(c_ptr), value :: argc, argv
    end function
    integer(c_int) function MPI_Get_library_version(text, length) bind(c, name="MPI_Get_library_version")
      import; character(c_char) :: text(*); integer(c_int) :: length
    end function
    integer(c_int) function MPI_Finalize() bind(c, name="MPI_Finalize")
      import
    end function
  end interface
  integer(c_int) :: length, error
  character(c_char) :: text(8192)
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Get_library_version(text, length)
  error = MPI_Finalize()
  print *, length > 0
end program
"""

# Through Fortran's own entry points, whose library calls C's.
MPIF = """
program ring
  implicit none
  include 'mpif.h'
  integer :: error, status(MPI_STATUS_SIZE), request, length, got
  character :: out(5), back(9)
  call MPI_Init(error)
  call MPI_Irecv(back, 9, MPI_CHARACTER, 0, 5, MPI_COMM_SELF, request, error)
  call MPI_Send(out, 5, MPI_CHARACTER, 0, 5, MPI_COMM_SELF, error)
  call MPI_Wait(request, status, error)
  call MPI_Finalize(error)
end program
"""


@pytest.fixture
def fortran(mpi, tmp_path):
    compiler = shutil.which("gfortran")
    if compiler is None:
        pytest.skip("there is no gfortran")

    def build(text, *libraries):
        (tmp_path / "ring.f90").write_text(text)
        line = [compiler, "ring.f90", "-o", "ring", f"-I{mpi.include}", *libraries, str(mpi.path)]
        subprocess.run([*line, f"-Wl,--disable-new-dtags,-rpath,{mpi.path.parent}"], cwd=tmp_path, check=True)
        return tmp_path / "ring"

    return build


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_fortran_program_is_counted_through_the_interface_to_c(count, fortran, stacked_program, ranks):
    finished = stacked_program(ranks, count, fortran(FORTRAN))
    assert counted(finished) == {"versions": ranks}
    assert finished.out.split() == ["T"] * ranks


def test_a_fortran_program_is_counted_through_mpif_h(mpi, count, fortran, stacked_program):
    library = next(mpi.path.parent.glob("libmpi*fort*.so"), None)
    if library is None:
        pytest.skip(f"{mpi.path} comes without a Fortran interface")
    assert counted(stacked_program(1, count, fortran(MPIF, str(library)))) == {"sends": 1}
