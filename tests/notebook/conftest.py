"""Fixtures for the notebook's tests: a folder with a small program, kernels, a cache of builds."""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pse

EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
client.execute(cwd=sys.argv[2])
nbformat.write(notebook, sys.argv[1])
"""

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with squares.coven, in which the test runs."""
    shutil.copytree(PROGRAMS, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recorded run of squares.coven, given as text."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        text = (folder / "squares.coven").read_text()
        return pse.run(text, params={"n": 5}, trace="trace", progress=False)


@pytest.fixture(scope="session")
def execute(tmp_path_factory):
    """Execute a notebook (a path, or the texts of cells) in a kernel, in a folder; gives its code cells."""

    def run(notebook, folder):
        file = tmp_path_factory.mktemp("executed") / "executed.ipynb"
        if isinstance(notebook, Path):
            shutil.copy(notebook, file)
        else:
            file.write_text(json.dumps(as_notebook(notebook)))
        done = subprocess.run(
            [sys.executable, "-c", EXECUTE, str(file), str(folder)],
            capture_output=True,
            text=True,
            timeout=150,
        )
        assert done.returncode == 0, done.stderr
        return [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]

    return run


def as_notebook(texts):
    """Make a notebook of code cells."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": text,
            "outputs": [],
            "execution_count": None,
        }
        for number, text in enumerate(texts)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
