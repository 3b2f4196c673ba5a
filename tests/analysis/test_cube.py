"""The cube: sums over call paths and metrics, its file, and its export to Cube's format."""

import io
import json
import resource
import tarfile
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest
from pse_testing.planted_waits import PlantedWaits

from pse.analysis import (
    METRICS,
    CallPath,
    Cube,
    Location,
    analyze,
    cube_text,
    export_cubex,
    read_cube,
    write_cube,
)
from pse.analysis.cube._metrics import ancestors
from pse.errors import UsageError

LAST = {"name": "MPI_Barrier", "begins": [0, 300, 100], "ends": [10, 20, 40]}


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    """Three ranks: one late message in a function, and a barrier at its end."""
    planted = PlantedWaits(3, [[0, 1, 2]])
    for rank in range(3):
        planted.enter(rank, "solve")
    planted.enter(1, "halo")
    planted.late_sender(0, 0, 1, wait=500, tag=1, wildcard=False)
    planted.leave(1)
    planted.collective(0, **LAST)
    return analyze(planted.write(tmp_path_factory.mktemp("planted") / "run"))


def path_of(cube, text):
    return next(i for i in range(len(cube.call_paths)) if cube.path_text(i) == text)


def test_values_are_exclusive_along_call_paths_and_inclusive_along_metrics(cube):
    solve, halo = path_of(cube, "program / solve"), path_of(cube, "program / solve / halo")
    receive = path_of(cube, "program / solve / halo / MPI_Recv")
    assert cube.exclusive("mpi_latesender")[receive].tolist() == [0, 500, 0]
    assert cube.exclusive("mpi_latesender")[halo].tolist() == [0, 0, 0]
    assert cube.inclusive("mpi_latesender")[solve].tolist() == [0, 500, 0]
    assert cube.inclusive("time")[0].tolist() == cube.exclusive("time").sum(axis=0).tolist()
    assert cube.exclusive("visits")[solve].tolist() == [1, 1, 1]
    assert cube.exclusive("bytes_received")[receive].tolist() == [0, 8, 0]


def test_the_longest_wait_of_a_call_path_says_where_and_when(cube):
    receive = path_of(cube, "program / solve / halo / MPI_Recv")
    longest = cube.longest_instance("mpi_latesender", receive)
    assert (cube.locations[longest["location"]].rank, longest["value"]) == (1, 500)
    assert longest["end"] - longest["begin"] >= 500
    barrier = path_of(cube, "program / solve / MPI_Barrier")
    assert cube.longest_instance("mpi_barrier_wait", barrier)["value"] == 300
    assert cube.longest_instance("mpi_barrier_wait", receive) is None
    (shown,) = (line for line in cube_text(cube) if "the longest: 500 ns" in line)
    assert f"on rank 1, in the call at {longest['begin'] / 1e9:.6f} s" in shown


def test_all_time_is_divided_among_the_metrics_below_it(cube):
    parts = sum(cube.own(metric.name) for metric in METRICS if ancestors(metric.name)[-1] == "time")
    assert np.array_equal(parts, cube.exclusive("time"))
    assert all((cube.own(metric.name) >= 0).all() for metric in METRICS)


def test_sums_by_region_have_a_value_for_each_rank_and_threads_count_for_their_process():
    paths = (CallPath(-1, "program", "p"), CallPath(0, "routine", "MPI_Recv"))
    locations = (Location("m", "n", 0, 0), Location("m", "n", 0, 1), Location("m", "n", 2, 0))
    values = {"mpi_latesender": np.array([[0.0, 0, 0], [1, 2, 4]])}
    assert Cube(paths, locations, values).by_region("mpi_latesender") == {"MPI_Recv": [3, 4]}


def test_a_cube_comes_back_from_its_file_as_it_was(cube, tmp_path):
    write_cube(cube, tmp_path / "cube.npz")
    again = read_cube(tmp_path / "cube.npz")
    assert np.array_equal(again.longest, cube.longest)
    assert (again.call_paths, again.locations) == (cube.call_paths, cube.locations)
    assert (again.title, again.problems) == (cube.title, cube.problems)
    assert set(again.values) == set(cube.values)
    assert all(np.array_equal(again.values[name], cube.values[name]) for name in cube.values)


