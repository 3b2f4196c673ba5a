"""A run from outside: who controls it, or watches what it computes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pse.errors import RunError, UsageError
from pse.runtime.control import _wire as wire
from pse.runtime.control._address import connect, running

if TYPE_CHECKING:
    from pse.runtime.control._frames import Frame


class RunControl:
    """A running program that was started by ``pse run PROGRAM --control NAME``.

    Parameters
    ----------
    name : str
        The run's name.
    patience : float, optional
        Seconds to wait for an answer; as long as it takes if not given.

    Raises
    ------
    UsageError
        If no such run goes on here.

    Examples
    --------
    >>> with RunControl("heat") as run:  # doctest: +SKIP
    ...     run.pause()["place"]
    ...     run.set({"dt": "5e-4"})
    ...     run.frame("u").values.mean()
    ...     run.resume()
    """

    def __init__(self, name: str, patience: float | None = None) -> None:
        connection = connect(name)
        if connection is None:
            raise UsageError(f"no run called {name} goes on here", help=_others())
        self.name, self._connection = name, connection
        connection.settimeout(patience)
        self._stream = connection.makefile("rb")

    def __enter__(self) -> RunControl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the run goes on as it is."""
        self._stream.close()
        self._connection.close()

    def status(self) -> dict[str, Any]:
        """Say how the run stands: its state, pauses passed, live parameters, and tags that can be watched."""
        return self._ask({"do": "status"})[0]

    def pause(self) -> dict[str, Any]:
        """Hold the run at the next pause that all ranks can come to; returns when it is there."""
        return self._ask({"do": "pause"})[0]

    def resume(self) -> dict[str, Any]:
        """Let a run that is held go on."""
        return self._ask({"do": "resume"})[0]

    def step(self, rounds: int = 1) -> dict[str, Any]:
        """Hold the run so many pauses further on."""
        return self._ask({"do": "step", "rounds": rounds})[0]

    def checkpoint(self) -> dict[str, Any]:
        """Write a checkpoint at the next pause."""
        return self._ask({"do": "checkpoint"})[0]

    def stop(self) -> None:
        """End the run as Ctrl-C does: with ``--checkpoint`` it saves before."""
        with contextlib.suppress(RunEnded):  # It may be gone before it can answer.
            self._ask({"do": "stop"})

    def set(self, values: Mapping[str, str | int | float]) -> dict[str, Any]:
        """Change live parameters; all ranks take the new values at the same pause."""
        return self._ask({"do": "set", "values": {name: str(value) for name, value in values.items()}})[0]

    def frame(self, tag: str, cells: int = 256, points: int = 0) -> Frame:
        """Give a tag as it is at the next pause.

        Parameters
        ----------
        tag : str
            What to give.
        cells : int, optional
            The most cells along each axis; each is the mean of a block.
        points : int, optional
            Of arrays `[n, 3]` and `[n, 4]` give at most so many rows instead, evenly spread, as they are.
        """
        import numpy as np

        from pse.runtime.control._frames import Frame

        head, data = self._ask({"do": "read", "tag": tag, "cells": cells, "points": points})
        values = np.frombuffer(data, "<f8").reshape(head["cells"])
        place = head["pause"], head["place"], head["points"], head["element"]
        return Frame(tag, values, tuple(head["shape"]), tuple(head["block"]), *place)

    def frames(self, tag: str, cells: int = 256) -> Iterator[Frame]:
        """Give frames until the run is over, as often as that costs it no more than its share."""
        while True:
            try:
                yield self.frame(tag, cells)
            except RunEnded:
                return

    def _ask(self, order: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        try:
            wire.send(self._connection, order)
            answer = wire.receive(self._stream)
        except TimeoutError:
            raise RunError(
                f"the run {self.name} has not come to a pause yet",
                help="it does what it is asked for as soon as it has: a module of it takes long",
            ) from None
        except OSError:
            answer = None
        if answer is None:
            raise RunEnded(f"the run {self.name} is over", help=_others())
        if error := answer[0].get("error"):
            kind = RunEnded if answer[0].get("over") else UsageError
            raise kind(error["message"], help=error["help"])
        return answer


class RunEnded(RunError):
    """The run has come to its end, or to where it pauses no more."""


def _others() -> str:
    names = running()
    if names:
        return f"these do: {', '.join(names)}"
    return "start it with a name:  pse run PROGRAM --control NAME"
