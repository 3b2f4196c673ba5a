"""Checks of the arena in C: compiled together with its sources."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = sorted((HERE.parents[1] / "cext" / "arena").glob("*.c"))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Give a function that compiles a program of this folder, by its name, and gives the executable."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("arena")

    def build(name):
        flags = [
            "-std=gnu11",
            "-O2",
            "-pthread",
            "-Wl,-z,now",
            f"-I{SOURCES[0].parent}",
            f"-I{HERE.parents[1] / 'cext' / 'abi' / 'include'}",
        ]
        command = [compiler, *flags, HERE / f"{name}.c", *SOURCES, "-o", folder / name]
        subprocess.run(command, check=True)
        return folder / name

    return build