def damaged(path, **changes):
    """Rewrite a file of a cube with other fields in its head."""
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays}
    head = json.loads(kept["cube"].tobytes()) | changes
    np.savez(path, **(kept | {"cube": np.frombuffer(json.dumps(head).encode(), "u1")}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "its format is other 1, not pse-cube 1"),
        ({"version": 2}, "its format is pse-cube 2, not pse-cube 1"),
        ({"call_paths": [[3, "routine", "f", ""]]}, "call path 0 has the parent 3"),
        ({"locations": []}, r"has not \d+ call paths and 0 locations"),
        ({"locations": 5}, "a value in it is of another kind"),
        ({"reference": 5}, "a value in it is of another kind"),
    ],
)
def test_a_damaged_head_is_refused(cube, tmp_path, changes, message):
    write_cube(cube, tmp_path / "cube.npz")
    damaged(tmp_path / "cube.npz", **changes)
    with pytest.raises(UsageError, match=message):
        read_cube(tmp_path / "cube.npz")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 no archive", "without a head"])
def test_a_file_that_is_not_a_cube_is_refused(tmp_path, content):
    if isinstance(content, str):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("other", content)
        content = buffer.getvalue()
    (tmp_path / "cube.npz").write_bytes(content)
    with pytest.raises(UsageError, match="is not a cube, or it is damaged"):
        read_cube(tmp_path / "cube.npz")
    with pytest.raises(UsageError, match=r"there is no cube .*none\.npz"):
        read_cube(tmp_path / "none.npz")


def test_a_deep_recursion_is_exported_and_counted_in_texts(tmp_path):
    paths = [
        CallPath(-1, "program", "a & b"),
        *(CallPath(n, "routine", "rec", "r.c:5:1") for n in range(5000)),
    ]
    deep = Cube(tuple(paths), (Location("m", "n", 0),), {"time": np.ones((5001, 1))})
    assert deep.path_text(5000, places=True) == "a & b / rec (r.c:5) × 5000"
    export_cubex(deep, tmp_path / "run.cubex")
    with tarfile.open(tmp_path / "run.cubex") as tar, tar.extractfile("anchor.xml") as anchor:
        tags = [element.tag for _, element in ET.iterparse(anchor)]
    assert tags.count("cnode") == 5001


def test_threads_that_mpi_ends_itself_are_not_waited_for(tmp_path):
    """Some routines of MPI join one, such as MPI_Session_finalize; the program joins none."""
    run = PlantedWaits(1, [[0]])
    run.enter(0, "MPI_File_sync")
    run.enter(0, "Thread.join")
    run.leave(0)
    run.leave(0)
    found = analyze(run.write(tmp_path / "run"))
    assert "MPI_File_sync / Thread.join" in found.path_text(len(found.call_paths) - 1)
    assert found.total("thread_wait") == 0


def test_a_file_without_one_of_its_metrics_is_damaged(cube, tmp_path):
    write_cube(cube, tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz") as arrays:
        kept = {name: array for name, array in arrays.items() if name != "metric.mpi"}
    np.savez(tmp_path / "part.npz", **kept)
    with pytest.raises(UsageError, match=r"or it is damaged: .*metric\.mpi is missing"):
        read_cube(tmp_path / "part.npz")


@pytest.mark.parametrize("write", [write_cube, export_cubex])
def test_a_full_disk_leaves_the_older_file(cube, tmp_path, write):
    """A limit on the size of files stands for it."""
    target = tmp_path / "file"
    target.write_bytes(b"older")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(UsageError, match=r"cannot write .*file: File too large"):
            write(cube, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"older")]


def test_an_independent_reader_finds_the_same_values_in_the_export(cube, tmp_path):
    pycubexr = pytest.importorskip("pycubexr", reason="the package pycubexr is not installed")
    export_cubex(cube, tmp_path / "run.cubex")
    with pycubexr.CubexParser(tmp_path / "run.cubex") as cubex:
        parents = {child.id: node for node in cubex.all_cnodes() for child in node.get_children()}

        def text(node):
            above = f"{text(parents[node.id])} / " if node.id in parents else ""
            return above + cubex.get_region(node).name

        nodes = {text(node): node for node in cubex.all_cnodes()}
        assert set(nodes) == {cube.path_text(path) for path in range(len(cube.call_paths))}
        for name, values in cube.values.items():
            metric = cubex.get_metric_by_name(name)
            found = cubex.get_metric_values(metric)
            factor = {"sec": 1e9}.get(metric.units, 1)
            for path in range(len(cube.call_paths)):
                node = nodes[cube.path_text(path)]
                assert found.cnode_values(node) * factor == pytest.approx(values[path])
                whole = found.cnode_values(node, convert_to_inclusive=True)
                assert whole * factor == pytest.approx(cube.inclusive(name)[path])
        system = cubex._anchor_result.system_tree_nodes
    assert [len(root.all_locations()) for root in system] == [3]
