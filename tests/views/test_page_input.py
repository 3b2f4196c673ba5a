"""Fingers and keys on the page.

One finger moves, two zoom, a tap selects, one that rests selects a range of time.  By keyboard alone blocks
are chosen, measured, found; rows pinned and hidden; lists operated.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pse_testing.browser import until

from pse import trace
from pse.bench import _synthetic_trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

WINDOW = "return [gantt.view.begin, gantt.view.end]"
PROGRAM = "program pipeline\nload(N) -> frame\ncompute(frame) -> result\npass_on(result)\n"
SELECTED = (
    "const { model, view } = gantt, { base, lanes, rows } = model, entry = view.selected;"
    "if (entry === null) return null;"
    "const lane = base.from.findLastIndex((first) => first <= entry);"
    "return [rows[lanes[lane].row].rank, base.start[entry], base.end[entry]]"
)


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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keyboard")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_synthetic_trace, "TEXT", PROGRAM)
        write_trace(folder / "trace", 900, 2)
    write_html(trace.open(folder / "trace"), folder / "view.html")
    return folder / "view.html"


class Page:
    """A page that is open, with a keyboard and no mouse."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def ask(self, text: str, *values: Any) -> Any:
        return self.driver.execute_script(text, *values)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver, 0).send_keys(*keys).perform()

    def focus(self, selector: str) -> None:
        self.ask("document.querySelector(arguments[0]).focus()", selector)

    def until(self, text: str) -> None:
        until(self.driver, text)


@pytest.fixture
def load(browser: Any, made: Path) -> Callable[..., Page]:
    def opened(address: str = "") -> Page:
        browser.get("about:blank")
        browser.get(made.as_uri() + address)
        page = Page(browser)
        page.until("Boolean(globalThis.gantt)")
        return page

    return opened


def test_blocks_are_chosen_along_and_across_rows(load) -> None:
    page = load()
    page.press("j")
    assert page.ask(SELECTED)[0] == 0
    page.press("j", "j", "k")
    rank, begin, end = page.ask(SELECTED)
    assert rank == 1
    page.press(".")
    rank, after, _ = page.ask(SELECTED)
    assert (rank, after >= end) == (1, True)
    page.press(",")
    assert page.ask(SELECTED) == [1, begin, end]
    page.press(*"jjjjjj")
    assert page.ask(SELECTED)[0] == 4  # The last row: there is none below.
    page.press(Keys.ESCAPE, ".")
    assert page.ask(SELECTED)[0] == 0


def test_markers_are_set_where_the_selected_block_begins(load) -> None:
    page = load()
    page.press("m")
    begin, end = page.ask("return [gantt.view.begin, gantt.view.end]")
    assert page.ask("return gantt.view.markers") == [(begin + end) / 2]
    page.press("j", "j", "m")
    assert page.ask("return gantt.view.markers")[1] == page.ask(SELECTED)[1]


def test_lists_take_the_arrow_keys_and_letters(load) -> None:
    page = load()
    page.focus("#order")
    page.press(Keys.ARROW_DOWN)
    if page.ask("return document.getElementById('order').value") == "place":
        page.press(Keys.ENTER)  # The list was opened, the next one chosen.
    page.until("gantt.view.choice.order === 'busy'")
    assert page.ask("return gantt.view.scale") == 1


def test_a_row_is_pinned_and_hidden(load) -> None:
    page = load()
    page.focus("#gutter .thread:nth-of-type(3)")
    name = page.ask("return document.activeElement.textContent")
    page.press(Keys.ENTER)
    assert page.ask(
        "return document.querySelector('#gutter .thread').textContent.endsWith(arguments[0])", name
    )
    assert page.ask("return document.activeElement.closest('#gutter') !== null")
    page.focus("#gutter .thread")
    ActionChains(page.driver, 0).key_down(Keys.ALT).send_keys(Keys.ENTER).key_up(Keys.ALT).perform()
    assert page.ask("return gantt.view.order.length") == 4
    assert page.ask("return document.getElementById('unhide').textContent") == "show 1 hidden"


@pytest.mark.parametrize(
    ("panel", "first"),
    [("graph", ".node:nth-of-type(2)"), ("program", ".timed:nth-of-type(4) .number button")],
)
def test_calls_are_found_from_panels(load, panel: str, first: str) -> None:
    page = load(f"#panel={panel}")
    page.until("!document.getElementById('panel').hidden")
    page.focus(f"#panel {first}")
    page.press(Keys.ENTER)
    page.until("gantt.view.found.length > 0")
    page.ask("gantt.timeline.draw(); gantt.timeline.showNumbers()")
    assert page.ask("return document.activeElement.closest('#panel') !== null")
    assert "hits" in page.ask("return document.getElementById('hits').textContent")
