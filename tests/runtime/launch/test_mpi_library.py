"""The MPI library is loaded by a thread while Python loads NumPy: neither disturbs the other."""

import json
import subprocess
import sys

import pytest

from pse.runtime.rank import _mpi_library

WATCHED = """
import json, sys
changed = []
words = ("os.putenv", "os.unsetenv")
sys.addaudithook(lambda event, given: changed.append(str(given)) if event in words else None)
from pse.runtime.rank import load_mpi_meanwhile
load_mpi_meanwhile()
before = len(changed)
import numpy
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(json.dumps(changed[before:]))
"""


@pytest.mark.skipif(_mpi_library._library() is None, reason="this MPI is not loaded by a thread")
def test_nobody_changes_the_environment_while_the_thread_reads_it(monkeypatch):
    monkeypatch.delenv("OPENBLAS_MAIN_FREE", raising=False)
    said = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == []
