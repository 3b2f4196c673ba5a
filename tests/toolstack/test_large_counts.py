"""Tools that know nothing of large counts, under programs that use nothing else (mpi4py, C with X_c)."""

import textwrap
from pathlib import Path

import pytest

from pse.toolstack import Mpi, _library as library, _mpi_header as mpi_header, _shims as shims

pytestmark = pytest.mark.mpi

# A tool that wraps a routine in one form or both, and says what it sees.
TELL = """
#include <mpi.h>
#include <stdio.h>
static void tell(const char *what, long count, int partner)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "%d: " NAME " %s %ld %d\\n", rank, what, count, partner);
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    tell("Send", n, to);
    return PMPI_Send(b, n, t, to, tag, c);
}
#ifdef BOTH
int MPI_Send_c(const void *b, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    tell("Send_c", n, to);
    return PMPI_Send_c(b, n, t, to, tag, c);
}
#endif
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    tell("Recv", n, from);
    return PMPI_Recv(b, n, t, from, tag, c, s);
}
int MPI_Get_count(const MPI_Status *s, MPI_Datatype t, int *n)
{
    int result = PMPI_Get_count(s, t, n);
    tell("Get_count", *n, -1);
    return result;
}
int MPI_Alltoallv(const void *sb, const int sn[], const int sd[], MPI_Datatype st, void *rb, const int rn[],
                  const int rd[], MPI_Datatype rt, MPI_Comm c)
{
    int size;
    PMPI_Comm_size(c, &size);
    for (int i = 0; i < size; i++)
        tell("Alltoallv", 1000000L * sn[i] + 10000L * sd[i] + 100L * rn[i] + rd[i], i);
    return PMPI_Alltoallv(sb, sn, sd, st, rb, rn, rd, rt, c);
}
"""

RING = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
status = MPI.Status()
if rank == 0:
    world.Send(np.arange(5, dtype="i4"), (rank + 1) % size, 7) if size > 1 else None
if rank == 1:
    got = np.zeros(9, "i4")
    world.Recv(got, 0, 7, status)
    assert status.Get_count(MPI.INT32_T) == 5 and got.sum() == 10
