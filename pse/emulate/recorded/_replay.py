"""A recorded program, replayed many times at once: every time is an array with a number for each draw."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import StepKind
from pse.emulate.patterns._cycle import COLLECTIVE, PatternError, Step
from pse.emulate.recorded._program import RecordedProgram

Floats = NDArray[np.float64]
Cost = Callable[[int, int, Step, Sequence[int]], Floats]
"""Seconds of a message, or of a collective operation: of the sender (or the first of the ranks), the place of
its step, the step, and the ranks of the operation."""


@dataclass
class _Rank:
    steps: Sequence[Step]
    now: Floats
    arrived: Floats
    place: int = 0
    operations: Counter[int] = field(default_factory=Counter)


def replay(program: RecordedProgram, cost: Cost, draws: int = 1) -> Floats:
    """Replay the computing, messages and collective operations of a recorded program.

    Parameters
    ----------
    program : RecordedProgram
        What `record_program` gave.
    cost : callable
        Called with a rank, the place of one of its steps, the step, and the ranks of a collective operation
        (empty for a message): what it takes in each draw, s, float64 of shape (draws,).
    draws : int
        How many replays.

    Returns
    -------
    numpy.ndarray
        When the last rank ends in each, s, float64 of shape (draws,).

    Raises
    ------
    PatternError
        Ranks would wait for each other for ever.

    Examples
    --------
    >>> import numpy as np
    >>> from pse._abi.emulate import StepKind
    >>> steps = (Step(StepKind.ISEND, 1, 100),), (Step(StepKind.RECEIVE, 0, 100),)
    >>> replay(RecordedProgram(steps), lambda rank, place, step, ranks: np.array([0.5, 2.0]), 2).tolist()
    [0.5, 2.0]
    """
    return _Replay(program, cost, draws).run()


class _Replay:
    def __init__(self, program: RecordedProgram, cost: Cost, draws: int) -> None:
        self._members = [tuple(range(program.ranks)), *program.groups]
        self._cost = cost
        self._ranks = [_Rank(steps, np.zeros(draws), np.zeros(draws)) for steps in program.steps]
        self._sent: dict[tuple[int, int, int], deque[tuple[int, Step, Floats]]] = defaultdict(deque)
        self._met: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        self._ends: dict[tuple[int, int], Floats] = {}

    def run(self) -> Floats:
        waiting = deque(number for number, rank in enumerate(self._ranks) if rank.steps)
        idle = 0
        while waiting:
            number = waiting.popleft()
            rank = self._ranks[number]
            begin = rank.place
            while rank.place < len(rank.steps) and self._execute(number, rank, rank.steps[rank.place]):
                rank.place += 1
            idle = 0 if rank.place > begin else idle + 1
            if rank.place < len(rank.steps):
                waiting.append(number)
            if idle > len(waiting):
                raise PatternError(
                    "the ranks of the recorded program would wait for each other for ever",
                    help="record the program again: messages that it received are missing",
                )
        ends: Any = np.maximum.reduce([rank.now for rank in self._ranks])
        return np.asarray(ends)

    def _execute(self, number: int, rank: _Rank, step: Step) -> bool:
        """Execute a step; say whether it is complete."""
        if step.kind == StepKind.COMPUTE:
            rank.now = rank.now + step.seconds
        elif step.kind in COLLECTIVE:
            return self._meet(number, rank, step)
        elif step.kind == StepKind.RECEIVE:
            return self._receive(number, rank, step)
        elif step.kind == StepKind.ISEND:
            self._sent[number, step.peer, step.tag].append((rank.place, step, rank.now))
        return True

    def _receive(self, number: int, rank: _Rank, step: Step) -> bool:
        """Receive a message: a rank's messages arrive one after the other."""
        sent = self._sent[step.peer, number, step.tag]
        if not sent:
            return False
        place, message, begin = sent.popleft()
        cost = self._cost(step.peer, place, message, ())
        rank.arrived = np.maximum(begin, rank.arrived) + cost
        rank.now = np.maximum(rank.now, rank.arrived)
        return True

    def _meet(self, number: int, rank: _Rank, step: Step) -> bool:
        """Take part in a collective operation; it is complete when all ranks of its group do."""
        key, members = (step.group, rank.operations[step.group]), self._members[step.group]
        met = self._met[key]
        met[number] = rank.place
        if len(met) < len(members):
            return False
        if key not in self._ends:
            begin: Any = np.maximum.reduce([self._ranks[member].now for member in members])
            self._ends[key] = begin + self._cost(members[0], met[members[0]], step, members)
        rank.now = self._ends[key]
        rank.operations[step.group] += 1
        return True
