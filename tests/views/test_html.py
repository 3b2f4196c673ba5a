"""The interactive view in a real browser: what a reader sees, points at, clicks and types."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pse_testing.browser import until
from pse_testing.traces import text_rows

from pse import trace
from pse.trace import NONE, EventType, MessageFlag, Recorder, TextKind, WaitReason, pair
from pse.views.core._colours import module_colours
from pse.views.page._html import write_html

pytest.importorskip("selenium", reason="selenium isn't installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

EVIL = '</script><script>document.title = "taken"</script>"\'&@head@'
MS = 1_000_000
ROUNDS = 3
SITES = [
    ("load_frame", "load_frame", "thread_A", False),
    ("fft.rows", "rows", "thread_B", True),
    ("transpose", "transpose", "thread_C", True),
    (EVIL, EVIL, "thread_A", False),
]


def write_trace(directory: Path, program: str = "programs/small.coven") -> Path:
    """Three rounds on the root and two processors; each call, hand-over and wait has a known time."""
    directory.mkdir()
    seats = [("root", "thread_A", None)] + [
        ("parallel", thread, processor) for processor in (0, 1) for thread in ("thread_B", "thread_C")
    ]
    sites = tuple(
        trace.SiteDefinition(number, label, module, f"{program}:{10 + number}:5", thread, parallel)
        for number, (label, module, thread, parallel) in enumerate(SITES)
    )
    edges = (trace.EdgeDefinition(0, "image", 0, (1,)), trace.EdgeDefinition(1, "spectrum", 1, (2,)))
    ranks = tuple(trace.RankDefinition(rank, *seat, "node0") for rank, seat in enumerate(seats))
    loops = (trace.LoopDefinition(0, "k", f"{program}:8:3"),)
    trace.write_definitions(
        directory,
        trace.Definitions(
            program, "0" * 64, {"N": 8}, {}, sites, edges, ranks, {}, "2025-01-31T12:00:00+01:00", loops
        ),
    )
    for rank in range(5):
        with Recorder(directory, rank) as recorder:
            write_rank(recorder, rank)
    return directory


def write_rank(recorder: Recorder, rank: int) -> None:
    """Round k of a rank begins at 100 k ms; the last one's routine of MPI lies in its call."""
    recorder.record_at(0, EventType.PHASE, a=1)
    name(recorder, 1, "MPI_Allreduce")
    for number in range(ROUNDS):
        base, tph = 100 * number, 65536 * (number + 1)
        recorder.record_at(base * MS, EventType.CONTEXT_BEGIN, tph=tph, a=1, b=number, c=pair(0, NONE))
        if rank == 0:
            call(recorder, 0, tph, base + 5, base + 25)
            for receiver in (1, 3):
                hand_over(recorder, EventType.SEND, base + 26, tph, 0, receiver, number + 1)
            call(recorder, 3, tph, base + 80, base + 90)
        elif rank in (1, 3):
            wait(recorder, 1, tph, base + 1, base + 30)
            hand_over(recorder, EventType.RECEIVE, base + 31, tph, 0, 0, number + 1)
            call(recorder, 1, tph, base + 32, base + 48, inside=True)
            hand_over(recorder, EventType.SEND, base + 49, tph, 1, rank + 1, number + 1)
        else:
            hand_over(recorder, EventType.RECEIVE, base + 50, tph, 1, rank - 1, number + 1)
            recorder.record_at((base + 50) * MS, EventType.QUEUE_DEPTH, a=pair(1, rank - 1), b=number + 1)
            recorder.record_at((base + 51) * MS, EventType.ALLOCATE, a=1 << 20, b=number)
            call(recorder, 2, tph, base + 52, base + 70)


def name(recorder: Recorder, number: int, text: str, kind: TextKind = TextKind.REGION) -> None:
    """Name something; `Recorder.text` would do it now, not at the time 0."""
    for row in text_rows(number, text, kind):
        recorder.record_at(**row)


def call(recorder: Recorder, site: int, tph: int, begin: int, end: int, inside: bool = False) -> None:
    """A call with half of its time on the CPU, perhaps with a routine of MPI in its middle."""
    recorder.record_at(begin * MS, EventType.MODULE_ENTER, site=site, tph=tph, a=NONE)
    if inside:
        recorder.record_at((end - 4) * MS, EventType.REGION_LEAVE, a=1, b=(begin + 4) * MS)
    cpu = (end - begin) * MS // 2
    recorder.record_at(
        end * MS, EventType.MODULE_LEAVE, site=site, tph=tph, a=cpu, b=begin * MS, c=pair(0, NONE)
    )


