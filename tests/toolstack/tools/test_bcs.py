"""bcs: programs give the same results through the coscheduled layer, and the same matches each time."""

import sys
from pathlib import Path

import numpy as np
import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import TWO_NODES, beside_python, without_late_slices

from pse import bcs, trace

PROGRAMS = Path(__file__).parent / "programs"
LAYER_PROGRAMS = Path(__file__).parents[2] / "coschedule" / "programs"
BCS = "module bcs\n"
MODULE = """
from mpi4py import MPI
from pending import exchange

#@ coven module many(in f64 x[n], in comm c, out f64 sum) collective
def many(x, c):
    for seed in range(2):
        exchange(c, MPI.Request, seed, 15000)
    return float(c.size)
"""
MANY = """
coven 1
import "many.py" { many }
partition P = procs
program many_messages {
  var f64[12] @ root ones
  var f64[12] @ block(0) parts
  var f64 total = 0.0
  thread_A fill(1.0) -> ones
  thread_A scatter(ones) -> parts
  PARALLEL over P { thread_B many(parts) -> sum reduce total(max) }
  thread_A print(total)
}
"""

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("rounds", ["15", *nightly("40")])
@pytest.mark.parametrize(("ranks", "seed"), [(1, 1), (3, 2), *nightly((4, 3))])
def test_a_program_in_c_gives_what_it_gives_without(
    stacked_program, calls, called_without_tools, ranks, seed, rounds
):
    taken = stacked_program(ranks, BCS, calls, str(seed), rounds)
    assert taken.code == 0, taken.err
    assert taken.out == called_without_tools(ranks, str(seed), rounds)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_program_in_python_gives_what_it_gives_without(stacked, ranks):
    plain, taken = (stacked(ranks, conf, str(PROGRAMS / "calls.py"), "5", "30") for conf in ("", BCS))
    assert (plain.code, taken.code) == (0, 0), plain.err + taken.err
    assert taken.out == plain.out


@pytest.mark.parametrize(
    ("ranks", "mode"),
    [
        (1, "early"),
        (3, "strict"),
        *nightly((1, "strict"), (3, "early")),
    ],
)
def test_programs_with_more_operations_than_buffers_end(stacked, ranks, mode):
    program = str(LAYER_PROGRAMS / "pending.py")
    ended = stacked(ranks, f"{BCS}argument mode {mode}\n", program, "mpi", "2", "15000", mode)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_modules_with_more_operations_than_buffers_end(tmp_path, monkeypatch, shared_cache, pse, ranks):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    monkeypatch.setenv("PYTHONPATH", str(LAYER_PROGRAMS))
    (tmp_path / "many.py").write_text(MODULE)
    (tmp_path / "many.coven").write_text(MANY)
    done = pse("run", "-q", "-p", str(ranks), "-o", "transport=bcs", str(tmp_path / "many.coven"))
    assert (done.code, done.out) == (0, f"{ranks}\n"), done.err


def test_ranks_on_two_nodes_give_what_they_give_without(monkeypatch, stacked):
    for name, value in TWO_NODES.items():
        monkeypatch.setenv(name, value)
    plain, taken = (stacked(3, conf, str(PROGRAMS / "calls.py"), "5", "30") for conf in ("", BCS))
    assert (plain.code, taken.code) == (0, 0), plain.err + taken.err
    assert taken.out == plain.out


@pytest.mark.parametrize(("suffix", "lines"), [(".c", (10, 12)), (".py", (7, 9))])
def test_a_stepper_shows_where_a_program_waits(pse, program, suffix, lines):
    source = PROGRAMS / f"waits{suffix}"
    is_c = suffix == ".c"
    command = [program("waits", source.read_text(), "-g")] if is_c else [sys.executable, source]
    step = ["bcs", "step", "--patience", "60", "--commands", "ranks; continue"]
    done = pse(*step, beside_python("pse"), "tools", "run", "--tools", "bcs", "-n", "2", *command)
    place = "waits.c" if is_c else source.relative_to(Path.cwd())
    shown = [" ".join(line.split()) for line in done.out.splitlines()]
    assert f"0 blocked Recv from rank 1 with tag 7, 4 B {place}:{lines[0]}" in shown, done.err
    assert f"1 blocked Send to rank 0 with tag 7, 4 B {place}:{lines[1]}" in shown
    assert done.code == 0


