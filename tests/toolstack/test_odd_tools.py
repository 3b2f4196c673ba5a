"""Tools and programs of an unusual build: C++ with static objects, threads, aliases, exceptions, forks."""

import subprocess

import pytest

pytestmark = pytest.mark.mpi

HEAD = "#include <mpi.h>\n#include <stdio.h>\n"
SENDING = "const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c"
STATIC = """
#include <map>
#include <mutex>
#include <string>
#include <mpi.h>
#include <iostream>
struct Counts {
    std::map<std::string, int> calls;
    std::mutex mutex;
    int version = 0, flag = 1;
    Counts() { int minor; PMPI_Get_version(&version, &minor); MPI_Initialized(&flag); }
    ~Counts()
    {
        std::string all = "static: " + std::to_string(version >= 3) + std::to_string(flag);
        for (auto &call : calls)
            all += " " + call.first + " " + std::to_string(call.second);
        std::cerr << all + "\\n" << std::flush;
    }
    void note(const char *name) { std::lock_guard<std::mutex> lock(mutex); calls[name]++; }
};
static Counts counts;
extern "C" int MPI_Send(SENDING) { counts.note("Send"); return PMPI_Send(b, n, t, to, tag, c); }
extern "C" int MPI_Comm_dup(MPI_Comm old, MPI_Comm *made)
{
    counts.note("dup");
    return PMPI_Comm_dup(old, made);
}
"""
# Talks on a communicator of its own, made by its own call of MPI_x, whatever MPI_Init the program calls.
OWN_COMMUNICATOR = """
static MPI_Comm own;
static int sends;
int MPI_Init_thread(int *c, char ***v, int wanted, int *given)
{
    int size, one = 1, code = PMPI_Init_thread(c, v, wanted, given);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_size(own, &size);
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, own);
    if (one != size)
        fprintf(stderr, "own: %d of %d\\n", one, size);
    return code;
}
int MPI_Init(int *c, char ***v) { int given; return MPI_Init_thread(c, v, MPI_THREAD_SINGLE, &given); }
int MPI_Send(SENDING) { __atomic_fetch_add(&sends, 1, 5); return PMPI_Send(b, n, t, to, tag, c); }
int MPI_Finalize(void)
{
    int all = 0, rank;
    MPI_Reduce(&sends, &all, 1, MPI_INT, MPI_SUM, 0, own);
    MPI_Comm_rank(own, &rank);
    MPI_Comm_free(&own);
    if (rank == 0)
        fprintf(stderr, "own: %d\\n", all);
    return PMPI_Finalize();
}
"""
THREAD = """
#include <pthread.h>
#include <unistd.h>
static pthread_t thread;
static volatile int stop, looks;
static __thread int storage[20] __attribute__((tls_model("initial-exec")));
static void *look(void *unused)
{
    for (int flag; !stop; usleep(200), looks = ++storage[3])
        PMPI_Iprobe(MPI_ANY_SOURCE, 4242, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return unused;
}
int MPI_Init_thread(int *c, char ***v, int wanted, int *given)
{
    int code = PMPI_Init_thread(c, v, MPI_THREAD_MULTIPLE, given);
    pthread_create(&thread, NULL, look, NULL);
    return code;
}
int MPI_Finalize(void)
{
    stop = 1;
    pthread_join(thread, NULL);
    fprintf(stderr, "thread: %d\\n", looks > 0);
    return PMPI_Finalize();
}
"""
# Weak aliases, and the next definition as the linker's own search gives it.
ALIAS = """
#define _GNU_SOURCE
#include <dlfcn.h>
static int sends;
int tool_send(SENDING)
{
    int (*next)(SENDING) = dlsym(RTLD_NEXT, "MPI_Send");
    __atomic_fetch_add(&sends, 1, 5);
    return next(b, n, t, to, tag, c);
}
#pragma weak MPI_Send = tool_send
int tool_finalize(void) { fprintf(stderr, "alias: %d\\n", sends); return PMPI_Finalize(); }
int MPI_Finalize(void) __attribute__((weak, alias("tool_finalize")));
"""
THROWING = """
#include <mpi.h>
#include <stdexcept>
extern "C" int MPI_Barrier(MPI_Comm c)
{
    int code = PMPI_Barrier(c);
    if (c == MPI_COMM_SELF)
        throw std::runtime_error("self");
    return code;
}
"""
PROGRAM = """
#include <iostream>
#include <mpi.h>
#include <stdexcept>
#include <thread>
#include <vector>
struct Mpi {
    int level;
    Mpi() { MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level); }
    ~Mpi() { MPI_Finalize(); }
};
static Mpi mpi;
static void talk(int rank, int size, int tag)
{
    for (int i = 0, got = -1; i < 50; i++) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &request);
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (got != (rank + size - 1) % size)
            std::cerr << "got " << got << std::endl;
    }
}
int main()
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<std::thread> threads;
    for (int tag = 0; tag < 4; tag++)
        threads.emplace_back(talk, rank, size, tag);
    for (auto &thread : threads)
        thread.join();
    try {
        MPI_Barrier(MPI_COMM_SELF);
    } catch (std::exception &error) {
        std::cerr << std::string("caught ") + error.what() + "\\n";
    }
    return mpi.level != MPI_THREAD_MULTIPLE;
}
"""


