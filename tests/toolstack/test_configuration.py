"""What is wrong with a configuration or a tool is named, with file and line, before MPI starts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.errors import UsageError
from pse.toolstack import _stack as stack

GOOD = "#include <mpi.h>\nint MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\n"
START = '#include "pse_tools.h"\nint pse_tool_start(const struct pse_tools *tools) {{ {} }}\n'
SAYS = """
#include <mpi.h>
#include <stdio.h>
int MPI_Finalize(void) { fprintf(stderr, "seen\\n"); return PMPI_Finalize(); }
"""
CRASHES = {
    "constructor": GOOD
    + "#include <signal.h>\n__attribute__((constructor)) static void f(void) { raise(SIGSEGV); }",
    "start": GOOD + START.format("(void)tools; __builtin_trap();"),
    "exit": GOOD + "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { exit(0); }",
    "refuses": GOOD + START.format('tools->fail(tools->self, "no %s today", "work"); return 1;'),
}
WORDS = {
    "constructor": r"crashed in its initialisation: Segmentation fault",
    "start": r"crashed in pse_tool_start: (Illegal instruction|Trace/breakpoint trap)",
    "exit": r"ended the process in its initialisation",
    "refuses": r"no work today",
}


@pytest.fixture(scope="session")
def good(tool) -> Path:
    return tool("good", GOOD)


@pytest.fixture
def check(pse, tmp_path):
    """Run `pse tools check` on a configuration's text."""

    def run(text):
        (tmp_path / "tools.conf").write_text(text)
        return pse("tools", "check", tmp_path / "tools.conf")

    return run


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("module\n", 1, "a `module` line names one tool\nhelp: write `module NAME` or"),
        ("# first\nargument a b\n", 2, "`argument` must come after the `module` line that it belongs to"),
        (
            "module {good}\nargument key\n",
            2,
            "`argument` needs a key and a value\nhelp: write `argument KEY VALUE`",
        ),
        ("module {good}\n argument a 1\n argument a 2\n", 3, "the argument `a` is given twice"),
        (
            "module {good}\nonly MPI_Sned\n",
            2,
            "this MPI has no routine `MPI_Sned`\nhelp: write names as in C",
        ),
        ("module {good}\nexcept\n", 2, "names of MPI routines are missing\nhelp: name them in the same line"),
        ("module {good}\nfrom soon\n", 2, "expected one number of seconds, not `soon`\nhelp: write one"),
        ("module {good}\nuntil\n", 2, "a number of seconds is missing\nhelp: write one number: `from 0.5`"),
        ("module {good}\ncommunicator\n", 2, "`communicator` needs at least one communicator\nhelp: "),
        ("module {good}\ncommunicator 5\n", 2, "by names, not by numbers such as `5`\nhelp: write `world`"),
        (
            "module {good}\nfrom 3\nuntil 2\n",
            3,
            "the tool would see no call: `until 2` is not later than `from 3`",
        ),
        ("module {good}\nsees-tools maybe\n", 2, "`sees-tools` is followed by either `yes` or `no`"),
        ("module {good} as x\nmodule {good} as x\n", 2, "the name `x` is taken by the module of line 1"),
        ("modul {good}\n", 1, "unknown directive `modul`\nhelp: the directives are module, argument"),
        ('module "{good}\n', 1, 'a quotation mark is not closed: "/'),
        (
            "module {good}\n\ncommunicato world\n",
            3,
            "unknown directive `communicato`\nhelp: the directives are module, argument",
        ),
        (
            "module nosuchtool\n",
            1,
            "there is no tool `nosuchtool` in the directories of PSE_TOOLS_PATH or in",
        ),
        (
            "module ./nosuch.so\n",
            1,
            "there is no file ./nosuch.so (a relative path is relative to the configuration",
        ),
        ("module /nowhere/tool.so\n", 1, "it can't be read: No such file or directory"),
    ],
)
def test_mistakes_in_a_configuration_are_named(preload, good, tmp_path, text, line, words):
    file = tmp_path / "tools.conf"
    file.write_text(text.format(good=good))
    with pytest.raises(UsageError) as raised:
        stack.verify(str(file), preload)
    assert raised.value.message.startswith(f"{file}:{line}: ")
    assert words in f"{raised.value.message}\nhelp: {raised.value.help}"


def test_a_configuration_without_tools_is_checked_as_such(check, tmp_path):
    done = check("# module profile\n")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{tmp_path / 'tools.conf'} loads no tool: programs would run without any\n"


