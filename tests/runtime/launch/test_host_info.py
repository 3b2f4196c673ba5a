"""What is said of this machine and its software."""

import subprocess
import sys

from pse.runtime.rank import mpi_library

ASKED_FIRST = """
from pse.runtime.rank import mpi_library
before = mpi_library()
from mpi4py import MPI
print(MPI.Is_initialized(), before == mpi_library())
"""


def test_who_asks_for_the_library_and_then_imports_mpi_has_it_started():
    done = subprocess.run([sys.executable, "-c", ASKED_FIRST], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_a_library_that_cannot_be_loaded_is_told_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("class rc: pass\n")
    (tmp_path / "mpi4py" / "MPI.py").write_text("raise RuntimeError('cannot load MPI library')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    assert mpi_library() == "none: cannot load MPI library"
