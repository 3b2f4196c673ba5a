"""The tool trace: functions and regions of programs as call paths."""

import os
import re
import sys
from pathlib import Path

import pytest

import pse.trace
from pse.analysis import analyze, wait_chain, wait_chain_text
from pse.toolstack import INCLUDE
from pse.trace import EventType
from pse.trace.interchange import export_otf2

PROGRAMS = Path(__file__).parent / "programs"
MAIN = "program / regions.py / main"
MAKING_IS_A_CALL = sys.version_info < (3, 12)
"""The hook of Python 3.11 sees that a generator is made."""

pytestmark = pytest.mark.mpi


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def configured(directory):
    """The configuration of a stack with the tool alone."""
    return lambda *more: "\n  argument ".join(["module trace", f"directory {directory}", *more]) + "\n"


@pytest.fixture
def compiled(program):
    def build(name, *flags):
        text = (PROGRAMS / "regions.cpp").read_text()
        return program(name, text, "-g", f"-I{INCLUDE}", *flags, suffix=".cpp")

    return build


def visits(cube):
    """How often call paths were entered, by all ranks together; without those that end in Python's own.

    Routines of MPI have their names without the ending of large counts, which mpi4py uses where MPI has them.
    """
    counts = cube.exclusive("visits").sum(axis=1)
    entered = (path for path in range(1, len(counts)) if counts[path])
    return {re.sub(r"(MPI_\w+)_c$", r"\1", cube.path_text(path)): int(counts[path]) for path in entered}


@pytest.mark.parametrize("ranks", [1, 3])
def test_functions_of_python_are_call_paths_however_they_are_left(stacked, configured, directory, ranks):
    done = stacked(ranks, configured("budget 100"), PROGRAMS / "regions.py")
    assert (done.code, done.err) == (0, "")
    cube = analyze(directory)
    found = {path: count / ranks for path, count in visits(cube).items()}
    expected = {
        f"{MAIN} / recursive × 3 / ring / MPI_Sendrecv": 1,
        f"{MAIN} / failing / MPI_Barrier": 1,
        f"{MAIN} / MPI_Sendrecv": 0,
        f"{MAIN} / ring / MPI_Sendrecv": 1,
        f"{MAIN} / generator": 3 + MAKING_IS_A_CALL,
        f"{MAIN} / generator / ring / MPI_Sendrecv": 2,
        f"{MAIN} / generator / MPI_Barrier": 1,
        f"{MAIN} / steps": 3 + MAKING_IS_A_CALL,
        f"{MAIN} / steps / step / ring / MPI_Sendrecv": 2,
        "program / work": 3,
        "program / work / ring / MPI_Sendrecv": 60,
        f"{MAIN} / child": 1,
        f"{MAIN} / child / hot": 0,
        "program / MPI_Finalize": 1,
    }
    assert {path: found.get(path, 0) for path in expected} == expected
    assert all("nested deeper than 4,096" in problem for problem in cube.problems)
    assert not [path for path in found if "asyncio" in path or "threading" in path]


def test_places_are_files_and_lines(stacked, configured, directory):
    assert stacked(1, configured(), PROGRAMS / "regions.py").code == 0
    cube = analyze(directory)
    rings = [number for number, path in enumerate(cube.call_paths) if path.name == "ring"]
    shown = [cube.path_text(number, places=True) for number in rings]
    lines = (PROGRAMS / "regions.py").read_text().splitlines()
    main, ring = lines.index("def main():") + 1, lines.index("def ring(tag):") + 1
    assert (
        f"program / regions.py (regions.py:1) / main (regions.py:{main}) / ring (regions.py:{ring})" in shown
    )


def test_a_function_that_costs_too_much_is_switched_off_and_that_is_told(stacked, configured, directory):
    done = stacked(3, configured("budget 0"), PROGRAMS / "regions.py", "hot")
    assert done.code == 0
    line = (PROGRAMS / "regions.py").read_text().splitlines().index("def hot():") + 1
    said = f"hot (regions.py:{line}) is recorded for its first "
    assert f"trace, rank 0: {said}" in done.err
    cube = analyze(directory)
    assert any(said in problem for problem in cube.problems)
    found = visits(cube)
    assert 3_000 < found["program / regions.py / hot"] < 300_000
    assert found["program / regions.py / ring / MPI_Sendrecv"] == 3


