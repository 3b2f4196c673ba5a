"""The page of a cube in a real browser: what its trees show, and what a click changes."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pse.analysis import METRICS, CallPath, Cube, Location, cube_difference
from pse.analysis.cube._cube import INSTANCE_DTYPE
from pse.analysis.cube._metrics import BY_NAME
from pse.views.cube import cube_page, write_cube_page

EVIL = '</script><script>document.title = "taken"</script>@cells@'
MS = 1e6
PATHS = (
    CallPath(-1, "program", "heat"),
    CallPath(0, "loop", EVIL, "heat.coven:3:3"),
    CallPath(1, "routine", "MPI_Recv"),
    CallPath(1, "routine", "MPI_Barrier"),
)
LOCATIONS = tuple(Location("", f"node{rank // 2}", rank) for rank in range(3))


def cube(late: float) -> Cube:
    """Rank 2 receives for 12 ms, of which it waits for some; all meet in a barrier for 1 ms."""
    values = {
        name: np.zeros((4, 3))
        for name in (
            *("time", "execution", "mpi", "mpi_communication", "mpi_point2point", "mpi_latesender"),
            *("mpi_synchronization", "visits"),
        )
    }
    for name in ("time", "execution"):
        values[name][0] += 10 * MS
    for name in ("time", "mpi", "mpi_communication", "mpi_point2point"):
        values[name][2, 2] += 12 * MS
    for name in ("time", "mpi", "mpi_synchronization"):
        values[name][3] += 1 * MS
    values["mpi_latesender"][2, 2] = late * MS
    values["visits"][:] = 1
    return Cube(PATHS, LOCATIONS, values, "heat <1>", ("rank 1: a call has no end",))


@pytest.fixture
def load(browser: Any, tmp_path: Path) -> Callable[..., Any]:
    """Open the page of a cube."""

    def opened(shown: Cube) -> Any:
        write_cube_page(shown, tmp_path / "cube.html")
        browser.get((tmp_path / "cube.html").as_uri())
        return browser

    return opened


def rows(browser: Any, tree: str) -> list[str]:
    """The rows of a tree, the selected one with a star."""
    return browser.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} li`)].map((row) =>"
        " (row.ariaSelected === 'true' ? '* ' : '') + row.querySelector('.value').textContent"
        " + ' ' + row.querySelector('.label').textContent)",
        tree,
    )


def click(browser: Any, tree: str, label: str, part: str = "") -> None:
    """Click on a row of a tree, or on its triangle: ``b``."""
    browser.execute_script(
        "[...document.querySelectorAll(`#${arguments[0]} li`)]"
        ".find((row) => row.querySelector('.label').textContent === arguments[1])"
        ".querySelector(arguments[2] || '.label').click()",
        *(tree, label, part),
    )


def test_a_page_opens_with_the_longest_wait_and_nothing_in_a_name_becomes_markup(load):
    browser = load(cube(late=9))
    assert rows(browser, "metrics") == [
        *(
            "0 Time",
            "30.0 ms Execution",
            "0 MPI",
            "0 MPI communication",
            "3.00 ms Point-to-point communication",
        ),
        *("* 9.00 ms Late sender", "3.00 ms MPI synchronization", "12 Visits"),
    ]
    assert rows(browser, "paths") == ["0 heat", f"0 {EVIL}", "* 9.00 ms MPI_Recv", "0 MPI_Barrier"]
    assert rows(browser, "system") == ["* 0 node0", "0 rank 0", "0 rank 1", "0 node1", "9.00 ms rank 2"]
    assert browser.title == "heat <1>"
    assert "1 warning" in browser.find_element("id", "notes").text
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_folded_node_stands_for_all_below_and_trees_follow_what_is_selected(load):
    browser = load(cube(late=9))
    click(browser, "metrics", "MPI", "b")
    click(browser, "metrics", "MPI")
    assert rows(browser, "metrics") == ["0 Time", "30.0 ms Execution", "* 15.0 ms MPI", "12 Visits"]
    click(browser, "paths", "MPI_Barrier")
    assert rows(browser, "system")[1:3] == ["1.00 ms rank 0", "1.00 ms rank 1"]
    click(browser, "paths", EVIL, "b")
    assert rows(browser, "paths") == ["0 heat", f"* 15.0 ms {EVIL}"]
    assert rows(browser, "system")[-1] == "13.0 ms rank 2"


def test_numbers_are_shares_if_the_reader_wants_them(load):
    browser = load(cube(late=9))
    for mode, expected in (("whole", "* 20 % MPI_Recv"), ("left", "* 100 % MPI_Recv")):
        browser.execute_script(
            "const mode = document.getElementById('mode'); mode.value = arguments[0];"
            " mode.dispatchEvent(new Event('change'))",
            mode,
        )
        assert rows(browser, "paths")[2] == expected


def test_the_longest_wait_is_a_link_into_the_time_line(browser, tmp_path):
    longest = np.array(
        [(METRICS.index(BY_NAME["mpi_latesender"]), 2, 2, 3 * MS, 9 * MS, 5 * MS)], INSTANCE_DTYPE
    )
    shown = dataclasses.replace(cube(late=9), longest=longest)
    write_cube_page(shown, tmp_path / "cube.html", timeline="a line.html")
    browser.get((tmp_path / "cube.html").as_uri())
    (link,) = browser.find_elements("tag name", "a")
    assert link.text == "rank 2, in the call at 3.0 ms"
    assert link.get_attribute("href").endswith("/a%20line.html#from=3000000&until=9000000&rank=2")


def test_a_difference_is_shown_with_signs_in_percent_of_the_old_run(load):
    old = cube(late=9)
    browser = load(cube_difference(old, cube(late=3)))
    assert rows(browser, "paths")[2] == "* −6.00 ms MPI_Recv"
    assert "−13 %" in browser.find_element("id", "worst").text


def test_a_cube_without_call_paths_makes_a_page(load):
    browser = load(Cube((), (), {}, "nothing"))
    assert rows(browser, "paths") == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_page_is_whole_without_a_browser():
    text = cube_page(cube(late=9))
    assert text.count("</script>") == 3
    assert "@cells@</" not in text


def deep(levels: int) -> Cube:
    """A barrier waits, called from a function that calls itself."""
    paths = [CallPath(-1, "program", "heat"), CallPath(0, "routine", "rec", "deep.c:5:1")]
    paths += [CallPath(level, "routine", "rec", "deep.c:5:1") for level in range(1, levels)]
    paths.append(CallPath(levels, "routine", "MPI_Barrier"))
    values = {name: np.zeros((len(paths), 1)) for name in ("time", "mpi", "mpi_synchronization")}
    values["mpi_barrier_wait"] = np.zeros((len(paths), 1))
    for own in values.values():
        own[-1] = MS
    return Cube(tuple(paths), LOCATIONS[:1], values, "deep")


def test_levels_of_a_deep_recursion_are_shown_and_counted(load):
    browser = load(deep(5000))
    shown = rows(browser, "paths")
    assert (len(shown), shown[-1]) == (5002, "* 1.00 ms MPI_Barrier")
    worst = browser.find_element("id", "worst").get_property("textContent")
    assert "heat / rec × 5000 / MPI_Barrier" in worst
    about = browser.find_element("id", "about").get_property("textContent")
    assert "heat / rec × 5000 / MPI_Barrier (routine)" in about
