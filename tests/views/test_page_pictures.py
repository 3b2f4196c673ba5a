"""What the page draws and saves: slices of the coscheduled layer, pictures as files, a thousand ranks."""

import base64
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pse_testing.browser import until
from pse_testing.example_counts import nightly
from pse_testing.traces import call_rows, write_trace as write_rows

from pse import trace
from pse.bench._synthetic_trace import write_trace
from pse.trace import EventType, pair
from pse.views.page import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")

MS = 1_000_000
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def load(browser: Any) -> Callable[[Path], Callable[..., Any]]:
    def opened(path: Path) -> Callable[..., Any]:
        browser.get(path.as_uri())
        until(browser, "Boolean(globalThis.gantt)")
        return browser.execute_script

    return opened


def picture(address: str) -> Any:
    image = pytest.importorskip("PIL.Image")
    data = base64.b64decode(address.partition(",")[2])
    return np.asarray(image.open(io.BytesIO(data)).convert("RGB"))


def test_a_picture_is_saved_as_it_is_seen(load, tmp_path) -> None:
    write_trace(tmp_path / "trace", 600, 2)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    pixels = picture(ask("return gantt.pngOf()"))
    colour = ask("return gantt.model.groups.find((group) => group.id === 'call:compute').colour")
    wanted = tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))
    assert (pixels == wanted).all(axis=2).sum() > 1000
    drawn = ET.fromstring(ask("return gantt.svgOf()"))
    words = [one.text for one in drawn.iter(f"{SVG}text")]
    assert words[0] == ask("return gantt.model.title")
    for names in ("rows.map((row) => row.label)", "groups.map((group) => group.name)"):
        assert set(ask(f"return gantt.model.{names}")) <= set(words)


def test_a_saved_svg_has_shapes_that_cover_what_the_pixels_do(load, browser, tmp_path) -> None:
    """Drawn by the browser it has as much of each colour as the picture of pixels, and no pixels itself."""
    write_trace(tmp_path / "trace", 900, 3)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    ask("gantt.timeline.zoomTo(0, gantt.model.end / 4)")
    ask("gantt.timeline.draw()")
    text = ask("return gantt.svgOf()")
    assert not list(ET.fromstring(text).iter(f"{SVG}image"))
    colours = ask(
        "return gantt.model.groups.filter(({ id }) => id.startsWith('call:')).map((one) => one.colour)"
    )
    shown = picture(ask("return gantt.pngOf()"))
    (tmp_path / "saved.svg").write_text(text)
    drawn = picture(painted(browser, tmp_path / "saved.svg"))
    assert drawn.shape == shown.shape
    for colour in colours:
        wanted = tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))
        areas = [int((pixels == wanted).all(axis=2).sum()) for pixels in (shown, drawn)]
        assert areas[0] > 300
        assert areas[1] == pytest.approx(areas[0], rel=0.05)


def painted(browser: Any, path: Path) -> str:
    """The pixels of an SVG, as an address."""
    browser.get("about:blank")
    return browser.execute_async_script(
        "const [text, done] = arguments, image = new Image(), canvas = document.createElement('canvas');"
        "image.onload = () => {"
        "  [canvas.width, canvas.height] = [image.width, image.height];"
        "  canvas.getContext('2d').drawImage(image, 0, 0); done(canvas.toDataURL()); };"
        "image.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }))",
        path.read_text(),
    )


def test_what_is_printed_has_fine_blocks_and_words_as_text(load, browser, tmp_path) -> None:
    write_trace(tmp_path / "trace", 600, 2)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    load(tmp_path / "view.html")
    made = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    content = base64.b64decode(made)
    widths = {int(width) for width in re.findall(rb"/Width (\d+)", content)}
    assert max(widths) == 4 * browser.execute_script("return gantt.view.width")
    assert len(content) < 1_000_000
    assert browser.execute_script("return document.getElementById('paper').childElementCount") == 0