def wait(recorder: Recorder, site: int, tph: int, begin: int, end: int) -> None:
    reason, peer = WaitReason.INPUT, pair(0, 0)
    recorder.record_at(begin * MS, EventType.WAIT_BEGIN, site=site, tph=tph, a=peer, flags=reason)
    recorder.record_at(end * MS, EventType.WAIT_END, site=site, tph=tph, a=peer, b=begin * MS, flags=reason)


def hand_over(
    recorder: Recorder, kind: EventType, at: int, tph: int, edge: int, peer: int, sequence: int
) -> None:
    recorder.record_at(
        at * MS,
        kind,
        site=edge,
        tph=tph,
        a=4096,
        b=pair(peer, edge),
        c=sequence,
        flags=MessageFlag.DESCRIPTOR,
    )


@dataclass
class Page:
    """A page that is open, as its reader meets it."""

    driver: Any

    def js(self, text: str, *values: Any) -> Any:
        return self.driver.execute_script(text, *values)

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def wait(self, text: str, *values: Any) -> None:
        """Wait until an expression is true."""
        until(self.driver, text, *values)

    def settled(self) -> None:
        """Wait until what was asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def window(self) -> tuple[float, float]:
        begin, end = self.js("return [gantt.view.begin / 1e6, gantt.view.end / 1e6]")
        return begin, end

    def point(self, rank: int, ms: float) -> tuple[float, float]:
        """Where a moment of a rank is drawn, from the canvas's corner."""
        return tuple(self.js(
            "const row = gantt.model.rows.findIndex((row) => row.rank === arguments[0]);"
            "const place = gantt.view.places[row];"
            "return [gantt.xOf(arguments[1] * 1e6), place.y + place.main / 2]", rank, ms))  # fmt: skip

    def at(self, rank: int, ms: float) -> ActionChains:
        """The mouse, moved there."""
        canvas, (x, y) = self.find("#blocks"), self.point(rank, ms)
        offset = (round(x - canvas.size["width"] / 2), round(y - canvas.size["height"] / 2))
        return ActionChains(self.driver, 0).move_to_element_with_offset(canvas, *offset)

    def colour(self, rank: int, ms: float) -> str:
        self.settled()
        x, y = self.point(rank, ms)
        red, green, blue = self.js(
            "const pen = document.getElementById('blocks').getContext('2d'), ratio = devicePixelRatio;"
            "const pixel = pen.getImageData(arguments[0] * ratio, arguments[1] * ratio, 1, 1);"
            "return [...pixel.data].slice(0, 3)", x, y - 6)  # fmt: skip
        return f"#{red:02X}{green:02X}{blue:02X}"

    def tip(self, rank: int, ms: float) -> str:
        self.at(rank, ms).perform()
        self.wait("!document.getElementById('tip').hidden")
        return self.find("#tip").text

    def type(self, *keys: str) -> None:
        self.js("document.activeElement.blur()")
        ActionChains(self.driver, 0).send_keys(*keys).perform()
        self.settled()

    def search(self, words: str, *more: str) -> str:
        field = self.find("#query")
        field.clear()
        field.send_keys(words, *more)
        self.settled()
        return self.find("#hits").text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[trace.Trace, Path]:
    folder = tmp_path_factory.mktemp("html") / "a #1 ü?&'\"<b>% @style@"
    folder.mkdir()
    opened = trace.open(write_trace(folder / "trace", EVIL + ".coven"))
    write_html(opened, folder / "view.html")
    return opened, folder / "view.html"


@pytest.fixture
def load(browser: Any) -> Callable[[Path], Page]:
    def open_page(path: Path) -> Page:
        browser.get(path.as_uri())
        page = Page(browser)
        page.wait("Boolean(globalThis.gantt)")
        page.settled()
        return page

    return open_page


