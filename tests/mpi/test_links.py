"""The engine's measure of links: one figure from each node but the first, and it is possible."""

from pathlib import Path

import pytest

from pse import trace
from pse.runtime.transport._resource_counters import NUMBERS
from pse.trace import EventType
from pse.trace.format import LINK_RATE, value_of

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parent / "programs" / "links.py"


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_node_but_the_first_measures_its_link(mpiexec, tmp_path, ranks):
    ended = mpiexec(ranks, PROGRAM, str(tmp_path), timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err
    read = trace.open(tmp_path)
    for rank in range(ranks):
        samples = [
            event for event in read.select(rank, EventType.COUNTER) if event["a"] == NUMBERS[LINK_RATE]
        ]
        rates = [value_of(int(event["b"]), int(event["flags"])) for event in samples]
        assert len(rates) == (rank > 0)
        assert all(1e5 < rate < 1e12 for rate in rates)
