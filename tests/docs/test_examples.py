"""The manual's examples, run: what a reader types gives what the page shows.

A page's fenced blocks tell what to do by their info strings, in the page's order, in an empty directory:

- ```` ```c file=blur.c ```` writes a file (any language; a later block of the same name replaces it);
- ```` ```console ```` runs each line after ``$ `` in a shell and compares what it prints, standard output and
  error together; ```` ```console exit=1 ```` expects that exit code of the last command, all others 0.

In what is shown ``…`` stands for any text, and for any lines where it stands alone; times, percentages, a
"–" in the place of one, and runs of blanks are not compared.  Other blocks are not touched.  `programs` and
`examples` of the repository lie in the directory.
"""

import functools
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from pse_testing.commands import WITHOUT_RANKS, shown_here

import pse.trace

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)
TIME = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?\s?(?:ns|µs|ms|s|%)(?!\w)|(?<![\w.])\d+\.\d{3}(?![\w.])|(?<= )–(?= )"
)
SLOW = re.compile(
    r"\[ *\d+\.\d s\] preparing |warning: more than 1 % of the time slices of \S+ µs came late, so "
)
"""What a run says where it takes long to begin, and where others take the cores away from time slices."""
SHELL = re.compile(r"[^\w ./:,=%+@-]")
"""What only a shell understands."""
SECONDS = 120


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, the options after it."""

    line: int
    language: str
    options: dict[str, str]
    text: str


@dataclass
class Command:
    """A command of a console block, and what it is to print."""

    line: int
    text: str
    shown: list[str] = field(default_factory=list)
    code: int = 0


def blocks(page: str) -> list[Block]:
    """Find the fenced blocks of a page."""
    return [
        Block(page.count("\n", 0, match.start()) + 1, *_info(match["info"]), match["text"])
        for match in FENCE.finditer(page)
    ]


def _info(text: str) -> tuple[str, dict[str, str]]:
    language, *options = shlex.split(text) or [""]
    return language, dict(option.partition("=")[::2] for option in options)


def commands(block: Block) -> list[Command]:
    """Take a console block apart."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            found.append(Command(number, line[2:]))
        elif found:
            found[-1].shown.append(line)
        else:
            raise ValueError(f"line {number}: a console block begins with `$ `")
    found[-1].code = int(block.options.get("exit", 0))
    return found


def runnable(page: str) -> list[Block]:
    """Keep the blocks that are to be written or run."""
    return [block for block in blocks(page) if block.language == "console" or "file" in block.options]


def matches(shown: list[str], printed: str) -> bool:
    """Compare what a page shows with what a command printed."""
    lines = [_plain(line) for line in printed.splitlines() if not SLOW.match(line)]
    return (
        re.fullmatch(_pattern([_plain(line) for line in shown]), "".join(f"{line}\n" for line in lines))
        is not None
    )


def _plain(line: str) -> str:
    return " ".join(TIME.sub(" # ", line).split())


def _pattern(shown: list[str]) -> str:
    return "".join(
        r"(?:.*\n)*" if line == "…" else r"[^\n]*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown
    )


def environment(directory: Path) -> dict[str, str]:
    """Give commands this interpreter's programs, a cache of their own, and a width that folds nothing."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {
        "PATH": path,
        "PSE_CACHE": str(directory / ".cache"),
        "COLUMNS": "160",
        "LC_ALL": "C.UTF-8",
    }


def follow(page: Path, directory: Path) -> Iterator[str]:
    """Do what a page says; gives what went otherwise than it says."""
    for name in ("programs", "examples"):
        (directory / name).symlink_to(ROOT / name)
    for block in runnable(page.read_text()):
        if "file" in block.options:
            (directory / block.options["file"]).write_text(block.text)
        else:
            for command in commands(block):
                yield from _complaints(page, command, directory)


def _complaints(page: Path, command: Command, directory: Path) -> Iterator[str]:
    code, printed = run(command.text, directory)
    if code == command.code and matches(command.shown, printed):
        return
    lines = [
        f"{page.relative_to(ROOT)}:{command.line}: {command.text}",
        f"--- the page says (exit code {command.code})",
        *command.shown,
        f"--- it printed (exit code {code})",
        printed,
    ]
    yield "\n".join(lines)


def run(command: str, directory: Path) -> tuple[int, str]:
    """Run a shell command; gives its exit code and all that it printed."""
    name, *words = command.split(" ")
    if name == "pse" and words[0] in WITHOUT_RANKS and not SHELL.search(command):
        return shown_here(words, directory, environment(directory))
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=directory,
        env=environment(directory),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # A launcher takes its ranks along.
        printed, _ = process.communicate()
        printed += f"(killed: not done after {SECONDS} s)"
    return process.returncode, printed


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Follow a page, once; gives what was wrong and the directory that it left."""

    @functools.cache
    def once(page):
        directory = tmp_path_factory.mktemp(page.stem)
        return list(follow(page, directory)), directory

    return once


@pytest.mark.mpi
@pytest.mark.parametrize(
    "page", [page for page in PAGES if runnable(page.read_text())], ids=lambda page: page.stem
)
def test_examples_do_what_the_page_says(page, followed):
    wrong, _ = followed(page)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.mpi
def test_the_threads_of_the_tutorial_overlap(followed):
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
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    wrong = list(follow(page, tmp_path / "work"))
    assert len(wrong) == 1
    assert wrong[0].startswith("page.md:7: false\n--- the page says (exit code 0)")
