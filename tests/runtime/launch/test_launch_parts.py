"""The launcher's parts, each through its own door: options, records, leftovers, reports, messages."""

import contextlib
import io
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from pse_testing.jobs import PROGRAMS

from pse._abi.environment import HYDRA_VARIABLES
from pse._abi.waiting import RankState
from pse._proc import descendants
from pse.errors import RunError, UsageError
from pse.language import parse_defines
from pse.language.check._ir import Option
from pse.language.diagnostics._refusal import ProgramRefused
from pse.language.diagnostics._source import Span
from pse.runtime import _faults
from pse.runtime._channel import Board
from pse.runtime.request._options import Options, resolve
from pse.runtime.request._prepared import Request
from pse.runtime.request._rank_arguments import rank_arguments, read_rank_arguments
from pse.runtime.request._request import prepare
from pse.runtime.status import _report_gathering as report, _report_text as report_text
from pse.runtime.status._overview import Observer
from pse.runtime.status._progress import Progress
from pse.runtime.status._report import Report
from pse.runtime.supervise import _cleanup as cleanup, _error_format as messages
from pse.runtime.supervise._exit_diagnosis import diagnose_exit
from pse.runtime.supervise._launcher_records import Launcher, Record, Records, find_launcher
from pse.runtime.supervise._processes import (
    RankProcess,
    find_managers,
    find_ranks,
    is_dead,
    mpiexec_above,
    proxy_descriptor,
)
from pse.runtime.supervise._rank_output import RankOutput

THREADS = ("thread_A", "thread_B")
PLACE = Span("p.coven", 3, 1, 3, 9)


@pytest.fixture
def prepared(monkeypatch):
    """faulty.coven, ready for two processors."""
    monkeypatch.chdir(PROGRAMS)
    return prepare(Request("faulty.coven", {}, processors=2))


# Launchers


@pytest.mark.parametrize(
    ("variables", "descriptor"),
    [
        ({"PMI_FD": "9", "HYDI_CONTROL_FD": "7"}, 9),
        ({"PMI_FD": "9", "PMI_HOSTNAME": "n1"}, 9),
        ({"PMI_FD": "9", "I_MPI_HYDRA_UUID": "177a"}, 9),
        ({"PMI_FD": "9"}, -1),
        ({"PMI_HOSTNAME": "n1"}, -1),
    ],
    ids=["mpich", "mpich on another machine", "intel", "slurm's pmi2", "no descriptor"],
)
def test_the_descriptor_of_hydra_is_told_from_those_of_other_launchers(monkeypatch, variables, descriptor):
    for name in ("PMI_FD", *HYDRA_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_descriptor() == descriptor


# Options


def test_without_a_word_the_defaults_hold():
    assert resolve((), (), THREADS) == Options(True, "auto", "auto", 65536, 2, {})


def test_the_command_line_wins_over_the_program_and_threads_over_all():
    program = [
        Option("queue_depth", 3, None, PLACE),
        Option("queue_depth", 5, "thread_B", PLACE),
        Option("shared_memory", False, None, PLACE),
    ]
    options = resolve(program, ["queue_depth=4", "local_limit = 1.5KiB", "queue_depth thread_A=7"], THREADS)
    assert (options.shared_memory, options.local_limit, options.queue_depth) == (False, 1536, 4)
    assert [options.depth(thread) for thread in ("thread_A", "thread_B", "thread_C")] == [7, 5, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("queue_depth", "expected NAME=VALUE"),
        ("=3", "expected NAME=VALUE"),
        ("queue_depth.thread_A.x=3", "expected NAME=VALUE"),
        ("depth=3", "there is no option depth"),
        ("queue_depth=0", "queue_depth must be an integer from 1, not 0"),
        ("queue_depth=", "queue_depth must be an integer from 1, not empty"),
        ("shared_memory=maybe", "shared_memory must be on or off, not maybe"),
        ("arena=big", "arena must be auto, or a size from 256KiB, such as 4GiB, not big"),
        ("local_limit=-1", "local_limit must be a size such as 64KiB, not -1"),
        ("arena.thread_A=1GiB", "arena applies to the whole run and can't be set for one thread"),
        ("queue_depth.thread_Z=1", "the program has no thread thread_Z; it has thread_A, thread_B"),
    ],
)
def test_wrong_options_say_what_was_expected(text, words):
    with pytest.raises(UsageError) as caught:
        resolve((), [text], THREADS)
    assert words in caught.value.message


