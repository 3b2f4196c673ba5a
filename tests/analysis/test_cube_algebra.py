"""Difference, mean and union of cubes."""

import numpy as np
import pytest

from pse.analysis import (
    CallPath,
    Cube,
    Location,
    analyze,
    cube_cut,
    cube_difference,
    cube_mean,
    cube_text,
    cube_union,
    difference_text,
    read_cube,
    write_cube,
)
from pse.errors import UsageError
from tests.analysis.test_root_causes import planted

WAIT = "mpi_barrier_wait"
ABOVE = ("mpi_synchronization", "mpi", "time")


def made(barrier, wait, ranks=(0, 1), between="solve", **more):
    """A cube with one barrier in a function: its time and its wait, on each rank."""
    paths = (
        CallPath(-1, "program", "program"),
        CallPath(0, "routine", between),
        CallPath(1, "routine", "MPI_Barrier"),
    )
    locations = tuple(Location("m", f"node {rank}", rank) for rank in ranks)
    row = np.zeros((3, len(ranks)))
    values = {name: row.copy() for name in (*ABOVE, WAIT)}
    for name in ABOVE:
        values[name][2] = barrier
    values[WAIT][2] = wait
    return Cube(paths, locations, values | more, between)


def test_a_difference_has_what_became_more_and_less():
    changed = cube_difference(made([100, 100], [80, 20]), made([60, 100], [10, 30]))
    assert changed.exclusive(WAIT)[2].tolist() == [-70, 10]
    assert changed.exclusive("time")[2].tolist() == [-40, 0]
    assert cube_difference(made([5, 5], [1, 1]), made([5, 5], [1, 1])).values == {}


def test_a_difference_keeps_what_is_100_percent(tmp_path):
    changed = cube_difference(made([100, 100], [80, 20]), made([60, 100], [10, 30]))
    write_cube(changed, tmp_path / "changed.npz")
    whole = made([100, 100], [80, 20]).total("time")
    assert read_cube(tmp_path / "changed.npz").wholes()["time"] == whole > changed.total("time")


@pytest.mark.parametrize(
    "compute",
    [
        lambda cube: cube_mean([cube, cube]),
        lambda cube: cube_union([cube]),
        lambda cube: cube_cut(cube, "solve"),
    ],
)
def test_what_is_computed_of_a_difference_is_reported_with_signs(compute):
    old = made([100, 100], [80, 20], delay=np.array([[0, 0], [100, 0], [0, 0.0]]))
    changed = compute(cube_difference(old, made([60, 110], [10, 30])))
    lines = [" ".join(line.split()) for line in cube_text(changed)]
    assert lines[0] == "-30 ns of all ranks together, in % of the old run's 200 ns: 2 ranks and 2 nodes"
    assert "Time -30 ns -15.0 %" in lines
    assert "Wait at barrier -60 ns -30.0 %" in lines
    wait = "Wait at barrier: program / solve / MPI_Barrier (rank 0 -70 ns, rank 1 +10 ns)"
    assert f"-60 ns -30.0 % {wait}" in lines
    assert "-100 ns -50.0 % program / solve (rank 0 -100 ns)" in lines


def test_changes_that_make_up_for_each_other_are_reported():
    changed = cube_difference(made([100, 100], [80, 20]), made([110, 90], [20, 80]))
    lines = [" ".join(line.split()) for line in cube_text(changed)]
    assert "Wait at barrier +0 ns +0.0 %" in lines
    assert "Time +0 ns +0.0 %" in lines


def test_call_paths_and_ranks_of_both_are_there():
    changed = cube_difference(made([100, 100], [80, 20]), made([50], [5], ranks=(2,), between="other"))
    assert [location.rank for location in changed.locations] == [0, 1, 2]
    rows = {changed.path_text(row): changed.exclusive(WAIT)[row].tolist() for row in range(5)}
    assert rows["program / solve / MPI_Barrier"] == [-80, -20, 0]
    assert rows["program / other / MPI_Barrier"] == [0, 0, 5]


