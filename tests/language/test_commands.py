"""`pse check` and `pse fmt` as a user meets them: exit codes, output, and what happens to files."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pse.cli import main

MODULE = """#@ coven module make(in i64 n, out f64 x[n])
def make(n, x):
    raise SystemExit("a module must not run")


raise SystemExit("a module must not be imported")
"""

GOOD = """coven 1
import "tools.py" { make }
program p {
  make(4) -> x
  print(x)
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder, as the current one, with a module that must not be executed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(MODULE)
    (tmp_path / "good.coven").write_text(GOOD)
    (tmp_path / "warned.coven").write_text(GOOD.replace("print(x)", "print(1)"))
    (tmp_path / "wrong.coven").write_text(GOOD.replace("make(4)", "make(4.5)"))
    (tmp_path / "syntax.coven").write_text(GOOD.replace("make(4)", "make(4"))
    return tmp_path


def pse(*arguments):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.output


def test_check_says_that_a_good_program_has_no_errors(folder):
    assert pse("check", "good.coven") == (0, "good.coven: no errors\n")


def test_warnings_count_only_when_strict(folder):
    code, output = pse("check", "warned.coven")
    assert code == 0
    assert output.startswith(
        "warning[W0201]: `x` is written but never read\n warned.coven:4:14   make(4) -> x"
    )
    assert output.endswith("warned.coven: 1 warning (pse explain W0201 says more)\n")
    assert pse("check", "--strict", "warned.coven")[0] == 1
    assert pse("check", "--strict", "good.coven")[0] == 0


def test_errors_name_both_places(folder):
    code, output = pse("check", "wrong.coven")
    assert code == 1
    assert "error[E0303]" in output
    assert " wrong.coven:4:8   make(4.5) -> x\n" in output
    assert " tools.py:1        #@ coven module make(in i64 n, out f64 x[n])\n" in output


def test_an_error_is_explained_rather_than_a_warning(folder):
    (folder / "both.coven").write_text(
        'coven 1\nimport "tools.py" { make }\nprogram p { make(4) -> x\n  make(4.5) -> y }\n'
    )
    assert "(pse explain E0303 says more)" in pse("check", "warned.coven", "both.coven")[1]


def test_a_group_with_one_command_names_it(folder):
    assert "there is no command foo; the only command is clear" in pse("cache", "foo")[1]


LEVELS = """coven 1
param i64 N = 16
param i64 M where M > N
param i64 L = 2 where 2 ** L <= N
partition P = 2 * procs
program levels {
  var f64[N / 2 ** l] u[l in 0 .. L]
  for l in 0 .. L { fill(l * 1.0) -> u[l] }
  var f64[N - 40 + P] @ root z  fill(0.0) -> z
  var f64[N - 12] @ root y  fill(0.0) -> y
  print(u[1], y, z, M)
}
"""


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        ((), None, ""),
        (("N=30", "L=3", "M=31"), None, ""),
        (("M=3",), "E0601", "M = 3, N = 16"),
        (("L=9",), "E0601", "L = 9, N = 16"),
        (("L=1",), "E0327", "`u[1]` does not exist"),
        (("N=10", "M=11"), "E0610", "negative extent -2"),
        (("M=x",), "E0604", "'x' is not of that type"),
        (("K=1",), "E0603", "the program has no parameter `K`"),
    ],
)
def test_check_takes_values_of_parameters(folder, values, code, said):
    """What the number of processors decides, as the shape of `z`, is left to the run."""
    (folder / "levels.coven").write_text(LEVELS)
    options = [part for value in values for part in ("-D", value)]
    ended, output = pse("check", *options, "levels.coven")
    assert ended == (1 if code else 0), output
    assert said in output
    assert output.startswith(f"error[{code}]" if code else "levels.coven: no errors")