def test_an_option_for_a_thread_that_the_program_lacks_changes_nothing():
    """The checker warns of it, so a program that passes its check runs."""
    assert resolve([Option("queue_depth", 5, "thread_Z", PLACE)], (), THREADS) == resolve((), (), THREADS)


def test_defines_keep_equal_signs_and_spaces_of_values():
    assert parse_defines(["path = a=b c", "N=4"]) == {"path": "a=b c", "N": "4"}


# Records


def test_records_come_back_as_they_were_written():
    records = Records.create()
    written = [Record("failed", 3, 3, "error: two\nlines\n"), Record("report", 0, 0, '{"é": 1}')]
    there = Records.open(Launcher(os.getpid(), 0, records.fd, 1))
    for record in written:
        there.write(record)
    assert records.read() == written
    there.close()
    records.close()


def test_a_half_written_record_is_not_read():
    records = Records.create()
    os.write(records.fd, b"failed 1 3\nerror: hal")
    assert records.read() == []
    records.close()


def test_a_launcher_is_found_by_the_environment_and_only_on_this_machine(monkeypatch):
    launcher = Launcher(4711, 5, 6, 1)
    monkeypatch.setenv("PSE_LAUNCHER", launcher.variable())
    assert find_launcher() == launcher
    monkeypatch.setenv("PSE_LAUNCHER", "another-boot:4711:5:6:1")
    assert find_launcher() is None
    monkeypatch.setenv("PSE_LAUNCHER", "nonsense")
    assert find_launcher() is None


@pytest.mark.parametrize(
    "asked",
    [
        Request("heat.coven", {}),
        Request(
            "-D.coven", {"N": "1", "eps": "1e-3"}, ("depth=2",), processors=3, coopwait=False, quiet=True
        ),
        Request("a b.coven", {}, trace="T", report="json", checkpoint="C", every="30s", coopwait=True),
        Request("x.coven", {}, debug=True, prefix=True, sanitize=("address", "undefined"), gdb="crash"),
        Request("", {"N": "2"}, checkpoint="C", resume=True, serial=True),
    ],
    ids=["plain", "values", "files", "debugging", "resume"],
)
def test_ranks_read_the_request_that_their_launcher_wrote(asked):
    assert read_rank_arguments(rank_arguments(asked), {}) == asked
    named = read_rank_arguments(rank_arguments(asked), {"PSE_TOOLS": "tools.conf"})
    assert named == replace(asked, tools="tools.conf")


# Leftovers


@pytest.mark.parametrize(
    "names",
    [
        ("mpich_shm_1a2b_0", "mpich_shm_3c4d_0", "mpich_shm_5e6f_1"),
        ("vader_segment.n1.0.113e0001.0", "vader_segment.n-2.0.1.1", "sm_segment.n1.example.0.5.2"),
        ("Intel_MPI_19PDQs", "Intel_MPI_DdFkla", "Intel_MPI_aaaaaa"),
    ],
    ids=["MPICH", "Open MPI", "Intel"],
)
def test_sweeping_spares_what_is_old_foreign_or_in_use(tmp_path, monkeypatch, names):
    monkeypatch.setattr(cleanup, "SHARED", str(tmp_path))
    names = (*names, "somebody_elses")
    for name in names:
        tmp_path.joinpath(name).write_bytes(bytes(4096))
    os.utime(tmp_path / names[1])
    began = time.time() - 5
    with open(tmp_path / names[2], "r+b") as file, mmap.mmap(file.fileno(), 4096):
        cleanup.remove_leaked(began)
    assert sorted(os.listdir(tmp_path)) == [names[2], names[3]]
    cleanup.remove_leaked(time.time() + 60)
    assert sorted(os.listdir(tmp_path)) == [names[2], names[3]]
    cleanup.remove_leaked(began)
    assert os.listdir(tmp_path) == [names[3]]


