"""Make the pictures of the gallery and of the pages of applications: run their commands, keep what they show.

A hook of mkdocs: `mkdocs.yml` names it.  Commands run in a temporary directory in which `programs` of the
repository lies.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from pse_testing.commands import WITHOUT_RANKS, shown_here

SECONDS = 300
PAGES = ("gallery.md", "flow.md", "galaxies.md", "molecules.md", "scenes.md")
BLOCK = r"^```(sh|console pictures)\n(.*?)^```$"


def run(command: str, directory: Path) -> None:
    """Run a command of the page; if it fails, the manual is not built."""
    words = shlex.split(command)
    here = words[0] == "pse" and words[1] in WITHOUT_RANKS
    code, shown = shown_here(words[1:], directory, {}) if here else run_process(words, directory)
    if code:
        raise Abort(
            f"{shown}\nThe gallery can't be made: `{command}` ended with exit code {code}.\n"
            "Its programs run on this machine: they need the compiled extensions (make ext) and an MPI\n"
            "(pip install 'pse[mpich,fft,views,scenes]')."
        )


def run_process(words: list[str], directory: Path) -> tuple[int, str]:
    """Run a command in a process of its own; give its exit code and what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        words,
        cwd=directory,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def make(page: str, programs: Path) -> dict[str, bytes]:
    """Run the page's commands in their order; gives the files that it shows by their names."""
    with tempfile.TemporaryDirectory(prefix="pse-gallery-") as name:
        directory = Path(name)
        (directory / "programs").symlink_to(programs)
        for kind, block in re.findall(BLOCK, page, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if kind == "sh" or line.startswith("$ "):
                    run(line.removeprefix("$ "), directory)
        shown = sorted(set(re.findall(r"\bgallery/([\w.-]+)", page)))
        return {file: (directory / file).read_bytes() for file in shown}


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pictures."""
    programs = Path(config.config_file_path).with_name("programs")
    for name in PAGES:
        page = files.get_file_from_path(name)
        assert page is not None
        for picture, content in make(page.content_string, programs).items():
            files.append(File.generated(config, f"gallery/{picture}", content=content))
