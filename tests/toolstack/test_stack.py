"""Tools in a stack: each sees what it sees alone, however it was built and wherever it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pse.toolstack import _elf as elf, _library as library, _stubs as stubs

RING = Path(__file__).parent / "sources" / "ring.py"


def stack_of(paths) -> str:
    return "".join(f"module {path}\n" for path in paths)


@pytest.fixture
def alone(tools, ring, tally, mpiexec):
    """Give what each tool counts when it is preloaded by itself, without any stack."""
    become = "import os, sys; os.environ['LD_PRELOAD'] = sys.argv[1]; os.execv(sys.argv[2], sys.argv[2:])"
    for path in tools.values():
        done = mpiexec(3, "-c", become, path, ring)
        assert (done.code, done.err) == (0, "")
    return tally()


@pytest.mark.mpi
def test_tools_see_in_a_stack_what_they_see_alone(alone, tools, ring, tally, stacked, stacked_program):
    assert len(alone) == 3 * len(tools)
    for paths in (list(tools.values()), list(tools.values())[::-1]):
        done = stacked_program(3, stack_of(paths), ring)
        assert (done.code, done.err) == (0, "")
        assert tally() == alone
        done = stacked(3, stack_of(paths), RING)
        assert (done.code, done.err) == (0, "")
        assert tally() == alone


@pytest.mark.mpi
def test_tools_can_be_attached_to_a_process_that_has_called_mpi(alone, tools, tally, mpiexec, tmp_path, mpi):
    (tmp_path / "conf").write_text(stack_of(tools.values()))
    done = mpiexec(3, RING, tmp_path / "conf")
    assert (done.code, done.err) == (0, "")
    assert tally() == alone


SECOND = """
import sys
from mpi4py import MPI
from pse.errors import UsageError
from pse.toolstack import attach
assert attach(sys.argv[1]) and not attach(sys.argv[1])
try:
    attach(sys.argv[2])
except UsageError as error:
    print(error, "|", error.help)
