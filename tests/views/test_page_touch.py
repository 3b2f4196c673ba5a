"""Fingers on the page: one moves, two zoom, a tap selects, one that rests selects a range of time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pse_testing.browser import until

from pse import trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")

WINDOW = "return [gantt.view.begin, gantt.view.end]"


class Fingers:
    """Fingers on the blocks; places are CSS pixels from their left and top."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.left, self.top = browser.execute_script(
            "const { left, top } = document.getElementById('blocks').getBoundingClientRect();"
            "return [left, top]"
        )

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        points = [
            {"x": self.left + x, "y": self.top + y, "id": number} for number, (x, y) in enumerate(places)
        ]
        self.browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def window(self) -> list[float]:
        found: list[float] = self.browser.execute_script(WINDOW)
        return found

    def time_at(self, x: float) -> float:
        begin, end = self.window()
        width: float = self.browser.execute_script("return gantt.view.width")
        return begin + x / width * (end - begin)


@pytest.fixture
def fingers(browser: Any, tmp_path: Path) -> Iterator[Fingers]:
    write_trace(tmp_path / "trace", 400, 2)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    browser.get((tmp_path / "view.html").as_uri())
    until(browser, "Boolean(globalThis.gantt)")
    yield Fingers(browser)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_two_fingers_keep_the_moments_below_them_and_one_moves(fingers) -> None:
    held = [fingers.time_at(300), fingers.time_at(500)]
    fingers.touch("touchStart", (300, 40))
    fingers.touch("touchStart", (300, 40), (500, 60))
    for step in range(1, 6):
        fingers.touch("touchMove", (300 - 30 * step, 40), (500 + 40 * step, 60))
    fingers.touch("touchEnd")
    pixel = fingers.time_at(1) - fingers.time_at(0)
    assert [fingers.time_at(150), fingers.time_at(700)] == pytest.approx(held, abs=2 * pixel)
    begin, end = fingers.window()
    fingers.touch("touchStart", (400, 40))
    fingers.touch("touchMove", (380, 40))
    fingers.touch("touchMove", (300, 40))
    fingers.touch("touchEnd")
    assert fingers.window() == pytest.approx([begin + 100 * pixel, end + 100 * pixel], abs=2 * pixel)
    assert fingers.browser.execute_script("return gantt.view.selected") is None


def test_a_tap_selects_and_a_finger_that_rests_selects_a_range(fingers) -> None:
    x, y = fingers.browser.execute_script(
        "const { base, rows } = gantt.model, i = base.from[rows[0].lanes[0]];"
        "return [gantt.xOf((base.start[i] + base.end[i]) / 2), gantt.view.places[0].y + 8]"
    )
    fingers.touch("touchStart", (x, y))
    fingers.touch("touchEnd")
    assert fingers.browser.execute_script("return gantt.view.selected") is not None
    fingers.touch("touchStart", (200, 40))
    wait = "const done = arguments[0]; setTimeout(done, 450)"
    fingers.browser.execute_async_script(wait)  # As long as a finger rests.
    fingers.touch("touchMove", (230, 40))
    fingers.touch("touchMove", (400, 40))
    fingers.touch("touchEnd")
    begin, end = fingers.browser.execute_script("return [gantt.view.range.begin, gantt.view.range.end]")
    assert [begin, end] == pytest.approx([fingers.time_at(200), fingers.time_at(400)], rel=0.02)
