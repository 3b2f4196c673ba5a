"""Simulated ranks: their schedule is that of real ones, and slices cost what the law of the network says."""

import math
from pathlib import Path

import numpy as np
import pytest

from pse import bcs
from pse._abi.coschedule import ACT_DTYPE, Act
from pse.errors import RunError

PROGRAM = Path(__file__).parent / "programs" / "simulated.py"
SAME = ["epoch", "receiver", "source", "receive", "send", "bytes", "tag", "kind"]
FREE = {"message": 0, "packet": 0, "copy": 0, "descriptor": 0, "match": 0, "slice": 0, "wake": 0}
COSTS = bcs.Costs.of_network(2e-6, 1e-10, "multicast", **FREE)


def workload(*ranks):
    """Make a program of lists of acts, one for each rank."""
    acts = np.array([(*act[:3], 0, act[3]) for acts in ranks for act in acts], ACT_DTYPE)
    return bcs.Workload(acts, np.cumsum([0, *map(len, ranks)]).astype(np.uint64))


def waits(schedule, name):
    """Count the slices from one step's receives of rank 0 to those of the next."""
    together = 2 if name == "sage" else 1
    slices = schedule["slice"][schedule["receiver"] == 0].astype(int).reshape(-1, together)
    return slices.min(axis=1)[1:] - slices.max(axis=1)[:-1]


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", ["sage", "sweep", "farm"])
def test_the_schedule_is_that_of_real_ranks(mpiexec, tmp_path, name, ranks):
    ended = mpiexec(ranks, PROGRAM, name, tmp_path / "schedules.npz")
    assert ended.code == 0, ended.err
    with np.load(tmp_path / "schedules.npz") as found:
        real, simulated = (
            np.sort(found[key], order=["receiver", "receive"]) for key in ("real", "simulated")
        )
    assert len(real) > 10
    assert np.array_equal(real[SAME], simulated[SAME])
    if name != "farm":  # On a busy machine real ranks are later, but never earlier.
        assert (waits(real, name) >= waits(simulated, name)).all()


@pytest.mark.parametrize("nodes", [1, 2, 300])
def test_a_barrier_is_scheduled_in_every_ninth_slice(nodes):
    found = bcs.simulate("barrier", nodes, COSTS, slice=250e-6)
    scheduled = found.slices["slice"][found.slices["ncollmsm"] > 0]
    assert len(scheduled) == 20
    assert set(np.diff(scheduled)) == {9}
    assert found.ideal == pytest.approx(20 * 1.9e-3)


def longest(found):
    """Give the seconds of the slices in which ranks had posted something, until all nodes had ended them."""
    posted = found.slices["ncolldem"] > 0
    return (found.slices["late"] + found.slices["gtts"])[posted] / 1e9


@pytest.mark.parametrize("nodes", [2, 5, 64, 1000])
def test_where_switches_multiply_messages_a_slice_takes_seven_multicasts(nodes):
    costs = bcs.Costs.of_network(3e-6, 0, "multicast", **FREE)
    once = costs.first + costs.level * math.ceil(math.log(nodes, 4) - 1e-9)
    found = bcs.simulate("barrier", nodes, costs, slice=1e-3)
    assert longest(found) == pytest.approx(7 * once + costs.alpha, abs=1e-8)


@pytest.mark.parametrize("nodes", [2, 8, 64, 1024])
def test_along_the_tree_a_slice_takes_four_messages_for_each_node_and_level(nodes):
    found = bcs.simulate("barrier", nodes, bcs.Costs.of_network(3e-6, 0, **FREE), slice=1e-3)
    assert longest(found) == pytest.approx(4 * math.log2(nodes) * 3e-6, abs=1e-8)
    assert found.messages == 4 * (nodes - 1) * len(found.slices)


def test_what_all_nodes_are_told_grows_with_their_number_and_what_neighbours_tell_each_other_does_not():
    """By a network of which only the bytes take time."""
    costs = bcs.Costs.of_network(0, 1e-9, **FREE)

    def exchange(name, nodes):
        return float(np.max(bcs.simulate(name, nodes, costs, slice=5e-3, steps=2).slices["gtdem"]))

    assert exchange("barrier", 1024) / exchange("barrier", 64) > 10
    assert exchange("sweep", 1024) / exchange("sweep", 64) < 3


def test_strobes_that_come_too_soon_are_counted():
    costs = bcs.Costs.of_network(30e-6, 0, **FREE)
    found = bcs.simulate("sage", 64, costs, slice=500e-6)
    assert found.slices["usrdem"].sum() + found.slices["usrmsm"].sum() > 10
    assert (np.diff(found.slices["slice"].astype(int)) > 1).all()


def test_one_node_needs_no_network():
    assert bcs.simulate("sage", 1, COSTS, ranks_per_node=4).coordination == 0


def test_all_messages_of_ten_thousand_nodes_are_matched():
    costs = bcs.Costs.of_network(2e-6, 1e-10, "multicast")
    found = bcs.simulate("sage", 10_000, costs, steps=3)
    assert len(found.matches) == 60_000
    assert (np.bincount(found.matches["receiver"]) == 6).all()
    assert 3 < found.overhead < 5
    assert found.seconds > found.ideal


def test_long_messages_take_a_chunk_of_each_slice():
    size = 10_000_000
    program = workload(
        [(Act.SEND, 1, 0, size), (Act.WAIT, 0, 0, 0)], [(Act.RECEIVE, 0, 0, size), (Act.WAIT, 0, 0, 0)]
    )
    found = bcs.simulate(program, 2, bcs.Costs(beta=1e-9, wake=0), slice=1e-3)
    assert 0.010 < found.seconds < 0.025  # A chunk is what half a slice has room for: 20 slices of a ms.
    assert 19 <= int(found.slices["slice"][-1]) <= 23


def test_late_strobes_make_slices_longer():
    costs = bcs.Costs.of_network(20e-6, 0, **FREE)
    found = bcs.simulate("sage", 1000, costs, slice=250e-6, steps=40, adapt=True)
    assert sorted(set(found.slices["length"])) == [250_000, 500_000, 1_000_000]


def test_ranks_that_wait_for_each_other_are_told():
    waits = [(Act.RECEIVE, 0, 0, 8), (Act.WAIT, 0, 0, 0)]
    with pytest.raises(RunError, match="the simulated ranks wait for each other"):
        bcs.simulate(workload(waits), 1, COSTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "1,x"], "error: --nodes is '1,x'; it must be numbers from 1 with commas"),
        (["--nodes", "2", "--slice", "50"], "error: a time slice of 50.0 µs is too short"),
        (["--nodes", "2", "--steps", "0"], "error: the number of steps is 0; it must be at least 1"),
    ],
)
def test_wrong_arguments_are_told(pse, words, said):
    ended = pse("bcs", "simulate", *words)
    assert ended.code == 2
    assert ended.err.startswith(said)


def test_the_command_prints_runs_and_laws(pse):
    ended = pse("bcs", "simulate", "--nodes", "2,8,32", "--workload", "barrier")
    assert ended.code == 0, ended.err
    assert "along the tree" in ended.out
    assert "of a slice" in ended.out
    assert "× log₂ p" in ended.out
