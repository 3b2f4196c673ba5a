"""Take the desk's pictures for the gallery and the README: a program, a run that is watched, a finished run.

A hook of mkdocs, which takes them anew for the site where Chromium and its driver are, and a command that
writes the copies in docs/pictures: `python docs/generate/desk_pictures.py`.
"""

from __future__ import annotations

import io
import logging
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from PIL import Image

from pse.bench._browser import browser
from pse.errors import UsageError

ROOT = Path(__file__).parents[2]
log = logging.getLogger("mkdocs")
sys.path.append(str(ROOT / "tests"))

from pse_testing.desk_page import Page, serving  # noqa: E402

WIDTH = 1280
COLOURS = 96
TAGS = ("T", "q")
"""What is watched."""


def program(page: Page) -> None:
    """Show the graph and the text of a program, and the form of a call."""
    page.lay_out()
    page.select("exchange")


def live(page: Page) -> None:
    """Show a run that is held, with its live data."""

    def pause(tag: str) -> int:
        return int(page.one(f"figure[data-tag='{tag}']").get_attribute("data-pause"))

    page.command("Dark")
    run(page, NX="120", NY="80")
    for tag in TAGS:
        page.one(f"input[name='watch {tag}']").click()
    page.wait(lambda: min(map(pause, TAGS)) > 300)
    page.click("Hold")
    page.wait(lambda: "held at" in page.one(".live .buttons").text)
    page.wait(lambda: pause(TAGS[0]) == pause(TAGS[1]))
    page.hands(page.browser).drag_and_drop_by_offset(page.one(".divider.top"), 0, -190).perform()
    page.hands(page.browser).move_to_element(page.one(".bar .title")).perform()
    page.script("arguments[0].scrollIntoView({ block: 'end' })", page.one("figure[data-tag='T']"))


def run(page: Page, **parameters: str) -> None:
    """Run the program that is open."""
    page.command("Show or hide the run")
    for name, value in parameters.items():
        page.one(f"#run-form input[name='parameter {name}']").send_keys(value)
    page.click("Run")


def finished(page: Page) -> None:
    """Show where the time of a run went, on the graph and in the time line."""
    run(page, frames="8")
    page.wait(lambda: page.one("[data-state]").get_attribute("data-state") == "done")
    page.command("Colour by time")
    page.click("Runs (1)")
    page.click("Time line")
    page.wait(lambda: page.script("return document.querySelector('pse-timeline').seen"))


SCENES: dict[str, tuple[str, int, Callable[[Page], None]]] = {
    "desk-program.png": ("heat.coven", 800, program),
    "desk-live.png": ("flow/plate.coven", 1100, live),
    "desk-finished.png": ("fft2d.coven", 1000, finished),
}
"""Of each picture: the program, the height of the window, what a person does."""


def taken() -> Iterator[tuple[str, bytes]]:
    """Give each picture's name and content."""
    for name, (program, height, show) in SCENES.items():
        with tempfile.TemporaryDirectory(prefix="pse-desk-") as folder, browser(Path(folder)) as driver:
            programs = Path(shutil.copytree(ROOT / "programs", Path(folder) / "programs"))
            driver.set_window_size(WIDTH, height)
            with serving(programs / program) as address:
                page = Page(driver, address, programs)
                page.command("Light")
                page.wait(page.calls)
                show(page)
                page.settle()
                yield name, small(driver.get_screenshot_as_png())
                page.abandon()


def small(picture: bytes) -> bytes:
    """Give a picture with few colours: a third of the bytes."""
    file = io.BytesIO()
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    return file.getvalue()


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Take the site's pictures anew; without a browser they are those of the repository."""
    try:
        pictures = dict(taken())
    except UsageError as error:
        log.info("The desk's pictures are those of docs/pictures: %s", error.message)
        return
    for name, content in pictures.items():
        old = files.get_file_from_path(f"pictures/{name}")
        assert old is not None
        files.remove(old)
        files.append(File.generated(config, f"pictures/{name}", content=content))


if __name__ == "__main__":
    for name, content in taken():
        (ROOT / "docs" / "pictures" / name).write_bytes(content)
