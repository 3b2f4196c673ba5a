"""``%%coven`` and `pse.run` in a real kernel: what a cell shows, and what it doesn't."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")

from pse.notebook import NotebookError
from pse.notebook._magics import CovenMagics

PROGRAMS = Path(__file__).parent / "programs"

SQUARES = """\
coven 1
import "squares.py" { square }
program cells {
  thread_A square(3, 0, 0.0) -> x
  thread_A print(x)
}
"""
WRONG = SQUARES.replace("square(3", "sqare(3")

INTERRUPTED = """\
import os, signal, threading, time
from pse._proc import descendants

def interrupt():
    while len(list(descendants(os.getpid()))) < 4:  # pse run, mpiexec, its proxy, a rank
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
pse.run("squares.coven", params={"n": 1000, "pause": 0.1})
"""

WATCHED = """\
from pse.notebook._display import CellScreen

drawn, replace = [], CellScreen._replace
CellScreen._replace = lambda self, html, text: (drawn.append(text), replace(self, html, text))
result = pse.run('squares.coven', params={'n': 3, 'pause': 0.3})
assert any("iterations complete" in text and "thread_B" in text for text in drawn)
"""

CELLS = [
    "%load_ext pse",
    f"%%coven -p 2 --trace --name mine --prefix\n{SQUARES}",
    "mine.view('gantt'), mine.output",
    "mine.view('gantt')",
    f"%%coven\n{WRONG}",
    f"import pse\npse.run('''{WRONG}''')",
    "%%coven squares.coven -D n=3 -D wrong=2\n" + "SQUARES",
    "pse.run('nothing.coven')",
    "%%coven -p none\ncoven 1\n",
    "%%coven --name 3x\ncoven 1\n",
    "%%coven -D n\nSQUARES",
    "%%coven --trace x.coven\nSQUARES",
    "%%coven -p '1\nSQUARES",
    WATCHED,
    "import sys; 'mpi4py.MPI' in sys.modules",
    INTERRUPTED,
    f"%%coven\n{SQUARES.replace('thread_A print(x)', 'thread_A square(1, 0, 0.0) -> unused')}",
    "mine.cube",
    "mine.page()",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory, execute):
    """What each of the cells shows, executed one after the other in one kernel."""
    folder = tmp_path_factory.mktemp("cells")
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    squares = (PROGRAMS / "squares.coven").read_text()
    return execute([cell.replace("SQUARES", squares) for cell in CELLS], folder)


def texts(cell):
    """Everything a cell shows as text."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            found.append("".join(output["text"]))
        elif output["output_type"] == "error":
            found.append(re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output["traceback"])))
        else:
            found.append("".join(output["data"].get("text/plain", "")))
    return "\n".join(found)


def html(cell):
    return "".join("".join(o.get("data", {}).get("text/html", "")) for o in cell["outputs"])


def failed(cell):
    return any(output["output_type"] == "error" for output in cell["outputs"])


@pytest.mark.mpi
def test_a_cube_is_shown_as_its_page(shown):
    assert html(shown[-2]).startswith("<iframe srcdoc="), texts(shown[-2])
    assert re.search(r"^Cube\('.*', \d+ metrics of \d+ call paths on 1 location\)$", texts(shown[-2]))


@pytest.mark.mpi
def test_the_page_of_a_trace_is_shown_in_a_frame(shown):
    assert html(shown[-1]).startswith('<pse-timeline><iframe srcdoc="&lt;!doctype html&gt;')
    assert "id=&quot;tabs&quot;" in html(shown[-1])


@pytest.mark.mpi
def test_a_program_in_a_cell_runs(shown):
    assert not failed(shown[1]), texts(shown[1])
    assert "9" in texts(shown[1])
    assert "cell-cells.coven" in texts(shown[1])
    assert "<table" in html(shown[1])


@pytest.mark.mpi
def test_its_result_is_in_a_variable_and_shows_pictures(shown):
    assert "9\\n" in texts(shown[2])
    assert any("image/png" in output["data"] for output in shown[3]["outputs"])