def test_directories_of_a_killed_launcher_of_open_mpi_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    user = os.getuid()
    for name in (
        f"ompi.n1.{user}/pid.41/0",
        f"ompi.n2.{user}/pid.42/1",
        f"ompi.n2.{user}/pid.43",
        "ompi.42/x",
    ):
        (tmp_path / name).mkdir(parents=True)
    cleanup.remove_session(41)
    cleanup.remove_session(42)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.glob("*/*"))] == [
        f"ompi.n2.{user}/pid.43"
    ]
    assert len(list(tmp_path.iterdir())) == 1


def test_only_the_memory_of_mpich_loses_its_name_while_ranks_run(tmp_path, monkeypatch):
    monkeypatch.setattr(cleanup, "SHARED", str(tmp_path))
    names = ("mpich_shm_1a2b_0", "vader_segment.n1.0.113e0001.0", "Intel_MPI_19PDQs")
    with contextlib.ExitStack() as stack:
        for name in names:
            tmp_path.joinpath(name).write_bytes(bytes(4096))
            file = stack.enter_context(open(tmp_path / name, "r+b"))
            stack.enter_context(mmap.mmap(file.fileno(), 4096))
        cleanup.unlink_mpi_files()
    assert sorted(os.listdir(tmp_path)) == sorted(names[1:])


def test_a_full_shared_memory_is_said_before_anything_starts():
    with pytest.raises(
        RunError, match=r"/dev/shm is full: MPI needs .* there for 1,000,000,000 ranks"
    ) as caught:
        cleanup.check_shared_memory(1_000_000_000)
    assert "give it more room" in caught.value.help


def test_no_shared_memory_is_said_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(cleanup, "SHARED", str(tmp_path / "none"))
    with pytest.raises(RunError, match="none can't be used: No such file or directory"):
        cleanup.check_shared_memory(2)


# Reports


def counters(prepared, **values):
    """Counters in which every rank has the same values at the second call site."""
    table = np.zeros((prepared.ranks, len(prepared.sites), len(report.COUNTERS)), np.uint64)
    for name, value in values.items():
        table[:, 1, report.COUNTERS.index(name)] = value
    return table


def totals(prepared):
    """CPU, wall time and arena peak of every rank."""
    return np.array([[5e8, 2e9, 1024 if rank == 0 else 0] for rank in range(prepared.ranks)]).astype(
        np.uint64
    )


def test_a_report_adds_up_ranks_and_keeps_the_largest_figures(prepared):
    table = counters(
        prepared, calls=2, wall=4_000_000_000, cpu=1_000_000_000, described=10, copied=3, remote=1
    )
    figures = [{"error": 1e-3}, {"error": 2e-3, "other": 1.0}, {}, {}, {}]
    made = report.build(prepared, table, totals(prepared), figures)
    site = made.sites[1]
    assert (site.calls, site.seconds, site.cpu_share) == (10, 20.0, 0.25)
    assert (made.described_bytes, made.copied_bytes, made.remote_bytes) == (50, 15, 5)
    assert (made.wall_seconds, made.peak_shared_memory_bytes) == (2.0, 1024)
    assert made.figures == {"error": 2e-3, "other": 1.0}
    assert [(thread.thread, thread.ranks, thread.cpu_share) for thread in made.threads] == [
        ("root thread_A", 1, 0.25),
        ("thread_B", 2, 0.25),
        ("thread_C", 2, 0.25),
    ]