def test_of_several_programs_those_that_have_a_parameter_take_its_value(folder):
    (folder / "one.coven").write_text("coven 1\nparam i64 N = 4 where N < 9\nprogram p { print(N) }\n")
    (folder / "two.coven").write_text("coven 1\nprogram p { print(2) }\n")
    assert pse("check", "one.coven", "two.coven", "-D", "N=5") == (0, "one.coven, two.coven: no errors\n")
    assert (
        "N = 9\n help: choose values for which `N < 9` holds (-D sets them)"
        in pse("check", "one.coven", "two.coven", "-D", "N=9")[1]
    )
    ended, output = pse("check", "one.coven", "two.coven", "-D", "M=5")
    assert (ended, output.count("the program has no parameter `M`")) == (1, 2)


def test_check_refuses_a_value_without_a_name(folder):
    assert pse("check", "good.coven", "-D", "4") == (
        2,
        "error: -D 4: expected NAME=VALUE\nhelp: for example:  -D N=2048\n",
    )


def test_check_writes_diagnostics_of_several_programs_as_json(folder):
    code, output = pse("check", "--format", "json", "wrong.coven", "warned.coven")
    data = json.loads(output)
    assert code == 1
    assert [(d["code"], d["path"], d["line"]) for d in data["diagnostics"]] == [
        ("E0303", "wrong.coven", 4),
        ("W0201", "warned.coven", 4),
    ]


def test_a_mistake_in_a_module_file_is_quoted(folder):
    (folder / "tools.py").write_text("#@ coven module make(in i65 n)\ndef make(n): pass\n")
    code, output = pse("check", "good.coven")
    assert code == 1
    assert "unknown type `i65`\n tools.py:1:25   #@ coven module make(in i65 n)\n" in output


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("empty.coven", b"", 1, "the file contains no program"),
        ("binary.coven", b"\x7fELF\0\1\2", 1, "null bytes"),
        ("latin.coven", b"coven 1\n// caf\xe9\n", 1, "not UTF-8"),
        ("huge.coven", b"x " * 5_000_000, 1, "too long"),
        ("deep.coven", b"coven 1 program p " + b"{" * 10_000, 1, "nesting too deep"),
    ],
)
@pytest.mark.parametrize("command", ["check", "fmt"])
def test_a_file_that_is_not_a_program_is_told_and_left_as_it_is(folder, command, name, content, code, said):
    (folder / name).write_bytes(content)
    found, output = pse(command, name)
    assert found == code
    assert said in output
    assert output.count("error[") == 1
    assert (folder / name).read_bytes() == content


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_what_cannot_be_read_is_a_usage_error(folder, command):
    assert pse(command, "none.coven")[0] == 2
    assert pse(command, ".")[0] == 2
    assert pse(command)[0] == 2


def test_fmt_rewrites_and_then_is_content(folder):
    path = folder / "good.coven"
    path.write_text(GOOD.replace("  make(4) -> x\n", "make ( 4 )->x; // four\n"))
    os.chmod(path, 0o640)
    assert pse("fmt", "--check", "good.coven") == (1, "good.coven: would be formatted\n")
    assert "make ( 4 )->x;" in path.read_text()
    assert pse("fmt", "good.coven") == (0, "good.coven: formatted\n")
    assert path.read_text() == GOOD.replace("-> x", "-> x  // four")
    assert path.stat().st_mode & 0o777 == 0o640
    assert pse("fmt", "--check", "good.coven") == (0, "")
    assert sorted(os.listdir(folder)) == [
        "good.coven",
        "syntax.coven",
        "tools.py",
        "warned.coven",
        "wrong.coven",
    ]