def test_a_rank_that_ends_in_mid_region_leaves_what_it_was_in(stacked, configured, directory):
    assert stacked(3, configured(), PROGRAMS / "regions.py", "exit", directory).code != 0
    cube = analyze(directory)
    assert "program / regions.py / MPI_Abort" in visits(cube)
    assert any("whose end is not in the trace" in problem for problem in cube.problems)
    run = pse.trace.open(directory)
    chain = wait_chain(run, 1, run.span)
    assert [(link.rank, link.routine.removesuffix("_c"), link.awaited) for link in chain.links] == [
        (1, "MPI_Recv", "a message with tag 4 from rank 2"),
        (2, "MPI_Wait", "a message with tag 6 from rank 1"),
    ]
    assert chain.circle
    said = [*wait_chain_text(chain)]
    assert said[-1].startswith("rank 0 ended the run by MPI_Abort, at ")
    assert not [line for line in said if "deadlock" in line]


def test_functions_can_be_left_out(stacked, configured, directory):
    assert stacked(1, configured("functions no"), PROGRAMS / "regions.py").code == 0
    names = pse.trace.open(directory).routine_calls()[1]
    assert len(names) > 1
    assert all(name.startswith("MPI_") for name in names)


@pytest.mark.parametrize("ranks", [1, 3])
def test_compiled_functions_and_regions_are_call_paths(
    stacked_program, configured, directory, compiled, ranks
):
    one = compiled(
        "every_function", "-finstrument-functions", "-finstrument-functions-exclude-file-list=/include/"
    )
    done = stacked_program(ranks, configured(), one)
    assert (done.code, done.err) == (0, "")
    cube = analyze(directory)
    exchange = "grid::Solver::exchange(int)"
    begin = (PROGRAMS / "regions.cpp").read_text().splitlines().index("int main(int argc, char **argv)") + 2
    found = {path: count / ranks for path, count in visits(cube).items()}
    expected = {
        "program / main / setup / MPI_Init": 1,
        f"program / main / iteration / {exchange} / {exchange} / MPI_Barrier": 2,
        "program / main / grid::Solver::fail() / failing / MPI_Barrier": 1,
        "program / main / never ended / never ended / jump() / finish() / MPI_Finalize": 1,
    }
    assert {path: found.get(path, 0) for path in expected} == expected
    shown = [cube.path_text(path, places=True) for path in range(len(cube.call_paths))]
    assert f"program / main (every_function.cpp:{begin}) / setup (every_function.cpp:{begin + 1})" in shown
    end = (PROGRAMS / "regions.cpp").read_text().splitlines().index('    PSE_REGION_END("never begun");') + 1
    not_entered = rf"1 end of a region .* is left out: first .* never begun .*/every_function\.cpp:{end}\b"
    not_left = r"1 region that was not left ends with the one around it"
    in_itself = r"1 region was entered in itself and never left: is PSE_REGION_END missing"
    said = re.compile("|".join((not_entered, not_left, in_itself)))
    assert [problem for problem in cube.problems if not said.search(problem)] == []
    assert sum("in itself" in problem for problem in cube.problems) >= 1
    assert sum("never begun" in problem for problem in cube.problems) == 1  # Said once of all ranks.


def test_regions_of_the_source_need_nothing_linked(stacked_program, configured, directory, compiled):
    one = compiled("regions_only")
    assert stacked_program(1, "module count\n  argument output /dev/null\n", one).code == 0
    done = stacked_program(3, configured(), one)
    assert (done.code, done.err) == (0, "")
    found = visits(analyze(directory))
    assert found["program / setup / MPI_Init"] == 3
    assert found["program / iteration / MPI_Barrier"] == 12
    assert found["program / failing / MPI_Barrier"] == 3


