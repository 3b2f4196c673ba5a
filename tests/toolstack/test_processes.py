"""Processes under the stack: threads, spawned ones, those of sessions, those that never call MPI."""

import shutil
import subprocess

import pytest


@pytest.mark.mpi
def test_calls_before_init_and_after_finalize_are_seen(tool, program, stacked_program):
    around = tool(
        "around",
        """
        #include <mpi.h>
        #include <stdio.h>
        int MPI_Get_version(int *v, int *s) { fprintf(stderr, "version\\n"); return PMPI_Get_version(v, s); }
        int MPI_Finalized(int *flag) { fprintf(stderr, "finalized\\n"); return PMPI_Finalized(flag); }
        """,
    )
    early = program(
        "early",
        """
        #include <mpi.h>
        #include <stddef.h>
        int main(void)
        {
            int version, sub, flag;
            MPI_Get_version(&version, &sub);
            MPI_Init(NULL, NULL);
            MPI_Finalize();
            MPI_Finalized(&flag);
            return !flag;
        }
        """,
    )
    done = stacked_program(1, f"module {around}", early)
    assert (done.code, done.err) == (0, "version\nfinalized\n")


@pytest.mark.mpi
def test_threads_may_make_the_first_call_together(tool, program, stacked_program):
    counting = tool(
        "threads",
        """
        #include <mpi.h>
        #include <stdio.h>
        #include "pse_tools.h"
        static int count;
        int pse_tool_start(const struct pse_tools *tools) { tools->say(tools->self, "start"); return 0; }
        int MPI_Initialized(int *flag) { __atomic_fetch_add(&count, 1, 5); return PMPI_Initialized(flag); }
        int MPI_Finalize(void) { fprintf(stderr, "%d\\n", count); return PMPI_Finalize(); }
        """,
    )
    many = program(
        "many",
        """
        #include <mpi.h>
        #include <pthread.h>
        #include <stddef.h>
        static pthread_barrier_t gate;
        static void *ask(void *unused)
        {
            int flag;
            pthread_barrier_wait(&gate);
            MPI_Initialized(&flag);
            return unused;
        }
        int main(void)
        {
            int provided;
            pthread_t threads[8];
            pthread_barrier_init(&gate, NULL, 8);
            for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, ask, NULL);
            for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
            MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
            MPI_Finalize();
            return 0;
        }
        """,
        "-pthread",
    )
    done = stacked_program(1, f"module {counting} as threads", many)
    assert (done.code, done.err) == (0, "threads, rank 0: start\n8\n")


def test_processes_without_mpi_are_left_alone(preload):
    variables = {"LD_PRELOAD": str(preload), "PSE_TOOLS": "/nowhere/tools.conf"}
    done = subprocess.run(
        [shutil.which("echo"), "there"], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "there\n", "")


@pytest.mark.mpi
def test_without_a_configuration_nothing_changes(preload, ring, mpiexec):
    become = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    done = mpiexec(3, "-c", become, ring, env={"LD_PRELOAD": str(preload)})
    assert (done.code, done.err) == (0, "")


WATCHING = """
#include <mpi.h>
#include <stdio.h>
int MPI_Barrier(MPI_Comm comm) { fprintf(stderr, "barrier\\n"); return PMPI_Barrier(comm); }
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    fprintf(stderr, "session\\n");
    return PMPI_Session_init(info, handler, session);
}
"""
SPAWN = """
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    parent = MPI.COMM_SELF.Spawn(sys.executable, [sys.argv[0]], 2)
parent.Barrier()
parent.Disconnect()
"""
SESSION = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
session = MPI.Session.Init()
group = session.Create_group("mpi://WORLD")
comm = MPI.Intracomm.Create_from_group(group)
comm.Barrier()
comm.Free()
group.Free()
session.Finalize()
"""


@pytest.mark.mpi
def test_processes_that_are_spawned_run_under_the_stack(tool, stacked, tmp_path):
    (tmp_path / "spawn.py").write_text(SPAWN)
    done = stacked(1, f"module {tool('watching', WATCHING)}", tmp_path / "spawn.py", bare_may_fail=True)
    assert (done.code, done.err) == (0, "barrier\n" * 3)


@pytest.mark.mpi
def test_sessions_run_under_the_stack(tool, stacked):
    done = stacked(3, f"module {tool('watching', WATCHING)}", "-c", SESSION)
    assert done.code == 0
    assert sorted(done.err.split()) == ["barrier"] * 3 + ["session"] * 3
