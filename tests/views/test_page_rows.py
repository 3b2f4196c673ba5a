"""Rows and blocks of the page, chosen: sorted, pinned, hidden, one for all alike; filters, list of hits."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pse_testing.browser import until

from pse import trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

PROCESSORS = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[trace.Trace, Path]:
    folder = tmp_path_factory.mktemp("rows")
    write_trace(folder / "trace", 3000, PROCESSORS)
    opened = trace.open(folder / "trace")
    write_html(opened, folder / "view.html")
    return opened, folder / "view.html"


@pytest.fixture
def page(browser: Any, made: tuple[trace.Trace, Path]) -> Any:
    browser.get("about:blank")
    browser.get(made[1].as_uri())
    until(browser, "Boolean(globalThis.gantt)")
    return browser


def ranks(page: Any) -> list[int]:
    return page.execute_script("return gantt.view.order.map((row) => gantt.model.rows[row].rank)")


def search(page: Any, text: str) -> str:
    field = page.find_element(By.ID, "query")
    field.clear()
    field.send_keys(text)
    return page.find_element(By.ID, "hits").text


def test_rows_are_sorted_by_what_ranks_do(page, made) -> None:
    calls, waits = made[0].module_calls(), made[0].waits()
    busy = np.bincount(calls["rank"], calls["leave"] - calls["enter"])
    waiting = np.bincount(waits["rank"], waits["end"] - waits["begin"])
    order = Select(page.find_element(By.ID, "order"))
    order.select_by_value("busy")
    assert np.all(np.diff(busy[ranks(page)]) <= 1)
    order.select_by_value("waiting")
    assert np.all(np.diff(waiting[ranks(page)]) <= 1)
    tops = page.execute_script("return gantt.view.order.map((row) => gantt.view.places[row].y)")
    assert tops == sorted(tops)
    order.select_by_value("place")
    assert ranks(page) == list(range(2 * PROCESSORS + 1))


def test_rows_are_pinned_and_hidden(page) -> None:
    names = page.find_elements(By.CSS_SELECTOR, "#gutter .thread")
    names[4].click()
    assert ranks(page)[:2] == [4, 0]
    first = page.find_elements(By.CSS_SELECTOR, "#gutter .thread")[0]
    assert first.get_attribute("aria-pressed") == "true"
    ActionChains(page, 0).key_down(Keys.ALT).click(first).key_up(Keys.ALT).perform()
    assert 4 not in ranks(page)
    unhide = page.find_element(By.ID, "unhide")
    assert unhide.text == "show 1 hidden"
    unhide.click()
    assert ranks(page)[0] == 4


def test_rows_that_are_alike_are_one_and_it_is_said(page, made) -> None:
    page.find_element(By.ID, "alike").click()
    shown = ranks(page)
    assert shown == [0, 1, 2]  # The root, and of all processors the threads B and C.
    assert page.find_element(By.ID, "rownote").text == f"3 of {len(made[0].ranks)} rows"
    texts = [name.text for name in page.find_elements(By.CSS_SELECTOR, "#gutter .thread")]
    assert texts[1] == f"p0 thread_B +{PROCESSORS - 1}"
    page.find_element(By.ID, "alike").click()
    assert len(ranks(page)) == len(made[0].ranks)


def test_ranks_of_a_processor_or_node_are_one_row_with_the_shares_of_all(page, made) -> None:
    run = made[0]
    by = Select(page.find_element(By.ID, "by"))
    by.select_by_value("processor")
    assert ranks(page) == [0, *range(1, 2 * PROCESSORS + 1, 2)]
    names = [name.text for name in page.find_elements(By.CSS_SELECTOR, "#gutter .thread")]
    assert names == ["root", *(f"p{number}" for number in range(PROCESSORS))]
    assert page.find_element(By.ID, "rownote").text == f"of {len(run.ranks)} ranks"
    begin, end = run.span // 3, run.span // 2
    ask = "return Object.fromEntries(gantt.sharesOf(arguments[0], arguments[1], arguments[2]))"
    shares = page.execute_script(ask, 3, begin, end)  # Ranks 3 and 4.
    assert {name: share for name, share in shares.items() if name.startswith("call:")} == pytest.approx(
        expected_shares(run, (3, 4), begin, end)
    )
    by.select_by_value("node")
    assert ranks(page) == [0]
    shares = page.execute_script(ask, 0, begin, end)
    assert {name: share for name, share in shares.items() if name.startswith("call:")} == pytest.approx(
        expected_shares(run, run.ranks, begin, end)
    )
    by.select_by_value("rank")
    assert ranks(page) == list(range(2 * PROCESSORS + 1))


def expected_shares(run: trace.Trace, ranks: Iterable[int], begin: int, end: int) -> dict[str, float]:
    """Each module's share of all time of some ranks."""
    calls = run.module_calls()
    calls = calls[np.isin(calls["rank"], list(ranks))]
    inside = np.minimum(calls["leave"], end) - np.maximum(calls["enter"], begin)
    names = [run.definitions.sites[site].module for site in calls["site"]]
    shares: dict[str, float] = {}
    for name, time in zip(names, np.maximum(inside, 0).tolist(), strict=True):
        shares[f"call:{name}"] = shares.get(f"call:{name}", 0.0) + time / (end - begin) / len(list(ranks))
    return {name: share for name, share in shares.items() if share}


