"""Make the pictures of docs/gallery.md: run its commands and keep the files that the page shows.

mkdocs-gen-files runs this file while the manual is built.  Commands run in a temporary directory in which
`programs` of the repository lies.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import mkdocs_gen_files
from mkdocs.exceptions import Abort

ROOT = Path(__file__).parents[2]
SECONDS = 300


def run(command: str, directory: Path) -> None:
    """Run a command of the page; if it fails, the manual is not built."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        shlex.split(command),
        cwd=directory,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise Abort(
            f"{done.stdout}\nThe gallery can't be made: `{command}` ended with exit code {done.returncode}.\n"
            "Its programs run on this machine: they need the compiled extensions (make ext) and an MPI\n"
            "(pip install 'pse[mpich,fft,views]')."
        )


def make(page: str) -> None:
    """Run the page's commands in their order, then take the files that it shows into the manual."""
    with tempfile.TemporaryDirectory(prefix="pse-gallery-") as name:
        directory = Path(name)
        (directory / "programs").symlink_to(ROOT / "programs")
        for block in re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            for command in block.splitlines():
                run(command, directory)
        for file in sorted(set(re.findall(r"\bgallery/([\w.-]+)", page))):
            with mkdocs_gen_files.open(f"gallery/{file}", "wb") as kept:
                kept.write((directory / file).read_bytes())


make((ROOT / "docs" / "gallery.md").read_text())