def test_receives_from_any_rank_match_alike_each_time(stacked):
    once, again = (stacked(4, BCS, str(PROGRAMS / "bcs.py"), "wildcards") for _ in range(2))
    assert (once.code, once.out) == (0, f"{[1] * 20 + [2] * 20 + [3] * 20}\n"), once.err
    assert again.out == once.out


@pytest.mark.parametrize(
    ("case", "ranks", "said"),
    [
        ("mixtures", 1, "mixed\n"),
        ("mixtures", 3, "mixed\n"),
        ("several", 1, "[3] [0, 2] [1] None\n"),
        ("several", 2, "[3] [0, 2] [1] None\n"),
        ("looks", 2, "[0, 2] True\n"),
        ("elsewhere", 3, "cancelled True\n"),
        ("sums", 3, "same bits\n"),
        ("layouts", 3, "gaps\n"),
        ("truncation", 2, "True\n"),
        ("windows", 3, "1 1\n"),
    ],
)
def test_what_the_tool_takes_over_gives_mpis_results(stacked, case, ranks, said):
    ended = stacked(ranks, BCS, str(PROGRAMS / "bcs.py"), case)
    assert (ended.code, ended.out) == (0, said), ended.err


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("deadlock", "deadlock: rank 0 in Recv from rank 1, rank 1 in Recv from rank 2 and"),
        ("mismatch", "and rank 0 in Bcast"),
        ("roots", "deadlock: rank 0 in Reduce, rank 1 in Reduce and rank 2 in Barrier"),
        ("short", "rank 2 in Bcast expects 16 B of rank 0 and gets 8 B"),
        ("left", "rank 1 ended and did not call MPI_Finalize"),
        ("ended", "rank 0 in Recv from rank 1, rank 1 in MPI_Finalize and rank 2 in Recv"),
    ],
)
def test_what_is_wrong_is_told_by_one_rank_and_ends_the_job(stacked, case, words):
    ended = stacked(3, BCS, str(PROGRAMS / "bcs.py"), case)
    assert ended.code != 0
    (line,) = [line for line in ended.err.splitlines() if line.startswith("bcs, rank")]
    assert words in line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("argument slice 50", "`argument slice 50`: expected a number of microseconds, at least 100"),
        ("argument mode late", "`argument mode late`: expected strict or early"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(stacked, line, words):
    ended = stacked(1, f"{BCS}{line}\n", "-c", "from mpi4py import MPI")
    assert ended.code == 2
    assert words in ended.err


def test_sums_have_the_same_bits_in_strict_slices(stacked):
    ended = stacked(3, f"{BCS}argument mode strict\n", str(PROGRAMS / "bcs.py"), "sums")
    assert (ended.code, ended.out) == (0, "same bits\n"), ended.err


def test_sums_have_the_same_bits_in_strict_slices_of_two_nodes(monkeypatch, stacked):
    for name, value in TWO_NODES.items():
        monkeypatch.setenv(name, value)
    ended = stacked(3, f"{BCS}argument mode strict\n", str(PROGRAMS / "bcs.py"), "sums")
    assert (ended.code, ended.out) == (0, "same bits\n"), ended.err


def test_calls_and_slices_are_monitored(tmp_path, stacked):
    seen = {"PSE_BCS_MMDS": str(tmp_path), "PSE_BCS_EMDS": str(tmp_path)}
    ended = stacked(3, BCS, str(PROGRAMS / "bcs.py"), "monitored", env=seen)
    assert (ended.code, ended.out) == (0, ""), ended.err
    reports = bcs.load_reports(tmp_path)
    assert [report.rank for report in reports] == [0, 1, 2]
    for report in reports:
        sizes = {name: (one.count, one.total) for name, one in report.sizes.items()}
        assert sizes.pop("Finalize") == (1, 0)
        assert sizes == {
            "Isend": (3, 74103), "Recv": (3, 74103), "Wait": (3, 0), "Allreduce": (5, 120), "Barrier": (1, 0),
            "Sendrecv": (1, 40), "Alltoall": (1, 24), "Gatherv": (1, 8 * (report.rank + 1)),
            "Comm_dup": (1, 0),
        }  # fmt: skip
        assert report.communication.total == sum(
            one.total for name, one in report.latencies.items() if name != "Isend"
        )
        assert report.computation.count == report.communication.count + 1
    slices = bcs.load_slices(tmp_path)
    assert (np.diff(slices["slice"].astype(int)) == 1).all()
    assert slices["np2pmsm"].sum() >= 3 * (3 + 1)


def test_slices_are_in_the_trace_beside_calls(tmp_path, stacked):
    folder = tmp_path / "t"
    conf, seen = f"module trace\n{BCS}", {"PSE_TRACE_DIRECTORY": str(folder)}
    ended = stacked(3, conf, str(PROGRAMS / "bcs.py"), "monitored", env=seen)
    assert (ended.code, ended.out, without_late_slices(ended.err)) == (0, "", "")
    found = trace.open(folder)
    assert found.problems == ()
    matches, slices = found.slice_matches(), found.time_slices()
    assert set(matches["rank"].tolist()) == {0, 1, 2}
    assert set(matches["slice"].tolist()) <= set(slices["slice"].tolist())
    assert slices["operations"].sum() == (~matches["send"]).sum() == matches["send"].sum()
    calls, names = found.routine_calls()
    assert [names[number] for number in calls["routine"]].count("MPI_Barrier") == 3


def test_ranks_metrics_resolution_and_slices_are_chosen(tmp_path, stacked):
    chosen = {
        "PSE_BCS_MMDS": str(tmp_path), "PSE_BCS_MMDS_RANKS": "0,2:7",
        "PSE_BCS_MMDS_METRICS": "Recv,computation", "PSE_BCS_MMDS_RESOLUTION": "5",
        "PSE_BCS_EMDS": str(tmp_path), "PSE_BCS_EMDS_SLICES": "4:6",
    }  # fmt: skip
    ended = stacked(3, BCS, str(PROGRAMS / "bcs.py"), "monitored", env=chosen)
    assert (ended.code, ended.out) == (0, ""), ended.err
    reports = bcs.load_reports(tmp_path)
    assert [report.rank for report in reports] == [0, 2]
    for report in reports:
        assert (list(report.latencies), report.communication.count) == (["Recv"], 0)
        assert report.computation.count > 0
        sizes = report.sizes["Recv"]
        assert sizes.resolution == 5
        assert sizes.edges()[np.flatnonzero(sizes.bins)].tolist() == [7, 4096, 69632]
    assert bcs.load_slices(tmp_path)["slice"].tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        (
            "MMDS_RANKS",
            "1-2",
            "PSE_BCS_MMDS_RANKS is '1-2'; it must be ranks and ranges of them, as in 0,4:7",
        ),
        ("MMDS_RANKS", "2:1", "PSE_BCS_MMDS_RANKS is '2:1'"),
        ("MMDS_METRICS", "Send,,Recv", "PSE_BCS_MMDS_METRICS is 'Send,,Recv'; it must be different names"),
        ("MMDS_METRICS", "send", "PSE_BCS_MMDS_METRICS names 'send', and MPI has no MPI_send"),
        ("MMDS_RESOLUTION", "9", "PSE_BCS_MMDS_RESOLUTION is '9'; it must be a number from 0 to 8"),
        ("EMDS_SLICES", "5", "PSE_BCS_EMDS_SLICES is '5'; it must be the first and the last slice"),
        ("EMDS_SLICES", "0:1000000", "at most 1000000 of them"),
    ],
)
def test_choices_that_make_no_sense_are_refused(tmp_path, stacked, variable, value, words):
    given = {"PSE_BCS_MMDS": str(tmp_path / "seen"), f"PSE_BCS_{variable}": value}
    ended = stacked(1, BCS, "-c", "from mpi4py import MPI", env=given)
    assert ended.code == 2
    assert words in ended.err
    assert not (tmp_path / "seen").exists()


