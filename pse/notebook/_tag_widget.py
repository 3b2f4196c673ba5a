"""A watched tag in a notebook: takes a frame whenever a page has drawn the one before.

Needs anywidget, so nothing imports this file before `Running.watch`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Protocol

import anywidget
import traitlets

from pse.errors import PseError
from pse.runtime.control import RunControl
from pse.views.frames import frame_scripts, take_frame

_INTERVAL = 0.1
"""Seconds between two frames, at least."""


class Watched(Protocol):
    """The run: `pse.notebook.Running`."""

    def control(self) -> RunControl:
        """Connect with it."""

    def when_done(self, act: Callable[[], None], /) -> None:
        """Have something done when it has ended."""


def _script(name: str) -> str:
    return (frame_scripts() / name).read_text(encoding="utf-8")


class TagWidget(anywidget.AnyWidget):
    """A tag of a run, as it changes.

    Attributes
    ----------
    tag : str
        The tag.
    frame : dict
        The last frame, as `pse.views.frames.take_frame` gives it; empty before the first.
    said : str
        How the run has ended; empty while it goes on.

    See Also
    --------
    Running
    """

    _esm = _script("frames.js")
    tag = traitlets.Unicode().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)

    def __init__(self, tag: str, run: Watched) -> None:
        super().__init__(tag=tag)
        self._wanted = threading.Event()
        self.on_msg(self._asked)
        run.when_done(self._wanted.set)
        threading.Thread(target=self._follow, args=(run,), daemon=True).start()

    def _asked(self, _: object, message: dict[str, Any], __: object) -> None:
        """Take what a page wants: the next frame, or the script for three dimensions."""
        if message.get("wanted") == "space":
            self.send({"space": _script("space.js")})
        else:
            self._wanted.set()

    def _follow(self, run: Watched) -> None:
        with contextlib.suppress(PseError), run.control() as control:
            self._show(control)
        ended = threading.Event()
        run.when_done(ended.set)
        ended.wait()
        self.said = repr(run)

    def _show(self, control: RunControl) -> None:
        """Show frames until the run is over; of a run that is held, each pause once."""
        pause, rest = None, threading.Event()
        while True:
            held = control.status()["pause"]
            if held is None or held != pause:
                self._wanted.clear()
                self.frame = take_frame(control, self.tag)
                pause = self.frame.get("pause")
                self._wanted.wait()
            rest.wait(_INTERVAL)