@pytest.mark.parametrize(("wall", "shown"), [(20_000_000, "50 %"), (1_900_000, "–"), (0, "–")])
def test_the_cpu_share_of_calls_that_are_too_short_to_tell_is_not_shown(prepared, wall, shown):
    made = report.build(prepared, counters(prepared, calls=2, wall=wall, cpu=wall // 2), totals(prepared), [])
    assert report_text.site_rows(made)[1][report_text.SITE_HEAD.index("CPU")] == shown


def test_a_figure_that_is_no_number_is_not_lost(prepared):
    figures = [{"error": 1.0}, {"error": float("nan")}, {"error": 2.0}, {}, {}]
    made = report.build(prepared, counters(prepared), totals(prepared), figures)
    assert np.isnan(made.figures["error"])
    assert json.loads(made.to_json(), parse_constant=pytest.fail)["figures"] == {"error": None}
    assert np.isnan(Report.from_json(made.to_json()).figures["error"])


def test_a_report_survives_json(prepared):
    made = report.build(prepared, counters(prepared, calls=1), totals(prepared), [{"a": 0.1}] * 5)
    assert Report.from_json(made.to_json()) == made
    assert "call site" in report_text.format_report(made)


# Progress


def sites(board, prepared):
    return Observer(board, prepared).observe().sites


def test_progress_tells_how_every_call_site_stands(prepared):
    board = Board.create(*prepared.board_size)
    assert {line.state for line in sites(board, prepared)} == {"starting"}
    board.start(0, os.getpid())
    board.set_state(0, RankState.RUNNING)
    assert sites(board, prepared)[0].state == "to come"
    for rank in range(prepared.ranks):
        board.set_state(rank, RankState.DONE)
    assert {line.state for line in sites(board, prepared)} == {"done"}


def test_plain_progress_repeats_nothing_and_is_never_silent(prepared):
    said = io.StringIO()
    progress = Progress(Board.create(*prepared.board_size), prepared, said)
    progress.start()
    progress.update()
    progress.update()
    first, *others = said.getvalue().splitlines()
    assert first == (
        "running faulty.coven on 2 processors: 5 ranks (root thread_A; each processor thread_B, thread_C)"
    )
    nothing = "nothing new: root thread_A starting; thread_B starting; thread_C starting"
    assert [line.partition("] ")[2] for line in others] == [nothing] * 2


def test_output_is_passed_on_in_whole_lines_and_without_banners():
    reading, writing = os.pipe()
    passed = []
    pipe = RankOutput(os.fdopen(reading, "rb", closefd=False), passed.append, hydra=True)
    os.write(writing, b"one\ntw")
    assert pipe.read_available()
    os.write(writing, b"o\n")
    assert pipe.read_available()
    pipe.drop_banners()
    os.write(
        writing, b"=" * 83 + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n===\nthree\nfour"
    )
    os.write(writing, b"\n=   RANK 0 PID 175 RUNNING AT vm\n=   KILLED BY SIGNAL: 9 (Killed)\n")  # Intel's
    os.close(writing)
    pipe.drain()
    assert passed == [b"one\n", b"two\n", b"===\nthree\nfour\n"]


def test_an_empty_line_before_a_banner_goes_with_it_however_they_arrive():
    reading, writing = os.pipe()
    passed: list[bytes] = []
    pipe = RankOutput(os.fdopen(reading, "rb", closefd=False), passed.append, hydra=True)
    pipe.drop_banners()
    banner = b"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
    for part in (b"one\n\n", b"two\n", b"\n", b"=" * 83 + b"\n" + banner, b"\n"):
        os.write(writing, part)
        assert pipe.read_available()
    os.close(writing)
    assert not pipe.read_available()
    assert b"".join(passed) == b"one\n\ntwo\n\n"


@pytest.mark.parametrize(
    ("line", "host", "why"),
    [
        (b"ssh: connect to host n2 port 22: Connection refused\r\n", "n2", "connect to host n2 port 22: "),
        (b"ada@n2: Permission denied (publickey,password).\n", "n2", "ada@n2: Permission denied (publickey,"),
        (b"Host key verification failed.\n", "", "Host key verification failed."),
        (
            b"[mpiexec@n1] Error: Unable to run bstrap_proxy on n2:5 (pid 7, exit code 65280)\n",
            "n2",
            "Unable to run bstrap_proxy on n2:5 (pid 7, exit code 65280)",
        ),
    ],
)
def test_a_machine_that_ssh_cannot_reach_is_noted(line, host, why):
    reading, writing = os.pipe()
    passed = []
    pipe = RankOutput(os.fdopen(reading, "rb", closefd=False), passed.append, hydra=True)
    os.write(writing, b"one\n" + line + b"[mpiexec@n1] main: process manager error\ntwo\n")
    os.close(writing)
    pipe.drain()
    assert pipe.unreachable is not None
    assert pipe.unreachable[0] == host
    assert pipe.unreachable[1].startswith(why)
    assert passed == [b"one\n" + (b"" if line.startswith(b"[mpiexec@") else line) + b"two\n"]


# Processes


@pytest.mark.parametrize("name", ["mpiexec", "mpiexec.hydra", "mpiexec.openmpi", "mpirun.mpich", "orterun"])
def test_mpiexec_is_known_by_its_name_with_whatever_a_distribution_adds(tmp_path, name):
    (tmp_path / name).symlink_to(sys.executable)
    started = subprocess.Popen(
        [tmp_path / name, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    with started as process:
        process.stdout.read(1)
        found = mpiexec_above(process.pid)
        process.communicate(b"\n")
    assert found == process.pid


FORKING = """
import os, subprocess, sys
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
process = subprocess.Popen(["cat"])
print(process.pid, flush=True)
process.wait()
"""


def test_a_rank_that_mpiexec_has_only_forked_is_not_taken_for_a_process_manager():
    line = [sys.executable, "-c", FORKING]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mpiexec:
        manager = int(mpiexec.stdout.readline())
        assert len(list(descendants(mpiexec.pid))) == 2
        assert find_managers(mpiexec.pid) == [manager]
        mpiexec.stdin.close()


def test_ranks_are_found_by_their_mark_and_not_what_they_start():
    environment = {**os.environ, "PSE_TEST_MARK_OF_PARTS": "1", "PMI_RANK": "3"}
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", nested], env=environment, stdin=subprocess.PIPE) as process:
        while len(list(descendants(process.pid))) < 1:
            assert process.poll() is None
            time.sleep(0.005)
        (found,) = find_ranks(os.getpid(), "PSE_TEST_MARK_OF_PARTS=1")
        assert (found.rank, found.pid) == (3, process.pid)
        assert find_ranks(os.getpid(), "PSE_TEST_MARK_OF_PARTS=2") == []
        process.communicate(b"\n")
    assert is_dead(found.pidfd)
    os.close(found.pidfd)


def ended_child(ending):
    """A process that has ended, with its pidfd, before anybody waited for it."""
    pid = os.fork()
    if pid == 0:
        ending()
        os._exit(0)
    pidfd = os.pidfd_open(pid)
    assert is_dead(pidfd, 10.0)
    return pid, pidfd


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        (lambda: os._exit(5), 5 << 8, "rank 1 (b) ended with exit code 5 before the program was done"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 9, "rank 1 (b) was killed by signal 9 (SIGKILL)"),
        (lambda: os.kill(os.getpid(), signal.SIGXCPU), 24, "rank 1 (b) was killed by signal 24 (SIGXCPU)"),
    ],
)
def test_how_a_process_ended_is_known_though_it_is_not_ones_own(prepared, ending, status, words):
    board = Board.create(*prepared.board_size)
    board.start(1, 1)
    board.set_state(1, RankState.RUNNING)
    pid, pidfd = ended_child(ending)
    diagnosis = diagnose_exit(board, RankProcess(1, pid, pidfd), "rank 1 (b)", prepared.site_texts)
    assert diagnosis is not None
    assert diagnosis.text.startswith(f"error: {words}\n  running: no module; it was between two calls\n")
    os.waitpid(pid, 0)
    # Once it is waited for, only Linux 6.15 and later still know.
    assert _faults.exit_status(pidfd, pid) in (None, status)
    os.close(pidfd)


def test_a_rank_that_is_done_may_leave_but_not_without_leaving_mpi(prepared):
    board = Board.create(*prepared.board_size)
    board.set_state(1, RankState.LEFT)
    pid, pidfd = ended_child(lambda: os._exit(0))
    assert diagnose_exit(board, RankProcess(1, pid, pidfd), "rank 1", prepared.site_texts) is None
    board.set_state(1, RankState.DONE)
    diagnosis = diagnose_exit(board, RankProcess(1, pid, pidfd), "rank 1", prepared.site_texts)
    assert diagnosis is not None
    assert diagnosis.text.startswith("error: rank 1 ended before it had left MPI")
    os.waitpid(pid, 0)
    os.close(pidfd)


# Messages


def test_known_errors_have_message_and_help_and_the_exit_code_of_their_kind():
    error = UsageError("what was wrong", help="what to do")
    assert messages.format_error(error) == "error: what was wrong\nhelp: what to do\n"
    assert messages.exit_code_of(error) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "the system has no memory left\n"),
        ("no memory left for a list of pieces", "the system has no memory left for a list of pieces\n"),
        ("Unable to allocate 1 GiB", "the system has no memory left: Unable to allocate 1 GiB\n"),
    ],
)
def test_a_lack_of_memory_is_no_bug(words, said):
    text = messages.format_error(MemoryError(words))
    assert text.startswith(f"error: {said}help: use smaller arrays or fewer processors, or ")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_diagnostics_stay_objects_until_they_are_printed_in_colour_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = tmp_path / "wrong.coven"
    path.write_text("coven 1\nprogram p { print(frames) }\n")
    with pytest.raises(ProgramRefused) as caught:
        prepare(Request(str(path), {}))
    assert [d.code for d in caught.value.diagnostics] == ["E0201"]
    assert messages.exit_code_of(caught.value) == 1
    terminal, pipe = Terminal(), io.StringIO()
    messages.print_error(caught.value, terminal)
    messages.print_error(caught.value, pipe)
    assert "\x1b[1;31merror[E0201]" in terminal.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()) == pipe.getvalue() == caught.value.message


