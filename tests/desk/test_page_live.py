"""The desk's page in a real browser: runs that go on are held, changed and seen."""

import io
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="starlette is in the extra desk: pip install 'pse[desk]'")
pytest.importorskip("selenium", reason="selenium isn't installed")

from PIL import Image
from pse_testing.browser import browser

from .test_page import TALL, complaints, open_desk

__all__ = ["browser", "open_desk"]
WAVE = """coven 1
import "wave.py" { move }
param f64 height = 1.0 live where height > 0
program wave {
  var f64[48, 64] u
  zero() -> u
  var f64 peak = 0.0
  for k in 0 .. 100000 {
    thread_A move(u, k, height) -> peak
  }
  thread_A print(peak)
}
"""
MOVE = """import time

import numpy as np


#@ coven module move(inout f64 u[m, n], in i64 k, in f64 height, out f64 peak)
def move(u, k, height):
    time.sleep(0.01)
    i, j = np.ogrid[: u.shape[0], : u.shape[1]]
    u[...] = height * np.sin(0.2 * i + 0.02 * k) * np.cos(0.15 * j)
    return float(u.max())
"""
INK = """
const canvas = document.querySelector("figure[data-tag='u'] canvas");
if (!canvas) return 0;
const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
return new Set(data.filter((_, i) => i % 4 === 0)).size;
"""


def test_a_run_that_goes_on_is_held_changed_and_seen_from_the_page(open_desk):
    page = open_desk("wave.coven", TALL, wave=WAVE, **{"wave.py": MOVE})
    page.wait(lambda: page.calls())
    page.command("Show or hide the run")
    page.one("#run-form input[name='checkpoint']").click()
    page.one("#run-form button.main").click()
    page.click("Hold")
    page.wait(lambda: "held at wave.coven:8:3" in page.one(".live .buttons").text)
    page.one("input[name='watch u']").click()
    page.one("input[name='watch peak']").click()
    page.wait(lambda: page.script(INK) > 20)
    assert page.one("figure[data-tag='u'] figcaption").text.startswith("u[48, 64]: ")
    pause = int(page.one("figure[data-tag='u']").get_attribute("data-pause"))
    page.click("Step")
    page.wait(lambda: page.one("figure[data-tag='u']").get_attribute("data-pause") == str(pause + 1))
    page.script(COUNT_CHANGES)
    page.write("input[name='live height']", "-1")
    page.wait(lambda: "does not satisfy" in page.one(".banner").text)
    assert "-D" not in page.one(".banner").text
    page.one("[aria-label='Close this message']").click()
    page.wait(lambda: not page.all(".banner"))
    assert page.one("input[name='live height']").get_attribute("aria-invalid") == "true"
    assert page.script("return changes") == 1
    page.write("input[name='live height']", "3")
    page.wait(lambda: page.one("input[name='live height']").get_attribute("aria-invalid") == "false")
    page.click("Checkpoint")
    page.wait(lambda: list(page.folder.glob(".pse/runs/*/checkpoint/checkpoint.json")))
    page.click("Go on")
    page.wait(lambda: page.one("figure[data-tag='peak'] figcaption").text.startswith("peak: 2.9"))
    page.click("Stop")
    page.wait(lambda: page.all("p[data-state='stopped']"))
    assert "failed" not in page.one(".watch table").text
    assert [one for one in complaints(page) if "422" not in one] == [], "but for the value that was refused"


def test_a_page_that_comes_back_shows_the_run_that_goes_on_and_starts_no_second_one(open_desk):
    page = open_desk("wave.coven", TALL, wave=WAVE, **{"wave.py": MOVE})
    page.wait(lambda: page.calls())
    page.command("Run the program")
    page.wait(lambda: page.all("p[data-state='running']"))
    page.browser.refresh()
    page.wait(lambda: page.calls() and page.all("p[data-state='running']"))
    assert page.one("p[data-state='running']").is_displayed()
    page.one(".bar .main[disabled]")
    page.command("Run the program")
    page.click("Hold")
    page.wait(lambda: "held at wave.coven:8:3" in page.one(".live .buttons").text)
    page.click("Stop")
    page.wait(lambda: page.all("p[data-state='stopped']"))
    assert len(list(page.folder.glob(".pse/runs/*"))) == 1