def test_a_call_shorter_than_a_pixel_is_as_high_as_its_share(tmp_path, load, write_trace, make) -> None:
    calls = [make.call(0, begin, begin + length) for begin, length in ((10**8, 400), (5 * 10**8, 10**8))]
    begin, end = ({"time": time, "type": EventType.PHASE, "a": phase} for time, phase in ((0, 1), (10**9, 4)))
    write_html(write_trace([[begin, *calls[0], *calls[1], end]], make.definitions(1)), tmp_path / "view.html")
    page = load(tmp_path / "view.html")
    painted = (
        "const pen = document.getElementById('blocks').getContext('2d');"
        "const lane = gantt.view.places[0].lanes[0];"
        "const x = gantt.xOf(arguments[0]), ratio = devicePixelRatio;"
        "const data = pen.getImageData(x * ratio, lane.y * ratio, 1, lane.height * ratio).data;"
        "const is = (i) => Math.abs(data[i] - 0xE6) + Math.abs(data[i + 1] - 0x9F) + data[i + 2] < 9;"
        "let rows = 0; for (let i = 0; i < data.length; i += 4) rows += is(i);"
        "return rows / (data.length / 4)"
    )
    found = page.js(painted, 5.5e8), page.js(painted, 1e8)
    assert found[0] > 0.8  # But for its label.
    assert 0.02 < found[1] < 0.12


@pytest.fixture
def page(load: Callable[[Path], Page], made: tuple[trace.Trace, Path]) -> Iterator[Page]:
    page = load(made[1])
    yield page
    said = [entry for entry in page.driver.get_log("browser") if "getImageData" not in entry["message"]]
    assert said == []  # But for what these tests themselves do.


@pytest.mark.parametrize(
    ("thread", "fits"), [("thread_" + "long_" * 7, True), ("thread_" + "long_" * 40, False)]
)
def test_names_of_threads_have_room(tmp_path, load, thread: str, fits: bool) -> None:
    opened = trace.open(write_trace(tmp_path / "trace"))
    known = opened.definitions
    ranks = tuple(dataclasses.replace(rank, thread=thread) for rank in known.ranks)
    trace.write_definitions(opened.path, dataclasses.replace(known, ranks=ranks))
    write_html(trace.open(opened.path), tmp_path / "view.html")
    page = load(tmp_path / "view.html")
    shown = "const name = document.querySelector('#gutter .thread'); return "
    assert page.js(shown + "name.scrollWidth <= name.clientWidth") is fits
    assert page.js(shown + "getComputedStyle(name).textOverflow") == "ellipsis"
    assert page.js(shown + "name.getBoundingClientRect().left") >= 50
    assert page.js("return gantt.view.width") > 500


def test_shows_every_block_of_the_trace(page: Page, made: tuple[trace.Trace, Path]) -> None:
    opened, _ = made
    there = len(opened.module_calls()) + len(opened.waits()) + len(opened.routine_calls()[0])
    assert page.js("return gantt.model.base.count.reduce((sum, n) => sum + n)") == there
    assert there == 3 * (2 + 2 * 3 + 2)
    assert page.window() == pytest.approx((0, 290))
    rows = [row.text for row in page.driver.find_elements(By.CSS_SELECTOR, "#gutter .thread")]
    assert rows == ["thread_A", "thread_B", "thread_C", "thread_B", "thread_C"]
    times = {
        key.text.split("\n")[0]: key.text.split("\n")[1:]
        for key in page.driver.find_elements(By.CSS_SELECTOR, "#legend .key")
    }
    assert times["fft.rows"] == ["96.0 ms", "7 %"]
    assert times["waiting for input"] == ["174 ms", "12 %"]


def test_names_are_text_wherever_they_come_from(page: Page) -> None:
    assert page.driver.title == EVIL + ".coven"
    assert page.find("h1").text == EVIL + ".coven"
    assert EVIL in page.find("#legend").text
    assert page.tip(0, 85).startswith(EVIL)
    assert page.js("return document.querySelectorAll('script').length") == 3


def test_a_link_says_which_block_to_look_at(page: Page) -> None:
    page.js("location.hash = '#from=32000000&until=48000000&rank=1'")
    page.wait("gantt.view.selected !== null")
    assert page.window() == pytest.approx((24, 56))
    assert "32 ms" in page.find("#selected").text.replace("32.0", "32")


def test_the_page_needs_no_network(page: Page) -> None:
    assert (
        page.js(
            "return performance.getEntriesByType('resource').filter((one) => !one.name.startsWith('data:'))"
        )
        == []
    )
    with pytest.raises(Exception, match="Failed to fetch"):
        page.js("return fetch('https://example.org')")
    page.driver.get_log("browser")  # Which says that it was refused.


