"""Allocations of the engine that fail end the run with words; nothing aborts, and nothing hangs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MOST = 40
"""Runs with a failing allocation, spread over all allocations of a run."""


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """Give the library that lets allocations fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("preloaded") / "fail_allocation.so"
    source = HERE.parent / "programs" / "fail_allocation.c"
    flags = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-fno-builtin"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize("place", ["one", "two"])
def test_a_failed_allocation_ends_the_run_with_words(preloaded, place):
    environment = os.environ | {"LD_PRELOAD": str(preloaded), "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, str(HERE / "starved.py"), place, str(MOST)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert said.returncode == 0, said.stderr[-2000:]
    count, ends = json.loads(said.stdout.splitlines()[-1])
    refused = [end for end in ends if end != "done"]
    assert count > MOST
    assert len(refused) > len(ends) // 4, "hardly an allocation failed"
    assert [end for end in refused if "no memory" not in end] == []
