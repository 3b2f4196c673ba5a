"""``pse bench page``: how soon the page of a large trace can be used, and how fast it draws.

The traces are made (``_synthetic_trace``).  Chromium, without a screen and without a graphics card, opens the
page from a disk and zooms in and out with all rows in view; beside it, a page of next to no blocks: what the
browser itself takes.  The size of a page shows with a trace of many more events, of which it holds a level of
detail.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pse import trace
from pse.bench._browser import browser
from pse.bench._figures import Against, Figure
from pse.bench._running import in_turn
from pse.bench._synthetic_trace import room_for, write_trace
from pse.views.page import write_html

_ZOOMS = """
const done = arguments[0], key = (name) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", { key: name, bubbles: true }));
key("f");
let frames = -2, begin = 0;
const step = (now) => {
  if (++frames === 0) begin = now;
  if (frames >= 60) return done((1000 * frames) / (now - begin));
  key(frames % 60 < 30 ? "+" : "-");
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


@dataclass(frozen=True)
class Sizes:
    """How many events the traces have, and on how many processors: two ranks for each, and the root."""

    events: int = 4_500_000
    processors: int = 64
    many: int = 50_000_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure the page of a large trace and that of a tiny one, in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as name:
        folder = Path(name)
        large, blocks = _page(folder / "large", sizes.events, sizes.processors)
        tiny, _ = _page(folder / "tiny", 1, sizes.processors)
        with browser(folder) as driver:
            measurers = [lambda: _opened(driver, large, ""), lambda: _opened(driver, tiny, "tiny ")]
            samples = in_turn(repeats, measurers, say)
        size = _size(folder / "many", sizes.many)
    of = f"of {blocks / 1e6:.2g} million blocks on {2 * sizes.processors + 1} ranks"
    beside = "a page of next to no blocks"
    frames = Against(beside, "frames/s", tuple(samples["tiny frames"]))
    usable = Against(beside, "s", tuple(samples["tiny usable"]))
    written = Against("the trace", "MB", (sizes.many * trace.EVENT_DTYPE.itemsize / 1e6,))
    return [
        Figure(f"zooming in a page {of}", "frames/s", ">=", 30.0, tuple(samples["frames"]), frames),
        Figure(f"until a page {of} can be used", "s", "<=", 2.0, tuple(samples["usable"]), usable),
        Figure(
            f"page of {sizes.many / 1e6:.3g} million events", "MB", "<=", 30.0, (size,), written, (size, size)
        ),
    ]


def _page(directory: Path, events: int, processors: int) -> tuple[Path, int]:
    """Write a trace and its page; give that, and how many calls and waits it has."""
    with room_for(directory.parent, events):
        write_trace(directory, events, processors)
    opened, path = trace.open(directory), directory.with_suffix(".html")
    write_html(opened, path, most=2 * events)
    blocks = len(opened.module_calls()) + len(opened.waits())
    shutil.rmtree(directory)
    return path, blocks


def _size(directory: Path, events: int) -> float:
    """How large the page of a trace is, MB, as it is written by default."""
    with room_for(directory.parent, events):
        write_trace(directory, events)
    path = directory.with_suffix(".html")
    write_html(trace.open(directory), path)
    return path.stat().st_size / 1e6


def _opened(driver: Any, path: Path, prefix: str) -> dict[str, float]:
    """Open a page; give the seconds until it can be used, and its frames a second while it zooms."""
    driver.get("about:blank")
    begin = time.perf_counter()
    driver.get(path.as_uri())
    while not driver.execute_script("return Boolean(globalThis.gantt)"):
        time.sleep(0.01)
    usable = time.perf_counter() - begin
    return {f"{prefix}usable": usable, f"{prefix}frames": driver.execute_async_script(_ZOOMS)}
