"""Statistics of messages: sums and extremes by pair of places, as tables, text, JSON and pictures."""

import json
import struct

import numpy as np
import pytest
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import patch_header

from pse import trace
from pse.analysis import message_statistics
from pse.errors import UsageError
from pse.trace import Selection, TraceError

HOSTS = ["FZJ/n0", "FZJ/n0", "FZJ/n1", "BRS/n0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Messages of 8 bytes; the last one of 0 to 3 takes long."""
    planted = PlantedWaits(4, [[0, 1, 2, 3]], HOSTS)
    for source, target in ((0, 1), (0, 2), (0, 3), (3, 0), (0, 3)):
        planted.late_sender(0, source, target, wait=100, tag=1, wildcard=False)
    planted.late_receiver(0, 0, 3, wait=1_000_000, tag=2, buffered=False)
    return planted.write(tmp_path_factory.mktemp("messages") / "run")


def rows(found):
    return {
        (found.names[pair["sender"]], found.names[pair["receiver"]]): (
            int(pair["messages"]),
            int(pair["bytes"]),
        )
        for pair in found.tables["MPI"]
    }


def test_messages_are_summed_up_by_metahost_node_and_rank(run):
    assert rows(message_statistics(run)) == {
        ("FZJ", "FZJ"): (2, 16), ("FZJ", "BRS"): (3, 24), ("BRS", "FZJ"): (1, 8),
    }  # fmt: skip
    assert rows(message_statistics(run, "node")) == {
        ("FZJ/n0", "FZJ/n0"): (1, 8), ("FZJ/n0", "FZJ/n1"): (1, 8), ("FZJ/n0", "BRS/n0"): (3, 24),
        ("BRS/n0", "FZJ/n0"): (1, 8),
    }  # fmt: skip
    assert rows(message_statistics(run, "rank"))["rank 0", "rank 3"] == (3, 24)
    with pytest.raises(UsageError, match="can't be counted by 'machine'"):
        message_statistics(run, "machine")


def test_the_shortest_message_counts_for_durations_and_the_fastest_for_rates(run):
    found = message_statistics(run)
    duration, rate = found.matrix("MPI", "duration"), found.matrix("MPI", "rate")
    assert duration[0].tolist() == [6, 6]  # A planted send is 6 ns before its receive.
    assert rate[0] == pytest.approx(8 / 6e-9)
    assert np.isnan(found.matrix("MPI", "bytes")[1, 1])
    slow = message_statistics(run, selection=Selection(begin=5e-6))
    assert slow.matrix("MPI", "duration")[0, 1] > 1_000_000


def test_the_file_of_metahosts_counts_here_too(run, tmp_path):
    (tmp_path / "metahosts").write_text("even ranks 0 2\nodd ranks 1 3\n")
    found = message_statistics(run, metahosts=tmp_path / "metahosts")
    assert rows(found) == {("even", "even"): (1, 8), ("even", "odd"): (4, 32), ("odd", "even"): (1, 8)}
    assert found.problems == ("ranks of node n0 are in the metahosts even and odd: they count as 2 nodes",)


def test_messages_that_clocks_put_before_their_sends_have_no_duration(tmp_path):
    planted = PlantedWaits(
        2, [[0, 1]], ["a/n", "b/m"], {"a/n": (5000, 0.0), "b/m": (3, 0.0)}, are_compared=False
    )
    planted.late_sender(0, 0, 1, wait=100, tag=1, wildcard=False)
    run = planted.write(tmp_path / "run")
    for rank in range(2):
        patch_header(run.path / f"rank-{rank:05}.mpi.events", "start_real", struct.pack("<qQ", 0, 0))
    found = message_statistics(trace.open(run.path))
    assert np.isnan(found.matrix("MPI", "duration")).all()
    assert any("1 message received before being sent" in problem for problem in found.problems)


def test_the_command_prints_and_draws(pse, run, tmp_path):
    done = pse("trace", "messages", run.path, "-o", tmp_path / "m.svg", "--top", 2)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:2] == ["MPI, by metahost", "sender  receiver  messages  bytes    max rate  min duration"]
    assert lines[3].split()[:5] == ["FZJ", "BRS", "3", "24", "B"]
    assert lines[-1] == "and 1 pair more with 8 B"
    assert "MPI: maximum rate" in (tmp_path / "m.svg").read_text()
    found = json.loads(pse("trace", "messages", run.path, "--by", "rank", "--format", "json").out)
    assert found["tables"]["MPI"][0] == {
        "sender": "rank 0", "receiver": "rank 1", "messages": 1, "bytes": 8, "rate": pytest.approx(8 / 6e-9),
        "duration": 6,
    }  # fmt: skip


def test_what_cannot_be_shown_is_refused(pse, run, tmp_path):
    silent = PlantedWaits(2, [[0, 1]])
    silent.collective(0, "MPI_Barrier", [0, 0], [1, 1])
    with pytest.raises(TraceError, match="in messages; the trace has 2 parts of collective op") as caught:
        message_statistics(silent.write(tmp_path / "silent"))
    assert caught.value.help == f"pse analyze {tmp_path / 'silent'} shows the time and bytes of these"
    silent = PlantedWaits(1, [[0]])
    silent.call(0, "MPI_Init", 0, 1)
    with pytest.raises(TraceError, match=r"sent nothing to each other$") as caught:
        message_statistics(silent.write(tmp_path / "calls"))
    assert caught.value.help == f"pse trace summary {tmp_path / 'calls'} shows what they called"
    done = pse("trace", "messages", run.path, "-o", tmp_path / "m.txt")
    assert (done.code, "png" in done.err) == (2, True)