COUNT_CHANGES = """
const { fetch } = window;
window.changes = 0;
window.fetch = (address, asked) => {
  if (asked?.body?.includes('"set"')) window.changes += 1;
  return fetch(address, asked);
};
"""
ODD = """coven 1
import "odd.py" { odd }
program odds {
  var f64[4] w
  var c128[4] z
  zero() -> w
  zero() -> z
  for k in 0 .. 100000 {
    thread_A odd(w, z) -> x
  }
  thread_A print(w, z, x)
}
"""
ODD_MODULE = """import time


#@ coven module odd(inout f64 w[n], inout c128 z[n], out f64 x)
def odd(w, z):
    time.sleep(0.02)
    w[:] = [float("nan"), float("inf"), -float("inf"), 0.6125]
    z[:] = 3 + 4j
    return float("nan")
"""


def test_what_is_no_finite_number_is_counted_and_absolute_values_are_named_so(open_desk):
    page = open_desk("odd.coven", TALL, odd=ODD, **{"odd.py": ODD_MODULE})
    page.wait(lambda: page.calls())
    page.command("Show or hide the run")
    page.one("#run-form button.main").click()

    def words(tag: str) -> str:
        page.one(f"input[name='watch {tag}']").click()
        return page.wait(lambda: page.one(f"figure[data-tag='{tag}'] figcaption").text)

    assert words("w").startswith("w[4]: 0.6125 to 0.6125, 3 of 4 no finite number · ")
    drawn = page.one("figure[data-tag='w'] svg")
    assert drawn.get_attribute("aria-label") == "Values of w"
    assert re.fullmatch(r"M[\d.]+,[\d.]+h0", drawn.find_element("css selector", "path").get_attribute("d"))
    assert words("z").startswith("|z|[4]: 5 to 5 · ")
    page.click("Stop")
    page.wait(lambda: page.all("p[data-state='stopped']"))
    assert complaints(page) == []


SPACE = """coven 1
import "space.py" { blob, swarm }
program space {
  var f64[12, 16, 20] u
  var f64[50000, 4] x
  thread_A blob(0) -> u
  thread_A swarm(0) -> x
  let rounds = i64(1e5)
  for k in 0 .. rounds {
    thread_A blob(k) -> u
    thread_A swarm(k) -> x
  }
  thread_A print(u, x)
}
"""
BLOB = """import time

import numpy as np


#@ coven module blob(in i64 k, out f64 u[l, m, n])
def blob(k, u):
    time.sleep(0.02)
    x, y, z = np.ix_(*(np.linspace(-1, 1, size) for size in u.shape))
    u[...] = np.exp(-3 * (x**2 + y**2 + z**2))


#@ coven module swarm(in i64 k, out f64 x[n, m])
def swarm(k, x):
    x[...] = np.random.default_rng(7).normal(size=x.shape)
    x[:, 3] = np.arange(len(x))
"""


def colours(element: Any) -> int:
    """How many colours there are in what is drawn."""
    drawn = Image.open(io.BytesIO(element.screenshot_as_png)).convert("RGB")
    return len(np.unique(np.asarray(drawn).reshape(-1, 3), axis=0))


def test_three_axes_are_slices_surfaces_and_volumes_and_rows_of_three_points(open_desk):
    page = open_desk("space.coven", TALL, space=SPACE, **{"space.py": BLOB})
    page.wait(lambda: page.calls())
    page.command("Show or hide the run")
    page.script("document.documentElement.style.setProperty('--drawer', '700px')")
    page.one("#run-form button.main").click()
    page.one("input[name='watch x']").click()
    page.wait(lambda: colours(page.one("figure[data-tag='x'] canvas")) > 20)
    words = page.one("figure[data-tag='x'] figcaption").text
    assert words.startswith("x[50000, 4]: 1 row of 3, 0 to 50000"), words
    page.one("input[name='watch x']").click()
    page.one("input[name='watch u']").click()
    page.wait(lambda: colours(page.one("figure[data-tag='u'] canvas")) > 20)
    from selenium.webdriver.support.ui import Select

    page.click("Hold")
    page.wait(lambda: "held at space.coven:9:3" in page.one(".live .buttons").text)
    # Nobody knows beforehand how many rounds there are.
    assert re.search(r"k:9 \d+$", page.one("[data-state]").text.strip())
    assert re.fullmatch(r"\d+", page.one(".frame.for .badge").text)
    way = Select(page.one("figure[data-tag='u'] select"))
    for shown in ("surface", "volume"):
        way.select_by_visible_text(shown)
        page.wait(lambda: colours(page.one("figure[data-tag='u'] canvas[data-engine]")) > 20)
    page.click("Stop")
    page.wait(lambda: not page.all(".live"))
    assert complaints(page) == []
