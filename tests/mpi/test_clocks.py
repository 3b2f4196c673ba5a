"""The engine's comparison of clocks: right within its own bound, whatever they are off by."""

from pathlib import Path

import pytest

from pse import trace
from pse.trace import EventType
from pse.trace.format import low32

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parent / "programs" / "clocks.py"


@pytest.mark.parametrize("ranks", [1, 3])
def test_clocks_are_compared_up_the_tree_of_nodes(mpiexec, tmp_path, ranks):
    ended = mpiexec(ranks, PROGRAM, str(tmp_path), timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err
    read = trace.open(tmp_path)
    assert len(read.select(0, EventType.CLOCK_SYNC)) == 0
    for rank in range(1, ranks):
        (sync,) = read.select(rank, EventType.CLOCK_SYNC)
        assert low32(sync["c"]) == 0
        off = int(sync["a"].view("i8")) + 1_000_000_000 * rank
        assert abs(off) <= int(sync["b"])