"""


@pytest.mark.mpi
def test_another_configuration_is_not_attached_and_the_first_one_is_named(tools, mpiexec, tmp_path, mpi):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(stack_of([tools["plain"]]))
    second.write_text("")
    (tmp_path / "attach.py").write_text(SECOND)
    done = mpiexec(1, tmp_path / "attach.py", first, second, env={"TALLY_DIRECTORY": str(tmp_path)})
    assert done.code == 0
    assert done.out == (
        f"this process runs the tools of {first} already, not those of {second} | "
        "put the tools of both into one configuration, and attach that\n"
    )


DYING = """
#include <mpi.h>
#include <stdlib.h>
int MPI_Init_thread(int *c, char ***v, int wanted, int *given)
{
    PMPI_Init_thread(c, v, wanted, given);
    END;
    return 0;
}
int MPI_Init(int *c, char ***v) { int given; return MPI_Init_thread(c, v, 0, &given); }
"""
ENDS = {
    "*(volatile int *)8 = 0": "crashed in MPI_Init: Segmentation fault",
    "abort()": "crashed in MPI_Init: Aborted",
    "exit(0)": "ended the process in MPI_Init",
}


@pytest.mark.mpi
@pytest.mark.parametrize("end", ENDS)
def test_a_tool_that_dies_in_mpi_init_is_named(
    end, tool, tools, ring, stacked_program, tmp_path, mpiexec, mpi
):
    dying = tool("dying", DYING.replace("END", end))
    text = stack_of([tools["plain"], dying, tools["old"]])
    environment = {"TALLY_DIRECTORY": str(tmp_path)}
    done = stacked_program(1, text, ring, env=environment)
    assert done.code != 0
    assert f"tools.conf:2: tool `{dying.stem}` {ENDS[end]} ({dying})" in done.err
    (tmp_path / "conf").write_text(text)
    late = ENDS[end].replace("MPI_Init", "its MPI_Init")
    done = mpiexec(1, RING, tmp_path / "conf", env=environment)
    assert f"conf:2: tool `{dying.stem}` {late} ({dying})" in done.err


VARIANTS = {
    "plain": [],
    "linked": ["{mpi}"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "lazy": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
    "noplt": ["-fno-plt", "-O2"],
    "symbolic": ["-Wl,-Bsymbolic"],
    "relr": ["-Wl,-z,pack-relative-relocs"],
    "lto": ["-flto", "-O2"],
    "sysv": ["-Wl,--hash-style=sysv"],
    "gnu": ["-Wl,--hash-style=gnu"],
    "stripped": ["-s"],
    "table": ["-DTABLE"],
    "pie": ["-fpie", "-fPIC", "-Wl,-z,separate-code"],
}
VARIANT = """
#include <mpi.h>
#include <stdio.h>
static int count;
#ifdef TABLE
static int (*const barrier_below[])(MPI_Comm) = {PMPI_Barrier};
#define BELOW barrier_below[0]
#else
#define BELOW PMPI_Barrier
#endif
int MPI_Barrier(MPI_Comm comm) { count++; return BELOW(comm); }
int MPI_Finalize(void) { fprintf(stderr, "NAME %d\\n", count); return PMPI_Finalize(); }
"""


@pytest.mark.mpi
def test_every_way_to_build_a_tool_chains(tool, mpi, stacked, tmp_path):
    paths = []
    for name, flags in VARIANTS.items():
        given = [flag.format(mpi=mpi.path) for flag in flags]
        if name == "relr" and not _links(given, tmp_path):
            continue
        paths.append(tool(f"v_{name}", VARIANT.replace("NAME", name), *given))
    done = stacked(1, stack_of(paths), "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    assert done.code == 0
    assert sorted(done.err.splitlines()) == sorted(f"{path.stem.partition('_')[2]} 1" for path in paths)


def _links(flags, tmp_path) -> bool:
    """Say whether this linker knows a flag."""
    (tmp_path / "empty.c").write_text("")
    line = ["cc", "-shared", "-fPIC", tmp_path / "empty.c", "-o", tmp_path / "empty.so", *flags]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


@pytest.mark.mpi
def test_one_tool_can_stand_in_a_stack_many_times(tools, tally, ring, stacked_program, alone):
    done = stacked_program(3, stack_of([tools["classy"]] * 3 + [tools["plain"]] * 2), ring)
    assert (done.code, done.err) == (0, "")
    # All instances write the same file.
    assert tally() == {name: text for name, text in alone.items() if name.startswith(("classy", "plain"))}


@pytest.mark.mpi
@pytest.mark.parametrize(("policy", "seen"), [("yes", 4), ("no", 1)])
def test_a_tool_can_hide_its_own_calls_from_lower_tools(policy, seen, tool, stacked):
    asking = tool(
        "asking",
        """
        #include <mpi.h>
        int MPI_Barrier(MPI_Comm comm)
        {
            int size;
            for (int i = 0; i < 3; i++)
                PMPI_Comm_size(comm, &size);
            return PMPI_Barrier(comm);
        }
        """,
    )
    counting = tool(
        "counting",
        """
        #include <mpi.h>
        #include <stdio.h>
        static int sizes, barriers;
        int MPI_Comm_size(MPI_Comm comm, int *size) { sizes++; return PMPI_Comm_size(comm, size); }
        int MPI_Barrier(MPI_Comm comm) { barriers++; return PMPI_Barrier(comm); }
        int MPI_Finalize(void) { fprintf(stderr, "%d %d\\n", sizes, barriers); return PMPI_Finalize(); }
        """,
    )
    conf = f"module {asking}\n  sees-tools {policy}\nmodule {counting}"
    text = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    done = stacked(1, conf, "-c", text)
    assert (done.code, done.err) == (0, f"{seen} 1\n")


def all_routines(names) -> str:
    """Write a tool that wraps every routine and only jumps on."""
    jump = {
        "x86_64": "jmp *P{0}@GOTPCREL(%rip)",
        "aarch64": "adrp x16, :got:P{0}; ldr x16, [x16, :got_lo12:P{0}]; br x16",
    }
    lines = [
        f'__asm__(".globl {name}; .type {name}, %function; {name}: {jump[os.uname().machine].format(name)}");'
        for name in names
    ]
    return "\n".join(lines)


def test_every_routine_goes_through(mpi, preload, tool, tmp_path, monkeypatch):
    # Above the tools' MPI_Init stands what names the one that crashes in it.
    names = set(stubs.routines(elf.read(mpi.path))) - {"MPI_Init", "MPI_Init_thread"}
    assert len(names) >= 400
    path = tool("everything", all_routines(names))
    (tmp_path / "conf").write_text(f"module {path}\nmodule {path}\n")
    text = """
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[3], mode=ctypes.RTLD_GLOBAL)
stack = ctypes.CDLL(sys.argv[1])
stack.pse_toolstack_attach(sys.argv[2].encode())
stack.pse_toolstack_push.restype = stack.pse_toolstack_below.restype = ctypes.c_void_p
top = ctypes.c_void_p(stack.pse_toolstack_push(0, None, None))
tool = [line for line in open("/proc/self/maps") if "everything" in line and " r-xp " in line]
low, high = (int(edge, 16) for edge in tool[0].split()[0].split("-"))
for name in sys.argv[4:]:
    assert low <= stack.pse_toolstack_below(top, name.encode()) < high, name