@pytest.mark.parametrize(("file", "why"), [("/nowhere/tools.conf", "No such file"), ("/", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(pse, file, why):
    done = pse("tools", "check", file)
    assert done.code == 2
    assert done.err.startswith(f"error: {file}: the configuration of the tool stack can't be read: {why}")
    assert "\nhelp: name a file that lists tools, one on each line; `pse tools list` shows" in done.err


def test_a_configuration_that_only_the_environment_names_is_read_by_runs(pse, tmp_path):
    (tmp_path / "small.coven").write_text('coven 1\nprogram small { print("there") }\n')
    done = pse("run", "small.coven", env={"PSE_TOOLS": "/nowhere/tools.conf"}, cwd=tmp_path)
    assert done.code == 2
    said = "PSE_TOOLS=/nowhere/tools.conf: the configuration of the tool stack can't be read: No such file"
    assert done.err.startswith(f"error: {said}")
    assert "\nhelp: name a file that lists tools, one on each line, or unset PSE_TOOLS; " in done.err


@pytest.mark.mpi
def test_tools_that_only_the_environment_names_run(pse, tmp_path):
    (tmp_path / "small.coven").write_text('coven 1\nprogram small { print("there") }\n')
    (tmp_path / "tools.conf").write_text("module profile\n")
    done = pse("run", "-q", "small.coven", env={"PSE_TOOLS": "tools.conf"}, cwd=tmp_path)
    assert (done.code, done.out.splitlines()[0]) == (0, "there")
    assert "Profile of MPI: 1 rank, " in done.out + done.err


SONAMES = {"mpich": "libmpi.so.12", "open_mpi": "libmpi.so.40", "abi": "libmpi_abi.so.1"}


@pytest.fixture(scope="session")
def broken(tool, good, tmp_path_factory) -> dict[str, Path]:
    """Make files that are no tools for this MPI."""
    place = tmp_path_factory.mktemp("broken")
    made = {name: place / f"{name}.so" for name in ("text", "cut", "machine")}
    made["text"].write_text("module\n")
    data = bytearray(good.read_bytes())
    made["cut"].write_bytes(data[:600])
    data[18:20] = (243).to_bytes(2, "little")  # RISC-V
    made["machine"].write_bytes(data)
    (place / "empty.c").write_text("")
    for name, soname in SONAMES.items():
        other = place / soname
        line = ["cc", "-shared", "-fPIC", place / "empty.c", f"-Wl,-soname,{soname}", "-o", other]
        subprocess.run(line, check=True)
        made[name] = tool(name, GOOD, "-Wl,--no-as-needed", str(other))
    made["ompi"] = tool(
        "ompi",
        GOOD + """extern int handle __asm__("ompi_mpi_comm_world");\nvoid *f(void) { return &handle; }""",
    )
    return made


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("text", "it is not a shared object (an ELF file)"),
        ("cut", "the file is damaged"),
        ("machine", "it is built for RISC-V, but this machine is "),
        (
            "mpich",
            "it is built for MPICH's ABI (it needs libmpi.so.12), but the program's MPI is libmpi",
        ),
        (
            "open_mpi",
            "it is built for Open MPI's ABI (it needs libmpi.so.40), but the program's MPI is libmpi",
        ),
        (
            "abi",
            "it is built for the standard ABI (it needs libmpi_abi.so.1), but the program's MPI is libmpi",
        ),
        ("ompi", "it is built for Open MPI's ABI (it needs ompi_mpi_…)"),
    ],
)
def test_tools_for_other_machines_and_mpis_are_refused(check, broken, good, mpi, name, words):
    own = mpi.path.name.replace("libmpich.so", "libmpi.so")  # As Debian calls it.
    if own.startswith(SONAMES.get(name, SONAMES["open_mpi"] if name == "ompi" else " ")):
        pytest.skip("tools of this kind are this MPI's own")
    done = check(f"module {good}\nmodule {broken[name]}\n")
    assert done.code == 2
    assert "tools.conf:2: tool `" in done.err
    assert words in done.err
    assert "Traceback" not in done.err
    done = check(f"module {good}\nmodule {broken[name]}\noptional\n")
    assert done.code == 0
    assert "tools.conf:2: going on without the optional tool `" in done.err
    assert words in done.err
    assert "good" in done.out


def test_an_argument_that_no_tool_asks_for_is_named(check, good, tmp_path):
    done = check(f"module count\n  argument ouput calls.txt\n\nmodule {good}\n  argument any thing\n")
    assert done.code == 0
    assert (
        f"{tmp_path}/tools.conf:1: tool `count` has not asked for the argument `ouput`: is it misspelt?"
        in done.err
    )
    assert f"tools.conf:4: tool `{good.stem}` has not asked for the argument `any`" in done.err
    assert check("module count\n  argument output calls.txt\n").err == ""


@pytest.mark.parametrize("library", ["/bin/sh", "/etc/passwd"])
def test_what_is_no_mpi_library_is_refused(pse, library):
    done = pse("tools", "library", "--mpi", library)
    assert done.code == 2
    assert done.err.startswith(f"error: {library} is not ")


@pytest.mark.parametrize("name", list(CRASHES))
def test_tools_that_fail_at_the_start_are_named(check, tool, good, name):
    path = tool(name, CRASHES[name])
    done = check(f"module {good}\n\nmodule {path} as bad\n")
    assert done.code == 2
    assert re.search(rf"tools\.conf:3: tool `bad`:? .*{WORDS[name]}", done.err), done.err
    done = check(f"module {good}\n\nmodule {path} as bad\noptional\nmodule {good} as last\n")
    assert done.code == 0
    assert re.search(
        rf"warning: .*tools\.conf:3: going on without the optional tool `bad`: .*{WORDS[name]}", done.err
    )
    assert re.search(r"^last ", done.out, re.MULTILINE)
    assert "bad " not in done.out


@pytest.mark.mpi
def test_a_job_ends_with_code_2_and_one_word(stacked, tool):
    done = stacked(3, "module nosuchtool\n", "-c", "from mpi4py import MPI; print('never')")
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("tools.conf:1: tool `nosuchtool`: there is no tool `nosuchtool`") == 1


@pytest.mark.mpi
def test_a_job_ends_if_a_tool_refuses_on_one_rank_only(stacked, tool):
    body = "const char *rank = getenv(RANK_VARIABLE); return (void)tools, rank && *rank == 49;"
    path = tool("picky", "#include <stdlib.h>\n" + GOOD + START.format(body))
    done = stacked(3, f"module {path}\n", "-c", "from mpi4py import MPI; print('never')", timeout=30)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("it refuses to start") == 1


@pytest.mark.mpi
def test_a_job_goes_on_without_an_optional_tool(stacked, tool):
    path = tool("start", CRASHES["start"])
    done = stacked(
        3,
        f"module {path}\noptional\n",
        "-c",
        "import os; from mpi4py import MPI; os.write(1, b'%d ' % MPI.COMM_WORLD.rank)",
    )
    assert (done.code, sorted(done.out.split())) == (0, ["0", "1", "2"])
    assert len(done.err.splitlines()) == 3


def test_tools_run_checks_before_it_starts_anything(pse, tmp_path):
    (tmp_path / "conf").write_text("module nosuchtool\n")
    command = ("tools", "run", "-c", tmp_path / "conf", "--", "touch", tmp_path / "started")
    done = pse(*command)
    assert done.code == 2
    assert f"error: {tmp_path}/conf:1: tool `nosuchtool`: there is no tool" in done.err
    assert not (tmp_path / "started").exists()


@pytest.mark.mpi
def test_tools_run_becomes_the_command(pse, tool, tmp_path, mpi):
    path = tool("says", SAYS)
    (tmp_path / "conf").write_text(f"module {path}\n")
    command = (
        "tools",
        "run",
        "-c",
        "conf",
        "--",
        beside_python("mpiexec"),
        "-n",
        "3",
        sys.executable,
        "-c",
        "import mpi4py.MPI; raise SystemExit(7)",
    )
    done = pse(*command, cwd=tmp_path)
    assert done.code == 7
    assert done.err.count("seen\n") == 3


def test_relative_paths_and_the_search_path(pse, good, tmp_path, shared_cache):
    shutil.copy(good, tmp_path / "near.so")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(good, tmp_path / "elsewhere" / "libfar.so")
    (tmp_path / "conf").write_text("module ./near.so  # beside this file\nmodule far\n")
    variables = {"PSE_CACHE": str(shared_cache), "PSE_TOOLS_PATH": f"/nowhere:{tmp_path / 'elsewhere'}"}
    done = pse("tools", "check", tmp_path / "conf", env=variables, cwd=Path("/"))
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^near +1 +1 routines", done.out, re.MULTILINE)
    assert re.search(r"^far +2 +1 routines +.*/libfar\.so", done.out, re.MULTILINE)
    listed = pse("tools", "list", env=variables)
    assert re.search(r"^far +1 routines", listed.out, re.MULTILINE)


def test_show_names_routines_and_services(pse, tool, tmp_path):
    path = tool(
        "giver", GOOD + START.format('tools->publish(tools->self, "time", "double (*)(void)", 0); return 0;')
    )
    (tmp_path / "conf").write_text(f"module {path} as giver\n")
    done = pse("tools", "show", tmp_path / "conf")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"giver  ({path})\n    MPI_Barrier\n    publishes time: double (*)(void)\n"


@pytest.mark.mpi
def test_an_adopted_tool_runs_in_a_stack(pse, tool, tmp_path, stacked):
    path = tool("says", SAYS)
    done = pse("tools", "adopt", "--rewrite", path, tmp_path / "adopted.so")
    assert (done.code, done.out) == (0, f"{tmp_path}/adopted.so: 1 imports renamed from PMPI_ to XMPI_\n")
    done = stacked(1, f"module {tmp_path}/adopted.so\nmodule {path}\n", "-c", "import mpi4py.MPI")
    assert (done.code, done.err) == (0, "seen\nseen\n")


def test_what_can_not_be_adopted_is_said(pse, tmp_path, mpi):
    (tmp_path / "text").write_text("no tool")
    done = pse("tools", "adopt", "--rewrite", tmp_path / "text", tmp_path / "out")
    assert (done.code, done.err.count("is not a shared object")) == (2, 1)
    done = pse("tools", "adopt", "--rewrite", mpi.path, tmp_path / "out")
    assert (done.code, done.err.count("it is linked with an MPI library, not a tool")) == (2, 1)


def test_a_library_that_is_no_mpi_is_refused(pse, good):
    done = pse("tools", "library", "--mpi", good)
    assert done.code == 2
    assert f"{good} is not an MPI library" in done.err
    assert pse("tools", "library", "--mpi", "/no/such/libmpi.so").err.startswith(
        "error: --mpi /no/such/libmpi.so: there is no such file"
    )


def test_the_library_is_made_once(pse):
    first = pse("tools", "library").out
    stamp = os.stat(first.strip()).st_mtime_ns
    assert pse("tools", "library").out == first
    assert os.stat(first.strip()).st_mtime_ns == stamp


@pytest.mark.mpi
def test_what_tools_lack_that_have_names_only_is_said_once_with_their_option(pse, ring, tmp_path):
    done = pse("tools", "run", "--tools", "trace", "-n", "3", ring, cwd=tmp_path)
    assert done.code == 2
    assert done.err.count("no directory to write to: give it as `argument directory DIR` below `module") == 1
    assert done.err.startswith("error: --tools trace: tool `trace`: ")
    (tmp_path / "own.conf").write_text("module profile\n")
    done = pse("tools", "run", "--tools", "own.conf", ring, cwd=tmp_path)
    assert done.code == 0, done.err
    done = pse("tools", "run", "--tools", "profile,nope", ring, cwd=tmp_path)
    assert done.err.startswith("error: --tools profile,nope: tool `nope`: there is no tool `nope`")
    assert done.err.endswith(
        "help: name other tools, or write a configuration, where tools have arguments and may be `optional`\n"
    )


@pytest.mark.parametrize("ranks", [(), ("-n", "2")])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("t.py", "it is a source file of Python\nhelp: let Python run it:  python t.py\n"),
        ("./run.py", "it is a source file of Python\nhelp: let Python run it:  python ./run.py\n"),
        ("./a.out", "the file is not executable\nhelp: make it so:  chmod +x ./a.out\n"),
        ("./made", "it is a directory\nhelp: give the path of the program in it\n"),
        ("nope", "there is no such program, here or on PATH\nhelp: give its path, or a name on PATH\n"),
    ],
)
def test_a_command_that_can_not_be_executed_is_refused_before_anything_starts(
    pse, tmp_path, ranks, name, why
):
    for file in ("t.py", "run.py", "a.out"):
        (tmp_path / file).write_text("print(1)\n")
    (tmp_path / "run.py").chmod(0o755)  # Without a line that names an interpreter, a shell would read it.
    (tmp_path / "made").mkdir()
    done = pse("tools", "run", "--tools", "profile", *ranks, name, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (2, "", f"error: {name} can't be started: {why}")


@pytest.mark.mpi
def test_a_coven_program_runs_under_tools(pse, tool, tmp_path):
    (tmp_path / "conf").write_text(f"module {tool('says', SAYS)}\n")
    (tmp_path / "p.coven").write_text("coven 1\nprogram p {\n  thread_A print(1)\n}\n")
    done = pse("run", "p.coven", "--tools", "conf", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "seen\n" in done.err
    done = pse("run", "p.coven", "--tools", "profile", cwd=tmp_path)
    assert (done.code, "MPI_Init" in done.err) == (0, True), done.err
    done = pse("run", "p.coven", "--tools", "profile,nope", cwd=tmp_path)
    assert done.err.startswith("error: --tools profile,nope: tool `nope`: there is no tool `nope`")
    done = pse("run", "p.coven", "--tools", "./nothing", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith(
        f"error: {tmp_path}/nothing: the configuration of the tool stack can't be read"
    )
