"""Starting runs: both ways to run, reports, exit codes, and every wrong command line with its one message."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from dataclasses import fields

import pytest
from pse_testing.commands import run_here
from pse_testing.jobs import (
    LONG,
    PROGRAMS,
    Job,
    bare,
    beside_python,
    has_mpich,
    has_open_mpi,
    launched,
    rank_variable,
    skip_where_lines_mix,
)

from pse.runtime._channel import Board
from pse.runtime.launch import find_mpiexec
from pse.runtime.request._prepared import Request
from pse.runtime.request._request import prepare
from pse.runtime.status import _progress_choice
from pse.runtime.status._report import Report

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]


WATCH_THREADS = """
import _thread, os, sys
start = _thread.start_new_thread
def watched(*given):
    if "VARIABLE" in os.environ and "mpi4py.MPI" not in sys.modules:
        os.write(2, b"a thread is started before MPI is loaded\\n")
    return start(*given)
_thread.start_new_thread = watched
"""


def run(command, **environment):
    """Run a command to its end."""
    job = Job(command, environment)
    job.code = job.wait()
    return job


def pse_run(*arguments):
    """The command line with faulty.coven replaced by what is given."""
    return [beside_python("pse"), "run", *arguments]


def test_ranks_start_no_thread_before_mpi_is_loaded(tmp_path):
    """As UCX is loaded it moves the end of the heap and changes libc's code: other threads would crash."""
    (tmp_path / "sitecustomize.py").write_text(WATCH_THREADS.replace("VARIABLE", rank_variable()))
    job = run(launched(), PYTHONPATH=str(tmp_path))
    assert (job.code, "a thread is started" in job.err) == (0, False), job.err


def test_a_run_says_what_it_does_and_closes_with_a_report():
    job = run(launched())
    assert job.code == 0, job.err
    said = re.sub(r"^\[ *\d+\.\d s\] .*\n", "", job.err, flags=re.MULTILINE)  # Progress, on a slow machine.
    assert said == (
        "running faulty.coven on 2 processors: 5 ranks (root thread_A; each processor thread_B, thread_C)\n"
    )
    assert re.match(r"faulty\.coven: [\d.,]+ m?s on 2 processors \(5 ranks\)\n", job.out)
    assert re.search(r"^c\.misbehave +faulty\.coven:19:7 +thread_B +6 ", job.out, re.MULTILINE)
    assert re.search(r"^thread_C +2 ", job.out, re.MULTILINE)
    for words in (
        "handed over by descriptor",
        "copied on a node",
        "peak shared memory",
        "wall time",
        "start-up before it",
    ):
        assert re.search(rf"^{words} +\S", job.out, re.MULTILINE), words
    assert re.search(r"^rounds +2$", job.out, re.MULTILINE)


