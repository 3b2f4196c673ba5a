"""Late senders of messages that a blocking probe waits for, as mpi4py's `recv` does by MPI_Mprobe."""

import pytest
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import region_rows, text_rows

from pse.analysis import analyze
from pse.trace import EventType

PROBE, RECEIVE = 50, 51


def planted(directory, probe, probes, sends, receives):
    """Ranks 0 and 2 send to rank 1, which probes, then receives."""
    program = PlantedWaits(3, [[0, 1, 2]])
    program.rows[1] += [*text_rows(PROBE, probe), *text_rows(RECEIVE, probe.replace("probe", "recv"))]
    for time, source, tag in sends:
        program.call(source, "MPI_Send", time, time + 50, program.send(source, time + 1, 1, 0, tag))
    for begin, end, source, tag in probes:
        found = program.receive(end - 1, source, 0, tag) | {"type": EventType.MPI_PROBE}
        program.rows[1] += region_rows(PROBE, begin, end, [found])
    for number, (source, tag) in enumerate(receives):
        begin = 6000 + 100 * number
        row = program.receive(begin + 9, source, 0, tag)
        program.rows[1] += region_rows(RECEIVE, begin, begin + 50, [row])
    return program.write(directory / "run")


@pytest.mark.parametrize("probe", ["MPI_Mprobe", "MPI_Probe"])
@pytest.mark.parametrize(
    ("probes", "sends", "receives", "wait"),
    [
        ([(1000, 5000, 0, 7)], [(4000, 0, 7)], [(0, 7)], 3000),
        ([(4500, 5000, 0, 7)], [(4000, 0, 7)], [(0, 7)], 0),  # The message is there.
        ([], [(4000, 0, 7)], [(0, 7)], 0),  # MPI_Iprobe found it.
        # The first probe waits, the second finds the same message.
        ([(1000, 2500, 0, 7), (2600, 2700, 0, 7)], [(2000, 0, 7)], [(0, 7)], 1000),
        # Two messages, received in the other order than they were found.
        ([(1000, 2500, 0, 7), (2600, 4500, 2, 8)], [(2000, 0, 7), (4000, 2, 8)], [(2, 8), (0, 7)], 2400),
        ([(1000, 2500, 0, 7)], [(2000, 0, 7)], [], 0),  # It is never received.
    ],
)
def test_the_probe_waits_for_a_late_sender(tmp_path, probe, probes, sends, receives, wait):
    cube = analyze(planted(tmp_path, probe, probes, sends, receives))
    assert cube.by_region("mpi_latesender") == ({probe: [0, wait, 0]} if wait else {})
    assert cube.total("mpi_latereceiver") == 0
    assert cube.problems == (() if receives else ("1 send without a receive in the trace",))