@pytest.mark.parametrize(("place", "is_same"), [("ring.py:1:1", True), ("", False), ("main.py:7:1", False)])
def test_a_program_whose_file_has_another_name_is_the_same(place, is_same):
    cubes = []
    for name in ("ring.py", "copy.py"):
        cube = made([100, 100], [80, 20], between=name)
        own = CallPath(0, "routine", name, place.replace("ring.py", name))
        cubes.append(Cube((cube.call_paths[0], own, cube.call_paths[2]), cube.locations, cube.values))
    assert (cube_difference(*cubes).values == {}) == is_same


def called(*places, name="ring.py"):
    """A cube whose program calls a function of one name at each of these places."""
    own = CallPath(0, "routine", name, f"/home/{name}:1:1")
    paths = (CallPath(-1, "program", "program"), own, *(CallPath(1, "routine", "swap", p) for p in places))
    return Cube(paths, (Location("m", "node", 0),), {"time": np.arange(len(paths))[:, None] + 1.0})


def test_functions_of_one_name_in_other_files_are_others(tmp_path):
    cube = called("/a/ma.py:3:1", "/a/mb.py:3:1", "/a/mb.py:9:1", "/b/mb.py:9:1")
    for joined in (cube_mean([cube, cube]), cube_union([cube, cube])):
        assert joined.call_paths == cube.call_paths
        assert joined.exclusive("time").tolist() == cube.exclusive("time").tolist()
    assert cube_difference(cube, cube).values == {}
    assert cube_cut(cube, "swap (ma.py:3)").total("time") == 3


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("/a/ma.py:3:1", "/b/ma.py:7:1", True),  # copied and edited
        ("/a/ma.py:3:1", "/a/mb.py:3:1", False),
        ("/a/ma.py:3:1", "", True),  # without debug information
        ("/home/ring.py:3:1", "/home/copy.py:5:1", True),  # the program's own file
        ("/home/ring.py:3:1", "/home/ring.py:5:1", False),  # no longer that of the program
    ],
)
def test_functions_are_told_apart_by_the_name_of_their_file(old, new, is_same):
    changed = cube_difference(called(old), called(new, name="copy.py"))
    assert (changed.values == {}) == is_same
    assert len(changed.call_paths) == (3 if is_same else 4)


def test_of_functions_in_one_file_lines_tell_which():
    changed = cube_difference(called("ma.py:3:1", "ma.py:9:1"), called("ma.py:9:1"))
    assert [path.place for path in changed.call_paths[2:]] == ["ma.py:3:1", "ma.py:9:1"]
    assert changed.exclusive("time")[2:].tolist() == [[-3], [-1]]


def test_a_mean_counts_what_a_cube_lacks_as_nothing():
    mean = cube_mean([made([100, 100], [80, 20]), made([60], [40], ranks=(1,))])
    assert mean.exclusive(WAIT)[2].tolist() == [40, 30]
    assert mean.exclusive("time")[2].tolist() == [50, 80]


def test_a_union_has_each_metric_of_the_first_that_has_it():
    visits = np.array([[1.0, 1], [1, 1], [4, 4]])
    union = cube_union([made([100, 100], [80, 20]), made([7, 7], [7, 7], visits=visits)])
    assert union.exclusive(WAIT)[2].tolist() == [80, 20]
    assert union.exclusive("visits")[2].tolist() == [4, 4]


def test_nothing_to_compute_with_is_said():
    with pytest.raises(UsageError, match="there is no cube to compute with"):
        cube_mean([])


def test_a_report_gives_changes_in_percent_of_the_old_runs_time():
    lines = list(difference_text(made([100, 100], [80, 20]), made([60, 100], [10, 30]), top=1))
    assert lines[1].split() == ["Time", "200", "ns", "160", "ns", "-20.0", "%"]
    assert next(line for line in lines if "Wait at barrier" in line).split()[-2:] == ["-30.0", "%"]
    assert lines[-1].split(maxsplit=2) == ["-30.0", "%", "Wait at barrier: program / solve / MPI_Barrier"]


def test_the_commands_compute_with_files(pse, tmp_path):
    old, new, out = (tmp_path / f"{name}.npz" for name in ("old", "new", "out"))
    write_cube(made([100, 100], [80, 20]), old)
    write_cube(made([60, 100], [10, 30]), new)
    done = pse("cube", "diff", old, new, "-o", out)
    assert (done.code, done.err) == (0, "")
    assert "-30.0 %  Wait at barrier: program / solve / MPI_Barrier" in done.out
    done = pse("cube", "mean", old, new, "--top", 1)
    assert "70 ns    39 %  Wait at barrier" in done.out
    assert pse("cube", "merge", old, new, out).code == 0
    done = pse("cube", "diff", old, tmp_path / "none.npz")
    assert (done.code, "there is no cube" in done.err and "none.npz" in done.err) == (2, True)
    done = pse("cube", "mean", old, "-o", tmp_path / "out.txt")
    assert (done.code, "it must end in .npz, .cubex or .html" in done.err) == (2, True)


