"""A cycle of one rank, as a pattern describes it: a list of steps."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import STEP_DTYPE, StepKind
from pse.errors import UsageError

MANY_BUFFERS = {StepKind.ALLTOALL, StepKind.ALLGATHER, StepKind.GATHER, StepKind.SCATTER}
MANY_SENT = {StepKind.ALLTOALL, StepKind.SCATTER}
COLLECTIVE = {*MANY_BUFFERS, StepKind.BARRIER, StepKind.BROADCAST, StepKind.ALLREDUCE, StepKind.REDUCE}
SENDS = {StepKind.SEND, StepKind.SSEND, StepKind.ISEND}
RECEIVES = {StepKind.RECEIVE, StepKind.IRECEIVE}
ALIGNMENT = 64
LARGEST_MESSAGE = 2**31 - 1
"""Bytes: MPI counts them in an int."""
GREATEST_TAG = 32767
"""Any MPI has so many tags."""
LONGEST_STEP = 86400.0
"""Seconds that a cycle may compute."""
MOST_STEPS = 100_000
"""Of a cycle of one rank: a pattern's function with more has a loop that doesn't end."""


class PatternError(UsageError):
    """A pattern can't be used with these ranks and options, or its steps don't fit together.

    Examples
    --------
    >>> pse.ace.find_pattern("triangle")
    Traceback (most recent call last):
        ...
    PatternError: there is no pattern 'triangle'
    """


class Step(NamedTuple):
    """A step of a cycle.

    Parameters
    ----------
    kind : StepKind
        What it does.
    peer : int
        The rank of the other side, or the root.
    bytes : int
        Of one message.
    seconds : float
        Of computing.
    tag : int
        Of the message.
    group : int
        Of a collective operation: 0 for all ranks, else the number of a recorded program's group, from 1; the
        root is then a rank in that group.

    Examples
    --------
    >>> steps = pse.ace.find_pattern("pairwise").cycle(0, 2, 1024)
    >>> [(step.kind.name, step.peer, step.bytes) for step in steps]
    [('SEND', 1, 1024), ('RECEIVE', 1, 1024)]
    """

    kind: StepKind
    peer: int = 0
    bytes: int = 0
    seconds: float = 0.0
    tag: int = 0
    group: int = 0


@dataclass
class Cycle:
    """A cycle of one rank of an emulated application; a pattern adds steps to it.

    Parameters
    ----------
    rank, ranks : int
        This rank, and how many there are.
    size : int
        Bytes of a message, as the configuration says.
    blocking : bool
        Whether messages are sent and received by blocking calls.
    options : mapping of str to value
        The pattern's options.
    variant : int
        Number of the cycle, for patterns that have different cycles.
    random : numpy.random.Generator
        Random numbers; all ranks get the same in the same variant.
    steps : list of Step
        What was added so far.

    Examples
    --------
    >>> cycle = Cycle(0, 2, 1024)
    >>> cycle.send(1)
    >>> cycle.receive(1)
    >>> [step.kind.name for step in cycle.steps]
    ['SEND', 'RECEIVE']
    """

    rank: int
    ranks: int
    size: int
    blocking: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    variant: int = 0
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    steps: list[Step] = field(default_factory=list)

    def _add(self, kind: StepKind, peer: int = 0, bytes: int | None = None, tag: int = 0) -> None:
        size = _whole("a number of bytes", self.size if bytes is None else bytes, LARGEST_MESSAGE)
        peer, tag = _whole("a rank", peer, self.ranks - 1), _whole("a tag", tag, GREATEST_TAG)
        self._append(Step(kind, peer, size, 0.0, tag))

    def _append(self, step: Step) -> None:
        if len(self.steps) == MOST_STEPS:
            raise PatternError(
                f"a cycle of one rank has more than {MOST_STEPS:,} steps", help="make sure that its loops end"
            )
        self.steps.append(step)

    def send(self, peer: int, bytes: int | None = None, tag: int = 0) -> None:
        """Send a message by a blocking call."""
        self._add(StepKind.SEND, peer, bytes, tag)

    def receive(self, peer: int, bytes: int | None = None, tag: int = 0) -> None:
        """Receive a message by a blocking call."""
        self._add(StepKind.RECEIVE, peer, bytes, tag)

    def begin_send(self, peer: int, bytes: int | None = None, tag: int = 0) -> None:
        """Begin to send a message; `wait` completes it."""
        self._add(StepKind.ISEND, peer, bytes, tag)

    def begin_receive(self, peer: int, bytes: int | None = None, tag: int = 0) -> None:
        """Begin to receive a message; `wait` completes it."""
        self._add(StepKind.IRECEIVE, peer, bytes, tag)

    def wait(self) -> None:
        """Wait for all messages that have begun."""
        self._append(Step(StepKind.WAITALL))

    def complete(self) -> None:
        """Wait for what has begun and is not waited for yet."""
        kinds = [step.kind for step in self.steps]
        after = (
            kinds[len(kinds) - kinds[::-1].index(StepKind.WAITALL) :] if StepKind.WAITALL in kinds else kinds
        )
        if {StepKind.ISEND, StepKind.IRECEIVE} & {*after}:
            self.wait()

    def exchange(self, peer: int, bytes: int | None = None) -> None:
        """Send a message to a peer and receive one from it, by blocking calls or not.

        By blocking calls the lower rank sends first, so that neither waits for the other's call.
        """
        if not self.blocking:
            self.begin_receive(peer, bytes)
            self.begin_send(peer, bytes)
            self.wait()
            return
        for sends in (self.rank < peer, self.rank > peer):
            (self.send if sends else self.receive)(peer, bytes)

    def compute(self, seconds: float) -> None:
        """Compute for so many seconds, in addition to what the load asks for.

        Parameters
        ----------
        seconds : float
            Not negative.

        Raises
        ------
        PatternError
            It is not a time, or too long.
        """
        if not (math.isfinite(seconds) and 0 <= seconds <= LONGEST_STEP):
            raise PatternError(
                f"computing takes {seconds} s: expected 0 to {LONGEST_STEP:g}",
                help="give the seconds as a finite number in that range",
            )
        self._append(Step(StepKind.COMPUTE, seconds=float(seconds)))

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._add(StepKind.BARRIER, 0, 0)

    def collective(self, name: str, root: int = 0, bytes: int | None = None) -> None:
        """Take part in a collective operation.

        Parameters
        ----------
        name : str
            ``broadcast``, ``allreduce``, ``reduce``, ``alltoall``, ``allgather``, ``gather`` or ``scatter``.
        root : int
            The root, if it has one.
        bytes : int, optional
            Of one rank's part; by default the application's size.

        Raises
        ------
        PatternError
            There is no such operation.
        """
        kind = StepKind.__members__.get(name.upper())
        if kind not in COLLECTIVE:
            names = ", ".join(sorted(one.name.lower() for one in COLLECTIVE))
            raise PatternError(f"there is no collective operation {name!r}", help=f"there are {names}")
        self._add(kind, root, bytes)


def _whole(what: str, value: int, greatest: int) -> int:
    """Give a number as an integer; refuse what is none, and what MPI doesn't have."""
    try:
        found = operator.index(value)
    except TypeError:
        found = -1
    if not 0 <= found <= greatest:
        raise PatternError(
            f"{value!r} is not {what}: expected an integer from 0 to {greatest}",
            help="give an integer in that range: ranks are counted from 0, sizes in bytes",
        )
    return found


class Buffers(NamedTuple):
    """Bytes that a rank needs for what it sends, and for what it receives."""

    out: int
    into: int


def rows_of(steps: list[Step], ranks: int) -> tuple[NDArray[np.void], Buffers]:
    """Make records of steps; messages that are under way at once are received at different places."""
    rows = np.zeros(len(steps), STEP_DTYPE)
    out, into, place = 1, 1, 0
    for row, step in zip(rows, steps, strict=True):
        row["kind"], row["peer"], row["tag"], row["communicator"] = step.kind, step.peer, step.tag, step.group
        row["bytes"], row["seconds"], row["offset"] = step.bytes, step.seconds, place
        out = max(out, step.bytes * (ranks if step.kind in MANY_SENT else 1))
        into = max(into, place + step.bytes * (ranks if step.kind in MANY_BUFFERS else 1))
        if step.kind == StepKind.IRECEIVE:
            place += -(-step.bytes // ALIGNMENT) * ALIGNMENT
        elif step.kind == StepKind.WAITALL:
            place = 0
    return rows, Buffers(out, into)