WORDS = """
#@ coven module tell(inout f64 x[n])
def tell(x):
    for k in range(200):
        print("one", "line", "of", "many", "words", k)
"""
TELLING = """coven 1
import "words.py" { tell }
partition P = procs
program telling {
  var f64[12] @ block(0) x
  PARALLEL over P {
    zero() -> x
    tell(x)
  }
}
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_lines_that_ranks_print_at_once_stay_whole(unbuffered, tmp_path):
    skip_where_lines_mix()
    (tmp_path / "words.py").write_text(WORDS)
    (tmp_path / "telling.coven").write_text(TELLING)
    job = run(pse_run(str(tmp_path / "telling.coven"), "-p", "3"), PYTHONUNBUFFERED=unbuffered)
    assert job.code == 0, job.err
    said = [line for line in job.out.splitlines() if "words" in line or "many" in line]
    assert sorted(said) == sorted(f"one line of many words {k}" for k in range(200) for _ in range(3))


@pytest.mark.parametrize("start", [launched, bare])
def test_the_json_report_is_alone_on_standard_output(start):
    job = run(start("--report", "json", "-D", "python=8", "-D", "rounds=4"))
    assert job.code == 0, job.err
    report = json.loads(job.out)
    assert list(report) == [field.name for field in fields(Report)]
    assert 0 < report["startup_seconds"] < 60
    assert (report["processors"], report["ranks"], report["figures"]) == (2, 5, {"rounds": 3.0})
    calls = {site["label"]: site["calls"] for site in report["sites"]}
    assert (calls["fill"], calls["c.nap"], calls["transpose"]) == (4, 8, 8)
    assert [thread["ranks"] for thread in report["threads"]] == [1, 2, 2]
    assert report["described_bytes"] > 0
    assert "well on the way" in job.err


@pytest.fixture
def warned(tmp_path):
    """A program with one warning."""
    (tmp_path / "w.coven").write_text("coven 1\nimport pse.std\nprogram w {\n  print(7)\n  let x = 1\n}\n")
    return "w.coven", tmp_path


@pytest.mark.parametrize("start", [["pse", "run"], ["mpiexec", "-n", "1", sys.executable, "-m", "pse"]])
def test_a_run_warns_in_one_line_and_a_quiet_one_not_at_all(start, warned):
    program, directory = warned
    command = [beside_python(start[0]), *start[1:], program]
    loud, quiet = Job(command, directory=directory), Job([*command, "--quiet"], directory=directory)
    assert (loud.wait(), quiet.wait()) == (0, 0)
    assert "warning[W0201]: `x` is written but never read (w.coven:5:7)\nrunning w.coven" in loud.err
    assert (quiet.out, quiet.err) == ("7\n", "")


def test_a_rank_draws_on_the_terminal_of_a_bare_mpiexec(tmp_path, monkeypatch):
    (tmp_path / "empty.coven").write_text('coven 1\nprogram empty {\n  thread_A print("done")\n}\n')
    prepared = prepare(Request(str(tmp_path / "empty.coven"), {}, live=True))
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 30, 90, 0, 0))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress_choice, "open_job_stderr", lambda: terminal)
    with _progress_choice.report_in_background(Board.create(*prepared.board_size), prepared):
        drawn = b""
        while b"thread_A" not in drawn:
            drawn += os.read(reader, 4096)
    os.close(reader)
    assert b"call site" in drawn


def test_a_quiet_run_cannot_be_live(warned):
    program, directory = warned
    job = Job(pse_run(program, "--quiet", "--live"), directory=directory)
    assert job.wait() == 2
    assert job.err.startswith("error: --live and --quiet exclude each other\n")


def test_a_bare_mpiexec_infers_the_processors_and_reports_alike():
    job = run(bare(ranks=3))
    assert job.code == 0, job.err
    assert "faulty.coven on 1 processor: 3 ranks" in job.err
    assert re.search(r"^rounds +2$", job.out, re.MULTILINE)


@pytest.mark.parametrize("start", [["pse", "run"], ["mpiexec", "-n", "1", sys.executable, "-m", "pse"]])
def test_processors_are_as_many_as_asked_for_where_no_rank_stands_for_them(start, tmp_path):
    (tmp_path / "p.coven").write_text("coven 1\nimport pse.std\nprogram p { print(procs) }\n")
    job = run([beside_python(start[0]), *start[1:], str(tmp_path / "p.coven"), "-p", "3"])
    assert job.out.startswith("3\n"), job.err


def test_a_number_of_ranks_that_does_not_fit_is_refused_once_with_those_that_do():
    job = run(bare(ranks=4))
    assert (job.code, job.out) == (2, "")
    assert job.err.startswith(  # What Open MPI's launcher says about the exit code comes after it.
        "error: 4 ranks don't fit faulty.coven: it runs 1 rank for the root (thread_A) and 2 ranks for each "
        "processor (thread_B, thread_C)\n"
        "help: mpirun -n 3 (P = 1) or -n 5 (P = 2) fits\n"
    )
    assert job.err.count("error: ") == 1


@pytest.mark.parametrize("start", [launched, bare])
def test_a_rank_is_found_by_its_name(start):
    job = Job(start(*LONG))
    job.wait_for_words("running faulty.coven")
    ranks = job.wait_for_ranks(5)
    job.wait_until_named({pid: f"pse-rank-{rank}" for rank, pid in ranks.items()})
    job.hit(ranks[0], signal.SIGKILL)
    job.wait()


def test_processors_that_contradict_the_number_of_ranks_are_refused():
    job = run(bare("-p", "3"))
    assert job.code == 2
    assert job.err.startswith("error: -p 3 needs 7 ranks; MPI started 5\n")


def test_modules_find_an_empty_standard_input():
    job = run(launched("-p", "1", "-D", "python=7"))
    assert job.code == 0, job.err
    assert "read 0 characters" in job.out


def test_a_trace_is_written_for_every_rank(tmp_path):
    directory = tmp_path / "new" / "trace"
    assert run(launched("--trace", str(directory))).code == 0
    assert len(json.loads((directory / "definitions.json").read_text())["ranks"]) == 5
    summary = run([beside_python("pse"), "trace", "summary", str(directory)])
    assert summary.code == 0, summary.err
    assert "c.misbehave" in summary.out


@pytest.mark.parametrize("way", [(), ("--serial",)])
def test_a_run_that_could_not_begin_leaves_no_directories(tmp_path, way):
    (tmp_path / "bad.c").write_text("//@ coven module bad(in i64 n)\nint bad(long n) { return not C; }\n")
    (tmp_path / "bad.coven").write_text('coven 1\nimport "bad.c" { bad }\nprogram p { bad(1) }\n')
    (tmp_path / "users").mkdir()
    directories = ("--trace", "new/trace", "--checkpoint", "users")
    code, _, err = run_here("run", "bad.coven", *directories, *way, cwd=tmp_path)
    assert (code, "bad.c" in err) == (1, True), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.c", "bad.coven", "users"]


def test_ranks_of_several_hosts_exchange_through_mpi():
    job = run(launched("--hosts", "localhost,127.0.0.1", "--report", "json"))
    assert job.code == 0, job.err
    assert not has_mpich() or json.loads(job.out)["remote_bytes"] > 0


def test_a_hostfile_names_the_hosts(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("# two names of one machine\nlocalhost:3\n127.0.0.1:2\n")
    job = run(launched("-f", str(hosts), "--report", "json"))
    assert job.code == 0, job.err
    assert not has_mpich() or json.loads(job.out)["remote_bytes"] > 0


def test_a_host_that_cannot_be_reached_is_named():
    job = run(launched("--hosts", "no-such-host.invalid"))
    assert job.code == 3
    why = "Unable to run bstrap_proxy on" if find_mpiexec().intel else "Could not resolve hostname"
    assert f"error: no-such-host.invalid can't be reached: {why} no-such-host.invalid" in job.err
    assert "help: ssh starts ranks on other machines: `ssh no-such-host.invalid true` must work" in job.err
    assert "[mpiexec@" not in job.err


def test_a_limit_of_the_shell_is_not_told_as_a_full_disk(tmp_path):
    (tmp_path / "small.coven").write_text('coven 1\nprogram small { print("there") }\n')
    words = "the memory by which ranks tell what they do can't be made: File too large"
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *pse_run(str(tmp_path / "small.coven"))]
    done = run(limited, PYTHONDONTWRITEBYTECODE="1", PSE_CACHE=str(tmp_path))
    assert (done.code, done.out) == (3, "")
    assert (
        done.err == f"error: {words}\nhelp: look at the limits of this shell (ulimit -a) and of its cgroup\n"
    )


def test_options_of_the_command_line_win():
    command = launched("-p", "1", "--report", "json")
    shared = json.loads(run(command).out)
    through_mpi = json.loads(run([*command, "-o", "shared_memory=off"]).out)
    assert shared["remote_bytes"] == 0
    assert through_mpi["remote_bytes"] > 0
    assert through_mpi["figures"] == shared["figures"]


WRONG = {
    "no program": ([], " run` needs PROGRAM\n"),
    "no such file": (
        ["none.coven"],
        "error: the program none.coven cannot be read: No such file or directory\n",
    ),
    "directory": (["."], "error: . is a directory, not a program\n"),
    "no processors": (
        ["faulty.coven", "-p", "0"],
        "0 is not a number of processors; expected a whole number of at least 1",
    ),
    "half processors": (["faulty.coven", "-p", "2.5"], "2.5 is not a number of processors"),
    "too many processors": (["faulty.coven", "-p", "40000", "-D", "N=40000"], "takes at most"),
    "unknown parameter": (["faulty.coven", "-D", "M=3"], "the program has no parameter `M`"),
    "no value": (["faulty.coven", "-D", "N"], "error: -D N: expected NAME=VALUE\n"),
    "no name": (["faulty.coven", "-D", "=3"], "error: -D =3: expected NAME=VALUE\n"),
    "twice": (
        ["faulty.coven", "-D", "N=4", "-D", "N=8"],
        "error: -D N=8: N is given twice\nhelp: leave out one",
    ),
    "no number": (
        ["faulty.coven", "-D", "N=four"],
        "parameter `N` has the type i64, and 'four' is not of that type",
    ),
    "out of where": (["faulty.coven", "-p", "2", "-D", "N=7"], "`N` does not satisfy its `where` clause"),
    "unknown option": (["faulty.coven", "-o", "queue=2"], "there is no option queue\nhelp: "),
    "misspelt option": (["faulty.coven", "-o", "queue_dept=2"], "help: did you mean `queue_depth`?\n"),
    "wrong switch": (["faulty.coven", "-o", "shared_memory=2"], "shared_memory must be on or off, not 2\n"),
    "no such thread": (
        ["faulty.coven", "-o", "queue_depth.thread_Z=1"],
        "the program has no thread thread_Z",
    ),
    "not per thread": (["faulty.coven", "-o", "arena.thread_A=1GiB"], "arena applies to the whole run"),
    "trace is a file": (["faulty.coven", "--trace", "faulty.c"], "--trace faulty.c: it is a file"),
    "trace cannot be made": (
        ["faulty.coven", "--trace", "/proc/here"],
        "error: --trace /proc/here: the directory can't be made: ",
    ),
    "no hostfile": (["faulty.coven", "-f", "none"], "error: hostfile 'none': No such file or directory\n"),
    "empty hostfile": (
        ["faulty.coven", "-f", "/dev/null"],
        "error: hostfile '/dev/null' names no host\nhelp: write one host on each line\n",
    ),
    "two ways of hosts": (["faulty.coven", "-f", "a", "--hosts", "b"], "exclude each other"),
    "no host": (["faulty.coven", "--hosts", "a,,b"], "expected host names separated by commas"),
    "unknown form": (["faulty.coven", "--report", "xml"], "'xml' is not one of 'text', 'json'"),
    "unknown flag": (["faulty.coven", "--fast"], "No such option '--fast'"),
    "ranks for mpiexec": (["faulty.coven", "-n", "2"], "takes no number of ranks"),
    "ranks for mpirun": (["faulty.coven", "-np", "2"], "did you mean `-p 2`?"),
    "ranks for another mpirun": (["faulty.coven", "--np", "2"], "did you mean `-p 2`?"),
    "no ending": (["faulty"], "help: did you mean `faulty.coven`?"),
    "modules": (["faulty.py"], "faulty.py is a file of modules, not a program\nhelp: run a program"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_command_line_gives_one_message_and_exit_code_2(case):
    arguments, words = WRONG[case]
    code, out, err = run_here("run", *arguments, cwd=PROGRAMS)
    assert (code, out) == (2, ""), err
    assert words in err
    assert "Traceback" not in err


def test_a_wrong_command_line_gives_the_process_its_exit_code():
    arguments, words = WRONG["unknown parameter"]
    job = run(pse_run(*arguments))
    assert (job.code, job.out) == (2, ""), job.err
    assert words in job.err


@pytest.mark.parametrize("case", ["no such file", "half processors", "unknown parameter", "misspelt option"])
def test_ranks_say_once_what_is_wrong_with_their_command_line(case):
    arguments, words = WRONG[case]
    job = run([beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse", *arguments])
    assert (job.code, job.out) == (2, "")
    assert job.err.count(words) == 1
    assert "Traceback" not in job.err


@pytest.mark.parametrize("start", ["pse run", "mpiexec"])
def test_a_wrong_program_gives_its_diagnostics_and_exit_code_1(start, tmp_path):
    program = tmp_path / "wrong.coven"
    program.write_text("coven 1\nprogram wrong {\n  thread_A nowhere()\n}\n")
    ranks = [beside_python("mpiexec"), "-n", "2", sys.executable, "-m", "pse", str(program)]
    job = run(pse_run(str(program)) if start == "pse run" else ranks)
    assert (job.code, job.out) == (1, "")
    assert job.err.count("error[") == 1
    assert f"{program}:3:12" in job.err


def test_pse_run_inside_an_mpi_job_says_how_to_run_there():
    job = run(launched(), PMI_RANK="0")
    assert job.code == 2
    assert "help: inside an MPI job, each rank is: python -m pse faulty.coven" in job.err


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_command_inside_an_mpi_job_is_executed_once(command):
    job = run([beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse", command, "faulty.coven"])
    if command == "check":
        assert (job.code, job.out) == (0, "faulty.coven: no errors\n")
    else:
        assert job.err.count("help: inside an MPI job, each rank is: python -m pse faulty.coven") == 1


def test_python_m_pse_is_also_the_command_line():
    job = run([sys.executable, "-m", "pse", "check", "faulty.coven"])
    assert (job.code, job.err) == (0, "")
    assert run([sys.executable, "-m", "pse", "--version"]).out.startswith("pse, version ")


NUMBERS = """
import fractions  # It needs Python's own `numbers`.
import random

