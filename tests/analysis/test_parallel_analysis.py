"""Several processes find what one finds, bit for bit, wherever the files of ranks lie."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pse_testing.example_counts import some_of
from pse_testing.thread_peers import on_threads
from pse_testing.traces import patch_header, region_rows, write_trace

from pse.analysis import analyze
from pse.analysis.replay._analysis import analyze_with
from pse.trace import EVENT_DTYPE, NONE, EventType, TraceError, pair
from tests.analysis.test_clocks import planted, written
from tests.analysis.test_planted_waits import found_in, programs

HEADER = 4096  # Bytes of a file of events before its records.
PLACES = ([0, 0], [0, 0, 0], [0, 1], [0, 0, 1, 1, 1, 2, 2])
"""The nodes of the processes of an analysis; the last one has more than there are ranks."""


def by_processes(directories, nodes):
    """The cube that processes on some nodes find, each node with a directory of its own or a shared one."""

    def work(peers):
        return analyze_with(directories[peers.nodes[peers.rank] % len(directories)], peers)

    first, *others = on_threads(list(nodes), work)
    if isinstance(first, Exception):
        assert all(isinstance(other, type(first)) for other in others)
        raise first
    assert others == [None] * len(others)
    return first


def assert_equal(one, other):
    """Assert that two cubes are the same, and what is said of the trace too."""
    assert one.call_paths == other.call_paths
    assert one.locations == other.locations
    assert set(one.values) == set(other.values)
    assert np.array_equal(one.longest, other.longest)
    assert np.array_equal(one.causes, other.causes)
    for metric, values in one.values.items():
        assert np.array_equal(values, other.values[metric]), metric
    assert sorted(one.problems) == sorted(other.problems)


@settings(max_examples=some_of(10), deadline=None)
@given(programs())
def test_several_processes_find_what_one_finds(program):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run"
        program.write(path)
        alone = analyze(path)
        assert found_in(alone) == dict(program.expected)
        for nodes in PLACES:
            assert_equal(by_processes([path], nodes), alone)


def split(source, directory, count):
    """Lay the files of ranks into directories of several nodes, in turn; definitions go to the last one."""
    found = [directory / f"node{number}" for number in range(count)]
    for number, path in enumerate(found):
        path.mkdir(parents=True)
        for own in sorted(source.glob("rank-*"))[number::count]:
            shutil.copy(own, path)
    for other in source.glob("definitions.json"):
        shutil.copy(other, found[-1])
    return found


@pytest.mark.parametrize("nodes", [[0, 1], [0, 0, 1], [0, 1, 2]])
def test_every_node_has_a_directory_of_its_own(tmp_path, nodes, random_run):
    alone = analyze(random_run)
    directories = split(random_run, tmp_path / "nodes", max(nodes) + 1)
    assert_equal(by_processes(directories, nodes), alone)


def sync_rows(reference, *points):
    """Compare this rank's clock with another's: (time, offset) of each."""
    return [
        {"type": EventType.CLOCK_SYNC, "time": time, "a": offset % 2**64, "b": 5, "c": reference}
        for time, offset in points
    ]


@pytest.mark.parametrize("nodes", PLACES)
def test_clocks_of_hosts_are_compared_by_all_processes(tmp_path, nodes):
    """The earliest event is not of the lowest rank, and of one host only a higher rank compared its clock."""
    barrier = [(1000 + 40 * rank, 2000 + 20 * rank) for rank in range(5)]
    syncs = {2: sync_rows(0, (500, -300), (2500, -100)), 4: sync_rows(2, (600, 77), (2600, 50))}
    ranks = [[*syncs.get(rank, ()), *barrier_rows(rank, 5, *times)] for rank, times in enumerate(barrier)]
    ranks[1].insert(0, {"type": EventType.PHASE, "time": 100, "a": 0})
    hosts = ["a", "a", "b/n0", "b/n1", "b/n1"]
    write_trace(tmp_path / "run", ranks, None, ["MPI_Barrier"], hosts)
    alone = analyze(tmp_path / "run")
    assert alone.total("mpi_barrier_wait") > 0
    assert_equal(by_processes([tmp_path / "run"], nodes), alone)


@pytest.mark.parametrize("nodes", PLACES)
def test_clocks_are_repaired_as_by_one_process(tmp_path, nodes):
    run = written(planted({"BRS/n2": (30_000_000, 1e-4)}, are_compared=False), tmp_path / "run").path
    alone = analyze(run)
    assert "clocks of hosts were set" in alone.problems[-1]
    assert_equal(by_processes([run], nodes), alone)


def barrier_rows(rank, size, begin, end):
    """A barrier of all ranks."""
    inside = [
        {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": begin + 1, "a": NONE, "c": 1, "flags": 1},
        {"type": EventType.MPI_COLLECTIVE_END, "time": end - 1, "c": 1, "flags": 1},
    ]
    made = {"type": EventType.MPI_COMMUNICATOR, "time": begin, "a": 1, "b": 0, "c": pair(size, rank)}
    return [made, *region_rows(0, begin, end, inside)]


@pytest.mark.parametrize("nodes", PLACES)
def test_an_archive_is_imported_on_every_node(nodes, archive):
    assert_equal(by_processes([archive], nodes), analyze(archive))


@pytest.mark.parametrize("nodes", PLACES)
def test_root_causes_of_waits_between_calls_are_those_that_one_process_finds(nodes, pipeline):
    assert_equal(by_processes([pipeline.path], nodes), analyze(pipeline))


@pytest.mark.parametrize("nodes", PLACES)
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "no header", "killed"])
def test_a_damaged_stream_is_said_and_the_rest_is_analysed(tmp_path, nodes, damage, random_run):
    run = shutil.copytree(random_run, tmp_path / "run")
    path = sorted(run.glob("rank-*.events"))[1]
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        sizes = {"empty": 0, "cut": len(data) * 2 // 3, "no header": 40, "killed": len(data) // 48 * 24}
        path.write_bytes(data[: sizes[damage]])
    alone = analyze(run)
    assert alone.problems
    assert_equal(by_processes([run], nodes), alone)


@pytest.mark.parametrize("offset", [4 * 10**18, 9 * 10**18, 18 * 10**18])
def test_a_rank_with_an_impossible_clock_is_left_out_by_all_and_said(tmp_path, offset, random_run):
    shutil.copytree(random_run, tmp_path / "run")
    file = sorted((tmp_path / "run").glob("rank-*.events"))[1]
    patch_header(file, "start_clock", offset.to_bytes(8, "little"))
    alone = analyze(tmp_path / "run")
    assert "its clock is impossible: the first event is " in " ".join(alone.problems)
    assert 1 not in alone.ranks or not alone.values["time"][:, alone.ranks.index(1)].any()
    for nodes in PLACES:
        assert_equal(by_processes([tmp_path / "run"], nodes), alone)


@pytest.mark.parametrize("nodes", PLACES)
def test_where_nothing_can_be_read_all_processes_say_so(tmp_path, nodes):
    with pytest.raises(TraceError, match="there is no trace or archive"):
        by_processes([tmp_path / "none"], nodes)
    (tmp_path / "rank-00000.events").write_bytes(b"")
    with pytest.raises(TraceError, match="nothing of this trace can be read"):
        by_processes([tmp_path], nodes)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_values_records_have_several_processes_find_what_one_finds(tmp_path, seed, random_run):
    """Fields of records of all ranks are overwritten: nothing fails, nobody waits for ever."""
    run, random = shutil.copytree(random_run, tmp_path / "run"), np.random.default_rng(seed)
    for path in run.glob("rank-*.events"):
        data = np.fromfile(path, "u1")
        fields = random.integers(0, (len(data) - HEADER) // 4, 5 * (seed + 1))
        for at in HEADER + 4 * fields:
            data[at] = random.choice([0, 1, 255, random.integers(256)])
        data.tofile(path)
    assert_equal(by_processes([run], [0, 0, 1]), analyze(run))


@pytest.mark.parametrize("seed", [1, 13])
def test_whatever_times_records_have_what_one_process_finds_is_found_by_several(tmp_path, seed, random_run):
    """A rank's last event may be before its first one, and hosts' clocks off by thousands of years."""
    run, random = shutil.copytree(random_run, tmp_path / "run"), np.random.default_rng(seed)
    for path in run.glob("rank-*.events"):
        data = np.fromfile(path, "u1")
        records = random.integers(0, (len(data) - HEADER) // EVENT_DTYPE.itemsize, 1 + seed % 7)
        for at in HEADER + EVENT_DTYPE.itemsize * records + random.integers(0, 8, len(records)):
            data[at] = random.choice([0, 1, 255, random.integers(256)])
        data.tofile(path)
    assert_equal(by_processes([run], [0, 0, 1]), analyze(run))
