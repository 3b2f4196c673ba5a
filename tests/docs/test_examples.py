"""The manual's examples, run: what a reader types gives what the page shows."""

import functools
import subprocess

import numpy as np
import pytest
from pse_testing.jobs import beside_python, has_mpich

import pse.trace

from . import manual_pages
from .manual_pages import ROOT, Block, blocks, commands, follow, followed, matches, runnable

MPICH_PAGES = {
    "analysis": "it has options of MPICH's mpiexec, and times of an MPI that starts in no time",
    "installing": "it shows what is found where MPICH is installed",
}
COMPILING_PAGES = ("tools", "mpitools")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@functools.cache
def compiles_mpi():
    """Whether mpicc can: Intel MPI's package in the registry is without mpi.h."""
    command = [beside_python("mpicc"), "-x", "c", "-", "-fsyntax-only"]
    return subprocess.run(command, input=b"#include <mpi.h>", capture_output=True).returncode == 0


@pytest.mark.mpi
@pytest.mark.parametrize(
    "page", [page for page in PAGES if runnable(page.read_text())], ids=lambda page: page.stem
)
def test_examples_do_what_the_page_says(page):
    if page.stem in MPICH_PAGES and not has_mpich():
        pytest.skip(MPICH_PAGES[page.stem])
    if page.stem in COMPILING_PAGES and not compiles_mpi():
        pytest.skip("it compiles programs of MPI, and mpicc has no mpi.h here")
    wrong, _ = followed(page)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.mpi
def test_the_threads_of_the_tutorial_overlap():
    """A picture goes to the archive while the shutter is open for the next one."""
    _, directory = followed(ROOT / "docs" / "tutorial.md")
    trace = pse.trace.open(directory / "trace")
    numbers = {site.module: site.id for site in trace.definitions.sites}
    calls = trace.module_calls()
    expose, archive = (calls[calls["site"] == numbers[name]] for name in ("expose", "archive"))
    starts = np.maximum(expose["enter"][:, None], archive["enter"][None, :])
    ends = np.minimum(expose["leave"][:, None], archive["leave"][None, :])
    assert (ends > starts).any()


def test_blocks_are_found_with_their_options():
    page = "text\n\n```c file=a.c\nint a;\n```\n```console exit=1\n$ false\n```\n```\nplain\n```\n"
    found = blocks(page)
    assert [(b.line, b.language, b.options) for b in found] == [
        (3, "c", {"file": "a.c"}),
        (6, "console", {"exit": "1"}),
        (9, "", {}),
    ]
    assert found[0].text == "int a;\n"
    assert len(runnable(page)) == 2


def test_a_console_block_is_commands_and_what_they_print():
    first, second = commands(Block(10, "console", {"exit": "3"}, "$ one\na\nb\n$ two\n"))
    assert (first.line, first.text, first.shown, first.code) == (11, "one", ["a", "b"], 0)
    assert (second.line, second.text, second.shown, second.code) == (14, "two", [], 3)


def test_a_console_block_begins_with_a_command():
    with pytest.raises(ValueError, match=r"line 4: a console block begins with `\$ `"):
        commands(Block(3, "console", {}, "output\n"))


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "b"], "a\nb\n", True),
        (["a", "b"], "a\nc\n", False),
        (["a"], "a\nb\n", False),
        ([], "anything\n", False),
        (["a … d"], "a b c d\n", True),
        (["a", "…"], "a\nb\nc\n", True),
        (["…", "c"], "a\nb\nc\n", True),
        (["…", "c"], "a\nb\n", False),
        (["took 1.84 s", "x  39 %  0.860"], "took 12 ms\nx 4 % 12.001\n", True),
        (["8 calls"], "9 calls\n", False),
        (["0.2314553734"], "0.2314553735\n", False),
        (["a.c"], "abc\n", False),
    ],
)
def test_output_of_an_example_is_compared_but_for_what_differs_from_run_to_run(shown, printed, same):
    assert matches(shown, printed) is same


def test_a_page_that_lies_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh file=a.txt\nhello\n```\n```console\n$ cat a.txt\nhello\n$ false\n```\n"
        "```console exit=7\n$ exit 7\n```\n"
    )
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(manual_pages, "ROOT", tmp_path)
    wrong = list(follow(page, tmp_path / "work"))
    assert len(wrong) == 1
    assert wrong[0].startswith("page.md:7: false\n--- the page says (exit code 0)")