ONE_CHOOSES_WRONGLY = """
import os, sys
from pse._abi.environment import MPI_RANK_VARIABLES
if "1" in map(os.environ.get, MPI_RANK_VARIABLES):
    os.environ.update(PSE_BCS_MMDS=sys.argv[1], PSE_BCS_MMDS_METRICS="Nope")
from mpi4py import MPI
"""


def test_what_only_one_rank_chose_wrongly_ends_the_job_with_its_rank(tmp_path, stacked):
    ended = stacked(3, BCS, "-c", ONE_CHOOSES_WRONGLY, str(tmp_path))
    assert ended.code == 2
    assert "bcs, rank 1: PSE_BCS_MMDS_METRICS names 'Nope', and MPI has no MPI_Nope\n" in ended.err


def test_a_folder_that_cant_be_made_costs_the_report_only(tmp_path, stacked):
    (tmp_path / "file").write_text("")
    seen = {"PSE_BCS_MMDS": str(tmp_path / "file" / "seen")}
    ended = stacked(1, BCS, "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))", env=seen)
    assert (ended.code, ended.out) == (0, "1\n")
    assert "what the monitors have seen is lost: " in ended.err


HEAT = Path(__file__).parents[3] / "programs" / "heat.coven"


def test_a_coven_program_gives_the_same_bits(tmp_path, monkeypatch, shared_cache, pse):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    saved = []
    for transport in ("auto", "bcs"):
        words = (
            "-q",
            "-p",
            "3",
            "-D",
            "NX=24",
            "-D",
            "NY=24",
            "-D",
            "tol=10",
            "-o",
            f"transport={transport}",
        )
        done = pse("run", *words, str(HEAT))
        assert (done.code, without_late_slices(done.err)) == (0, "")
        saved.append((tmp_path / "heat.npy").read_bytes())
    assert saved[0] == saved[1]


