"""Wait states of known length are found to the nanosecond, and nothing else is."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.planted_waits import PlantedWaits

from pse.analysis import METRICS, analyze, critical_path
from pse.analysis.cube._metrics import WAIT_OF_DELAY, ancestors

RANKS = 5
WORLD = list(range(RANKS))
COMMUNICATORS = [WORLD, [3, 0, 4], [1, 2], [4, 3, 2, 1], [0, 2, 1, 3, 4]]
GROUPS = {4: 2}
"""The communicator between two groups, and how many ranks the first one has."""
HOSTS = [[], ["FZJ/n0", "FZJ/n0", "BRS/n1", "BRS/n2", "FZJ/n3"], [f"m{rank}/node" for rank in WORLD]]
CLOCKS = [{}, {"FZJ/n0": (3_000, 0.0), "BRS/n1": (10**15, 0.0), "FZJ/n3": (7, 0.0), "m4/node": (10**9, 0.0)}]
WAITS = st.integers(0, 10**9)
STATES = {metric.name for metric in METRICS if metric.unit == "ns" and "time" in ancestors(metric.name)} - {
    *("time", "execution", "mpi", "mpi_communication", "mpi_synchronization", "mpi_point2point"),
    *("mpi_collective", "mpi_init_exit", "mpi_other"),
}
COLLECTIVES = (
    *("MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast", "MPI_Scatter", "MPI_Reduce"),
    *("MPI_Gather", "MPI_Scan", "MPI_Neighbor_alltoall", "MPI_Neighbor_allgatherv"),
    *("MPI_Neighbor_alltoallw",),
)


BETWEEN_GROUPS = COLLECTIVES[:7]


def some_sources(draw, planted, on):
    """Choose a rank of a communicator, and in some order those that may send to it."""
    members = planted.communicators[on]
    target = draw(st.integers(0, len(members) - 1))
    partners = draw(st.permutations(planted.partners(on, target)))
    return members[target], [members[place] for place in partners]


def draw_step(draw, planted):
    """Take one step, in one of the communicators."""
    on = draw(st.integers(0, len(COMMUNICATORS) - 1))
    size = len(COMMUNICATORS[on])
    target, sources = some_sources(draw, planted, on)
    source, kind = sources[0], draw(st.integers(0, 9))
    several = draw(st.lists(st.sampled_from(sources), min_size=1, max_size=5))
    waits = [draw(WAITS) for _ in several]
    if kind == 0:
        planted.late_sender(on, source, target, draw(WAITS), draw(st.integers(0, 3)), draw(st.booleans()))
    elif kind == 1:
        planted.late_receiver(on, source, target, draw(WAITS), draw(st.integers(0, 3)), draw(st.booleans()))
    elif kind == 2:
        planted.waitall(on, several, target, waits, draw(st.booleans()))
    elif kind == 3:
        planted.wrong_order(on, source, draw(st.sampled_from(sources)), target, draw(WAITS))
    elif kind == 4:
        rank = draw(st.sampled_from(WORLD))
        planted.enter(rank, draw(st.sampled_from(["solve", "exchange", "halo"])))
    elif kind == 5:
        planted.leave(draw(st.sampled_from(WORLD)))
    elif kind == 6:
        planted.waitsome(on, several, target, waits, draw(st.lists(st.integers(1, 3), max_size=5)))
    elif kind == 7:
        planted.persistent(on, source, target, draw(WAITS), draw(st.booleans()))
        planted.exchanged(on, source, target, draw(WAITS))
    elif kind == 8:
        planted.partitioned(on, source, target, waits, draw(st.permutations(range(len(waits)))))
    else:
        begins, ends = ([draw(WAITS) for _ in range(size)] for _ in range(2))
        names = BETWEEN_GROUPS if on in GROUPS else COLLECTIVES
        root = draw(st.integers(0, size - 1))
        planted.collective(on, draw(st.sampled_from(names)), begins, [end + 1 for end in ends], root)


@st.composite
def programs(draw):
    hosts, clocks = draw(st.sampled_from(HOSTS)), draw(st.sampled_from(CLOCKS))
    planted = PlantedWaits(RANKS, COMMUNICATORS, hosts, clocks, groups=GROUPS)
    for _ in range(draw(st.integers(1, 12))):
        draw_step(draw, planted)
    return planted


def found_in(cube):
    """Wait states by metric, call path and rank."""
    return {
        (metric, cube.path_text(path), cube.locations[place].rank): values[path, place]
        for metric, values in cube.values.items()
        if metric in STATES
        for path, place in zip(*values.nonzero(), strict=True)
    }


def assert_explained(cube):
    """Assert that costs of delays are what ranks waited for, and that the critical path is all of the run."""
    for state, metric in WAIT_OF_DELAY.items():
        costs = [cube.total(f"delay_{state}{term}") for term in ("", "_longterm")]
        assert sum(costs) == pytest.approx(cube.total(metric), abs=0.5), metric
    assert cube.total("critical_path") == max(cube.inclusive("time")[0])


@settings(max_examples=some_of(40), deadline=None)
@given(programs())
def test_what_is_planted_is_found_and_nothing_else(planted):
    with tempfile.TemporaryDirectory() as directory:
        trace = planted.write(Path(directory) / "run")
        cube, path = analyze(trace), critical_path(trace)
    if len(path.steps):  # Without calls of MPI or of modules, pse trace critical has nothing to tell.
        assert path.length == pytest.approx(cube.total("critical_path"), abs=1)
    assert found_in(cube) == dict(planted.expected)
    assert [text for text in cube.problems if "metahosts" not in text and "compared" not in text] == []
    assert_explained(cube)
    assert cube.total("time") == sum(rows[-1]["time"] - rows[0]["time"] for rows in planted.rows if rows)
