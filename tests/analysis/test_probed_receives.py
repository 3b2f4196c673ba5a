"""Late senders of messages that MPI_Mprobe waits for, as mpi4py's `recv` does."""

import pytest
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import region_rows, text_rows

from pse.analysis import analyze

PROBE, RECEIVE = 50, 51


def planted(directory, probes, sends=(4000,)):
    """Rank 1 probes, then receives what rank 0 sent."""
    program = PlantedWaits(2, [[0, 1]])
    program.rows[1] += [*text_rows(PROBE, "MPI_Mprobe"), *text_rows(RECEIVE, "MPI_Mrecv")]
    for time in sends:
        program.call(0, "MPI_Send", time, time + 50, program.send(0, time + 1, 1, 0, 7))
    for begin, end in probes:
        program.rows[1] += region_rows(PROBE, begin, end)
    for number in range(len(sends)):
        begin = 6000 + 100 * number
        program.rows[1] += region_rows(RECEIVE, begin, begin + 50, [program.receive(begin + 9, 0, 0, 7)])
    return program.write(directory / "run")


@pytest.mark.parametrize(
    ("probes", "sends", "waits"),
    [
        ([(1000, 5000)], (4000,), {"MPI_Mprobe": [0, 3000]}),
        ([(4500, 5000)], (4000,), {}),  # The message is there.
        ([], (4000,), {}),  # MPI_Improbe found it.
        ([(1000, 2500), (2600, 5000)], (2000, 4000), {}),  # Which probe found which message?
    ],
)
def test_the_probe_waits_for_a_late_sender(tmp_path, probes, sends, waits):
    cube = analyze(planted(tmp_path, probes, sends))
    assert cube.by_region("mpi_latesender") == waits
    assert cube.total("mpi_latereceiver") == 0
    assert cube.problems == ()