FILTER = r"""
# of no interest
SCOREP_FILE_NAMES_BEGIN EXCLUDE */threading.py INCLUDE */asyncio/runners.py SCOREP_FILE_NAMES_END
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE *
  INCLUDE ma[i]n recur\sive  # two
          run
SCOREP_REGION_NAMES_END
"""


def test_a_filter_of_score_p_says_what_is_recorded(stacked, configured, directory, tmp_path):
    (tmp_path / "filter").write_text(FILTER)
    assert stacked(1, configured(f"filter {tmp_path}/filter"), PROGRAMS / "regions.py").code == 0
    names = pse.trace.open(directory).routine_calls()[1]
    assert {name for name in names if not name.startswith("MPI_")} == {"main", "recursive", "run"}


def test_a_filter_knows_files_and_mangled_names(stacked_program, configured, directory, compiled, tmp_path):
    rules = "SCOREP_FILE_NAMES_BEGIN\nEXCLUDE *\nINCLUDE every_*.cpp\nSCOREP_FILE_NAMES_END\n"
    rules += "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE MANGLED _ZN4grid* EXCLUDE setup\nSCOREP_REGION_NAMES_END\n"
    (tmp_path / "filter").write_text(rules)
    one = compiled(
        "every_function", "-finstrument-functions", "-finstrument-functions-exclude-file-list=/include/"
    )
    assert stacked_program(1, configured(f"filter {tmp_path}/filter"), one).code == 0
    names = pse.trace.open(directory).routine_calls()[1]
    own = {name for name in names if not name.startswith("MPI_")}
    assert own == {"main", "iteration", "failing", "never ended", "jump()", "finish()"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# a\nEXCLUDE x", "filter:2: `EXCLUDE` is not the begin or end of a block"),
        ("SCOREP_REGION_NAMES_BEGIN\nx", "filter:2: `x` is a pattern without EXCLUDE or INCLUDE before it"),
        ("\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE x", "filter:2: the block that begins here has no end"),
        ("SCOREP_FILE_NAMES_BEGIN INCLUDE MANGLED x", "filter:1: `MANGLED` is for names of regions"),
        ("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE 'x'", "filter:2: `'x'` has quotes around it"),
        ("\ufeffSCOREP_FILE_NAMES_BEGIN\nx", "filter:2: `x` is a pattern without"),
        ("\x1b[31mbad", "filter:1: `?[31mbad` is not the begin or end of a block"),
        ("SCOREP_FILE_NAMES_END", "ends a block that has no begin"),
        ("SCOREP_FILE_NAMES_BEGIN SCOREP_REGION_NAMES_BEGIN", "is inside of another block"),
        (None, "filter can't be read: No such file or directory"),
    ],
)
def test_a_filter_with_a_mistake_is_refused(stacked, configured, tmp_path, text, words):
    if text is not None:
        (tmp_path / "filter").write_text(text)
    done = stacked(1, configured(f"filter {tmp_path}/filter"), "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("budget much", "`argument budget much`: expected a number from 0 to 100"),
        ("functions all", "`argument functions all`: expected yes or no"),
        ("depth 33", "`argument depth 33`: expected a number from 0 to 32"),
    ],
)
def test_an_argument_with_a_mistake_is_refused(stacked, configured, argument, words):
    done = stacked(1, configured(argument), "-c", "from mpi4py import MPI")
    assert done.code == 2
    assert words in done.err


def test_events_of_each_thread_nest(stacked, configured, directory):
    assert stacked(3, configured(), PROGRAMS / "regions.py").code == 0
    trace = pse.trace.open(directory)
    for rank in trace.ranks:
        stacks, thread = {}, 0
        for event in trace.events(rank):
            if event["type"] == EventType.THREAD:
                thread = int(event["a"])
            elif event["type"] == EventType.REGION_ENTER:
                stacks.setdefault(thread, []).append((event["a"], event["time"]))
            elif event["type"] == EventType.REGION_LEAVE:
                assert stacks[thread].pop() == (event["a"], event["b"])
        assert len(stacks) >= 2
        assert not any(stacks.values())


