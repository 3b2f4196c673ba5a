"""Runs that go on, from the page: held, stepped and changed; and frames of the tags that pages watch.

A thread for each watched run takes frames, one after another, while a page listens; so a run that comes to no
pause holds up nobody.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pse.desk.server._errors import Refusal
from pse.desk.server._events import Event
from pse.errors import PseError
from pse.notebook import asked_by_form, translated
from pse.runtime.control import RunControl, running
from pse.views.frames import take_frame

_PATIENCE = 10.0
"""Seconds that a page waits for a run to come to a pause."""
_INTERVAL = 0.1
"""Seconds between two frames of the same tags, at least."""
_HELD = 0.3
"""Seconds between two looks at a run that is held."""


def run_status(name: str) -> dict[str, Any] | None:
    """Give how a run stands; None if it has only begun to start, or is over."""
    if name in running():
        with contextlib.suppress(PseError), RunControl(name, _PATIENCE) as run:  # It may end meanwhile.
            return run.status()
    return None


def control_run(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Do with a run what a page asks for; gives how it stands then."""
    action, values = asked.get("action"), asked.get("values")
    with RunControl(name, _PATIENCE) as run:
        if action in ("pause", "resume", "checkpoint"):
            status: dict[str, Any] = getattr(run, str(action))()
            return status
        if action == "step":
            return run.step(asked.get("rounds", 1))
        if action == "set" and isinstance(values, dict):
            with asked_by_form(), translated():
                return run.set(values)
    raise Refusal(f"a run can't {action}", help="status, pause, resume, step, set, checkpoint")


class Watches:
    """What pages watch.

    Parameters
    ----------
    publish : callable
        Tells all pages something.
    heard : callable
        Says whether there is any.
    """

    def __init__(self, publish: Callable[[Event], None], heard: Callable[[], bool]) -> None:
        self._publish, self._heard = publish, heard
        self._tags: dict[str, tuple[str, ...]] = {}
        self._turn = threading.Lock()

    def watch(self, id: str, name: str, tags: object) -> list[str]:
        """Watch these tags of a run, instead of those before."""
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise Refusal("tags is not a list of names", help='for example  "tags": ["u"]')
        with self._turn:
            begins = tags and not self._tags.get(id)
            self._tags[id] = tuple(tags)
        if begins:
            threading.Thread(target=self._follow, args=(id, name), daemon=True).start()
        return tags

    def _wanted(self, id: str) -> tuple[str, ...]:
        """Give what is watched; whoever gets nothing ends, and the next watch begins anew."""
        with self._turn:
            if not self._heard():
                self._tags.pop(id, None)
            return self._tags.get(id) or ()

    def _follow(self, id: str, name: str) -> None:
        with contextlib.suppress(PseError), RunControl(name) as run:
            self._frames(id, run)
        with self._turn:
            self._tags.pop(id, None)

    def _frames(self, id: str, run: RunControl) -> None:
        waits, shown = threading.Event(), None
        while tags := self._wanted(id):
            here = run.status()["pause"], tags
            if here[0] is not None and here == shown:
                waits.wait(_HELD)
                continue
            for tag in tags:
                self._publish({"type": "frame", "run": id, **take_frame(run, tag)})
            shown = here
            waits.wait(_INTERVAL)