def test_pointing_at_a_call_tells_all_about_it(page: Page) -> None:
    told = dict(zip(*[iter(page.tip(1, 140).split("\n")[1:])] * 2, strict=True))
    assert page.tip(1, 140).startswith("fft.rows\n")
    assert told["place"].endswith(".coven:11:5")
    assert told["row"].startswith("processor 0 · thread_B · rank 1 · ")
    assert told["TPH"] == "k = 1 (TPH 131072)"
    assert told["start"] == "132.0 ms"
    assert told["duration"] == "16.0 ms"
    assert told["CPU"] == "50 % of it"
    assert (told["reads"], told["defines"]) == ("image", "spectrum")


def test_pointing_at_a_wait_tells_for_what_and_whom(page: Page) -> None:
    told = page.tip(3, 215)
    assert "waiting for input" in told
    assert "for a tag that another rank defines" in told
    assert "image" in told
    assert "from rank\n0" in told


def test_the_wheel_zooms_where_the_mouse_is(page: Page) -> None:
    x, _ = page.point(1, 140)
    page.at(1, 140).perform()
    page.driver.execute_cdp_cmd(
        "Input.dispatchMouseEvent", mouse(page, 1, 140, "mouseWheel", deltaX=0, deltaY=-400)
    )
    page.wait("gantt.view.end - gantt.view.begin < 200e6")
    assert page.point(1, 140)[0] == pytest.approx(x, abs=1)
    page.type("0")
    assert page.window() == pytest.approx((0, 290))


def mouse(page: Page, rank: int, ms: float, kind: str, **more: Any) -> dict[str, Any]:
    x, y = page.point(rank, ms)
    box = page.find("#blocks").rect
    return {"type": kind, "x": box["x"] + x, "y": box["y"] + y, **more}


def test_dragging_moves_and_drags_a_range(page: Page) -> None:
    page.type("+", "+", "+")
    begin, end = page.window()
    page.at(1, (begin + end) / 2).click_and_hold().move_by_offset(-100, 0).release().perform()
    page.settled()
    assert page.window()[0] > begin
    assert page.window()[1] - page.window()[0] == pytest.approx(end - begin)
    page.type("0")
    page.at(1, 100).key_down(Keys.SHIFT).click_and_hold().perform()
    page.at(1, 200).release().key_up(Keys.SHIFT).perform()
    page.settled()
    assert page.window() == pytest.approx((100, 200), abs=1)


def test_plus_minus_and_arrows_move_the_window(page: Page) -> None:
    page.type("+", "+")
    begin, end = page.window()
    assert end - begin == pytest.approx(290 * 0.49)
    page.type(Keys.ARROW_RIGHT)
    assert page.window()[0] == pytest.approx(begin + 0.15 * (end - begin))
    page.type("-", "-", "-", "-")
    assert page.window() == pytest.approx((0, 290))


@pytest.mark.parametrize(
    ("words", "hits"),
    [
        ("transpose", 6),
        ("tag image", 15),  # The calls that define and read it, and waits for it.
        ("rank 3", 9),
        ("tph 65536", 8),
        ("k=2 fft", 2),
        ("MPI_Allreduce", 6),
        ("wait thread B", 6),
        ("processor 1 transpose", 3),
        ("nothing like it", 0),
    ],
)
def test_the_search_of_a_page_says_how_many_hits_there_are(page: Page, words: str, hits: int) -> None:
    assert page.search(words) == (f"{hits} hits" if hits else "no hit")


def test_search_goes_from_hit_to_hit_and_centres_it(page: Page) -> None:
    assert page.search("transpose rank 4") == "3 hits"
    for number, start in enumerate((52, 152, 252), 1):
        assert page.search("", "transpose rank 4", *[Keys.ENTER] * number) == f"{number} of 3"
        begin, end = page.window()
        assert page.js("return gantt.model.base.start[gantt.view.selected] / 1e6") == pytest.approx(start)
        assert begin <= start < start + 18 <= end
    assert page.find("#selected").text.startswith("SELECTED\ntranspose")
    page.type("+", "+", "+", "N")
    assert page.find("#hits").text == "2 of 3"
    assert sum(page.window()) / 2 == pytest.approx(161)
    page.type("n", "n")
    assert page.find("#hits").text == "1 of 3"


