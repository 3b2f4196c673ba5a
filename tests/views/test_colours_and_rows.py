"""Colours that mean the same everywhere, and rows from the root on."""

import itertools

import numpy as np
import pytest

from pse import views
from pse.trace import Selection, TraceError
from pse.views.core._colours import FAMILIES, routine_family
from pse.views.core._palette import PALETTE


def test_colours_of_modules_don_t_depend_on_what_is_shown(write_trace, make):
    one = write_trace([make.call(2, 0, 10)], make.definitions(1))
    assert list(views.module_colours(one)) == ["load", "rows", "save"]
    assert len(set(views.module_colours(one).values())) == 3


def test_modules_of_several_call_sites_have_one_colour(write_trace, make):
    opened = write_trace([make.call(0, 0, 10)], make.definitions(1, ["a", "b", "a"]))
    assert list(views.module_colours(opened)) == ["a", "b"]


def test_twenty_one_modules_have_colours_of_their_own(write_trace, make):
    names = [f"m{number}" for number in range(25)]
    styles = views.module_styles(write_trace([make.call(0, 0, 9)], make.definitions(1, names)))
    assert len({style.colour for style in styles.values()}) == 21
    assert [style.hatch != "" for style in styles.values()] == [False] * 21 + [True] * 4


def distance(one, other):
    parts = [[int(shade[at : at + 2], 16) for at in (1, 3, 5)] for shade in (one, other)]
    return sum((a - b) ** 2 for a, b in zip(*parts, strict=True)) ** 0.5


@pytest.mark.parametrize("colours", [list(FAMILIES.values()), list(views.wait_colours().values())])
def test_any_two_colours_differ_visibly(colours):
    assert all(distance(*two) > 8 for two in itertools.combinations(colours, 2))


SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""How light is seen: Machado, Oliveira, Fernandes, IEEE Trans. Vis. Comput. Graph. 15, 2009."""
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def cielab(shade, seen):
    parts = np.array([int(shade[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ np.clip(seen @ linear, 0, 1) / XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", SEEN)
def test_the_colour_blind_tell_families_of_mpi_routines_apart(kind):
    colours = [cielab(shade, np.array(SEEN[kind])) for shade in FAMILIES.values()]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(colours, 2)) > 20


def test_no_family_of_mpi_routines_looks_like_one_of_the_first_modules():
    pairs = itertools.product(FAMILIES.values(), PALETTE)
    assert min(np.linalg.norm(cielab(one, np.eye(3)) - cielab(other, np.eye(3))) for one, other in pairs) > 20


def test_main_is_the_palest_routine():
    names = ["main", "int main(int, char **)", "script.py", "domain", "MPI_Init", "solve"]
    colours = views.routine_colours(names)
    assert colours["main"] == colours["int main(int, char **)"] == colours["script.py"]
    light = {name: cielab(shade, np.eye(3))[0] for name, shade in colours.items()}
    assert all(light["main"] > light[name] for name in ("domain", "MPI_Init", "solve"))


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("MPI_Send", "send"),
        ("MPI_Isend_c", "send"),
        ("MPI_Sendrecv_replace", "send"),
        ("MPI_Recv_init", "receive"),
        ("MPI_Improbe", "receive"),
        ("MPI_Waitall", "wait or test"),
        ("MPI_Testsome", "wait or test"),
        ("MPI_Ireduce_scatter_block", "collective"),
        ("MPI_Neighbor_alltoallw", "collective"),
        ("MPI_Allgatherv_c", "collective"),
        ("MPI_File_write_at_all", "file or window"),
        ("MPI_Get_accumulate", "file or window"),
        ("MPI_Get_count", "other"),
        ("MPI_Comm_dup", "other"),
    ],
)
def test_routines_of_mpi_belong_to_their_families(name, family):
    assert routine_family(name) == family


def test_routines_have_the_colour_of_their_family_others_their_own():
    colours = views.routine_colours(["MPI_Send", "main", "MPI_Isend", "solve"])
    assert colours["MPI_Send"] == colours["MPI_Isend"] == FAMILIES["send"]
    assert colours["main"] != colours["solve"]


def test_a_selection_has_its_rows_only(small_trace):
    assert [row.label for row in views.rows(small_trace, Selection(threads=frozenset({"thread_C"})))] == [
        "p0 · thread_C"
    ]
    with pytest.raises(TraceError, match="the trace has no rank 9"):
        views.rows(small_trace, Selection(ranks=frozenset({9})))


def test_rows_go_processor_by_processor(write_trace, make):
    opened = write_trace([make.call(0, 0, 9)] * 5, make.definitions(5))
    assert [(row.group, row.rank) for row in views.rows(opened)] == [
        ("root", 0), ("p0", 1), ("p0", 2), ("p1", 3), ("p1", 4),
    ]  # fmt: skip
