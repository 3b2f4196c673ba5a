"""The critical path in the page is the one that the command line tells."""

import pytest
from pse_testing.browser import until

from pse import trace
from pse.analysis import critical_path
from pse.bench._synthetic_trace import write_trace
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")


def test_the_path_is_that_of_the_command_line(tmp_path, browser) -> None:
    write_trace(tmp_path / "trace", 1500, 3)
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    browser.get((tmp_path / "view.html").as_uri())
    until(browser, "Boolean(globalThis.gantt)")
    ask = "return gantt.pathParts(arguments[0], arguments[1])"
    path = critical_path(opened)
    found = browser.execute_script(ask, 0, opened.span + 1)
    told = {share.name: (share.time, share.count) for share in path.shares()}
    assert {part["name"]: (part["time"], part["count"]) for part in found} == told
    begin, end = opened.span // 3, opened.span // 2  # A window: what lies in it adds up to it.
    parts = browser.execute_script(ask, begin, end)
    assert sum(part["time"] for part in parts) == end - begin
    over = browser.execute_script("return gantt.pathOver(arguments[0], arguments[1], 7)", begin, end)
    stretches = [sum(times) for times in zip(*(times for _, times in over), strict=True)]
    assert stretches == pytest.approx([(end - begin) / 7] * 7)
    whole = browser.execute_script("return gantt.pathOver(0, arguments[0], 100)", opened.span)
    kinds: dict[str, int] = {}
    for share in path.shares():
        kinds[share.kind] = kinds.get(share.kind, 0) + share.time
    assert {kind: sum(times) for kind, times in whole} == pytest.approx(kinds)
    shown = browser.execute_script(
        "document.querySelector('[data-layer=\"path\"]').click(); gantt.timeline.draw();"
        "return new Promise((done) => setTimeout(() => done(document.getElementById('path').innerText), 200))"
    )
    assert f"Without {path.shares()[0].name} the run would be at most" in shown