def test_the_legend_hides_and_shows(page: Page, made: tuple[trace.Trace, Path]) -> None:
    colour = module_colours(made[0])["rows"]
    assert page.colour(1, 140) == colour
    box = page.find('[data-group="call:rows"]')
    box.send_keys(Keys.SPACE)
    assert page.colour(1, 140) != colour
    box.send_keys(Keys.SPACE)
    assert page.colour(1, 140) == colour
    for button in page.driver.find_elements(By.CSS_SELECTOR, "#legend header button"):
        button.click()
    assert page.colour(1, 140) == page.colour(1, 77)
    assert page.js("return gantt.view.hidden.size") == page.js("return gantt.model.groups.length")


def test_a_click_follows_the_tph_on_all_threads(page: Page, made: tuple[trace.Trace, Path]) -> None:
    colours = module_colours(made[0])
    page.at(1, 140).click().perform()
    assert page.colour(4, 160) == colours["transpose"]
    assert page.colour(0, 110) == colours["load_frame"]
    assert page.colour(4, 60) != colours["transpose"]
    assert page.js("return gantt.view.lines.drawn") == 4
    assert "k = 1 (TPH 131072)" in page.find("#selected").text
    page.type(".")
    assert "waiting for input" in page.find("#selected").text
    page.type(Keys.ESCAPE)
    assert page.colour(4, 60) == colours["transpose"]
    assert page.find("#selected").text == ""


def test_layers_appear_and_processors_fold_when_they_are_clicked(page: Page) -> None:
    assert "memory" not in page.find("#gutter").text
    page.find('[data-layer="memory"]').click()
    page.find('[data-layer="queues"]').click()
    assert "memory ≤ 3.00 MiB" in page.find("#gutter").text
    assert "queues ≤ 3" in page.find("#gutter").text
    lanes = page.js("return gantt.view.places.flatMap((place) => place.lanes).length")
    page.find('[data-layer="nested"]').click()
    assert page.js("return gantt.view.places.flatMap((place) => place.lanes).length") == lanes - 2
    page.find("#gutter .processor:nth-of-type(2)").click()
    assert page.find("#gutter .processor:nth-of-type(2)").get_attribute("aria-expanded") == "false"
    assert page.js("return gantt.view.places.map((place) => place.folded)") == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_rows_are_made_lower_until_all_are_in_view(page: Page) -> None:
    page.type(*"]]]]]]")
    assert page.js("return gantt.view.total > gantt.view.height")
    page.type("f")
    assert page.js("return gantt.view.total <= gantt.view.height")


def test_help_is_a_key_away(page: Page) -> None:
    page.type("?")
    assert page.find("#help").is_displayed()
    assert "zoom in time" in page.find("#help").text
    page.find("#help button").click()
    assert not page.find("#help").is_displayed()


def test_merged_blocks_say_so_and_keep_their_times(load: Callable[[Path], Page], tmp_path: Path) -> None:
    directory, calls = tmp_path / "many", 20_000
    directory.mkdir()
    with Recorder(directory, 0) as recorder:
        for number in range(calls):
            recorder.record_at(
                number * 1000 + 600, EventType.MODULE_LEAVE, site=number % 3, tph=1, b=number * 1000
            )
    write_html(trace.open(directory), tmp_path / "many.html", most=500)
    page = load(tmp_path / "many.html")
    base = page.js(
        "const { count, time, start } = gantt.model.base;"
        "return { count: [...count], time: [...time], entries: start.length }"
    )
    assert sum(base["count"]) == calls
    assert sum(base["time"]) == calls * 600
    assert base["entries"] <= 500
    assert "20,000 blocks are held as" in page.find("#notes").text
    told = page.tip(0, 10)
    assert "blocks drawn together" in told
    assert "site 1" in told
    assert "60 %" in page.find("#legend").text.replace("20 %", "60 %")
    assert (tmp_path / "many.html").stat().st_size < 160_000