@pytest.mark.mpi
def test_diagnostics_are_shown_in_place_and_once(shown):
    assert failed(shown[4])
    assert texts(shown[4]).count("unknown module `sqare`") == 1
    assert "^^^^^" in texts(shown[4])
    assert "^^^^^" in html(shown[4])
    assert "Traceback" not in texts(shown[4])


@pytest.mark.mpi
def test_exceptions_show_no_insides(shown):
    for cell, words in ((5, "did you mean `square`?"), (6, "2 is not liked"), (7, "cannot be read")):
        assert failed(shown[cell])
        assert words in texts(shown[cell])
        assert "running.py" not in texts(shown[cell])
        assert "Traceback" not in texts(shown[cell])


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (8, "-p"),
        (9, "3x: this is not a valid name for a variable"),
        (10, "-D n: expected"),
        (11, "FILE --trace"),
        (12, "quotation"),
    ],
)
def test_a_wrong_line_is_refused(shown, cell, words):
    assert failed(shown[cell])
    assert words in texts(shown[cell])
    assert "Traceback" not in texts(shown[cell])


@pytest.mark.mpi
def test_progress_gives_way_to_one_line(shown):
    assert not failed(shown[13]), texts(shown[13])
    lines = texts(shown[13]).strip().splitlines()
    assert [line for line in lines if line.startswith("squares.coven: ")]
    assert not [line for line in lines if "call site" in line]


@pytest.mark.mpi
def test_the_kernel_loads_no_mpi(shown):
    assert texts(shown[14]) == "False"


SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in sys.argv[1:]:
    shell.run_cell(cell)
"""


@pytest.mark.mpi
def test_a_terminal_shows_the_same_as_text(tmp_path):
    shutil.copytree(PROGRAMS, tmp_path, dirs_exist_ok=True)
    elsewhere = "import pse.trace; pse.trace.open('nowhere')"
    cells = ["%load_ext pse", f"%%coven\n{SQUARES}", f"%%coven\n{WRONG}", elsewhere]
    environment = os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [sys.executable, "-c", SHELL, *cells], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "wall time" in done.stdout
    assert "unknown module `sqare`" in done.stdout
    assert "there is no trace nowhere" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.mpi
def test_the_stop_button_ends_a_run(shown):
    assert failed(shown[15])
    assert texts(shown[15]).endswith("stopped: the run has ended")
    assert "Traceback" not in texts(shown[15])


@pytest.mark.mpi
def test_warnings_are_shown(shown):
    assert not failed(shown[16])
    assert "is written but never read" in texts(shown[16])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-o nope=1", "-o nope=1: there is no option nope\nhelp: the options are "),
        (
            "-o queue_depth=0",
            "-o queue_depth=0: queue_depth must be an integer from 1, not 0\nhelp: for example:  -o ",
        ),
        ("-o queue_depth", "-o queue_depth: expected NAME=VALUE\nhelp: for example:  -o queue_depth=4"),
        (
            "-o queue_depth.thread_Z=2",
            "-o queue_depth.thread_Z=2: the program has no thread thread_Z; it has ",
        ),
        ("-D n", "-D n: expected NAME=VALUE\nhelp: for example:  -D N=2048"),
        ("-D n=1 -D n=2", "-D n=2: n is given twice\nhelp: leave out one of the two"),
        ("--tools nope.conf", "--tools nope.conf: there is no such file\nhelp: name a configuration"),
        ("-p 0", "-p 0: the number of processors must be at least 1\nhelp: for example:  -p 2"),
        (
            "--name 3x",
            "--name 3x: this is not a valid name for a variable\nhelp: for example:  --name result",
        ),
    ],
)
def test_refusals_name_what_the_line_says(tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotebookError) as caught:
        CovenMagics(shell=None).coven(line, "coven 1\nprogram p { thread_A print(1) }\n")
    assert str(caught.value).startswith(said)
