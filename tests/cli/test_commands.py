"""The command line as a whole: its help, words that are no command, and commands about this machine."""

import fcntl
import gc
import json
import os
import re
import resource
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pse.cli import SECTIONS, main
from pse.cli._options.group import first_sentence
from pse.runtime.launch import Mpiexec


def run(*arguments, **environment):
    """Run the command line in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)], env=environment)


def test_every_command_stands_in_one_section_of_the_help():
    listed = [row for _, rows in SECTIONS for row in rows.items()]
    names = main.list_commands(None)
    assert sorted(listed) == [(name, first_sentence(main.get_command(None, name).help)) for name in names]


@pytest.mark.parametrize("group", ["", "tools", "trace", "module", "cluster", "cache"])
def test_help_is_not_cut_short(group):
    result = run(*group.split(), "--help")
    assert result.exit_code == 0
    assert "..." not in re.sub(r"\[\w+\]\.\.\.", "", result.stdout.replace("ARGS]...", ""))
    commands = main.get_command(None, group).commands if group else main.list_commands(None)
    for name in commands:
        assert re.search(rf"^  {name} +[A-Z]", result.stdout, re.MULTILINE), name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rnu",), "there is no command rnu; did you mean `pse run`?"),
        (("tools", "lits"), "there is no command lits; did you mean `pse tools list`?"),
        (("programs/a.coven",), "to run a program: pse run programs/a.coven"),
        (("xyz",), "there is no command xyz; there are ace, advise, analyze, bcs, bench, "),
    ],
)
def test_a_word_that_is_no_command_gets_a_guess(arguments, said):
    result = CliRunner().invoke(main, arguments, prog_name="pse")
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("view", "run1"), "needs -o FILE: the file to draw into: .png, .svg, .pdf or .html"),
        (("trace", "export", "run1"), "needs --to [otf2|chrome]: for which tools"),
        (("trace", "export", "run1", "--to", "otf2"), "needs -o OUT: otf2: a new directory; chrome: a new"),
        (("tools", "adopt", "a.so", "b.so"), "needs --rewrite: rename PMPI_x in the binary to XMPI_x"),
        (("trace", "why"), "needs DIR"),
    ],
)
def test_what_a_command_line_lacks_is_named_with_its_purpose(arguments, said):
    result = CliRunner().invoke(main, arguments, prog_name="pse")
    assert result.exit_code == 2
    command = " ".join(word for word in arguments[:2] if word.isalpha())
    assert f"Error: `pse {command}` {said}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run1", "memory"), "pse view run1 --view memory -o memory.png"),
        (("run1", "memroy", "-o", "m.svg"), "pse view run1 --view memory -o m.svg"),
    ],
)
def test_a_view_behind_the_directory_leads_to_its_option(arguments, meant):
    result = CliRunner().invoke(main, ("view", *arguments), prog_name="pse")
    assert result.exit_code == 2
    message = f"error: {arguments[1]} is one word too many: an option names the views"
    assert result.stderr == f"{message}\nhelp: did you mean:  {meant}\n"


@pytest.mark.parametrize(("more", "run1"), [(("run1",), "run1"), ((), "DIR")])
def test_a_view_in_place_of_the_directory_leads_to_the_order(more, run1):
    result = CliRunner().invoke(main, ("view", "gantt", *more, "-o", "a.png"), prog_name="pse")
    assert result.exit_code == 2
    message = "gantt is a view, not a run: a run's directory comes first, an option names the views"
    meant = f"pse view {run1} --view gantt -o a.png"
    assert result.stderr == f"error: {message}\nhelp: did you mean:  {meant}\n"


def test_what_is_no_view_behind_the_directory_is_a_second_run():
    result = CliRunner().invoke(main, ("view", "run1", "run2", "-o", "a.png"), prog_name="pse")
    assert (result.exit_code, "two runs are compared in a .html page" in result.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_the_shell_that_is_named_or_in_use(shell):
    named = run("completion", shell)
    assert (named.exit_code, "_PSE_COMPLETE" in named.stdout) == (0, True)
    assert run("completion", SHELL=f"/usr/bin/{shell}").stdout == named.stdout


@pytest.mark.parametrize(
    ("shell", "said"), [("/bin/csh", "the shell csh"), ("", "SHELL doesn't say what shell this is")]
)
def test_completion_for_no_known_shell_is_refused(shell, said):
    result = run("completion", SHELL=shell)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "bash, zsh, fish" in result.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pse ca", ["plain,cache"]),
        ("pse run --qu", ["plain,--quiet"]),
        ("pse run pro", ["file,pro"]),
        ("pse run -o pi", ["plain,pin=off", "plain,pin=compact", "plain,pin=spread"]),
        ("pse run -o queue", ["plain,queue_depth=4"]),
        ("pse run --sanitize u", ["plain,undefined"]),
        ("pse run programs/heat.coven -D NX", ["plain,NX="]),
        ("pse run nothing.coven -D N", []),
        ("pse explain e0312", ["plain,E0312"]),
        ("pse bench trac", ["plain,tracing"]),
    ],
)
def test_a_shell_is_offered_commands_options_their_values_and_files(words, offered):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_PSE_COMPLETE": "bash_complete"}
    command = [sys.executable, "-c", "from pse.cli import main; main(prog_name='pse')"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with a built module, a lock beside it, and a table of the grammar."""
    monkeypatch.setenv("PSE_CACHE", str(tmp_path))
    built = tmp_path / "modules" / "key" / "v1"
    built.mkdir(parents=True)
    (built / "module.so").write_bytes(bytes(2048))
    (built.parent / "lock").touch()
    (tmp_path / "grammar").mkdir()
    (tmp_path / "grammar" / "tables.json").write_bytes(bytes(512))
    return tmp_path


