"""Where progress is shown: a notebook's cell, a terminal, a file, or nowhere.

A notebook gets HTML that replaces itself, so no widgets are needed.
"""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.live import Live

from pse.analysis import Cube
from pse.runtime.status import PLAIN_INTERVAL, Overview, can_draw, draw_overview
from pse.views.cube import cube_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INTERVAL = 0.25
_WIDTH = 100
MOST = 1_000_000
"""Characters of output that a cell shows of one run: a browser doesn't take any number."""


class Screen:
    """Shows nothing; what modules print is passed on.

    See Also
    --------
    run
    """

    def show(self, drawing: RenderableType) -> None:
        """Show a drawing in the place of the one before."""

    def follow(self, overview: Overview) -> None:
        """Show how the run stands."""
        self.show(draw_overview(overview))

    def write(self, text: str, *, error: bool = False) -> None:
        """Pass on what modules print."""
        stream = sys.stderr if error else sys.stdout
        code = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(code, "backslashreplace").decode(code))
        stream.flush()

    def close(self, last: str = "") -> None:
        """Take the drawing away, and leave a line in its place."""


class Quiet(Screen):
    """Shows nothing at all."""

    def follow(self, overview: Overview) -> None:
        """Draw nothing."""

    def write(self, text: str, *, error: bool = False) -> None:
        """Drop it."""


class TerminalScreen(Screen):
    """The lower lines of a terminal."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, drawing: RenderableType) -> None:
        """Draw it anew."""
        self._live.update(drawing, refresh=True)

    def write(self, text: str, *, error: bool = False) -> None:
        """Write above the drawing, unless it goes elsewhere."""
        from rich.text import Text

        if error or sys.stdout.isatty():
            self._console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=True)
        else:
            super().write(text, error=error)

    def close(self, last: str = "") -> None:
        """Give the lines back."""
        self._live.stop()


class LineScreen(Screen):
    """A file: now and then the first line of the drawing."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def show(self, drawing: RenderableType) -> None:
        """Write the first line, unless that was done a moment ago."""
        if time.monotonic() - self._said >= PLAIN_INTERVAL:
            self._said = time.monotonic()
            self.close(_drawn(drawing)[1].partition("\n")[0].rstrip())

    def close(self, last: str = "") -> None:
        """Write a line."""
        if last:
            super().write(f"{last}\n", error=True)


class CellScreen(Screen):
    """The output of a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0
        self._room = MOST

    def show(self, drawing: RenderableType) -> None:
        """Replace what is shown, though not too often: each time is a message to the browser."""
        if time.monotonic() - self._shown >= _INTERVAL:
            self._shown = time.monotonic()
            self._replace(*_drawn(drawing))

    def write(self, text: str, *, error: bool = False) -> None:
        """Write into the cell's output, as much as that may hold."""
        if self._room > 0:
            super().write(text[: self._room], error=error)
            self._room -= len(text)
            if self._room <= 0:
                super().write(
                    f"\n[the first {MOST:,} characters; the result's .output has all]\n", error=True
                )

    def close(self, last: str = "") -> None:
        """Leave one line."""
        if self._handle is not None:
            self._replace(f'<div style="opacity: 0.7">{escape(last)}</div>' if last else "", last)

    def _replace(self, html: str, text: str) -> None:
        from IPython.display import display

        bundle = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


def _drawn(drawing: RenderableType) -> tuple[str, str]:
    """Draw for a cell: HTML and plain text."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, force_jupyter=False, color_system="truecolor"
    )
    console.print(drawing)
    text = console.export_text(clear=False)
    form = '<pre style="line-height: 1.2; white-space: pre; overflow-x: auto">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=form), text


def ipython() -> Any:
    """Give IPython's shell, in a terminal or a notebook; None in plain Python."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def kernel_shell() -> Any:
    """Give IPython's shell if this is a Jupyter kernel, else None: then there is no cell to draw into."""
    shell = ipython()
    return shell if hasattr(shell, "kernel") else None


def tell(what: object) -> None:
    """Show something once: in IPython as it shows itself there, else as text on standard error."""
    if ipython() is None:
        sys.stderr.write(str(what))
        return
    from IPython.display import display

    display(what)  # type: ignore[no-untyped-call]


def show_figures() -> None:
    """Have a notebook show matplotlib's figures as pictures also where pyplot was never imported."""
    shell = kernel_shell()
    if shell is not None:
        from matplotlib.figure import Figure

        png = shell.display_formatter.formatters["image/png"]
        if Figure not in png.type_printers:
            png.for_type(Figure, _png)


def show_cubes() -> None:
    """Have a notebook show cubes as their page, in a frame."""
    shell = kernel_shell()
    if shell is not None:
        html = shell.display_formatter.formatters["text/html"]
        html.for_type(Cube, _frame)


def _frame(cube: Cube) -> str:
    return FramedPage(cube_page(cube))._repr_html_()


@dataclass(frozen=True, repr=False)
class FramedPage:
    """A page that a notebook shows in a frame: it is whole, and loads nothing.

    Parameters
    ----------
    html : str
        All of the page.
    height : int
        Of the frame, CSS pixels.
    """

    html: str
    height: int = 620

    def __repr__(self) -> str:
        return f"<page of {len(self.html):,} characters>"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'


class TimelinePage(FramedPage):
    """The page of a trace as the element ``<pse-timeline>``; where scripts may not run, the frame alone."""

    def _repr_html_(self) -> str:
        from pse.views.page import element_script

        frame = super()._repr_html_()
        return f"<pse-timeline>{frame}</pse-timeline><script>{element_script()}</script>"


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi)
    return file.getvalue()


def screen(wanted: bool | None = None) -> Screen:
    """Choose where to show progress.

    Parameters
    ----------
    wanted : bool, optional
        False: nowhere; else wherever there is something to draw on. True: else in plain lines.
    """
    if wanted is False:
        return Screen()
    if kernel_shell() is not None:
        return CellScreen()
    if can_draw(sys.stderr):
        return TerminalScreen()
    return LineScreen() if wanted else Screen()
