"""Pages of the manual, followed: what a reader types is run, and compared with what the page shows.

A page's fenced blocks tell what to do by their info strings, in the page's order, in an empty directory:

- ```` ```c file=blur.c ```` writes a file (any language; a later block of the same name replaces it);
- ```` ```console ```` runs each line after ``$ `` in a shell and compares what it prints, standard output and
  error together; ```` ```console exit=1 ```` expects that exit code of the last command, all others 0.

In what is shown ``…`` stands for any text, and for any lines where it stands alone; times, percentages, a
"–" in the place of one, and runs of blanks are not compared.  Other blocks are not touched.  `programs` and
`examples` of the repository lie in the directory.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pse_testing.commands import WITHOUT_RANKS, shown_here
from pse_testing.jobs import has_open_mpi
from pse_testing.sharing import SHARED, made_once

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)
TIME = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?\s?(?:ns|µs|ms|s|%)(?!\w)|(?<![\w.])\d+\.\d{3}(?![\w.])|(?<= )–(?= )"
)
SLOW = re.compile(
    r"\[ *\d+\.\d s\] preparing |compiling the MPI tools for |"
    r"warning: more than 1 % of the time slices of \S+ µs came late, so "
)
"""What a run says where it takes long to begin, and where others take the cores away from time slices."""
LAUNCHER = re.compile(r"^-{74}\n(?:.*\n)*?-{74}\n|^\[\S+\] PMIX ERROR: .*\n", re.MULTILINE)
"""What Open MPI's launcher says of a job that failed, before or after the job's own words."""
LARGE_COUNT = re.compile(r"\b(MPI_[A-Z]\w*)_c\b")
"""What mpi4py calls where MPI has it; pages show it, and Open MPI has none."""
SHELL = re.compile(r"[^\w ./:,=%+@-]")
"""What only a shell understands."""
CACHE = re.compile(r"^\$ pse (cache|module build)\b", re.MULTILINE)
"""A command that shows what the cache has: its page has one of its own, others share that of all tests."""
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
    if has_open_mpi():
        printed, shown = LAUNCHER.sub("", printed), [LARGE_COUNT.sub(r"\1", line) for line in shown]
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
    text = page.read_text()
    for name in ("programs", "examples"):
        (directory / name).symlink_to(ROOT / name)
    if not CACHE.search(text):
        shared = Path(os.environ["PSE_CACHE"])
        shared.mkdir(mode=0o700, exist_ok=True)
        (directory / ".cache").symlink_to(shared, target_is_directory=True)
    for block in runnable(text):
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


def followed(page: Path) -> tuple[list[str], Path]:
    """Follow a page, once for all tests; gives what was wrong and the directory that it left."""
    directory = Path(os.environ[SHARED]) / "pages" / page.stem

    def once() -> list[str]:
        directory.mkdir(parents=True)
        return list(follow(page, directory))

    return made_once(f"page-{page.stem}", once), directory
