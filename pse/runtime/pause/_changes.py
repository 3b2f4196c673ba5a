"""Live parameters get new values at a pause: all ranks at the same one, each in its own slots.

Where the changes are known before the run, no rank asks another: each counts its pauses.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import cast

from pse.language.types import Value
from pse.runtime.plan._projection import Incarnation
from pse.runtime.plan._slots import live_slot
from pse.runtime.request._changes import Changes, changes_text
from pse.text import count_text
from pse.trace import Recorder
from pse.trace.format import EventType, TextKind


class LiveValues:
    """One rank's live parameters, and the changes that are known before the run.

    Parameters
    ----------
    changes : mapping
        By pause.

    Attributes
    ----------
    due : int
        The pause at which the next of them is; 0 without one.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = dict(sorted(changes.items()))
        self._marks, self.due = 0, 0
        self._recorder: Recorder | None = None

    def begin(self, rounds: int, recorder: Recorder | None) -> None:
        """Leave out what a run that is resumed has taken already."""
        self._recorder = recorder
        self._changes = {pause: values for pause, values in self._changes.items() if pause > rounds}
        self.due = next(iter(self._changes), 0)

    def pause(self, now: Incarnation) -> None:
        """Take the change of this pause, if there is one."""
        if now.sequencer.rounds + 1 == self.due:
            self.change(now, self._changes.pop(self.due))
            self.due = next(iter(self._changes), 0)

    def warn_of_rest(self, rounds: int) -> None:
        """Say at the end of the run which changes it has not come to, if any."""
        if self._changes:
            first, last = min(self._changes), max(self._changes)
            where = f"pause {first}" if first == last else f"pauses {first} to {last}"
            passed = count_text(rounds, "pause")
            sys.stderr.write(f"warning: the run had {passed}, so the changes of {where} were not made\n")

    def change(self, now: Incarnation, values: Mapping[str, Value]) -> None:
        """Give live parameters new values, and put a mark into the trace: the pause, and the values."""
        for name, value in values.items():
            now.sequencer.put(now.projection.slots[live_slot(name), None], cast("int | float", value))
        if self._recorder:
            self._marks += 1
            self._recorder.text(TextKind.MARKER, self._marks, changes_text(values))
            self._recorder.record(EventType.MARKER, a=self._marks, b=now.sequencer.rounds + 1)