FILES = """coven 1
param string to = "u.h5"
program files {
  var f64[4] u
  zero() -> u
  for k in 0 .. 2 {
    STATEMENT
  }
}
"""


@pytest.mark.parametrize(
    ("statement", "package", "said"),
    [
        ('save("u" + k + ".H5", u)', "h5py", "….H5 needs the package h5py"),
        ("save(to, u)", "h5py", "u.h5 needs the package h5py"),
        ('if to == "u.h5" { save(to, u) }', "h5py", "u.h5 needs the package h5py"),
        ('save("u.nc", u)', "h5py", "u.nc needs the package h5py"),
        ('load("u.nc") -> u', "netCDF4", "u.nc needs the package netCDF4"),
        ('save("u" + k + ".zarr", u)', "zarr", "….zarr needs the package zarr"),
        ('save("u.tif", u)', "rasterio", "u.tif needs the package rasterio"),
        ('save("u" + k + ".dat", u)', "", "save: the format can't be told from the name ….dat: "),
    ],
)
def test_what_the_format_of_a_file_lacks_is_told_before_anything_starts(
    tmp_path, monkeypatch, statement, package, said
):
    path = tmp_path / "files.coven"
    path.write_text(FILES.replace("STATEMENT", statement))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RunError) as caught:
        prepare(Request(str(path), {}))
    column = 5 + min(statement.find(verb) for verb in ("save", "load") if verb in statement)
    assert caught.value.message.startswith(f"{path}:7:{column}: {said}")
    assert ("pip install 'pse[" if package else "for example:") in caught.value.help