#@ coven module half(in i64 a, out f64 b)
def half(a):
    import helper
    return helper.of(float(fractions.Fraction(a, 2)))
"""


@pytest.mark.parametrize("start", ["pse run", "pse run --serial", "mpiexec -n 1 python -m pse"])
def test_files_named_like_modules_of_python_hide_none(tmp_path, start):
    (tmp_path / "numbers.py").write_text(NUMBERS)
    for name in ("random", "select", "signal"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is not the module of Python')")
    (tmp_path / "helper.py").write_text("def of(x):\n    return x\n")
    (tmp_path / "p.coven").write_text(
        'coven 1\nimport "numbers.py" { half }\nprogram p { thread_A half(7) -> b thread_A print(b) }\n'
    )
    first, *words = [sys.executable if word == "python" else word for word in start.split()]
    job = Job([beside_python(first), *words, "p.coven", "-q"], directory=tmp_path)
    assert (job.wait(), job.out, job.err) == (0, "3.5\n", "")


@pytest.mark.skipif(not has_open_mpi(), reason="other MPIs' shared memory is gone when all went well")
def test_shared_memory_that_mpi_has_left_is_removed_though_all_went_well(tmp_path):
    left = f"/dev/shm/sm_segment.{tmp_path.name}.0.1.0"
    (tmp_path / "leave.py").write_text(
        f"from pathlib import Path\n#@ coven module leave()\ndef leave():\n    Path('{left}').touch()\n"
    )
    (tmp_path / "p.coven").write_text('coven 1\nimport "leave.py" { leave }\nprogram p { leave() }\n')
    assert run(pse_run(str(tmp_path / "p.coven"))).code == 0
    assert not os.path.exists(left)


LEAVE = """
import tempfile
from pathlib import Path

