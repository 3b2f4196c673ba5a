"""``pse graph`` as a user calls it."""

import re

import pytest

from pse import trace
from pse.text import size_text, time_text

PROGRAM = """coven 1
param i64 N = 64
partition P = procs
program demo {
  var f64[N, N] @ root image
  thread_A load("in.npy") -> image
  thread_A scatter(image) -> rows @ block(0)
  PARALLEL over P { thread_C transpose(rows) -> cols @ block(0) }
  thread_A gather(cols) -> turned @ root
  thread_A save("out.npy", turned)
}
"""

SUM = """coven 1
import "work.py" { make, total }
program sum {
  thread_A make() -> values
  thread_B total(values) -> result
  thread_A print(result)
}
"""
WORK = """import numpy as np
#@ coven module make(out f64 values[4096])
def make(values):
    values[:] = 1.0
#@ coven module total(in f64 values[4096], out f64 result)
def total(values):
    return float(values.sum())
"""


@pytest.fixture
def demo(tmp_path):
    """A directory with a program that needs nothing but the standard library."""
    (tmp_path / "demo.coven").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "start"),
    [("g.svg", b"<?xml"), ("g.png", b"\x89PNG"), ("g.dot", b"digraph"), ("g.mmd", b"flowchart TB")],
)
def test_the_extension_chooses_the_format(pse, demo, name, start):
    done = pse("graph", "demo.coven", "-o", name, cwd=demo)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (demo / name).read_bytes().startswith(start)


def test_text_goes_to_the_terminal(pse, demo):
    done = pse("graph", "demo.coven", cwd=demo)
    assert (done.code, done.err) == (0, "")
    assert 'n1 [label="scatter\\nthread_A · line 7\\nfrees image", fillcolor="#E69F00"' in done.out
    assert 'n2 -> n3 [label="cols @ block(0)"' in done.out
    assert "flowchart TB" in pse("graph", "demo.coven", "--format", "mermaid", cwd=demo).out


def test_a_module_is_not_run(pse, tmp_path):
    (tmp_path / "trap.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\n"
        "#@ coven module f(out f64 x)\ndef f():\n    Path('ran').touch()\n    return 1.0\n"
    )
    text = 'coven 1\nimport "trap.py" { f }\nprogram p {\n  f() -> x\n  print(x)\n}\n'
    (tmp_path / "p.coven").write_text(text)
    done = pse("graph", "p.coven", cwd=tmp_path)
    assert done.code == 0, done.err
    assert 'label="f\\nthread_A · line 4"' in done.out
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo.coven", "-o", "g.pdf"], "error: the format can't be told from the name g.pdf"),
        (["demo.coven", "-o", "folder"], "error: cannot write folder: it is a directory"),
        (["demo.coven", "-o", "none/g.svg"], "error: cannot write none/g.svg: there is no directory none"),
        (
            ["demo.coven", "-o", "/dev/full", "--format", "dot"],
            "error: cannot write /dev/full: No space left",
        ),
        (
            ["demo.coven", "-o", "g.svg", "--format", "png"],
            "error: 'g.svg' is the name of a file in format svg",
        ),
        (["demo.coven", "--format", "pdf"], "Invalid value for '--format'"),
        (["missing.coven"], "missing.coven"),
        (["folder"], "folder is a directory"),
    ],
)
def test_a_wrong_command_line_is_explained(pse, demo, arguments, message):
    (demo / "folder").mkdir()
    done = pse("graph", *arguments, cwd=demo)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_wrong_program_gives_its_diagnostics(pse, demo):
    (demo / "demo.coven").write_text(PROGRAM.replace("scatter(image)", "scatter(imag)"))
    done = pse("graph", "demo.coven", "-o", "g.svg", cwd=demo)
    assert done.code == 1
    assert "demo.coven:7:20" in done.err
    assert not (demo / "g.svg").exists()


@pytest.mark.mpi
def test_a_trace_puts_times_and_bytes_into_the_graph(pse, tmp_path):
    """Of each format; the numbers are those of the trace's summary."""
    (tmp_path / "sum.coven").write_text(SUM)
    (tmp_path / "work.py").write_text(WORK)
    done = pse("run", "sum.coven", "-p", 1, "-o", "fold=off", "--trace", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    summary = trace.summarize(trace.open(tmp_path / "run"))
    label = {row.label: time_text(row.total) for row in summary.calls}
    done = pse("graph", "sum.coven", "--trace", "run", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    for name, time in label.items():
        assert re.search(rf'label="{name}\\n[^"]*{re.escape(time)} · \d+ % · 1 call"', done.out)
    sent = sum(row.sent_descriptor + row.sent_copied + row.sent_remote for row in summary.traffic)
    assert f"· {size_text(sent)}" in done.out
    assert pse("graph", "sum.coven", "--trace", "run", "-o", "g.svg", cwd=tmp_path).code == 0
    assert f"{label['total']} ·" in (tmp_path / "g.svg").read_text()
    (tmp_path / "sum.coven").write_text(SUM + "\n")
    done = pse("graph", "sum.coven", "--trace", "run", cwd=tmp_path)
    assert (done.code, "not a trace of this text" in done.err) == (2, True)