@pytest.fixture(scope="session")
def odd(tool, mpi) -> str:
    """Give a stack of odd tools."""
    sending = f"-DSENDING={SENDING}"
    tools = [
        tool("own", HEAD + OWN_COMMUNICATOR, sending, "-Wl,-Bsymbolic", str(mpi.path)),
        tool("static", STATIC, sending, suffix=".cpp"),
        tool("thread", HEAD + THREAD, "-pthread"),
        tool("alias", ALIAS.replace("#include", HEAD + "#include", 1), sending, "-ldl"),
        tool("throwing", THROWING, suffix=".cpp"),
    ]
    return "".join(f"module {path}\n" for path in tools)


@pytest.fixture(scope="session")
def threaded(mpi, tmp_path_factory):
    """Give a program in C++ whose static object begins and ends MPI, and whose threads talk."""
    source = tmp_path_factory.mktemp("odd") / "threaded.cpp"
    source.write_text(PROGRAM)
    line = [
        "c++",
        "-no-pie",
        "-O1",
        f"-I{mpi.include}",
        "-DOMPI_SKIP_MPICXX",
        source,
        "-o",
        source.with_suffix(""),
        "-pthread",
    ]
    subprocess.run([*line, mpi.path, f"-Wl,-rpath,{mpi.path.parent}"], check=True)
    return source.with_suffix("")


def test_odd_tools_chain_under_a_program_with_threads(odd, threaded, stacked_program):
    done = stacked_program(3, odd, threaded)
    assert done.code == 0
    each = ["alias: 200", "caught self", "static: 10 Send 200 dup 1", "thread: 1"]
    assert sorted(done.err.splitlines()) == sorted([*each * 3, "own: 600"])


@pytest.mark.parametrize("tool", ["check", "coopwait", "piggyback", "profile", "trace"])
def test_tools_that_ship_bear_threads(tool, threaded, stacked_program, tmp_path):
    argument = {
        "profile": f"argument output {tmp_path}/report",
        "trace": f"argument directory {tmp_path}/out",
    }
    conf = f"module {tool}\n  {argument.get(tool, '')}\n"
    done = stacked_program(3, conf, threaded)
    assert (done.code, done.err) == (0, "")


FORKING = """
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int status = 0, flag;
    MPI_Init(NULL, NULL);
    if (fork() == 0)
        exit(0);
    wait(&status);
    for (int i = 0; i < 100000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return status;
}
"""


def test_the_end_of_a_forked_child_ends_no_tool(program, stacked_program, tmp_path):
    forking = program("forking", FORKING)
    conf = "".join(f"module {name}\n  argument directory {tmp_path / name}\n" for name in ("trace", "record"))
    done = stacked_program(2, conf, forking)
    assert (done.code, done.err) == (0, "")
    for rank in range(2):
        size = (tmp_path / "trace" / f"rank-0000{rank}.mpi.events").stat().st_size
        assert size > 100_000 * 2 * 32  # Enter and leave of each call.


def test_thread_storage_that_finds_no_room_is_refused_with_a_remedy(tool, stacked):
    greedy = tool(
        "greedy", THREAD.replace("storage[20]", "storage[20000]").replace("#include", HEAD + "#include", 1)
    )
    done = stacked(1, f"module {greedy}", "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert "static TLS block: set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536" in done.err


# Wrappers of Fortran's routines, and of one of a later standard, as tools have them; this MPI has neither.
MORE_THAN_THERE = """
extern void pmpi_initialized(void), pmpi_send_(void), PMPI_Of_tomorrow(void);
void mpi_send_(void) { pmpi_initialized(); pmpi_send_(); }
int MPI_Of_tomorrow(void) { PMPI_Of_tomorrow(); return 0; }
static int barriers;
int MPI_Barrier(MPI_Comm c) { barriers++; return PMPI_Barrier(c); }
int MPI_Finalize(void) { fprintf(stderr, "barriers: %d\\n", barriers); return PMPI_Finalize(); }
"""
MORE_THAN_CALLED = """
extern void PMPI_Of_tomorrow(void), elsewhere(void);
int MPI_Barrier(MPI_Comm c) { WHAT(); return PMPI_Barrier(c); }
"""


@pytest.mark.parametrize("before", ["", "__attribute__((constructor)) static void begin(void) {}"])
def test_wrappers_of_routines_that_this_mpi_lacks_do_no_harm(before, tool, stacked):
    more = tool("more", HEAD + MORE_THAN_THERE + before, "-Wl,-z,lazy")
    done = stacked(3, f"module {more}", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    assert (done.code, done.err) == (0, "barriers: 1\n" * 3)


@pytest.mark.parametrize("what", ["PMPI_Of_tomorrow", "elsewhere"])
def test_calls_of_what_nobody_defines_are_refused(what, tool, stacked):
    more = tool("called", HEAD + MORE_THAN_CALLED.replace("WHAT", what), "-Wl,-z,lazy")
    done = stacked(1, f"module {more}", "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert f"tools.conf:1: tool `{more.stem}`" in done.err
    assert f"undefined symbol: {what}" in done.err
