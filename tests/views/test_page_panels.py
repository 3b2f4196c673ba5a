"""Panels of the page: their numbers are those of the command line, of all of a run and of a part of it."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pse_testing.browser import until
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import write_trace as write_rows

from pse import trace
from pse.analysis import message_statistics
from pse.bench import _synthetic_trace
from pse.bench._synthetic_trace import write_trace
from pse.trace import EventType, MessageFlag, Selection, pair
from pse.views.charts._load import loads
from pse.views.core._time_breakdown import event_bars
from pse.views.graph import measured_graph
from pse.views.page import _messages, write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains

Ask = Callable[..., Any]
PROGRAM = "program pipeline\nload(N) -> frame\ncompute(frame) -> result\npass_on(result)\n"
PARTS = [(0.0, 1.0), (0.25, 0.5)]
"""Of the run: all, and a window."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[trace.Trace, Path]:
    folder = tmp_path_factory.mktemp("panels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_synthetic_trace, "TEXT", PROGRAM)
        write_trace(folder / "trace", 1500, 3)
    opened = trace.open(folder / "trace")
    write_html(opened, folder / "view.html")
    return opened, folder / "view.html"


@pytest.fixture
def load(browser: Any) -> Callable[[Path, str], Ask]:
    def opened(path: Path, address: str = "") -> Ask:
        browser.get("about:blank")
        browser.get(path.as_uri() + address)
        until(browser, "Boolean(globalThis.gantt)")
        return browser.execute_script

    return opened


def window_of(opened: trace.Trace, part: tuple[float, float]) -> tuple[int, int]:
    return round(part[0] * opened.span), round(part[1] * opened.span)


def pairs_of(ask: Ask, begin: int, end: int, kind: int, by: str) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Messages, bytes and shortest-known numbers of each pair of places, as the page has them."""
    found = ask("return gantt.trafficOf(...arguments)", begin, end, kind, by)
    names = found["names"]
    return {
        (names[one["sender"]], names[one["receiver"]]): (one["messages"], one["bytes"])
        for one in found["pairs"]
    }


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("by", "level"), [("rank", "rank"), ("host", "node")])
def test_the_message_matrix_is_that_of_pse_trace_messages(made, load, part, by, level) -> None:
    opened, path = made
    begin, end = window_of(opened, part)
    selection = Selection(begin=begin / 1e9, end=end / 1e9)
    told = message_statistics(opened, level, selection=selection)
    table = told.tables["tags handed over"]
    expected = {
        (told.names[one["sender"]], told.names[one["receiver"]]): (int(one["messages"]), int(one["bytes"]))
        for one in table
    }
    assert pairs_of(load(path), begin, end, 0, by) == expected
    assert expected


def test_messages_went_in_the_ways_that_the_summary_tells(load, tmp_path, make) -> None:
    ways = (MessageFlag.DESCRIPTOR, MessageFlag.COPIED, MessageFlag.REMOTE)
    rows = [
        [
            {"time": 100 * number + 10 * rank, "type": kind, "site": 0, "tph": 1, "a": 1000 + number,
             "b": pair(1 - rank, 0), "c": number + 1, "flags": ways[number % 3]}
            for number in range(7)
        ]
        for rank, kind in enumerate((EventType.SEND, EventType.RECEIVE))
    ]  # fmt: skip
    opened = write_rows(tmp_path / "trace", rows, make.definitions(2), (), ())
    write_html(opened, tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    found = ask("return gantt.trafficOf(...arguments).ways", 0, opened.span, 0, "rank")
    named = dict(zip(ask("return gantt.model.messages.ways"), found, strict=True))
    sent = trace.summarize(opened).traffic[0]
    assert named["by descriptor"]["bytes"] == sent.sent_descriptor > 0
    assert named["copied"]["bytes"] == sent.sent_copied > 0
    assert named["between nodes"]["bytes"] == sent.sent_remote > 0
    assert sum(way["messages"] for way in found) == sent.sent == 7
    assert dict(ask("return gantt.edgeBytes(0, 1000)"))[0]["bytes"] == sum(range(1000, 1007))


def test_a_distributed_tag_is_one_edge_of_the_graph_with_the_bytes_of_all_processors(
    load, browser, tmp_path, make
) -> None:
    text = "program small\n"
    edges = tuple(trace.EdgeDefinition(number, "image", 0, (1,)) for number in range(2))
    known = dataclasses.replace(make.definitions(2), edges=edges, text_sha256=trace.digest(text))
    rows = [
        [
            {"time": 100 * edge + 10 * rank, "type": kind, "site": edge, "tph": 1, "a": 3 << 10,
             "b": pair(1 - rank, edge), "c": 1, "flags": MessageFlag.DESCRIPTOR}
            for edge in (0, 1)
        ]
        for rank, kind in enumerate((EventType.SEND, EventType.RECEIVE))
    ]  # fmt: skip
    opened = write_rows(tmp_path / "trace", rows, known, (), ())
    assert measured_graph(opened, text).tags == {(0, "image"): "6.00 KiB"}
    write_html(opened, tmp_path / "view.html")
    ask = load(tmp_path / "view.html", "#panel=graph")
    until(browser, "document.querySelector('#panel .graph')")
    tags = ask("return [...document.querySelectorAll('.graph .tag')].map((one) => one.textContent)")
    assert tags == ["image", "6.00 KiB"]


def test_messages_of_mpi_have_their_own_matrix(load, tmp_path) -> None:
    planted = PlantedWaits(3, [[0, 1, 2]])
    planted.late_sender(on=0, source=0, target=1, wait=3000, tag=1, wildcard=False)
    planted.late_sender(on=0, source=1, target=2, wait=2000, tag=2, wildcard=False)
    planted.write(tmp_path / "trace")
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    table = message_statistics(opened, "rank").tables["MPI"]
    found = pairs_of(load(tmp_path / "view.html"), 0, opened.span, 2, "rank")
    assert {pair: one[1] for pair, one in found.items()} == {
        (f"rank {one['sender']}", f"rank {one['receiver']}"): int(one["bytes"]) for one in table
    }


def test_messages_that_are_summed_up_keep_number_and_bytes(made, load, tmp_path, monkeypatch) -> None:
    opened, path = made
    monkeypatch.setattr(_messages, "MOST_MESSAGES", 60)
    write_html(opened, tmp_path / "view.html")
    assert "are summed up in stretches of" in (tmp_path / "view.html").read_text()
    whole = (0, opened.span, 0, "rank")
    summed = pairs_of(load(tmp_path / "view.html"), *whole)
    assert summed == pairs_of(load(path), *whole)
    assert len(opened.messages()) > 60


def test_call_sites_are_those_of_the_summary(made, load) -> None:
    opened, path = made
    told: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in trace.summarize(opened).calls:
        told[row.label] = [told[row.label][0] + row.calls, told[row.label][1] + row.total]
    ask = load(path)
    labels = ask("return gantt.model.graph.nodes.map((node) => node.label)")
    found = ask("return gantt.siteTimes(0, arguments[0])", opened.span + 1)
    assert {label: [one["calls"], one["time"]] for label, one in zip(labels, found, strict=True)} == told
    lines = dict(ask("return gantt.lineTimes(0, arguments[0])", opened.span + 1))
    assert {line: one["time"] for line, one in lines.items()} == {
        number: told[label][1] for number, label in enumerate(labels, 1)
    }


def test_times_of_call_sites_are_cut_where_the_window_ends(made, load) -> None:
    opened, path = made
    begin, end = window_of(opened, PARTS[1])
    calls = opened.module_calls()
    inside = np.clip(np.minimum(calls["leave"], end) - np.maximum(calls["enter"], begin), 0, None)
    found = load(path)("return gantt.siteTimes(arguments[0], arguments[1])", begin, end)
    assert [one["time"] for one in found] == pytest.approx(np.bincount(calls["site"], inside).tolist())


@pytest.mark.parametrize("part", PARTS)
def test_the_load_is_that_of_the_view(made, load, part) -> None:
    opened, path = made
    begin, end = window_of(opened, part)
    told = loads(opened, Selection(begin=begin / 1e9, end=end / 1e9))
    found = load(path)("return gantt.loadsOf(arguments[0], arguments[1]).loads", begin, end)
    assert [one["name"] for one in found] == [one.label for one in told]
    for mine, theirs in zip(found, told, strict=True):
        assert (mine["calls"], mine["time"]) == (len(theirs.times), theirs.times.sum())
        assert mine["computing"] == pytest.approx(theirs.mean)
        assert mine["preempted"] == pytest.approx(theirs.preempted)
        assert mine["asleep"] == pytest.approx(theirs.asleep)


def test_bands_over_time_add_up_to_what_ranks_did(made, load) -> None:
    opened, path = made
    calls, waits = opened.module_calls(), opened.waits()
    found = load(path)("return gantt.bandsOf(0, arguments[0], 400)", opened.span)
    sums = {band: sum(values.values() if isinstance(values, dict) else values) * opened.span / 400
            for band, values in found.items()}  # fmt: skip
    assert sums["computing"] == pytest.approx(calls["cpu"].sum())
    assert sums["preempted"] == calls["preempted"].sum() == 0
    assert sums["asleep"] == pytest.approx((calls["leave"] - calls["enter"]).sum() - calls["cpu"].sum())
    assert sums["waiting"] == pytest.approx((waits["end"] - waits["begin"]).sum())


def test_the_memory_of_all_is_that_of_the_trace(made, load) -> None:
    opened, path = made
    peak = np.cumsum(opened.memory()["bytes"]).max()
    assert load(path)("return gantt.counterOf('memory').most") == peak > 0


def test_panels_open_by_key_follow_the_range_and_are_in_the_address(made, load, browser) -> None:
    opened, path = made
    ask = load(path)
    titles = ask("return [...document.querySelectorAll('#tabs button')].map((tab) => tab.textContent)")
    assert titles == ["Load and memory", "Where the time went", "Messages", "Graph", "Program"]
    words = ["computing", "The busiest, rank", "messages with", "compute", "waited for"]
    for number, word in enumerate(words, 1):
        ActionChains(browser, 0).send_keys(str(number)).perform()
        until(browser, "!document.getElementById('panel').hidden")
        assert word in ask("return document.getElementById('panel').textContent")
    ActionChains(browser, 0).send_keys("3").perform()
    whole = ask("return document.querySelector('#panel .said').textContent")
    ask("gantt.timeline.selectRange({ begin: 0, end: arguments[0] })", opened.span // 10)
    until(browser, f"document.querySelector('#panel .said').textContent !== {whole!r}")
    ask("gantt.timeline.history.remember()")
    address = ask("return location.hash")
    assert "panel=messages" in address
    again = load(path, address)
    assert again("return document.querySelector('#panel canvas').getAttribute('role')") == "img"
    assert again("return document.getElementById('tab-messages').getAttribute('aria-selected')") == "true"


def test_the_address_has_order_pins_and_search(made, load) -> None:
    _, path = made
    ask = load(path)
    ask(
        "const { choice } = gantt.view; choice.pinned.add(2); choice.hidden.add(1);"
        "const order = document.getElementById('order'); order.value = 'busy'; order.onchange();"
        "gantt.timeline.searchFor('module compute');"
        "gantt.timeline.history.remember()"
    )
    seen = "return [gantt.view.order, gantt.view.found.length, document.getElementById('order').value]"
    before = ask(seen)
    assert before[1] > 0
    assert before[0][0] == 2
    assert 1 not in before[0]
    assert load(path, ask("return location.hash"))(seen) == before


def test_the_address_has_the_rows_that_are_seen_and_what_panels_show(made, load, browser) -> None:
    """Height, folded processors, the first row in view, the window that sorts rows, choices in panels."""
    opened, path = made
    ask = load(path)
    ask("gantt.timeline.zoomTo(0, arguments[0])", opened.span // 3)
    ask("const order = document.getElementById('order'); order.value = 'waiting'; order.onchange()")
    sorted_by_a_third = ask("return gantt.view.order")
    ask("gantt.timeline.zoomTo(0, arguments[0])", opened.span)
    ask(
        "const { view, timeline } = gantt; view.scale = 4; view.folded.add('p1'); timeline.arrange();"
        "document.getElementById('tab-messages').click();"
        "const value = document.querySelectorAll('#panel select')[1];"
        "value.value = 'messages'; value.onchange()"
    )
    ask("document.getElementById('rows').scrollTop = gantt.view.places[gantt.view.order[2]].y")
    ask("gantt.timeline.history.remember()")
    seen = (
        "const { order, places, scale, folded } = gantt.view,"
        " top = document.getElementById('rows').scrollTop;"
        "return [order, scale, [...folded], Math.abs(places[order[2]].y - top) < 1,"
        " document.querySelectorAll('#panel select')[1].value]"
    )
    before = ask(seen)
    assert before == [sorted_by_a_third, 4, ["p1"], True, "messages"]
    again = load(path, ask("return location.hash"))
    assert again(seen) == before
    until(browser, "!document.getElementById('again').hidden")
    again("location.hash = ''")
    until(browser, "gantt.view.scale === 1 && !gantt.view.panel && gantt.view.choice.order === 'place'")


@pytest.mark.parametrize("part", PARTS)
def test_time_of_the_engine_is_that_of_the_bars(made, load, part) -> None:
    """Hand-overs and memory are those of the view `time`."""
    opened, path = made
    begin, end = window_of(opened, part)
    selection = Selection(begin=begin / 1e9, end=end / 1e9)
    told = {share.label: share.total for share in event_bars(opened, selection).shares}
    held = dict(load(path)("return [...gantt.accounted(arguments[0], arguments[1]).times]", begin, end))
    assert held["engine:hand-over"] == pytest.approx(told["hand-over"], rel=1e-6)
    assert held["engine:memory"] == pytest.approx(told["memory"], rel=1e-6)
    assert told["hand-over"] > 0


def test_a_line_of_the_program_finds_its_calls(made, load) -> None:
    _, path = made
    ask = load(path, "#panel=program")
    ask("document.querySelectorAll('.program tr.timed')[1].click()")
    found = ask(
        "const { base, kinds } = gantt.model;"
        "return gantt.view.found.map((entry) => kinds[base.kind[base.first[entry]]].place)"
    )
    assert set(found) == {"pipeline.coven:2:1"}