def test_fmt_says_formatted_only_of_what_it_wrote(folder, monkeypatch):
    def full(_path, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pse.cli.fmt.replace_file", full)
    (folder / "good.coven").write_text(GOOD.replace("  make(4) -> x\n", "make ( 4 )->x; // four\n"))
    code, output = pse("fmt", "good.coven")
    assert code == 2
    assert "good.coven: formatted" not in output


def test_fmt_follows_links(folder):
    path = folder / "good.coven"
    path.write_text(GOOD.replace("  make", "make"))
    (folder / "link.coven").symlink_to("good.coven")
    assert pse("fmt", "link.coven")[0] == 0
    assert (folder / "link.coven").is_symlink()
    assert path.read_text() == GOOD


def test_fmt_leaves_a_file_with_syntax_errors(folder):
    before = (folder / "syntax.coven").read_text()
    code, output = pse("fmt", "syntax.coven")
    assert code == 1
    assert "error[E0004]" in output
    assert (folder / "syntax.coven").read_text() == before


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fmt_leaves_line_ends_and_the_byte_order_mark(folder, mark, end):
    path, formatted = folder / "good.coven", mark + GOOD.replace("\n", end).encode()
    path.write_bytes(mark + GOOD.replace("\n", f"  {end}").encode())
    assert pse("fmt", "--check", "good.coven")[0] == 1
    assert pse("fmt", "good.coven")[0] == 0
    assert path.read_bytes() == formatted
    assert pse("fmt", "--check", "good.coven") == (0, "")


def test_fmt_gives_lines_that_end_differently_the_end_of_the_first(folder):
    path = folder / "good.coven"
    path.write_bytes(GOOD.replace("\n", "\r\n", 1).encode())
    assert pse("fmt", "good.coven")[0] == 0
    assert path.read_bytes() == GOOD.replace("\n", "\r\n").encode()


FUNCTIONS = """
def deal(extent, partitions):
    raise SystemExit("a pattern must not run")
"""


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (("{ make }", "{ make, deel }"), "E0502", "did you mean `deal`?"),
        (("program", 'options { placement = "tools.py:near" }\nprogram'), "E0606", "has no function `near`"),
        (("program", 'options { placement = "place.py:near" }\nprogram'), "E0606", "no file place.py"),
    ],
)
def test_functions_that_are_not_there_are_found_without_running_any(folder, change, code, words):
    (folder / "tools.py").write_text(MODULE + FUNCTIONS)
    (folder / "asks.coven").write_text(GOOD.replace(*change))
    status, output = pse("check", "asks.coven")
    assert status == 1
    assert code in output
    assert words in output


@pytest.mark.parametrize(
    ("where", "code", "words"),
    [(">&-", 0, ""), (">&- 2>&- <&-", 0, ""), ("> /dev/full", 3, "output can't be written: No space left")],
)
def test_a_closed_or_full_standard_output_is_told_without_a_traceback(folder, where, code, words):
    command = f"{sys.executable} -m pse check good.coven {where}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert ended.returncode == code
    assert words in ended.stderr
    assert "internal error" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_current_directory_that_is_gone_is_told(folder, tmp_path_factory, monkeypatch):
    gone = tmp_path_factory.mktemp("gone")
    monkeypatch.chdir(gone)
    gone.rmdir()
    status, output = pse("check", str(folder / "good.coven"))
    monkeypatch.chdir(folder)
    assert status == 2
    assert "the current directory can't be used: No such file or directory" in output


def test_a_code_is_explained(folder):
    code, output = pse("explain", "e0312")
    assert code == 0
    assert pse("explain", "e312") == pse("explain", "312") == (code, output)
    assert output.startswith("# E0312: distribution mismatch\n\nThe tag is not distributed in the way")
    assert "```coven\n" in output
    assert "**Remedy.** Insert the `scatter`" in output


def test_without_a_code_all_are_listed(folder):
    code, output = pse("explain")
    assert code == 0
    assert "E0312  distribution mismatch\n" in output
    assert len(output.splitlines()) > 80


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("E0321x", "did you mean pse explain E0321?"),
        ("W0312", "did you mean pse explain E0312?"),
        ("W0001", "did you mean pse explain E0001? codes go from E0001 to"),
        ("E06", "codes that begin with E06: E0601, E0602"),
        ("E0", " more; `pse explain` lists all"),
        ("E9999", "help: codes go from E0001 to"),
        ("no", "lists"),
    ],
)
def test_an_unknown_code_suggests_near_ones(folder, code, said):
    found, output = pse("explain", "E0001", code)
    assert found == 2
    assert f"error: there is no diagnostic with the code {code}\n" in output
    assert said in output
    assert "E0001:" not in output