version = ctypes.c_int(), ctypes.c_int()
stack.MPI_Get_version(*map(ctypes.byref, version))
print(version[0].value)
"""
    command = [sys.executable, "-c", text, preload, tmp_path / "conf", mpi.path, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 3


FAKE = """
#include <stdarg.h>
#define BOTH(result, name, parameters, ...) \\
    result P##name parameters __VA_ARGS__ \\
    __attribute__((weak)) result name parameters __VA_ARGS__
struct pair { long a; double b; };
BOTH(int, MPI_Init, (int *c, char ***v), { (void)c, (void)v; return 0; })
BOTH(double, MPI_Mixed, (int a, double b, long c, float d, char e, double f, int g, double h, int i, double j,
                         int k, double l, int m, double n, double o, double p, double q, struct pair r),
     { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
              13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r.a + 19 * r.b; })
BOTH(double, MPI_Sum, (int count, ...),
     { va_list rest; double sum = 0; va_start(rest, count);
       for (int i = 0; i < count; i++) sum += va_arg(rest, double);
       va_end(rest); return sum; })
"""
CALLER = """
#include <stdio.h>
struct pair { long a; double b; };
double MPI_Mixed(int, double, long, float, char, double, int, double, int, double, int, double, int, double,
                 double, double, double, struct pair);
double MPI_Sum(int, ...);
int main(void)
{
    struct pair pair = {18, 19};
    for (int i = 0; i < 2; i++)
        printf("%g %g\\n", MPI_Sum(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.),
               MPI_Mixed(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, pair));
    return 0;
}
"""


def test_a_stub_disturbs_no_argument(tmp_path, monkeypatch, shared_cache):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    for name, text in (("libmpi.c", FAKE), ("caller.c", CALLER)):
        (tmp_path / name).write_text(text)
    fake, caller = tmp_path / "libmpi_fake.so", tmp_path / "caller"
    subprocess.run(
        [
            "cc",
            "-O1",
            "-w",
            "-shared",
            "-fPIC",
            tmp_path / "libmpi.c",
            "-Wl,-soname,libmpi_fake.so",
            "-o",
            fake,
        ],
        check=True,
    )
    subprocess.run(
        ["cc", "-O1", tmp_path / "caller.c", fake, f"-Wl,-rpath,{tmp_path}", "-o", caller], check=True
    )
    made = library.library(library.Mpi(fake))
    done = subprocess.run(
        [caller], env=os.environ | {"LD_PRELOAD": str(made)}, capture_output=True, text=True, check=False
    )
    expected = sum(i * i for i in range(1, 20))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"45 {expected}\n" * 2)


def test_the_object_exports_what_the_library_does_and_nothing_more(mpi, preload):
    exported = {name for name in elf.read(preload).functions if name[:3].upper() == "MPI"}
    of_libraries = (stubs.routines(elf.read(path)) for path in (mpi.path, *mpi.fortran))
    assert exported == set().union(*of_libraries)
    more = {name for name in elf.read(preload).functions - exported if not name.startswith("pse_")}
    # Of -finstrument-functions; and when threads begin and who waits for one is seen.
    of_functions = {"__cyg_profile_func_enter", "__cyg_profile_func_exit"}
    assert more == of_functions | {"pthread_create", "pthread_join"}