@pytest.mark.parametrize(("ranks", "level"), [(1, "-O0"), (1, "-O2"), (3, "-O1")])
def test_functions_that_are_not_instrumented_are_found_on_the_stack(
    stacked_program, configured, directory, program, ranks, level
):
    one = program("callers", (PROGRAMS / "callers.c").read_text(), "-g", level, f"-I{INCLUDE}")
    done = stacked_program(ranks, configured(), one)
    assert (done.code, done.err) == (0, "")
    cube = analyze(directory)
    assert not cube.problems
    found = {path: count / ranks for path, count in visits(cube).items() if "MPI_" in path}
    assert found == {
        "program / main / MPI_Init": 1,
        "program / main / first / ring / MPI_Sendrecv": 10,
        "program / main / second / ring / MPI_Sendrecv": 10,
        "program / main / recursive × 3 / ring / MPI_Sendrecv": 1,
        "program / exchange / first / ring / MPI_Sendrecv": 5,
        "program / exchange / MPI_Barrier": 5,
        "program / main / MPI_Finalize": 1,
    }
    shown = [cube.path_text(path, places=True) for path in range(len(cube.call_paths))]
    line = (PROGRAMS / "callers.c").read_text().splitlines().index("APART ring(int rank, int size)") + 2
    assert any(path.endswith(f"/ ring (callers.c:{line}) / MPI_Sendrecv") for path in shown)
    assert set(pse.trace.open(directory).texts(0).values()) >= {"main", "first", "second", "ring"}


def test_of_a_program_without_names_the_path_begins_with_main(
    stacked_program, configured, directory, program
):
    one = program("nameless", (PROGRAMS / "callers.c").read_text(), "-s", f"-I{INCLUDE}")
    assert stacked_program(1, configured(), one).code == 0
    found = [re.sub(r"\+0x[0-9a-f]+", "", path) for path in visits(analyze(directory)) if "MPI_" in path]
    assert {"program / nameless / MPI_Init", "program / nameless / nameless / nameless / MPI_Sendrecv"} < {
        *found
    }
    assert not any("libc" in path for path in found)


@pytest.mark.parametrize(
    ("depth", "path"),
    [(0, "program / MPI_Sendrecv"), (1, "program / ring / MPI_Sendrecv")],
)
def test_fewer_callers_are_found_if_so_asked(stacked_program, configured, directory, program, depth, path):
    one = program("callers", (PROGRAMS / "callers.c").read_text(), "-g", f"-I{INCLUDE}")
    assert stacked_program(1, configured(f"depth {depth}"), one).code == 0
    assert visits(analyze(directory))[path] == 21


def test_stacks_of_a_function_that_is_called_in_several_places_are_unwound_once(
    stacked_program, configured, directory, program
):
    calls = "\n".join(["look(&flag);"] * 4)
    text = f"""#include <mpi.h>
        static __attribute__((noinline)) void look(int *flag)
        {{
            MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE);
            __asm__ volatile("");
        }}
        int main(int argc, char **argv)
        {{
            int flag;
            MPI_Init(&argc, &argv);
            for (int i = 0; i < 10000; i++) {{
                {calls}
            }}
            MPI_Finalize();
            return 0;
        }}"""
    assert stacked_program(1, configured(), program("places", text, "-O1")).code == 0
    assert not [text for text in pse.trace.open(directory).texts(0).values() if "too much" in text]
    assert visits(analyze(directory))["program / main / look / MPI_Iprobe"] == 40000


def test_the_search_for_lines_takes_no_time_of_the_program(
    stacked_program, configured, directory, program, tmp_path
):
    (tmp_path / "addr2line").write_text("#!/bin/sh\nsleep 1\necho /source/callers.c:7\n")
    (tmp_path / "addr2line").chmod(0o755)
    one = program("callers", (PROGRAMS / "callers.c").read_text(), "-g", f"-I{INCLUDE}")
    path = f"PATH={tmp_path}:{os.environ['PATH']}"  # Open MPI's mpiexec puts its own directory first.
    assert stacked_program(1, configured(), "/usr/bin/env", path, one).code == 0
    opened = pse.trace.open(directory)
    assert "/source/callers.c:7:1" in opened.texts(0).values()
    assert opened.span - opened.routine_calls()[0]["leave"].max() < 0.5e9