def test_failures_open_calls_and_marks_show(load: Callable[[Path], Page], tmp_path: Path) -> None:
    directory = tmp_path / "odd"
    directory.mkdir()
    with Recorder(directory, 0) as recorder:
        name(recorder, 7, "<b>here", TextKind.MARKER)
        recorder.record_at(3 * MS, EventType.MODULE_LEAVE, site=1, b=1 * MS, flags=1)
        recorder.record_at(4 * MS, EventType.MARKER, a=7)
        recorder.record_at(5 * MS, EventType.MODULE_ENTER, site=2, tph=2**63)
        recorder.record_at(9 * MS, EventType.PHASE, a=4)
    write_html(trace.open(directory), tmp_path / "odd.html")
    page = load(tmp_path / "odd.html")
    assert "it failed" in page.tip(0, 2)
    assert "not finished" in page.tip(0, 8)
    assert str(2**63) in page.tip(0, 8)
    x, y = page.js("return [gantt.xOf(4e6), gantt.view.places[0].y + 3]")
    canvas = page.find("#blocks")
    offset = (round(x - canvas.size["width"] / 2), round(y - canvas.size["height"] / 2))
    ActionChains(page.driver, 0).move_to_element_with_offset(canvas, *offset).perform()
    page.wait("document.getElementById('tip').innerText.startsWith('<b>here')")


def test_routines_alone_nest_and_have_messages(load: Callable[[Path], Page], tmp_path: Path) -> None:
    directory = tmp_path / "alone"
    directory.mkdir()
    for rank in (0, 1):
        with Recorder(directory, rank) as recorder:
            name(recorder, 1, "main <i>")
            name(recorder, 2, "MPI_Send")
            recorder.record_at(5 * MS, EventType.REGION_LEAVE, a=2, b=2 * MS)
            recorder.record_at(9 * MS, EventType.REGION_LEAVE, a=1, b=1 * MS)
    write_html(trace.open(directory), tmp_path / "alone.html")
    page = load(tmp_path / "alone.html")
    assert [lane["nested"] for lane in page.js("return gantt.model.lanes")] == [False, True, False, True]
    heights = page.js("return gantt.view.places[0].lanes.map((lane) => lane.height)")
    assert heights[0] == heights[1]
    assert page.tip(1, 6).startswith("main <i>")
    assert page.find("h1").text == "alone"


def test_head_is_json_that_ends_no_element(made: tuple[trace.Trace, Path]) -> None:
    text = made[1].read_text(encoding="utf-8")
    head = text.split('id="head">')[1].split("</script>")[0]
    assert json.loads(head)["title"] == EVIL + ".coven"


def test_the_legend_adds_up_to_all_time(page: Page) -> None:
    held = page.js("return Object.fromEntries(gantt.accounted(50e6, 240e6).times)")
    within_others = ("routine:MPI_Allreduce", "preempted", "waking", "sum")
    parts = {name: time for name, time in held.items() if name not in within_others}
    assert held["sum"] == 5 * 190 * MS == pytest.approx(sum(parts.values()))
    assert held["wait:input"] == 2 * (29 + 29) * MS  # A window cuts what is at its edges.
    assert held["call:transpose"] == 2 * (18 + 18) * MS
    assert held["call:rows"] == 2 * (16 + 8) * MS
    assert page.find("#legend .sum").text.split("\n") == ["all", "1.45 s", "100 %"]


def test_each_pixel_has_the_shares_of_its_time(tmp_path, load, write_trace, make) -> None:
    """Calls and waits of 1 µs take turns, calls for 30 % of the time, whatever part of it is in view."""
    rows = [{"time": 0, "type": EventType.PHASE, "a": 1}]
    for begin in range(0, 10_000_000, 1000):
        rows += [*make.call(0, begin, begin + 300), *make.wait(begin + 300, begin + 1000)]
    rows.append({"time": 10_000_000, "type": EventType.PHASE, "a": 4})
    write_html(write_trace([rows], make.definitions(1)), tmp_path / "view.html")
    page = load(tmp_path / "view.html")
    coloured = (
        "const canvas = document.getElementById('blocks'), pen = canvas.getContext('2d');"
        "const lane = gantt.view.places[0].lanes[0];"
        "const { data } = pen.getImageData(100, lane.y, 400, lane.height); let found = 0;"
        "for (let i = 0; i < data.length; i += 4)"
        " found += Math.abs(data[i] - 0xE6) + Math.abs(data[i + 1] - 0x9F) + data[i + 2] < 9;"
        "return found / (data.length / 4)"
    )
    for _ in range(6):  # From 10 ms in view to some 100 µs, in which 10 pixels are a round.
        assert page.js(coloured) == pytest.approx(0.3, abs=0.03)
        page.type("+", "+")