counts, places = [rank + 1] * size, [i * (rank + 1) for i in range(size)]
back = np.zeros(size * (size + 1) // 2)
where = [i * (i + 1) // 2 for i in range(size)]
world.Alltoallv(
    [np.full(size * (rank + 1), rank + 0.0), counts, places, MPI.DOUBLE],
    [back, [i + 1 for i in range(size)], where, MPI.DOUBLE],
)
assert (back == np.repeat(np.arange(size), np.arange(size) + 1)).all()
"""


def told(finished):
    """All lines of all ranks, in order of rank; each rank's own order is kept."""
    assert finished.code == 0, finished.err
    return sorted(
        (line for line in finished.err.splitlines() if ": " in line), key=lambda line: line.split(":")[0]
    )


def old(tool, name="old", *flags):
    return tool(name, TELL, f'-DNAME="{name}"', *flags)


def test_a_tool_of_the_int_time_sees_mpi4py(tool, stacked):
    exchange = [f"{r}: old Alltoallv {v} {i}" for r in range(3) for i, v in enumerate(alltoallv(r))]
    expected = ["0: old Send 5 1", "1: old Recv 9 0", "1: old Get_count 5 -1", *exchange]
    assert sorted(told(stacked(3, f"module {old(tool)}", "-c", RING))) == sorted(expected)


def alltoallv(rank):
    return [
        1000000 * (rank + 1) + 10000 * i * (rank + 1) + 100 * (i + 1) + i * (i + 1) // 2 for i in range(3)
    ]


def test_a_tool_of_the_int_time_sees_mpi4py_on_one_rank(tool, stacked):
    assert told(stacked(1, f"module {old(tool)}", "-c", RING)) == ["0: old Alltoallv 1000100 0"]


def test_a_tool_that_knows_both_forms_counts_once(tool, stacked):
    lines = told(stacked(2, f"module {old(tool, 'both', '-DBOTH')}", "-c", RING))
    assert [line for line in lines if "Send" in line] == ["0: both Send_c 5 1"]


@pytest.mark.parametrize(
    ("upper", "seen"),
    [("old", ["0: old Send 5 1", "0: both Send 5 1"]), ("both", ["0: both Send_c 5 1", "0: old Send 5 1"])],
)
def test_two_tools_see_one_call_once_each_in_both_orders(tool, stacked, upper, seen):
    modules = [f"module {old(tool)}\n", f"module {old(tool, 'both', '-DBOTH')}\n"]
    configuration = "".join(modules if upper == "old" else reversed(modules))
    assert [line for line in told(stacked(2, configuration, "-c", RING)) if "Send" in line] == seen


HUGE = """
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    MPI_Datatype nothing;
    MPI_Count count = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Type_contiguous(0, MPI_BYTE, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Irecv_c(NULL, (MPI_Count)1 << 31, nothing, 0, 3, MPI_COMM_SELF, &request);
    MPI_Send_c(NULL, (MPI_Count)1 << 31, nothing, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)5 << 31);
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    printf("count %lld\\n", (long long)count);
    MPI_Type_free(&nothing);
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_count_beyond_int_goes_on_below(tool, program, stacked_program, ranks):
    configuration = f"module {old(tool)}\nmodule {old(tool, 'both', '-DBOTH')}\n"
    finished = stacked_program(ranks, configuration, program("huge", HUGE))
    lines = told(finished)
    for rank in range(ranks):
        own = [line for line in lines if line.startswith(f"{rank}:") and "Get_count" not in line]
        assert own == [f"{rank}: both Send_c {2**31} 0"]
    assert finished.out.split("\n")[:ranks] == [f"count {5 * 2**31}"] * ranks


# Everything ------------------------------------------------------------------------------------------------

EVERY = Path(__file__).parent / "programs" / "every_large_count.py"


def every_tool(tool, header):
    """A tool that wraps the int form of every large-count routine and counts its calls."""
    large = [p for p in header.prototypes.values() if shims.has_shim(p, header) and p.name.startswith("MPI_")]
    small = [header.prototypes[p.name.removesuffix("_c")] for p in large]
    wrappers = "\n".join(
        f"int {p.name}({', '.join(q.declaration for q in p.parameters)})\n"
        f"{{ calls[{i}]++; return P{p.name}({', '.join(q.name for q in p.parameters)}); }}"
        for i, p in enumerate(small)
    )
    table = ", ".join(f'"{p.name}"' for p in small)
    report = f"""
        int MPI_Finalize(void)
        {{
            int rank;
            PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
            for (int i = 0; rank == 0 && i < {len(small)}; i++)
                fprintf(stderr, "0: %s %ld\\n", names[i], calls[i]);
            return PMPI_Finalize();
        }}"""
    head = f"#include <mpi.h>\n#include <stdio.h>\nstatic long calls[{len(small)}];\n"
    return tool(
        "every",
        f"{head}static const char *const names[] = {{{table}}};\n{wrappers}\n{textwrap.dedent(report)}",
    )


@pytest.mark.usefixtures("needs_large_counts")
@pytest.mark.parametrize("ranks", [1, 3])
def test_every_large_count_call_of_mpi4py_is_seen_and_works(
    mpi, tool, stacked, tmp_path, ranks, is_intels_or_mpich_4_0
):
    every = every_tool(tool, mpi_header.read(mpi.include / "mpi.h"))
    if ranks > 1 and is_intels_or_mpich_4_0:
        pytest.skip("its persistent scatter fails without tools, too")
    lines = told(stacked(ranks, f"module {every}", EVERY, tmp_path))
    counts = dict(line.removeprefix("0: ").split() for line in lines)
    assert len(counts) > 150
    assert [name for name, calls in counts.items() if calls == "0"] == []


OPERATION = """
#include <mpi.h>
#include <stdio.h>
static void add(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    for (MPI_Count i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}
int main(void)
{
    int rank, size, sum[2];
    MPI_Op op;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine[2] = {rank, 1};
    MPI_Op_create_c(add, 1, &op);
    MPI_Allreduce_c(mine, sum, 2, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Finalize();
    return sum[0] != size * (size - 1) / 2 || sum[1] != size;
}
"""


def test_what_will_be_given_counts_goes_past_a_tool_of_the_int_time(tool, program, stacked_program):
    """An operation made for large counts must not become one for int: no count of its calls is known yet."""
    making = tool(
        "making",
        """
        #include <mpi.h>
        #include <stdio.h>
        static int made, freed;
        int MPI_Op_create(MPI_User_function *f, int c, MPI_Op *o) { made++; return PMPI_Op_create(f, c, o); }
        int MPI_Op_free(MPI_Op *op) { freed++; return PMPI_Op_free(op); }
        int MPI_Finalize(void) { fprintf(stderr, "%d %d\\n", made, freed); return PMPI_Finalize(); }
        """,
    )
    done = stacked_program(3, f"module {making}", program("operation", OPERATION))
    assert (done.code, done.err) == (0, "0 1\n" * 3)


# Without a header -------------------------------------------------------------------------------------------


@pytest.fixture
def stacked_without_header(mpi, shared_cache, stacked, monkeypatch):
    """Run in a stack for which no mpi.h was found."""
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    made = library.library(Mpi(mpi.path))
    return lambda *arguments: stacked(*arguments, env={"LD_PRELOAD": str(made)})


def test_without_a_header_tools_see_what_they_wrap_and_no_more(tool, stacked_without_header):
    configuration = f"module {old(tool, 'both', '-DBOTH')}\nmodule {old(tool)}"
    assert told(stacked_without_header(2, configuration, "-c", RING)) == ["0: both Send_c 5 1"]


def test_without_a_header_a_communicator_is_refused(tool, stacked_without_header, tmp_path):
    finished = stacked_without_header(1, f"module {old(tool)}\n  communicator world", "-c", RING)
    assert finished.code == 2
    line = f"{tmp_path / 'tools.conf'}:1: tool `…`: `communicator` needs the mpi.h of this MPI library"
    assert all(part in finished.err for part in line.split("…"))


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (lambda good: bytes(range(256)), "declares no MPI routine"),
        (lambda good: b"#include <there_is_no_such_file.h>", "can't read"),
        (lambda good: good + b"\n#pragma GCC poison pse_toolstack_narrow_end\n", "can't be linked"),
    ],
    ids=["no text", "not read", "not compiled"],
)
@pytest.mark.usefixtures("needs_large_counts")
def test_with_a_header_of_no_use_the_stack_goes_on_with_one_warning(
    header, reason, mpi, tmp_path, monkeypatch
):
    monkeypatch.setenv("PSE_CACHE", str(tmp_path / "cache"))
    for path in mpi.include.glob("mpi*.h"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "mpi.h").write_bytes(header((mpi.include / "mpi.h").read_bytes()))
    with pytest.warns(UserWarning, match=reason) as warned:
        made = library.library(Mpi(mpi.path, tmp_path))
    assert made.exists()
    texts = [str(warning.message) for warning in warned]
    # Those that come with pse are missing too, unless they were built with it.
    said = [text for text in texts if not text.startswith("the tools that come with pse are missing")]
    assert ["tools that wrap MPI_Send, but not MPI_Send_c" in text for text in said] == [True]
