"""Jobs of one program, started in several ways, or of several that do the same, which take turns.

All live at once.  Ranks sleep at a pipe until it is their job's turn; then they take a batch of steps of some
tens of ms.  In a round every job has a turn, in another order each time, two of them started plainly: a way
is compared with the geometric mean of its round's two plain batches, so that neighbours and drift cancel out,
and one plain job with the other, which shows what the comparison can tell apart.  Where memory and ranks are
placed differs between jobs, not within one: a set of jobs gives one sample, the median of its rounds.

Rejected: launches one after the other.  What else a machine does differs more between two seconds than what
tools cost.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from pathlib import Path

import numpy as np

from pse.bench._running import TIME_LIMIT, finish, ratios, stop
from pse.emulate import launch_interval
from pse.errors import RunError

Start = Callable[[Mapping[str, str]], subprocess.Popen[str]]
"""Starts a job, with further variables."""
Round = Mapping[str, Mapping[str, float]]
"""What the jobs of each way say of a turn."""
_PLAIN = ("plain", "plain again")
_TURNS = "PSE_BENCH_TURNS"
"""The variable with the directory of the pipes: a byte in `turn-RANK` is a turn, its end is the job's; in
`said` rank 0 writes a line when it is ready, and for each batch (a launcher may cut what ranks print)."""
_WHAT = "a job that takes turns with others"
_LOOK = 1.0
"""Seconds between two looks whether a job still lives that says nothing."""


class _Job:
    """A job whose ranks wait for their turns."""

    def __init__(self, start: Start, ranks: int, directory: Path) -> None:
        directory.mkdir()
        names = ["said", *(f"turn-{rank}" for rank in range(ranks))]
        self._pipes: list[int] = []
        for name in names:
            os.mkfifo(directory / name)
            self._pipes.append(os.open(directory / name, os.O_RDWR))  # That waits for no other end.
        self._said = b""
        self._begin = time.perf_counter()
        self._process = start({_TURNS: str(directory)})

    def await_ready(self) -> None:
        """Wait until all ranks wait for their first turn."""
        self._line()
        self._took = time.perf_counter() - self._begin

    def turn(self) -> Mapping[str, float]:
        """Let it take a batch of steps; gives what rank 0 says of it."""
        for pipe in self._pipes[1:]:
            os.write(pipe, b".")
        return self._line()

    def _line(self) -> Mapping[str, float]:
        said, latest = self._pipes[0], time.monotonic() + TIME_LIMIT
        while b"\n" not in self._said:
            if select.select([said], [], [], _LOOK)[0]:
                self._said += os.read(said, 4096)
            elif self._process.poll() is not None or time.monotonic() > latest:
                finish(_WHAT, self._process)
                raise RunError(
                    f"{_WHAT} ended before its last turn",
                    help="run `pse doctor`: it looks for what is missing here",
                )
        line, _, self._said = self._said.partition(b"\n")
        found: Mapping[str, float] = json.loads(line)
        return found

    def end(self) -> float:
        """Let it end; gives how long it took to start and to end, ms."""
        begin = time.perf_counter()
        self._close_pipes()
        finish(_WHAT, self._process)
        return 1e3 * (self._took + time.perf_counter() - begin)

    def stop(self) -> None:
        """End it, if it goes on."""
        self._close_pipes()
        stop(self._process)

    def _close_pipes(self) -> None:
        while self._pipes:
            os.close(self._pipes.pop())


class JobsInTurn:
    """Sets of jobs that live at once and take turns; their order is another one in each round.

    Parameters
    ----------
    ways : mapping of str to callable
        Start the jobs.
    ranks : int
        How many ranks of a job wait for turns, at most.
    turns : int
        How many batches each takes.
    warm : int
        How many of them are not counted.
    """

    def __init__(self, ways: Mapping[str, Start], ranks: int, turns: int, warm: int = 0) -> None:
        self._ways, self._ranks, self._random = dict(ways), ranks, random.Random(0)
        self._turns, self._warm = turns, warm
        self._sets: list[Sequence[Round]] = []
        self._ends: list[Mapping[str, float]] = []

    def launch(self, check: Callable[[Round], object] = lambda found: None) -> Round:
        """Start a set of jobs, and let them take all their turns; gives what they said of the last one.

        What they say of a round is checked before the next one begins.
        """
        with contextlib.ExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pse-bench-")))
            jobs: dict[str, _Job] = {}
            for number, way in enumerate(self._shuffled()):
                jobs[way] = _Job(self._ways[way], self._ranks, place / str(number))
                stack.callback(jobs[way].stop)
                jobs[way].await_ready()
            rounds = []
            for _ in range(self._turns):
                rounds.append({way: jobs[way].turn() for way in self._shuffled()})
                check(rounds[-1])
            self._ends.append({way: job.end() for way, job in jobs.items()})
        self._sets.append(rounds[self._warm :])
        return rounds[-1]

    def _shuffled(self) -> Sequence[str]:
        return self._random.sample([*self._ways], len(self._ways))

    def medians(self, way: str, quantity: str) -> list[float]:
        """Give what batches of a way have in the median of each set."""
        return [float(np.median(_of(rounds, way, quantity))) for rounds in self._sets]

    def starts_and_ends(self, way: str) -> list[float]:
        """Give how many ms jobs of a way took to start and to end, in each set."""
        return [ends[way] for ends in self._ends]


class InterleavedJobs(JobsInTurn):
    """Sets of jobs of a program that take turns, two started plainly and others in other ways.

    Parameters
    ----------
    plain : callable
        Starts the program plainly.
    ways : mapping of str to callable
        Start it in other ways.
    ranks : int
        How many ranks each job has.
    turns : int
        How many batches each takes.
    """

    def __init__(self, plain: Start, ways: Mapping[str, Start], ranks: int, turns: int) -> None:
        super().__init__(dict.fromkeys(_PLAIN, plain) | dict(ways), ranks, turns)

    def plain(self, quantity: str) -> list[float]:
        """Give what plain batches have in the median of each set."""
        return [float(np.median(_base(rounds, quantity))) for rounds in self._sets]

    def more(self, way: str, quantity: str, over: str | None = None) -> list[float]:
        """Give by how many percent a way has more than plain jobs, or another way, in each set."""
        bases = (_of(rounds, over, quantity) if over else _base(rounds, quantity) for rounds in self._sets)
        return [
            _percent(_of(rounds, way, quantity), base) for rounds, base in zip(self._sets, bases, strict=True)
        ]

    def control(self, quantity: str) -> list[float]:
        """Give by how many percent one plain job has more than the other, in each set."""
        first, second = _PLAIN
        return [
            _percent(_of(rounds, second, quantity), _of(rounds, first, quantity)) for rounds in self._sets
        ]

    def start_and_end(self, way: str) -> float:
        """Give the median of how many ms longer than plain jobs those of a way take to start and to end."""
        return float(np.median([ends[way] - sum(ends[name] for name in _PLAIN) / 2 for ends in self._ends]))


def _of(rounds: Sequence[Round], way: str, quantity: str) -> list[float]:
    return [found[way][quantity] for found in rounds]


def _base(rounds: Sequence[Round], quantity: str) -> list[float]:
    both = (_of(rounds, way, quantity) for way in _PLAIN)
    return [sqrt(one * other) for one, other in zip(*both, strict=True)]


def _percent(upper: list[float], lower: list[float]) -> float:
    """By how many percent batches have more than others of their rounds, in the median."""
    return 100 * (float(np.median(ratios(upper, lower))) - 1)


def interval_text(percents: list[float]) -> str:
    """Write the 95 % interval of a median by bootstrap; few sets have none."""
    interval = launch_interval(percents, np.median)
    return "no interval" if interval is None else f"95 %: {interval[0]:.2f} to {interval[1]:.2f} %"