#@ coven module leave()
def leave():
    Path('/dev/shm/sm_segment.NAME.0.1f.0').touch()
    Path(tempfile.gettempdir(), 'ompi.NAME.0', 'jf.0', '31').mkdir(parents=True)
"""


@pytest.mark.alone  # Any run that ends removes segments that nobody has mapped, but no directories of others.
def test_what_open_mpi_leaves_of_a_rank_without_a_launcher_is_removed(tmp_path):
    (tmp_path / "leave.py").write_text(LEAVE.replace("NAME", tmp_path.name))
    (tmp_path / "p.coven").write_text('coven 1\nimport "leave.py" { leave }\nprogram p { leave() }\n')
    job = run(pse_run("--serial", str(tmp_path / "p.coven")))
    assert job.code == 0
    job.wait_until_gone()  # The monitor comes last, and removes the directories, too.
    assert not os.path.exists(f"/dev/shm/sm_segment.{tmp_path.name}.0.1f.0")


def test_without_any_mpiexec_it_says_how_to_get_one(tmp_path):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    paths = os.pathsep.join(path for path in sys.path if path)
    job = run([str(python), "-m", "pse", "run", "faulty.coven"], PATH="/nowhere", PYTHONPATH=paths)
    assert job.code == 3
    assert (
        "error: there is no mpiexec beside this Python or on PATH\nhelp: install the embedded MPI" in job.err
    )


def test_a_reader_that_goes_away_ends_the_run_quietly():
    process = subprocess.Popen(
        launched("-p", "1", "-D", "python=8"),
        cwd=PROGRAMS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    with process:
        words = process.stderr.read()
    assert process.returncode == 141
    assert "Traceback" not in words


@pytest.mark.parametrize("how", [launched, bare])
def test_where_mpi4py_finds_no_library_of_mpi_that_is_said(how):
    gone = {"MPI4PY_LIBMPI": "/gone/libmpi.so"}
    if run([sys.executable, "-c", "from mpi4py import MPI"], **gone).code == 0:
        pytest.skip("this mpi4py is linked to its MPI, and looks for none")
    job = run(how(), **gone)
    assert job.code not in (0, None)
    assert "error: mpi4py can't load an MPI library (cannot load MPI library /gone/libmpi.so: " in job.err
    assert "help: install the embedded MPI (pip install 'pse[mpich]')" in job.err
    assert "a bug in pse" not in job.err