def test_a_coven_program_on_two_nodes_gives_the_same_bits(tmp_path, monkeypatch, shared_cache, mpiexec):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    saved = []
    for transport in ("auto", "bcs"):
        words = ("-D", "NX=24", "-D", "NY=24", "-D", "tol=10", "-o", f"transport={transport}")
        done = mpiexec(3, "-m", "pse", str(HEAT), *words, env=TWO_NODES, cwd=tmp_path)
        assert done.code == 0, done.err
        saved.append((tmp_path / "heat.npy").read_bytes())
    assert saved[0] == saved[1]


def test_a_coven_program_is_traced_and_analyzed(tmp_path, monkeypatch, shared_cache, pse):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    monkeypatch.chdir(tmp_path)
    words = ("-q", "-p", "3", "-D", "NX=24", "-D", "NY=24", "-D", "tol=10", "-o", "transport=bcs")
    done = pse("run", *words, "--trace", "t", str(HEAT))
    assert (done.code, without_late_slices(done.err)) == (0, "")
    found = trace.open("t")
    matches, slices = found.slice_matches(), found.time_slices()
    assert found.problems == ()
    assert {*matches["rank"].tolist()} == {*found.ranks}
    assert {*matches["slice"].tolist()} <= {*slices["slice"].tolist()}
    told = pse("analyze", "t")
    assert (told.code, told.err) == (0, "")
    assert "Execution" in told.out
    summary = pse("trace", "summary", "t")
    assert (summary.code, summary.err) == (0, "")
    assert "layer of the tool bcs" in summary.out
    for name in ("t.html", "t.png"):
        drawn = pse("view", "t", *([] if "html" in name else ["--overlay", "slices"]), "-o", name)
        assert (drawn.code, drawn.err) == (0, "")
        assert Path(name).stat().st_size > 10_000


def test_a_coven_program_that_has_other_tools_is_refused(monkeypatch, shared_cache, mpiexec):
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
    done = mpiexec(3, "-m", "pse", str(HEAT), "-o", "transport=bcs", "--tools", "off")
    assert (done.code, done.err.count("error: ")) == (2, 1)
    why = "--tools is given, and loads all tools of the run"
    assert f"error: the option transport = bcs can't be used: {why}\n" in done.err