def test_on_a_phone_nothing_lies_beside_the_page(load, browser, tmp_path) -> None:
    write_trace(tmp_path / "trace", 600, 2)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    size = {"width": 360, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    ask = load(tmp_path / "view.html")
    ask("document.getElementById('tab-messages').click()")
    until(browser, "document.querySelector('#panel table')")
    wide = ask("return document.documentElement.scrollWidth")
    right = ask(
        "return ['list', 'next', 'ask'].map((id) =>"
        " document.getElementById(id).getBoundingClientRect().right)"
    )
    table = ask(
        "const table = document.querySelector('#panel table'), { width } = table.getBoundingClientRect();"
        "return [width, table.parentElement.clientWidth, getComputedStyle(table.parentElement).overflowX]"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide == 360
    assert max(right) <= 360
    assert table[0] > table[1]  # All of its columns can be scrolled to.
    assert table[2] == "auto"


def test_a_page_without_blocks_says_so(load, tmp_path) -> None:
    write_html(write_rows(tmp_path / "trace", [[]], None, (), ()), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    assert ask("return document.getElementById('notes').textContent").strip().startswith("Nothing to show")


def test_of_too_many_lines_some_are_drawn_and_it_is_said(load, browser, tmp_path) -> None:
    write_trace(tmp_path / "trace", 60_000, 4)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    ask("document.querySelector('[data-layer=lines]').click(); gantt.timeline.draw()")
    drawn, whole = ask("return [gantt.view.lines.drawn, gantt.view.lines.all]")
    assert 500 < drawn <= 3500 < whole
    said = f"{drawn:,} of {whole:,}"
    until(browser, f"document.getElementById('about-lines').textContent === '{said}'")
    ask("gantt.timeline.zoomTo(0, gantt.model.end / 200); gantt.timeline.draw()")
    drawn, whole = ask("return [gantt.view.lines.drawn, gantt.view.lines.all]")
    assert drawn == whole > 0


def test_paper_is_light_also_where_the_screen_is_dark(load, browser, tmp_path) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    write_trace(tmp_path / "trace", 600, 2)
    write_html(trace.open(tmp_path / "trace"), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    print_it = "dispatchEvent(new Event(arguments[0])); return gantt.pngOf()"
    assert tuple(picture(ask(print_it, "beforeprint"))[-1, -1]) == (255, 255, 255)
    assert max(picture(ask(print_it, "afterprint"))[-1, -1]) < 60
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_slices_are_drawn_and_told(load, tmp_path, make) -> None:
    slices = [
        {"time": (10 * number + 4) * MS, "type": EventType.TIME_SLICE, "flags": number % 2,
         "a": pair(number, 1), "b": 10 * number * MS, "c": pair(1500, 2)}
        for number in range(5)
    ]  # fmt: skip
    matches = [
        {"time": 9 * MS, "type": EventType.SLICE_MATCH, "flags": kind, "a": pair(0, 0), "b": 2 * MS,
         "c": pair(1, 0)}
        for kind in (0, 0, 2)
    ]  # fmt: skip
    rows = sorted([*call_rows(0, 0, 50 * MS), *slices, *matches], key=lambda row: row["time"])
    write_html(write_rows(tmp_path / "t", [rows], make.definitions(1), (), ()), tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    count = "return (gantt.timeline.draw(), gantt.pngOf())"
    colours = ((0xCC, 0x79, 0xA7), (0x88, 0x22, 0x55))

    def seen() -> list[int]:
        pixels = picture(ask(count))
        return [int((pixels == colour).all(axis=2).sum()) for colour in colours]

    assert min(seen()) > 50
    ask("document.querySelector('[data-layer=slices]').click()")
    assert seen() == [0, 0]
    ask("document.querySelector('[data-layer=slices]').click()")
    told = ask(
        "gantt.timeline.draw();"
        "const { y, main } = gantt.view.places[0], canvas = document.getElementById('blocks'),"
        " { left, top } = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new PointerEvent('pointermove',"
        " { clientX: left + gantt.xOf(3e6), clientY: top + y + main - 2 }));"
        "return document.getElementById('tip').innerText"
    )
    for part in (
        "time slice",
        "since a rank blocked",
        "4.00 ms",
        "1.50 µs until",
        "matched receives\n2",
        "matched sends\n1",
    ):
        assert part in told


@pytest.mark.slow
@pytest.mark.parametrize("processors", [64, *nightly(512)])
def test_a_hundred_or_a_thousand_ranks_are_a_screenful_in_every_panel(
    load, tmp_path, browser, processors
) -> None:
    write_trace(tmp_path / "trace", 60_000, processors)
    opened = trace.open(tmp_path / "trace")
    write_html(opened, tmp_path / "view.html")
    ask = load(tmp_path / "view.html")
    rows = 1 + 2 * processors
    assert ask("return gantt.model.rows.length") == rows
    ask("const box = document.getElementById('alike'); box.checked = true; box.onchange()")
    assert ask("return gantt.view.total <= Math.max(gantt.view.height, 400)")
    assert f"of {rows} rows" in ask("return document.getElementById('rownote').textContent")
    for tab in ask("return [...document.querySelectorAll('#tabs button')].map((one) => one.id)"):
        ask("document.getElementById(arguments[0]).click()", tab)
        assert ask("return document.getElementById('panel').children.length") > 0
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
