"""The page by keyboard alone: blocks are chosen, measured, found; rows pinned and hidden; lists operated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pse import trace
from pse.bench import _synthetic_trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PROGRAM = "program pipeline\nload(N) -> frame\ncompute(frame) -> result\npass_on(result)\n"
SELECTED = (
    "const { model, view } = gantt, { base, lanes, rows } = model, entry = view.selected;"
    "if (entry === null) return null;"
    "const lane = base.from.findLastIndex((first) => first <= entry);"
    "return [rows[lanes[lane].row].rank, base.start[entry], base.end[entry]]"
)


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
        WebDriverWait(self.driver, 10, 0.02).until(lambda _: self.ask(f"return {text}"), text)


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
