"""Colours that mean the same everywhere, and rows from the root on."""

import itertools

import pytest

from pse import views
from pse.trace import Selection, TraceError
from pse.views.core._colours import FAMILIES, routine_family


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
def test_colours_differ(colours):
    assert all(distance(*two) > 8 for two in itertools.combinations(colours, 2))


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
def test_families(name, family):
    assert routine_family(name) == family


def test_routines_have_the_colour_of_their_family_others_their_own():
    colours = views.routine_colours(["MPI_Send", "main", "MPI_Isend", "solve"])
    assert colours["MPI_Send"] == colours["MPI_Isend"] == FAMILIES["send"]
    assert colours["main"] != colours["solve"]


def test_rows_of_a_selection(small_trace):
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
