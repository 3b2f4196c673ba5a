"""The engine's comparison of clocks: right within its own bound, whatever they are off by."""

import socket
from pathlib import Path

import pytest

from pse import trace
from pse.trace import EventType
from pse.trace.format import low32

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parent / "programs" / "clocks.py"


@pytest.mark.parametrize(
    ("metahosts", "references"), [("A", [None]), ("AAA", [None, 0, 0]), ("ABBAB", [None, 0, 1, 0, 1])]
)
def test_clocks_are_compared_up_the_trees_of_nodes(mpiexec, tmp_path, metahosts, references):
    ended = mpiexec(len(metahosts), PROGRAM, str(tmp_path), metahosts, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err
    read = trace.open(tmp_path)
    assert len(read.select(0, EventType.CLOCK_SYNC)) == 0
    for rank, reference in enumerate(references):
        assert read.files[rank].host == f"{metahosts[rank]}/{socket.gethostname()}"
        if reference is not None:
            (sync,) = read.select(rank, EventType.CLOCK_SYNC)
            assert low32(sync["c"]) == reference
            off = int(sync["a"].view("i8")) + 1_000_000_000 * (rank - reference)
            assert abs(off) <= int(sync["b"])