def test_a_cut_keeps_what_is_called_from_a_name():
    whole = made([100, 100], [80, 20], between="loop k (line 7)")
    whole.values["time"][0] = 30
    for name in ("loop k", "loop k (line 7)", "MPI_Barrier"):
        part = cube_cut(whole, name)
        assert (part.total("time"), part.total(WAIT)) == (200, 100)
        assert (part.call_paths, part.locations) == (whole.call_paths, whole.locations)
    assert cube_cut(whole, "program").total("time") == 260


def test_a_cut_names_what_is_not_there():
    with pytest.raises(UsageError, match="no call path of solve ends in 'MPI_Barier'") as caught:
        cube_cut(made([100], [80], ranks=(0,)), "MPI_Barier")
    assert caught.value.help == "did you mean `MPI_Barrier`?"


def test_the_difference_of_two_programs_is_warned_of(tmp_path):
    """They have nothing but the routines of MPI in common."""
    one, other = (
        analyze(planted(tmp_path / name, (0, name, 1000, 1500), (0, "MPI_Init", 1500, 1600), ranks=1))
        for name in ("solve", "halo")
    )
    (problem,) = cube_difference(one, other).problems
    assert problem.startswith(f"no function nor region of {one.title} is in {other.title}: ")
    assert cube_difference(one, one).problems == ()


def test_runs_with_different_numbers_of_ranks_are_told(pse, tmp_path):
    two, three = made([9, 9], [1, 1]), made([9, 9, 9], [1, 1, 1], ranks=(0, 1, 2), between="solved")
    counts = "the runs have different numbers of ranks: 2 in solve and 3 in solved; "
    assert counts + "times are those of all ranks together" in cube_difference(two, three).problems
    assert counts + "where a run has no such rank, it counts as 0" in cube_mean([two, three]).problems
    for number, cube in enumerate((two, three)):
        write_cube(cube, tmp_path / f"{number}.npz")
    for command in ("diff", "mean"):
        assert counts in pse("cube", command, tmp_path / "0.npz", tmp_path / "1.npz").err
    same = made([9, 9], [1, 1])
    assert cube_mean([two, same]).problems == cube_difference(two, same).problems == ()


def test_a_name_that_no_call_path_has_leads_to_those_that_there_are():
    with pytest.raises(UsageError, match="no call path of solve ends in 'zzz'") as caught:
        cube_cut(made([9, 9], [1, 1]), "zzz")
    assert "MPI_Barrier, program and solve" in caught.value.help


def test_a_run_of_which_a_union_has_nothing_is_told(pse, tmp_path):
    first, second = made([9, 9], [1, 1]), made([9, 9], [2, 2], between="again")
    told = "nothing was taken from again: the runs before it have all of its metrics"
    assert cube_union([first, second]).problems == (told,)
    write_cube(first, tmp_path / "first.npz")
    write_cube(second, tmp_path / "second.npz")
    done = pse("cube", "merge", tmp_path / "first.npz", tmp_path / "second.npz")
    assert done.err == f"warning: {told}\n"
    more = made([9, 9], [2, 2], delay=np.ones((3, 2)))
    assert cube_union([first, more]).problems == ()


@pytest.mark.parametrize(
    "ask",
    [
        lambda cube: cube.exclusive("mpi_latesendr"),
        lambda cube: cube.total("mpi_latesendr"),
        lambda cube: cube.by_region("mpi_latesendr"),
        lambda cube: cube.longest_instance("mpi_latesendr", 0),
        lambda cube: cube.causes_of("mpi_latesendr", 0),
    ],
)
def test_a_misspelt_metric_is_named(ask):
    with pytest.raises(UsageError, match="there is no metric 'mpi_latesendr'") as caught:
        ask(made([9, 9], [1, 1]))
    assert "`mpi_latesender`" in caught.value.help