def test_the_cache_is_shown_and_cleared(cache):
    shown = run("cache").stdout.split()
    assert shown[shown.index("modules") + 1 :][:4] == ["compiled", "modules", "2.00", "KiB"]
    assert run("cache", "clear", "modules").stdout == f"{cache}: 2.00 KiB freed\n"
    assert "modules" not in run("cache").stdout
    assert run("cache", "clear").stdout == f"{cache}: 512 B freed\n"
    assert run("cache").stdout == f"{cache}: empty\n"
    assert (cache / "modules" / "key" / "lock").exists()  # Somebody may wait for it.


def test_what_is_being_built_is_not_cleared(cache):
    with open(cache / "modules" / "key" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run("cache", "clear").stdout == f"{cache}: 512 B freed\n"
    assert (cache / "modules" / "key" / "v1" / "module.so").exists()


def test_a_name_under_which_nothing_is_kept_is_refused(cache):
    result = run("cache", "clear", "module")
    assert result.exit_code == 2
    assert "the cache keeps nothing under the name module" in result.stderr


@pytest.mark.mpi
def test_the_doctor_finds_nothing_wrong_where_the_tests_run():
    result = run("doctor", "--json")
    found = json.loads(result.stdout)
    assert [one for one in found if one["grade"] == "bad"] == []
    assert result.exit_code == 0
    subjects = {one["subject"] for one in found}
    assert {"MPI", "mpiexec", "c compiler", "cores", "memory", "/dev/shm", "cache"} <= subjects


@pytest.mark.mpi
def test_the_doctor_names_what_is_missing_and_the_remedy(tmp_path):
    (tmp_path / "cache").write_text("no directory")
    result = run("doctor", PATH=str(tmp_path), CC="", PSE_CACHE=str(tmp_path / "cache"))
    assert result.exit_code == 1
    assert re.search(r"^WRONG +c compiler .*\n +help: install gcc", result.stdout, re.MULTILINE)
    assert re.search(
        r"^WRONG +cache .*can't be written to.*\n +help: set PSE_CACHE", result.stdout, re.MULTILINE
    )
    # An MPI that isn't in this environment is not found on this PATH either.
    last = result.stdout.splitlines()[-1]
    assert re.fullmatch(r"mend this first: (mpiexec, )?c compiler and cache", last)


def test_the_doctor_refuses_a_cache_that_others_may_write_to(monkeypatch, tmp_path):
    from pse.bench import _doctor

    monkeypatch.setattr(_doctor, "_EXAMINATIONS", (_doctor._cache_directory,))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    result = run("doctor", PSE_CACHE=str(tmp_path / "cache"))
    assert result.exit_code == 1
    assert "can be written to by other users, so that nothing in it is loaded" in result.stdout


@pytest.mark.parametrize(("files", "word", "ranks"), [(64, "note", "4 ranks"), (33, "WRONG", "0 ranks")])
def test_the_doctor_lets_compilers_compile_and_counts_the_ranks_that_may_have_files(
    monkeypatch, files, word, ranks
):
    from pse.bench import _doctor

    monkeypatch.setattr(_doctor, "_EXAMINATIONS", (_doctor._compilers, _doctor._open_files))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    result = run("doctor", CC="/bin/false", CXX="/bin/echo no compiler")
    assert result.exit_code == 1
    assert re.search(r"^WRONG +c compiler +/bin/false can't compile one line \(code 1\)", result.stdout, re.M)
    assert "c++ compiler       /bin/echo no compiler can't compile one line (code 0)" in result.stdout
    expected = rf"^{word} +open files .* {ranks} on this machine\n +help: the hard limit is {files}, too"
    assert re.search(expected, result.stdout, re.M)


def test_the_doctor_says_how_root_may_start_ranks_of_open_mpi(tmp_path, monkeypatch):
    from pse.bench import _doctor

    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text("#!/bin/sh\necho prterun has detected an attempt to run as root. >&2\nexit 1\n")
    mpiexec.chmod(0o755)
    monkeypatch.setattr(_doctor, "_EXAMINATIONS", (_doctor._mpi,))
    monkeypatch.setattr(_doctor, "find_mpiexec", lambda: Mpiexec(str(mpiexec), hydra=False))
    result = run("doctor")
    assert result.exit_code == 1
    assert re.search(r"^WRONG +mpiexec .* refuses to start ranks for root$", result.stdout, re.MULTILINE)
    assert "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" in result.stdout


@pytest.mark.mpi
def test_the_collector_is_as_usual_again_when_modules_run(tmp_path):
    (tmp_path / "look.py").write_text(
        "import gc\nimport pse\n\n\n"
        '@pse.module("look(out i64 room, out i64 kept)")\n'
        "def look():\n    return gc.get_threshold()[0], gc.get_freeze_count()\n"
    )
    (tmp_path / "a.coven").write_text(
        'coven 1\nimport "look.py" { look }\nprogram a {\n'
        "  thread_A look() -> room, kept\n  thread_A print(room, kept)\n}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pse", "run", "-q", "a.coven"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    room, kept = map(int, done.stdout.split())
    assert room == gc.get_threshold()[0]
    assert kept > 10_000
