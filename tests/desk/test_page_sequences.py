"""Random edits in a real browser: text and graph always show the same program, and undo gives both back."""

import functools
import itertools
import random
import shutil
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is in the extra desk: pip install 'pse[desk]'")
pytest.importorskip("selenium", reason="selenium isn't installed")

from pse_testing.browser import browser
from pse_testing.desk_page import Page, serving
from pse_testing.example_counts import tried
from selenium.webdriver import Keys

from .editing import PROGRAMS, Editing

__all__ = ["browser"]
MOST_STEPS = 3
PIECES = ("  let z = 1", " // note", "}", " thread_C", "\n  print(1)", "(", " u")
DRAWN = """
if (document.querySelector("section.graph").ariaBusy === "true") return null;
const shown = (selector, what) => [...document.querySelectorAll(selector)].map(what).sort();
return [shown(".call", (one) => one.title), shown(".frame > .head > span", (one) => one.textContent)];
"""
BOXES = """
return [...document.querySelectorAll(".react-flow__node")].map((one) => {
  const { left, top, right, bottom } = one.getBoundingClientRect();
  return [one.getAttribute("aria-label"), left, top, right, bottom];
});
"""


@pytest.fixture
def page(browser, tmp_path):
    """Give a page with the program of heat, large enough for all that is put into it."""
    folder = tmp_path / "work"
    shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.npy"))
    browser.set_window_size(1300, 2000)
    with serving(folder / "heat.coven") as address:
        page = Page(browser, address, folder)
        page.wait(lambda: page.calls())
        yield page
        browser.get("about:blank")


@functools.cache
def drawn_of(text: str, folder: Path) -> list[list[str]]:
    """What a text means, drawn without the page."""
    graph = Editing(text, folder / "heat.coven").graph
    frames = [frame["label"] for frame in graph["frames"]]
    tops = [frame for frame in graph["frames"] if frame["parent"] is None]
    if len(tops) == 1 and tops[0]["kind"] == "program":
        frames.remove(tops[0]["label"])
    return [sorted(node["text"] for node in graph["nodes"]), sorted(frames)]


def wait_for_graph(page: Page) -> None:
    """Wait until nothing is under way, and what is drawn is what the text means."""
    page.wait(lambda: (drawn := page.script(DRAWN)) and drawn == drawn_of(page.text(), page.folder))


def change_graph(page: Page, choose: random.Random) -> None:
    """Change something by the keys of the graph."""
    page.press("F6")
    page.press("0")
    page.settle()
    call = choose.choice(page.calls())
    page.select(call)
    possible = ["delete", "copy", "up", "down", "wrap", "thread"]
    match choose.choice(possible[:-1] if call == "swap" else possible):
        case "thread":
            page.press("t")
            page.one("dialog input").send_keys(choose.choice(["thread_A", "thread_C"]))
            page.press("Enter")
        case "delete":
            page.press("Delete")
        case "copy":
            page.press("Control", "c")
            page.press("Control", "v")
        case "wrap":
            page.press("w")
            page.answer(head="for j in 0 .. 2")
        case way:
            page.press("Alt", f"Arrow_{way}")


def change_text(page: Page, choose: random.Random) -> None:
    """Type something somewhere."""
    page.one(".cm-content").click()
    page.press("Control", "Home")
    lines = choose.randrange(3, page.text().count("\n"))
    page.type(Keys.DOWN * lines + Keys.END + choose.choice(PIECES) + Keys.ESCAPE)


def undo_all(page: Page, start: str) -> None:
    """Undo until the text is that of the beginning."""
    page.one(".cm-content").click()
    for _ in range(100):
        if page.text() == start:
            return
        page.press("Control", "z")
    assert page.text() == start


def overlapping(page: Page) -> list[tuple[str, str]]:
    """Give pairs of boxes of which one lies on a part of the other, or on a call."""
    boxes = page.script(BOXES)
    return [(one[0], other[0]) for one, other in itertools.combinations(boxes, 2) if clash(one, other)]


def clash(one: list, other: list) -> bool:
    (_, left, top, right, bottom), (_, west, north, east, south) = one, other
    apart = right <= west or east <= left or bottom <= north or south <= top
    inside = left >= west and right <= east and top >= north and bottom <= south
    around = west >= left and east <= right and north >= top and south <= bottom
    return not (apart or inside or around)


@pytest.mark.slow
@tried(5)
def test_after_random_edits_on_either_side_the_graph_is_that_of_the_text_and_undo_gives_both_back(
    page, examples
):
    start = page.text()
    page.settle()
    places = sorted(page.places().values())
    for seed in range(examples):
        choose = random.Random(seed)
        for _ in range(choose.randint(1, MOST_STEPS)):
            on_graph = page.calls() and choose.random() < 0.6
            (change_graph if on_graph else change_text)(page, choose)
            wait_for_graph(page)
            page.wait(lambda: overlapping(page) == [])
        undo_all(page, start)
        wait_for_graph(page)
        page.wait(lambda: sorted(page.places().values()) == places)
    assert [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"] == []
