"""Typed marshalling over MPI: strided parts travel as derived datatypes."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.mpi
STRIDED = Path(__file__).parent / "programs" / "strided.py"


@pytest.mark.parametrize("ranks", [1, 3])
def test_strided_arrays_travel_without_packing(mpiexec, ranks):
    ended = mpiexec(ranks, STRIDED, timeout=120)
    assert (ended.code, ended.out) == (0, "all arrived\n"), ended.err