def test_excluded_callers_are_left_out(stacked_program, configured, directory, program, tmp_path):
    rules = "SCOREP_REGION_NAMES_BEGIN EXCLUDE ma?n recursive SCOREP_REGION_NAMES_END\n"
    (tmp_path / "filter").write_text(rules)
    one = program("callers", (PROGRAMS / "callers.c").read_text(), "-g", f"-I{INCLUDE}")
    assert stacked_program(1, configured(f"filter {tmp_path}/filter"), one).code == 0
    found = visits(analyze(directory))
    assert found["program / ring / MPI_Sendrecv"] == 1
    assert found["program / first / ring / MPI_Sendrecv"] == 10


def test_callers_survive_otf2(stacked_program, configured, directory, program, tmp_path):
    pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
    one = program("callers", (PROGRAMS / "callers.c").read_text(), "-g", f"-I{INCLUDE}")
    assert stacked_program(1, configured(), one).code == 0
    export_otf2(pse.trace.open(directory), tmp_path / "archive")
    archived = visits(analyze(tmp_path / "archive"))
    assert archived["program / exchange / first / ring"] == 5
    for path, count in visits(analyze(directory)).items():
        assert archived[path] == count


def test_functions_of_a_program_from_standard_input_are_recorded(stacked, configured, directory, tmp_path):
    (tmp_path / "given").write_text("from mpi4py import MPI\ndef work():\n    MPI.Wtime()\nwork()\n")
    become = (
        "import os, sys; os.dup2(os.open(sys.argv[1], 0), 0); os.execv(sys.executable, [sys.executable, '-'])"
    )
    done = stacked(1, configured(), "-c", become, tmp_path / "given")
    assert (done.code, done.err) == (0, "")
    assert visits(analyze(directory))["program / <stdin> / work"] == 1


def test_names_that_would_spoil_a_screen_are_written_out(stacked, configured, directory, request):
    """Python and ELF let anything be in a name: what moves the cursor must not reach a terminal."""
    code = (
        "from mpi4py import MPI; import types; work = lambda: MPI.COMM_WORLD.Barrier()\n"
        "name = 'first\\nsecond\\x1b[2J\\u202e' + 300 * 'x'\n"
        "types.FunctionType(work.__code__.replace(co_name=name, co_qualname=name), globals())()\n"
    )
    assert stacked(1, configured(), "-c", code).code == 0
    shown = r"first\nsecond\x1b[2J\u202e"
    for command in (("analyze",), ("trace", "summary")):
        printed = request.getfixturevalue("pse")(*command, directory).out
        assert shown in printed
        assert printed.replace("\n", "").isprintable()
        assert 120 * "x" not in printed
    assert f"{shown}{300 * 'x'}" in pse.trace.open(directory).routine_calls()[1]


def test_who_aborted_a_run_is_named_though_the_call_returned(stacked, configured, directory):
    """MPICH's MPI_Abort returns, and the rank goes on until it is killed."""
    code = (
        "from mpi4py import MPI; w = MPI.COMM_WORLD; w.Barrier()\n"
        "if w.rank == 0: w.Abort(5)\n"
        "w.Recv(bytearray(8), 0)"
    )
    assert stacked(2, configured(), "-c", code).code != 0
    run = pse.trace.open(directory)
    for rank in (0, 1):
        chain = wait_chain(run, rank, run.span)
        assert chain.abort is not None
        assert chain.abort[0] == 0
        assert not any("deadlock" in line for line in wait_chain_text(chain))


def test_a_region_without_a_name_is_said_to_have_none(stacked_program, configured, directory, program):
    text = (
        "#include <mpi.h>\n#include <pse_regions.h>\nint main(void) { MPI_Init(0, 0); "
        'PSE_REGION_BEGIN(""); MPI_Barrier(MPI_COMM_WORLD); PSE_REGION_END(""); MPI_Finalize(); return 0; }'
    )
    one = program("region_without_name", text, f"-I{INCLUDE}")
    assert stacked_program(1, configured(), one).code == 0
    assert "(no name)" in pse.trace.open(directory).routine_calls()[1]
