"""Two runs in one page, and on the command line: rows of both, and what took longer in which."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pse_testing.browser import until
from pse_testing.traces import call_rows, region_rows, wait_rows, write_trace as write_rows

from pse import trace
from pse.analysis import differences_text, run_differences
from pse.trace import NONE, EventType, Selection, pair
from pse.views.page import Pair, write_html

pytest.importorskip("selenium", reason="selenium isn't installed")

ROUNDS = 5


def write_run(folder: Path, known: trace.Definitions, work: int, late: int = 0) -> trace.Trace:
    """Rounds in which the root loads for 100 ns, and a rank waits for that and works so long."""
    begun = [100 + number * (150 + work) + late for number in range(ROUNDS)]
    root, worker = [], []
    for number, time in enumerate(begun):
        root += [
            {"time": time, "type": EventType.CONTEXT_BEGIN, "tph": 7 + number, "b": number,
             "c": pair(0, NONE), "a": 1},
            *call_rows(0, time, time + 100, 7 + number),
        ]  # fmt: skip
        worker += [*wait_rows(time, time + 110), *call_rows(1, time + 110, time + 110 + work, 7 + number)]
    return write_rows(folder, [root, worker], known, (), ())


@pytest.fixture
def runs(tmp_path: Path, make: Any) -> tuple[trace.Trace, trace.Trace]:
    known = make.definitions(2)
    return write_run(tmp_path / "a", known, 300), write_run(tmp_path / "b", known, 200, late=40)


@pytest.fixture
def ask(runs, tmp_path, browser) -> Callable[..., Any]:
    write_html(runs[0], tmp_path / "view.html", pair=Pair(runs[1]))
    browser.get((tmp_path / "view.html").as_uri())
    until(browser, "Boolean(globalThis.gantt)")
    return browser.execute_script


def told(found: Any) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    return {(one["kind"], one["name"]): (list(one["counts"]), list(one["times"])) for one in found}


def test_differences_are_sorted_by_gain(runs) -> None:
    found = run_differences([runs[0]], [runs[1]])
    assert [(one.kind, one.name, one.gain) for one in found] == [
        ("run", "", runs[0].span - runs[1].span),
        ("call", "lib.rows", ROUNDS * 100.0),
        ("call", "lib.load", 0.0),
        ("wait", "input", 0.0),
    ]
    assert [one.interval for one in found] == [None] * 4


def test_three_runs_of_each_have_intervals(tmp_path, make) -> None:
    known = make.definitions(2)
    first = [write_run(tmp_path / f"a{work}", known, work) for work in (290, 300, 310)]
    second = [write_run(tmp_path / f"b{work}", known, work) for work in (195, 200, 205)]
    (rows,) = (one for one in run_differences(first, second) if one.name == "lib.rows")
    error = ROUNDS * ((10**2 + 5**2) / 3) ** 0.5
    low, high = rows.interval
    assert rows.gain == (low + high) / 2 == ROUNDS * 100
    assert (high - low) / 2 == pytest.approx(4.303 * error, rel=0.05)  # Student's, of two degrees of freedom.
    assert "95 %: " in "\n".join(differences_text([rows]))


def test_a_function_that_calls_itself_has_each_moment_once(tmp_path) -> None:
    runs = [
        write_rows(
            tmp_path / name, [region_rows(0, 100, end, region_rows(0, 200, end - 100))], None, ("fib",)
        )
        for name, end in (("a", 900), ("b", 700))
    ]
    (fib,) = (one for one in run_differences(*([run] for run in runs)) if one.name == "fib")
    assert (fib.counts, fib.times) == ((2, 2), (800, 600))


def test_the_page_s_differences_are_those_of_the_command_line(runs, ask) -> None:
    whole = max(run.span for run in runs)
    expected = [one.to_json() for one in run_differences([runs[0]], [runs[1]]) if one.kind != "run"]
    assert told(ask("return gantt.differencesOf(0, arguments[0])", whole + 1)) == told(expected)
    begin, end = 300, 900
    window = Selection(begin=begin / 1e9, end=end / 1e9)
    expected = [one.to_json() for one in run_differences([runs[0]], [runs[1]], window) if one.kind != "run"]
    found = told(ask("return gantt.differencesOf(arguments[0], arguments[1])", begin, end))
    assert {key: one[1] for key, one in found.items()} == {
        key: pytest.approx(one[1]) for key, one in told(expected).items()
    }


def test_the_second_run_is_drawn_below_and_counts_for_nothing_else(runs, ask) -> None:
    assert ask("return gantt.model.rows.map((row) => [row.lanes.length, row.others.length])") == [[1, 1]] * 2
    calls = runs[0].module_calls()
    times = dict(ask("return [...gantt.accounted(0, arguments[0]).times]", runs[0].span))
    assert times["call:load"] == ROUNDS * 100
    assert times["call:rows"] == (calls["leave"] - calls["enter"])[calls["site"] == 1].sum()
    heights = ask("return gantt.view.places.map((place) => place.lanes.map((lane) => lane.height))")
    assert all(0 < second < first for first, second in heights)
    ask("gantt.timeline.select(gantt.model.base.from[gantt.model.rows[1].others[0]])")
    assert str(runs[1].path) in ask("return document.getElementById('selected').textContent")


def test_rows_are_aligned_by_iteration(runs, ask) -> None:
    starts = (
        "const { base, rows } = gantt.model, lane = rows[0][arguments[0]][0];"
        "return [...base.start.slice(base.from[lane], base.from[lane + 1])]"
    )
    first, second = ask(starts, "lanes"), ask(starts, "others")
    assert first != second
    ask("gantt.align('iteration')")
    assert ask(starts, "others") == pytest.approx(first)
    found = told(ask("return gantt.differencesOf(0, 1e9)"))
    assert found["call", "lib.rows"][1] == [ROUNDS * 300, ROUNDS * 200]  # Stretched, not longer.
    ask("gantt.align('time')")
    assert ask(starts, "others") == second


def test_two_runs_on_the_command_line(runs, pse, tmp_path) -> None:
    first, second = (run.path for run in runs)
    done = pse("view", first, second, "-o", tmp_path / "both.html")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].split() == ["first", "second", "gain"]
    assert any(line.startswith("call lib.rows") and "500 ns" in line for line in done.out.splitlines())
    for given, said in (
        (("view", first, second, "-o", tmp_path / "both.png"), "two runs are compared in a .html page"),
        (
            ("view", first, second, first, "-o", tmp_path / "x.html"),
            "but 3 are given",
        ),
        (("view", first, "--like-first", second, "-o", tmp_path / "x.html"), "no second run"),
    ):
        done = pse(*given)
        assert (done.code, said in done.err) == (2, True), done.err
