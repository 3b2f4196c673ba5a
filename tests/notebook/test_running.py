"""`pse.run`: what comes back, what is refused and in which words, and how a run is stopped."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest
from pse_testing.jobs import has_mpich

import pse
from pse._proc import descendants
from pse.cluster import Cluster, unmet_prerequisite
from pse.errors import PseError
from pse.notebook import (
    NotebookError,
    ProgramRejected,
    RunFailed,
    _display as screen_module,
    _running as running,
)
from pse.notebook._diagnostics import Diagnostics
from pse.notebook._display import MOST, CellScreen, Screen, screen
from pse.notebook._errors import Interrupted, as_parameters, needed
from pse.notebook._programs import checked, written
from pse.notebook._running import make_job, trace_directory

NO_CLUSTER = unmet_prerequisite()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tools": "nope.conf"}, "tools='nope.conf': there is no such file\nhelp: name a configuration"),
        ({"options": {"arena": "3Q"}}, "options={'arena': '3Q'}: arena must be auto, or a size"),
        ({"options": {"nope": 1}}, "options={'nope': '1'}: there is no option nope"),
        ({"serial": "yes"}, "serial must be True or False, not 'yes'"),
        (
            {"sanitize": ["memory"]},
            "sanitize='memory': expected address and undefined, or one of the two\nhelp: for",
        ),
        ({"gdb": 7}, "gdb='7': expected the number of a rank or `crash`\nhelp: there is only rank 0"),
    ],
)
def test_refusals_name_the_parameters_of_python(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotebookError) as caught:
        pse.run("coven 1\nprogram p { print(1) }\n", **given)
    assert str(caught.value).startswith(said)
    assert not isinstance(caught.value, RunFailed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run with a larger arena (-o arena=SIZE) or smaller arrays",
         "run with a larger arena (options={'arena': 'SIZE'}) or smaller arrays"),
        ("leave out -D N=3: it keeps its value", "leave out params={'N': 3}: it keeps its value"),
        ("--trace out: it can't be written", "trace='out': it can't be written"),
        ("-p 8 needs 17 ranks", "processors=8 needs 17 ranks"),
        ("record a run: pse run PROGRAM -p P --trace DIR", "record a run: pse run PROGRAM -p P --trace DIR"),
        ("a-p 2 isn't an option", "a-p 2 isn't an option"),
        ("--sanitize address stops there, --debug at a crash, not --serially",
         "sanitize='address' stops there, debug=True at a crash, not --serially"),
    ],
)  # fmt: skip
def test_options_of_the_command_line_become_parameters(text, expected):
    assert as_parameters(text) == expected


@pytest.mark.mpi
def test_a_run_gives_everything_back(recorded):
    assert recorded.report.wall_seconds > 0
    assert recorded.figures == {"last": 25.0}
    assert recorded.output.splitlines() == ["0", "1", "4", "9", "16"]
    assert recorded.program.name == "cell-squares.coven"
    assert (recorded.directory / recorded.program).is_file()
    assert (recorded.exit_code, recorded.processors, recorded.params) == (0, 1, {"n": "5"})
    assert repr(recorded).startswith("cell-squares.coven: ")
    assert "<table" in recorded._repr_html_()


@pytest.mark.mpi
def test_tables_and_pictures_of_a_run(recorded):
    pytest.importorskip("pandas")
    assert list(recorded.frame()["calls"]) == [5, 5, 1]
    assert list(recorded.frame("threads")["thread"]) == ["root thread_A", "root thread_B"]
    assert len(recorded.frame("module_calls")) == 11
    figure = recorded.view("gantt", width=6)
    assert figure.get_figwidth() == 6
    with pytest.raises(NotebookError, match="there is no table 'nothing'"):
        recorded.frame("nothing")
    with pytest.raises(NotebookError, match="there is no view 'nothing'"):
        recorded.view("nothing")


@pytest.mark.mpi
def test_three_processors_and_the_other_name_of_processors(folder):
    text = "coven 1\npartition P = procs\nprogram three {\n  PARALLEL over P { thread_B print(1) }\n}\n"
    result = pse.run(text, procs=3, progress=False)
    assert (result.processors, result.output.split()) == (3, ["1", "1", "1"])
    with pytest.raises(NotebookError, match="this run has no trace"):
        _ = result.trace


@pytest.mark.mpi
def test_a_serial_run_with_prefixes_and_what_else_finds_errors(folder):
    text = "coven 1\npartition P = procs\nprogram three {\n  PARALLEL over P { thread_B print(1) }\n}\n"
    result = pse.run(
        text, procs=2, serial=True, prefix=True, debug=True, sanitize="undefined", progress=False
    )
    assert result.output == "[thread_B] 1\n"
    assert [thread.thread for thread in result.report.threads] == ["serial"]


@pytest.mark.mpi
@pytest.mark.skipif(NO_CLUSTER is not None, reason=f"no emulated cluster here: {NO_CLUSTER}")
@pytest.mark.skipif(not has_mpich(), reason="only MPICH's launcher starts ranks in an emulated cluster")
def test_a_run_on_an_emulated_cluster(folder):
    text = "coven 1\npartition P = procs\nprogram there {\n  PARALLEL over P { thread_B print(1) }\n}\n"
    with Cluster(nodes=2) as cluster:
        result = pse.run(text, procs=2, cluster=cluster.name, trace=True, progress=False)
        assert {rank.host for rank in result.trace.definitions.ranks} == set(cluster.hosts)
    with pytest.raises(NotebookError, match="isn't up"):
        pse.run(text, procs=2, cluster=cluster, progress=False)


@pytest.mark.mpi
def test_what_modules_print_comes_where_they_print_it(folder, capsys):
    (folder / "say.py").write_text(
        "import os\n# @ coven module say(in i64 k)\ndef say(k):\n"
        "    os.write(1, b'out \\xff\\n')\n    os.write(2, b'err\\n')\n"
    )
    text = 'coven 1\nimport "say.py" { say }\nprogram talk { thread_A say(1) }\n'
    result = pse.run(text, progress=False)
    assert capsys.readouterr() == ("out \ufffd\n", "err\n")
    assert sorted(result.output.splitlines()) == ["err", "out \ufffd"]


@pytest.mark.mpi
def test_warnings_and_remarks_are_passed_on(folder, capsys, monkeypatch):
    text = "coven 1\noptions { queue_depth thread_Z = 3 }\nprogram one { thread_A print(1) }\n"
    result = pse.run(text, progress=False)
    assert [warning.code for warning in result.warnings] == ["W0601"]
    assert capsys.readouterr().err.count("W0601") == 1


@pytest.mark.mpi
def test_a_module_that_fails_is_named(folder):
    with pytest.raises(RunFailed) as caught:
        pse.run("squares.coven", params={"wrong": 2}, progress=False)
    error = caught.value
    assert error.exit_code == 3
    assert "2 is not liked" in error.message
    assert "squares" in error.message
    assert error.output.splitlines()[:1] == ["0"]
    assert isinstance(error, NotebookError)


def test_a_wrong_program_is_rejected_with_its_diagnostics(folder):
    (folder / "squares.coven").write_text((folder / "squares.coven").read_text().replace("print", "prnt"))
    with pytest.raises(ProgramRejected) as caught:
        pse.run("squares.coven")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.line) == ("E0202", 9)
    assert "did you mean `print`?" in str(caught.value)
    assert "^^^^" in "\n".join(caught.value._render_traceback_())
    html = caught.value.diagnostics._repr_html_()
    assert "<span" in html
    assert "^^^^" in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"program": "nothing.coven"}, "the program nothing.coven cannot be read: No such file"),
        ({"program": ""}, "the program's path is empty"),
        ({"program": "coven 1 program one { thread_A prnt(1) }"}, "did you mean `print`?"),
        ({"program": 3}, "program must be the path of a .coven file or the text of a program, not int"),
        ({"procs": 0}, "processors must be a whole number of at least 1, not 0"),
        ({"procs": 2, "processors": 1}, "mean the same, and differ"),
        ({"processors": "two"}, "processors must be a whole number of at least 1, not 'two'"),
        ({"params": [("n", 1)]}, "params must be a dictionary, not [('n', 1)]"),
        ({"options": "queue_depth=1"}, "options must be a dictionary, not 'queue_depth=1'"),
        ({"cluster": 2}, "cluster must be a pse.cluster.Cluster or the name of one, not 2"),
        ({"params": {"m": 1}}, "the program has no parameter `m`"),
        ({"params": {"n": "many"}}, "many"),
        ({"options": {"queue_dept": 1}}, "did you mean `queue_depth`?"),
        ({"trace": "squares.py"}, "it is a file; expected a directory"),
        ({"trace": ""}, "trace is empty: expected the path of a directory"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_before_anything_starts(folder, arguments, words):
    with pytest.raises(NotebookError) as caught:
        pse.run(**({"program": "squares.coven"} | arguments))
    assert isinstance(caught.value, PseError)
    assert words in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_program_is_named(folder):
    folder.chmod(0o555)
    with pytest.raises(NotebookError, match=r"the program can't be written to cell-x\.coven in"):
        pse.run("coven 1\nprogram x { thread_A print(1) }\n")


def test_a_directory_in_the_programs_place_is_named(folder):
    (folder / "cell-x.coven").mkdir()
    with pytest.raises(NotebookError, match=r"the program can't be written to cell-x\.coven in .*: Is a dir"):
        pse.run("coven 1\nprogram x { thread_A print(1) }\n")


def test_what_pse_run_says_is_the_error(folder, monkeypatch):
    says = "(echo 'warning: so it is'; echo 'error: there is no mpiexec'; echo 'help: get one') >&2; exit 3"
    monkeypatch.setattr(running, "COMMAND", ("sh", "-c", says))
    with pytest.raises(RunFailed, match=r"^there is no mpiexec\nhelp: get one$") as caught:
        pse.run("squares.coven", progress=False)
    assert (caught.value.exit_code, caught.value.help) == (3, "get one")


@pytest.mark.mpi
def test_an_interrupt_ends_the_job(folder):
    class Interrupting(Screen):
        def write(self, text, *, error=False):
            signal.raise_signal(signal.SIGINT)  # The program has begun: it prints.

    begun, others = time.monotonic(), set(descendants(os.getpid()))
    job = make_job(checked("squares.coven"), 1, {"n": 1000, "pause": 0.1})
    with pytest.raises(Interrupted, match="the run has ended"):
        job.run(Interrupting())
    assert time.monotonic() - begun < 30
    assert set(descendants(os.getpid())) <= others


@pytest.mark.mpi
def test_a_killed_run_is_an_error(folder):
    class Killing(Screen):
        def write(self, text, *, error=False):
            os.kill(next(iter(descendants(os.getpid()))), signal.SIGKILL)

    job = make_job(checked("squares.coven"), 1, {"n": 1000, "pause": 0.1})
    with pytest.raises(RunFailed, match="the run was killed by SIGKILL"):
        job.run(Killing())


def test_what_is_not_installed_is_named():
    with pytest.raises(NotebookError) as caught:
        needed("pandas_of_tomorrow", "a data frame")
    assert "a data frame needs pandas_of_tomorrow" in caught.value.message
    assert caught.value.help == "install it:  pip install 'pse[notebook]'"


def test_importing_pse_is_cheap_and_without_mpi():
    code = (
        "import sys, pse; assert 'pse.notebook' not in sys.modules; pse.run; pse.experiment; "
        "assert not {'mpi4py.MPI', 'pandas', 'matplotlib', 'IPython'} & set(sys.modules), 'dear imports'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_temporary_trace_is_a_folder_of_its_own():
    first, second = trace_directory(True), trace_directory(True)
    assert first != second
    assert os.path.isdir(first)
    assert trace_directory(None) is trace_directory(False) is None


def test_nothing_is_shown_where_there_is_nothing_to_draw_on(capsys):
    assert type(screen(False)) is Screen
    Screen().write("hello\n")
    assert capsys.readouterr().out == "hello\n"


def test_a_directory_that_isnt_there_is_to_be_made(folder):
    with pytest.raises(NotebookError, match="help: make the directory first: %mkdir no"):
        written("coven 1\n", "no/x.coven")


def test_what_a_stream_cant_write_ends_no_run(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    Screen().write("caf\u00e9\n")
    assert stream.buffer.getvalue() == b"caf\\xe9\n"


def test_a_cell_holds_only_so_much(capsys):
    cell = CellScreen()
    for _ in range(30):
        cell.write("x" * 99_999 + "\n")
    shown = capsys.readouterr()
    assert len(shown.out) == MOST
    assert shown.err.count("the result's .output has all") == 1


def test_where_there_is_no_terminal_lines_come_if_they_are_wanted(capsys, monkeypatch):
    assert type(screen()) is Screen
    lines = screen(True)
    lines.show("too early")
    monkeypatch.setattr(screen_module, "PLAIN_INTERVAL", 0.0)
    lines.show("first\nsecond")
    lines.close("3 runs")
    assert capsys.readouterr() == ("", "first\n3 runs\n")


def test_diagnostics_are_a_sequence(folder):
    empty = Diagnostics((), {})
    assert len(empty) == 0
    assert str(empty) == ""
