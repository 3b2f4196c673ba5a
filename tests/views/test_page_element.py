"""The page within another document: <pse-timeline> shows it, and says what is seen and selected."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest
from pse_testing.browser import until

from pse import trace
from pse.bench._synthetic_trace import write_trace
from pse.views.page import element_script, page_html, write_html

pytest.importorskip("selenium", reason="selenium isn't installed")

DOCUMENT = """<!doctype html><title>Two runs</title>
<script>
globalThis.told = [];
addEventListener("seen", ({{ target, detail }}) => told.push([target.id, detail]));
</script>
<pse-timeline id="one" src="one.html" style="height: 400px" address="panel=ranks&by=processor"></pse-timeline>
<pse-timeline id="two"><iframe srcdoc="{page}" style="width: 100%; height: 400px"></iframe></pse-timeline>
<script>{script}</script><script>{script}</script>
"""


@pytest.fixture
def ask(browser: Any, tmp_path: Path) -> Callable[..., Any]:
    for name, processors in (("one", 1), ("two", 2)):
        write_trace(tmp_path / name, 300, processors)
    write_html(trace.open(tmp_path / "one"), tmp_path / "one.html")
    page = page_html(trace.open(tmp_path / "two")).decode()
    document = DOCUMENT.format(page=escape(page), script=element_script())
    (tmp_path / "both.html").write_text(document, encoding="utf-8")
    browser.get((tmp_path / "both.html").as_uri())
    return browser.execute_script


def test_elements_show_what_their_address_says_each_by_itself(ask, browser) -> None:
    seen = until(browser, "one.seen?.address.includes('panel=ranks') && one.seen")
    assert seen["address"] == "panel=ranks&by=processor"
    assert until(browser, "two.seen")["address"] == ""
    ask("two.setAttribute('address', 'view=1000,2000&find=compute')")
    assert until(browser, "two.seen.begin === 1000 && two.seen")["address"] == "view=1000%2C2000&find=compute"
    ask("two.setAttribute('address', '')")
    assert until(browser, "two.seen.begin === 0 && two.seen")["address"] == ""
    assert ask("return one.seen.address") == "panel=ranks&by=processor"


def test_an_element_tells_which_block_is_selected(ask, browser, tmp_path) -> None:
    until(browser, "one.seen && two.seen")
    browser.switch_to.frame(browser.find_element("css selector", "#two iframe"))
    browser.execute_script("gantt.timeline.select(gantt.model.base.from[gantt.model.rows[0].lanes[0]])")
    browser.switch_to.default_content()
    found = until(browser, "told.find(([, { selected }]) => selected)")
    first = trace.open(tmp_path / "two").module_calls()[0]
    assert found[0] == "two"
    assert {name: found[1]["selected"][name] for name in ("category", "label", "rank", "begin", "end")} == {
        "category": "call",
        "label": "load",
        "rank": 0,
        "begin": int(first["enter"]),
        "end": int(first["leave"]),
    }
