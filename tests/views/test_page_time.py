"""Time in the page: statistics of a range, markers, the way back, and the address that shows the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pse_testing.browser import until
from pse_testing.traces import Row, region_rows, write_trace as write_rows

from pse import trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[trace.Trace, Path]:
    folder = tmp_path_factory.mktemp("time")
    write_trace(folder / "trace", 1200, 2)
    opened = trace.open(folder / "trace")
    write_html(opened, folder / "view.html")
    return opened, folder / "view.html"


class Page:
    """A page that is open."""

    def __init__(self, driver: Any, path: Path, address: str = "") -> None:
        self.driver = driver
        driver.get("about:blank")
        driver.get(path.as_uri() + address)
        self.until("Boolean(globalThis.gantt)")

    def js(self, text: str, *values: Any) -> Any:
        return self.driver.execute_script(text, *values)

    def until(self, text: str) -> None:
        until(self.driver, text)

    def type(self, *keys: str) -> None:
        self.js("document.activeElement.blur()")
        ActionChains(self.driver, 0).send_keys(*keys).perform()

    def window(self) -> tuple[float, float]:
        return tuple(self.js("return [gantt.view.begin, gantt.view.end]"))

    def rest(self) -> None:
        """Wait until the window is remembered."""
        self.js("gantt.timeline.history.remember()")


@pytest.fixture
def load(browser: Any, made: tuple[trace.Trace, Path]) -> Callable[..., Page]:
    return lambda address="": Page(browser, made[1], address)


def test_statistics_of_a_range_are_those_of_the_traces_tables(load, made) -> None:
    opened, _ = made
    begin, end = opened.span // 4, opened.span * 3 // 4
    calls = opened.module_calls()
    names = {site.id: site.module for site in opened.definitions.sites}
    found = load().js("return gantt.statisticsOf(arguments[0], arguments[1])", begin, end)
    found = {one["group"]["name"]: one for one in found if one["group"]["category"] == "call"}
    assert set(found) == set(names.values())
    for site, name in names.items():
        own = calls[calls["site"] == site]
        inside = np.clip(np.minimum(own["leave"], end) - np.maximum(own["enter"], begin), 0, None)
        begun = own[(own["enter"] >= begin) & (own["enter"] < end)]
        lengths = begun["leave"] - begun["enter"]
        by_rank = np.bincount(own["rank"], inside, minlength=len(opened.ranks))
        assert found[name]["count"] == len(begun) > 5
        assert found[name]["time"] == pytest.approx(inside.sum())
        assert found[name]["mean"] == pytest.approx(lengths.mean())
        assert found[name]["median"] == pytest.approx(np.median(lengths))
        assert found[name]["p95"] == pytest.approx(np.percentile(lengths, 95))
        assert found[name]["imbalance"] == pytest.approx(by_rank.max() / by_rank.mean())


def test_a_function_that_calls_itself_has_each_moment_of_a_range_once(browser: Any, tmp_path: Path) -> None:
    """`fib` is 30 levels deep, deeper than there are lanes."""
    calls: list[Row] = []
    for level in reversed(range(30)):
        calls = region_rows(0, 100 * level, 10_000 - 100 * level, calls)
    write_rows(tmp_path / "trace", [calls], None, ("fib",))
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    page = Page(browser, tmp_path / "view.html", "")
    times = "return gantt.statisticsOf(...arguments).map(one => [one.group.name, one.time, one.count])"
    assert page.js(times, 0, 10_000) == [["fib", 10_000, 30]]
    assert page.js(times, 1500, 10_000) == [["fib", 8_500, 15]]
    assert page.js("return gantt.accounted(0, 10000).times.get('routine:fib')") == 10_000


def test_a_range_is_dragged_and_told_without_a_zoom(load, made) -> None:
    page = load()
    before = page.window()
    canvas = page.driver.find_element(By.ID, "blocks")
    ActionChains(page.driver, 0).key_down(Keys.CONTROL).move_to_element(
        canvas
    ).click_and_hold().move_by_offset(150, 0).release().key_up(Keys.CONTROL).perform()
    page.until("gantt.view.range !== null")
    assert page.window() == before
    card = page.driver.find_element(By.ID, "range")
    assert "selected" in card.text
    assert "compute" in card.text
    assert page.js("return document.querySelectorAll('#range .histogram i').length") > 0
    begin, end = page.js("return [gantt.view.range.begin, gantt.view.range.end]")
    page.type("z")
    assert page.window() == pytest.approx((begin, end))
    page.type(Keys.ESCAPE)
    assert page.js("return gantt.view.range") is None
    assert not card.is_displayed()


def test_the_way_back_and_forward(load) -> None:
    page = load()
    windows = [page.window()]
    for _ in range(2):
        page.type("+", "+")
        page.rest()
        windows.append(page.window())
    page.type(Keys.BACKSPACE)
    assert page.window() == pytest.approx(windows[1])
    page.driver.find_element(By.ID, "back").click()
    assert page.window() == pytest.approx(windows[0])
    assert not page.driver.find_element(By.ID, "back").is_enabled()
    page.type("B")
    assert page.window() == pytest.approx(windows[1])
    page.type("-")
    page.rest()
    assert not page.driver.find_element(By.ID, "forward").is_enabled()


def test_markers_come_go_and_tell_the_time_between_them(load) -> None:
    page = load()
    canvas = page.driver.find_element(By.ID, "blocks")
    for x in (-100, 50, 200):
        ActionChains(page.driver, 0).move_to_element_with_offset(canvas, x, 0).perform()
        page.type("m")
    markers = page.js("return gantt.view.markers.map((time) => gantt.xOf(time))")
    assert markers[1] - markers[0] == pytest.approx(150, abs=0.5)
    assert not page.driver.find_element(By.ID, "cursor").get_attribute("hidden")
    page.type("m")
    assert page.js("return gantt.view.markers.length") == 1


def test_an_address_shows_the_same(load) -> None:
    page = load()
    page.type("+", "+")
    page.js(
        "gantt.timeline.select(gantt.model.base.from[2] + 3); gantt.timeline.mark(gantt.view.begin + 7);"
        "gantt.timeline.selectRange({ begin: gantt.view.begin + 5, end: gantt.view.end - 5 });"
        "document.querySelector('[data-group=\"call:compute\"]').click()"
    )
    page.rest()
    seen = (
        "const { begin, end, range, markers, selected, hidden } = gantt.view;"
        "return [[begin, end, range.begin, range.end, ...markers, selected], [...hidden]]"
    )
    before, address = page.js(seen), page.js("return location.hash")
    again = load(address)
    assert again.js(seen)[0] == pytest.approx(before[0], abs=1)
    assert again.js(seen)[1] == before[1] == ["call:compute"]
    assert not again.js("return document.querySelector('[data-group=\"call:compute\"]').checked")
    load("#view=nonsense&hidden=%5B&block=99999999&markers=a,b&range=5")
    again.until("Boolean(globalThis.gantt)")
    assert again.js("return gantt.view.selected") is None