def test_a_row_of_several_ranks_tells_their_shares_at_a_moment(page, made) -> None:
    Select(page.find_element(By.ID, "by")).select_by_value("processor")
    blocks = page.find_element(By.ID, "blocks")
    y = page.execute_script("const { y, main } = gantt.view.places[3]; return y + main / 2")
    width, height = blocks.size["width"], blocks.size["height"]
    ActionChains(page, 0).move_to_element_with_offset(blocks, 0, round(y - height / 2)).perform()
    tip = page.find_element(By.ID, "tip").text
    assert tip.startswith("2 ranks at ")
    parts = [int(part) for part in re.findall(r"(\d+) %", tip)]
    assert abs(sum(parts) - 100) <= len(parts), (tip, width)
    assert "by=processor" in page.execute_script(
        "return new Promise((done) => setTimeout(() => done(location.hash), 500))"
    )


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (
            "category == call and module == compute and rank in 3..5",
            lambda c: (c["site"] == 1) & (c["rank"] <= 5) & (c["rank"] >= 3),
        ),
        ("category == call and not duration < 1 ms", lambda c: c["leave"] - c["enter"] >= 1e6),
        ("module != 'compute' and category == call", lambda c: c["site"] != 1),
        (
            "category == call and (module ~ LOAD or rank == 2)",
            lambda c: (c["site"] == 0) | (c["rank"] == 2),
        ),
        (
            "duration > 0.01ms and category == call and start < 2 ms",
            lambda c: (c["leave"] - c["enter"] > 1e4) & (c["enter"] < 2e6),
        ),
    ],
)
def test_a_filter_finds_what_the_traces_table_has(page, made, text: str, chosen: Callable[..., Any]) -> None:
    calls = made[0].module_calls()
    expected = int(chosen(calls).sum())
    assert search(page, text) == (f"{expected:,} hit{'s' * (expected != 1)}" if expected else "no hit")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modul == compute", '"modul" instead of module, call'),
        ("duration >", "the end instead of a number or text"),
        ("rank in 3", "the end instead of .."),
        ("(rank == 3", "the end instead of )"),
        ("rank == 3 §", '"§" is not understood'),
        ("rank == 3 rank == 4", '"rank" instead of and, or'),
    ],
)
def test_a_wrong_filter_says_what_was_expected(page, text: str, said: str) -> None:
    assert search(page, text).startswith(said)


def test_the_list_of_hits_is_sorted_and_leads_to_each(page, made) -> None:
    search(page, "category == call and module == pass_on and rank == 2")
    page.find_element(By.ID, "list").click()
    lines = page.find_elements(By.CSS_SELECTOR, "#hitlist tr[data-entry]")
    calls = made[0].module_calls()
    assert len(lines) == int(((calls["site"] == 2) & (calls["rank"] == 2)).sum()) > 3
    page.find_element(By.XPATH, "//*[@id='hitlist']//button[text()='duration']").click()
    lines = page.find_elements(By.CSS_SELECTOR, "#hitlist tr[data-entry]")
    entries = [int(line.get_attribute("data-entry")) for line in lines]
    length = "const { start, end } = gantt.model.base; return arguments[0].map((i) => end[i] - start[i])"
    lengths = page.execute_script(length, entries)
    assert lengths == sorted(lengths, reverse=True)
    page.find_element(By.CSS_SELECTOR, "#hitlist tr[data-entry] button").click()
    assert page.execute_script("return gantt.view.selected") == entries[0]
