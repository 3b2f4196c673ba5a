"""Frames of a run from its beginning to its end, evenly spread, however long it takes."""

from __future__ import annotations

import threading

from pse.errors import PseError, UsageError
from pse.runtime.control._address import running
from pse.runtime.control._client import RunControl, RunEnded
from pse.runtime.control._frames import Frame

MOST = 400
"""Frames that are kept: of more, every second one goes."""
_LOOK = 0.05
"""Seconds between two looks for a run that starts, or for a tag that has no value."""


class Recording:
    """Takes frames of a tag, in a thread of its own.

    Parameters
    ----------
    name : str
        The run's, which may have to start first.
    tag : str
        What to take.

    Attributes
    ----------
    frames : list of Frame
        What is kept so far.
    said : str
        Why the last frame could not be taken.

    Examples
    --------
    >>> recording = Recording("heat", "u")
    >>> recording.finish()
    []
    """

    def __init__(self, name: str, tag: str) -> None:
        self.name, self.tag = name, tag
        self.frames: list[Frame] = []
        self.said = "the run was over before a pause"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="recording", daemon=True)
        self._thread.start()

    def finish(self) -> list[Frame]:
        """End it, when the run has; gives what is kept."""
        self._over.set()
        self._thread.join()
        return self.frames

    def _follow(self) -> None:
        while self.name not in running():
            if self._over.wait(_LOOK):
                return
        try:
            with RunControl(self.name) as run:
                self._take_all(run)
        except PseError as error:
            self.said = error.message

    def _take_all(self, run: RunControl) -> None:
        stride, taken = 1, 0
        while not self._over.is_set():
            try:
                frame = run.frame(self.tag)
            except RunEnded:
                return
            except UsageError as error:  # It has no value here.
                self.said = error.message
                self._over.wait(_LOOK)
                continue
            self.frames += [frame] if taken % stride == 0 else []
            taken += 1
            if len(self.frames) > MOST:
                self.frames, stride = self.frames[::2], 2 * stride