def test_rows_of_any_number_from_a_file_that_does_not_tell_it_are_refused_before_anything_starts(
    tmp_path,
):
    path = tmp_path / "files.coven"
    path.write_text(FILES.replace("STATEMENT", 'load("v.raw") -> f64[?n, 3] v'))
    with pytest.raises(RunError) as caught:
        prepare(Request(str(path), {}))
    assert caught.value.message == (f"{path}:7:5: load: v.raw does not say how many elements an array has")
    path.write_text(path.read_text().replace("?n", "2"))
    prepare(Request(str(path), {}))


@pytest.mark.parametrize(
    "statement",
    [
        'save("u.npy", u)',
        'save("u" + k + ".raw", u)',
        'save("u.h" + (k + 5), u)',
        "save(to, u)",
        'if to != "u.npy" { save("u.h5", u) }',
        'if k > 2 { save("u.h5", u) } else { save("u" + k, u) }',
        'if to != "" { save(to, u) } else { save(to + ".h5", u) }',
    ],
)
def test_files_with_a_format_or_that_may_not_be_written_are_left_to_the_run(tmp_path, monkeypatch, statement):
    path = tmp_path / "files.coven"
    path.write_text(FILES.replace("STATEMENT", statement))
    monkeypatch.setitem(sys.modules, "h5py", None)
    prepare(Request(str(path), {"to": "u.npy"}))


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ('source("mixed", 1, 4) -> image', True),
        ('source("pictures", k, 4) -> image', True),
        ('source("samples", 0, 4) -> image', True),
        ('source("mixed", 2, 4) -> image', False),
        ('source("mixed", k, 4) -> image', False),
        ('source("made_by_a_module", k, 4) -> image', False),
    ],
)
def test_pictures_without_the_package_that_reads_them_are_told_before_anything_starts(
    tmp_path, monkeypatch, statement, told
):
    monkeypatch.chdir(tmp_path)
    for name in ("mixed/a1.npy", "mixed/a2.png", "pictures/a1.tif", "pictures/a2.JPG"):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        open(name, "w").close()
    path = tmp_path / "files.coven"
    path.write_text(FILES.replace("STATEMENT", f"var f64[4, 4] image {statement}"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(RunError) if told else contextlib.nullcontext() as caught:
        prepare(Request(str(path), {}))
    if caught is not None:
        assert re.match(rf"{path}:7:\d+: source: .* needs the package pillow$", caught.value.message)


def test_a_value_on_the_command_line_has_its_own_exit_code(tmp_path):
    path = tmp_path / "good.coven"
    path.write_text("coven 1\nparam i64 N = 4\nprogram p { print(N) }\n")
    with pytest.raises(ProgramRefused, match=r"the program has no parameter `M`") as caught:
        prepare(Request(str(path), {"M": "3"}))
    assert messages.exit_code_of(caught.value) == 2


def test_an_internal_error_is_one_line_unless_its_traceback_is_asked_for(monkeypatch):
    with pytest.raises(KeyError, match="missing") as caught:
        raise KeyError("missing\nthing")
    monkeypatch.delenv("PSE_DEBUG", raising=False)
    text = messages.format_error(caught.value)
    assert text.startswith("error: internal error: KeyError: 'missing\\nthing' (test_launch_parts.py:")
    assert text.count("\n") == 2
    assert messages.exit_code_of(caught.value) == 3
    monkeypatch.setenv("PSE_DEBUG", "1")
    assert "Traceback (most recent call last)" in messages.format_error(caught.value)


def test_a_banner_behind_an_unfinished_line_is_left_out_and_the_line_is_kept():
    read, write = os.pipe()
    passed = []
    with open(read, "rb", buffering=0) as stream, open(write, "wb", buffering=0) as end:
        pipe = RankOutput(stream, passed.append, hydra=True)
        pipe.drop_banners()
        end.write(b"how many? YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n")
        end.write(b"done " + b"=" * 83 + b"\n")  # a module's own
        pipe.read_available()
    assert b"".join(passed) == b"how many? \ndone " + b"=" * 83 + b"\n"
