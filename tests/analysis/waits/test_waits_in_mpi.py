"""Calls of MPI lead to the ranks that the analysis finds late: in probes, requests, roots and threads."""

import pytest
from pse_testing.planted_waits import ROUTINES, PlantedWaits
from pse_testing.traces import region_rows, text_rows

from pse.analysis import analyze, wait_chain, wait_chain_text, wait_ends
from pse.trace import NONE, Collective, EventType, pair

OWN = 50


def ended(run, rank, time, thread=None):
    """Who ended what a rank waited for at a time, and when that was."""
    end = wait_chain(run, rank, time, thread).links[0].ended_by
    return None if end is None else (end.rank, end.time)


@pytest.mark.parametrize("probe", ["MPI_Mprobe", "MPI_Probe"])
def test_a_probe_waits_for_the_sender(tmp_path, probe):
    program = PlantedWaits(2, [[0, 1]])
    program.rows[1] += text_rows(OWN, probe)
    program.call(0, "MPI_Send", 4000, 4050, program.send(0, 4001, 1, 0, 7))
    found = program.receive(4999, 0, 0, 7) | {"type": EventType.MPI_PROBE}
    program.rows[1] += region_rows(OWN, 1000, 5000, [found])
    program.call(1, "MPI_Recv", 6000, 6010, program.receive(6009, 0, 0, 7))
    run = program.write(tmp_path / "run")
    assert ended(run, 1, 2000) == (0, 4001)
    lines = [*wait_chain_text(wait_chain(run, 1, 2000))]
    assert "until rank 0 sent a message with tag 7" in lines[3]
    ends, texts = wait_ends(run)
    assert [(row["rank"], row["late"], texts[row["how"]]) for row in ends] == [
        (1, 0, "sent its message (8 B)")
    ]


@pytest.mark.parametrize(
    "operation", [Collective.ALLREDUCE, Collective.BARRIER, Collective.CREATE_COMMUNICATOR]
)
def test_who_completes_a_request_waits_for_the_last_to_start_the_operation(tmp_path, operation):
    program = PlantedWaits(3, [[0, 1, 2]])
    for rank, (start, enter) in enumerate([(1000, 2000), (1000, 4200), (4000, 4100)]):
        common = {"flags": operation, "c": pair(1, 9)}
        begun = {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": start, "a": NONE, **common}
        done = {"type": EventType.MPI_COLLECTIVE_END, "time": 4500, "a": 8, "b": 8, **common}
        program.rows[rank] += text_rows(OWN, "MPI_Istart")
        program.rows[rank] += region_rows(OWN, start, start + 10, [begun])
        program.call(rank, "MPI_Wait", enter, 4500, done)
    run = program.write(tmp_path / "run")
    assert ended(run, 0, 3000) == (2, 4000)
    assert ended(run, 1, 4300) is None


def test_neighbours_and_those_before_are_waited_for(tmp_path):
    program = PlantedWaits(4, [[0, 1, 2, 3]])
    program.collective(0, "MPI_Neighbor_alltoall", [500, 0, 200, 900], [1] * 4)
    program.collective(0, "MPI_Scan", [500, 0, 200, 900], [1] * 4)
    run = program.write(tmp_path / "run")
    for begin in (1010, 1010 + 901 + 10):
        assert ended(run, 1, begin + 100) == (0, begin + 500)


def test_a_root_waits_for_the_first_then_for_the_last(tmp_path):
    program = PlantedWaits(3, [[0, 1, 2]])
    program.collective(0, "MPI_Reduce", [0, 900, 500], [1] * 3)
    run = program.write(tmp_path / "run")
    begin = 1010
    assert analyze(run).by_region("mpi_earlyreduce") == {"MPI_Reduce": [500, 0, 0]}
    assert ended(run, 0, begin + 300) == (2, begin + 500)
    assert ended(run, 0, begin + 600) == (1, begin + 900)


def test_a_message_ends_the_wait_of_the_thread_that_receives_it(tmp_path):
    """Thread 1 waits for a message when thread 2 enters a call that nobody ends."""
    program = PlantedWaits(2, [[0, 1]])
    names = ("MPI_Recv", 1000, 1), ("MPI_Barrier", 1100, 2), ("MPI_Recv", 5010, 1), ("MPI_Barrier", 6000, 2)
    for number, (name, time, thread) in enumerate(names):
        row = {"type": EventType.REGION_ENTER, "time": time, "a": ROUTINES.index(name)}
        if number > 1:
            row |= {"type": EventType.REGION_LEAVE, "b": names[number - 2][1]}
        inside = [program.receive(5000, 1, 0, 7)] if number == 2 else []
        program.rows[0] += [{"type": EventType.THREAD, "time": time, "a": thread}, *inside, row]
    program.call(1, "MPI_Send", 4790, 4900, program.send(1, 4800, 0, 0, 7))
    run = program.write(tmp_path / "run")
    assert ended(run, 0, 3000, thread=1) == (1, 4800)
    assert ended(run, 0, 3000, thread=2) is None
