"""`pse module new | list | show | build`, through the command line."""

import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from click.testing import CliRunner
from pse_testing.commands import EndlessCompiler, write_module
from pse_testing.jobs import beside_python

from pse.cli import main
from pse.modules.build._templates import TEMPLATE_ENDINGS


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `pse module …` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["module", *map(str, arguments)])


@pytest.mark.parametrize("language", sorted(TEMPLATE_ENDINGS))
def test_a_new_module_works_as_it_is(run, load_module, call, language):
    if language == "fortran" and shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    result = run("new", "scaled", "--language", language)
    path = f"scaled{TEMPLATE_ENDINGS[language]}"
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"pse module build {path}" in result.stdout
    y, largest = call(load_module(path), np.array([1.0, 3.0, 2.0]), 2.0)
    assert (list(y), largest) == ([2, 6, 4], 6)
    built = run("build", path)
    assert (built.exit_code, built.stderr) == (0, "")
    assert "Python needs no building" in built.stdout or "found in the cache in " in built.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("there",), "there.c exists already and is left as it is"),
        (("there.zig",), "there.zig: a module in c ends in .c, not .zig; the endings are .c (c), .cpp (c++)"),
        (("2nd",), "`2nd` can't be the name of a module"),
        (("absent/new",), "cannot write absent/new.c: there is no directory absent"),
        (("new", "-l", "cobol"), "'cobol' is not one of"),
        (("inout",), "`inout` is a reserved word of the language of programs"),
        (("class", "-l", "python"), "`class` is a reserved word of Python"),
    ],
)
def test_new_modules_that_cannot_be(run, tmp_path, arguments, message):
    (tmp_path / "there.c").write_text("mine")
    result = run("new", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert (tmp_path / "there.c").read_text() == "mine"


def test_what_can_be_found_without_a_compiler_is_found_in_python_too(run, tmp_path):
    (tmp_path / "f.py").write_text("#@ coven module f(in i64 n)\ndef f(): pass\n")
    result = run("build", "f.py")
    assert result.exit_code == 1
    assert "f() can't be called as its directive says" in result.stderr
    assert "there is no file g.py" in run("build", "g.py").stderr


def test_list_finds_modules_in_folders(run, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "step.c").write_text("//@ coven module step(in f64 u[n])\nint step();\n")
    (tmp_path / "frames.py").write_text("#@ coven module load(out i64 k)\ndef load(): return 1\n")
    (tmp_path / "other.py").write_text("import os\n")
    (tmp_path / "data.c").write_bytes(b"\0\1\2")
    result = run("list")
    assert result.exit_code == 0
    lines = [line.split(maxsplit=3) for line in result.stdout.splitlines()[1:]]
    assert [[cell.strip() for cell in line] for line in lines] == [
        ["load", "python", "frames.py:1", "load(out i64 k)"],
        ["step", "c", "kernels/step.c:1", "step(in f64 u[n])"],
    ]


def test_list_reports_wrong_directives(run, tmp_path):
    (tmp_path / "step.c").write_text("//@ coven module step(in f65 u[n])\nint step();\n")
    result = run("list")
    assert result.exit_code == 1
    assert "no modules found" in result.stdout
    assert "step.c:1:" in result.stderr
    assert "unknown type `f65`" in result.stderr


def test_list_of_the_standard_library(run):
    result = run("list", "pse.std")
    assert result.exit_code == 0
    assert "scatter(in T a[...] @ root, out T b[...])" in result.stdout


def test_list_of_a_missing_path(run):
    result = run("list", "absent.c")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no file absent.c\nhelp: the path is relative to the current directory\n"
    )
    assert "there is no file or folder nodir\n" in run("list", "nodir").stderr


def test_show_tells_how_to_call_and_what_to_write(run, tmp_path):
    directive = "step(in f64 u[n] @ block(0) halo(1), in f64 dt = 0.5, out f64 v[n])"
    text = f"//@ coven module {directive}\nint step();\n"
    (tmp_path / "step.c").write_text(text)
    result = run("show", "step.c:step")
    assert result.exit_code == 0
    assert directive in result.stdout
    assert "step(u, dt = 0.5) -> v" in result.stdout
    assert "int step(const double *u, double dt, double *v, int64_t n)" in result.stdout


def test_show_of_a_name_that_is_not_there(run, tmp_path):
    (tmp_path / "step.c").write_text("//@ coven module step()\nint step(void);\n")
    result = run("show", "step.c:stride")
    assert result.exit_code == 2
    assert "step.c has no module `stride`" in result.stderr
    assert "its modules are: step" in result.stderr


def test_build_goes_on_after_a_failure(run, tmp_path):
    (tmp_path / "bad.c").write_text("//@ coven module bad()\nint bad(void) { return nope; }\n")
    (tmp_path / "good.c").write_text("//@ coven module good()\nint good(void) { return 0; }\n")
    result = run("build", "bad.c", "good.c")
    assert result.exit_code == 1
    assert "error: bad.c doesn't compile" in result.stderr
    assert "bad.c:2:24: error:" in result.stderr
    assert result.stdout.startswith("good.c: compiled in ")


def test_build_shows_wrong_directives_as_other_commands_do(run, tmp_path):
    (tmp_path / "bad.c").write_text("//@ coven modul bad()\nint bad(void) { return 0; }\n")
    built, shown = run("build", "bad.c"), run("show", "bad.c")
    assert built.stderr.startswith("error[E0521]: unknown directive `coven modul`\n bad.c:1:17 ")
    assert (built.exit_code, built.stdout, built.stderr) == (1, "", shown.stderr)


def test_build_tells_the_compilers_remarks(run, tmp_path):
    (tmp_path / "f.c").write_text("//@ coven module f()\nint f(void) { int unused; return 0; }\n")
    assert "f.c:2:19: warning: unused variable" in run("build", "f.c").stdout


@pytest.mark.parametrize("words", [("module", "build", "slow.c"), ("run", "slow.coven")])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_compiler_ends_with_the_command_that_started_it(tmp_path, words, number):
    compiler = EndlessCompiler(tmp_path)
    write_module(tmp_path)
    how = {"env": os.environ | compiler.environment, "cwd": tmp_path, "text": True}
    with subprocess.Popen([beside_python("pse"), *words], stderr=subprocess.PIPE, **how) as started:
        while not compiler.has_started:
            assert started.poll() is None
            time.sleep(0.02)
        started.send_signal(number)
        _, said = started.communicate(timeout=30)
    assert (started.returncode, said.splitlines()[-1]) == (128 + number, f"stopped by {number.name}")
    assert compiler.is_gone
