"""Runs checked programs with all ranks as threads of this process, and proves that nothing is left behind.

The C sequencers run without the GIL, each in a thread of its own, over one board and one arena for every
emulated node; between nodes a wire of this file takes the place of MPI. So a run costs milliseconds and
needs no mpiexec. A run that does not end by its deadline fails with what every rank was doing. `oracle`
says what must come out.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pse._abi.channel import NO_SITE
from pse._abi.elements import ELEMENT_CODES
from pse._abi.plan import RunResult
from pse._abi.waiting import RANK_TEXTS, RankState
from pse.language import bind_parameters, check_program, render_diagnostics
from pse.language.check._ir import ResolvedProgram
from pse.memory import Arena, ArenaStatistics
from pse.modules import BuildMode, Finder, load_module
from pse.program import analyse_run_liveness, place_threads
from pse.runtime._channel import Board
from pse.runtime._sequencer import Sequencer
from pse.runtime.distribution._load_balancer import better
from pse.runtime.distribution._partition_placement import partition_counts, place_partitions
from pse.runtime.distribution._strided_copies import strides
from pse.runtime.faults._failures import run_error
from pse.runtime.faults._partition_errors import partition_error
from pse.runtime.pause._migration import Decide, Rebalancing
from pse.runtime.plan._communicators import Communicator
from pse.runtime.plan._edges import inflight_loops
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Incarnation, Projection, project
from pse.runtime.rank._python_calls import PythonCalls
from pse.trace import Recorder

FINDER = Finder()  # It remembers files that have not changed.
load_once = functools.cache(load_module)
PATIENCE = 60.0
"""Seconds after which a run counts as hanging, however loaded the machine."""
NAP = 1_000_000
"""Nanoseconds that a rank with peers on other nodes sleeps before it looks at the wire again."""


class Hang(AssertionError):
    """A run did not end; the text says what every rank was doing."""


@dataclass
class Node:
    """One emulated node: what its ranks share."""

    board: Board
    arena: Arena | None


@dataclass(frozen=True)
class Result:
    """How a run went.

    Attributes
    ----------
    job : Job
        What was run.
    arenas : sequence of ArenaStatistics
        Of every node, at the end.
    sites : mapping of str to mapping
        For every label of a call site, its statistics summed over sites with this label and all ranks.
    """

    job: Job
    arenas: Sequence[ArenaStatistics]
    sites: Mapping[str, Mapping[str, int]]


def compile_program(text: str, path: str | Path, values: Mapping[str, Any] | None = None) -> ResolvedProgram:
    """Check a program's text as if it stood in a file; wrong programs fail the test."""
    result = check_program(text, str(path), modules=FINDER, values=values)
    assert result.program is not None, render_diagnostics(result.diagnostics, {str(path): text})
    return result.program


def make_job(
    program: ResolvedProgram,
    processors: int,
    *,
    values: Mapping[str, Any] | None = None,
    nodes: Callable[[int], int] = lambda rank: 0,
    shared_memory: bool = True,
    local_limit: int = 1,
    depths: Callable[[str], int] = lambda thread: 2,
    placement: str = "block",
    pauses: bool = False,
    balance: int = 0,
    debug: bool = False,
    check: str = "off",
    serial: bool = False,
) -> Job:
    """Put together what all ranks agree on; `nodes` gives the node of every rank."""
    bound = bind_parameters(program, values or {}, processors)
    assert not bound.diagnostics, render_diagnostics(bound.diagnostics, {})
    pauses = pauses or balance > 0
    liveness = analyse_run_liveness(program, place_threads(program, serial=serial), together=pauses)
    processors = 1 if serial else processors
    seats = [nodes(rank) for rank in range(liveness.placement.ranks(processors))]
    placed = place_partitions(placement, partition_counts(program, bound.environment), processors)
    return Job(
        program,
        liveness,
        bound.environment,
        processors,
        seats,
        shared_memory,
        local_limit,
        depths,
        placed,
        balance,
        pauses,
        check,
        BuildMode(debug=debug),
    )


def run(
    job: Job,
    *,
    capacity: int = 64 << 20,
    poison: bool = False,
    timeout: float = PATIENCE,
    watch: Callable[[Sequence[Node]], None] | None = None,
    tidy: Callable[[], None] = lambda: None,
    communicators: Callable[[int], Mapping[int, Communicator]] = lambda rank: {},
    decide: Callable[[], Decide] = lambda: better,
    trace: Path | None = None,
) -> Result:
    """Run all ranks of a job as threads.

    Parameters
    ----------
    job : Job
        What to run.
    capacity : int
        Bytes of each node's arena.
    poison : bool
        Whether memory is overwritten when it is given out and when it is freed, so that whoever reads what
        was never written, or what is freed, gives a wrong result.
    timeout : float
        Seconds after which the run counts as hanging.
    watch : callable, optional
        Called again and again with the nodes while ranks run.
    tidy : callable, optional
        Called at the end: what modules kept is given up here.
    communicators : callable, optional
        Gives what stands in for communicators, by call site, to a rank.
    decide : callable, optional
        Called by every rank: gives what says which partitions move, where the job has `balance`.
    trace : Path, optional
        An empty folder, for the trace.

    Raises
    ------
    Hang
        If it does not end.
    PseError
        What the first rank that failed raised.
    """
    crew = Crew(job, capacity, poison, timeout, decide, communicators, trace)
    crew.run(watch)
    tidy()
    return crew.result()


@dataclass
class Crew:
    """All ranks of one run."""

    job: Job
    capacity: int
    poison: bool
    timeout: float
    decide: Callable[[], Decide] = lambda: better
    communicators: Callable[[int], Mapping[int, Communicator]] = lambda rank: {}
    trace: Path | None = None
    errors: list[tuple[int, BaseException]] = field(default_factory=list)

    def __post_init__(self) -> None:
        walk = self.job.liveness.walk
        size = (len(self.job.nodes), len(walk.sites), self.job.edges.size, len(inflight_loops(walk)))
        self.nodes = [self._node(size) for _ in range(max(self.job.nodes) + 1)]
        self.wire = Wire(self)
        self.meetings = Meetings(len(self.job.nodes))
        self.deadline = time.monotonic() + self.timeout
        # Modules are loaded here, by one thread: importing is not made for many.
        self.projections = [
            project(self.job, rank, load_once, self.communicators(rank))
            for rank in range(len(self.job.nodes))
        ]
        self.done = threading.Semaphore(0)
        self.sequencers: list[Sequencer] = []
        self.finished: set[int] = set()

    def _node(self, size: tuple[int, int, int, int]) -> Node:
        arena = Arena.create(self.capacity) if self.job.shared_memory else None
        if arena is not None and self.job.build.debug:
            arena.guard()
        if arena is not None and self.poison:
            arena.poison(True)
        return Node(Board.create(*size), arena)

    def node(self, rank: int) -> Node:
        """Give a rank's node."""
        return self.nodes[self.job.nodes[rank]]

    def run(self, watch: Callable[[Sequence[Node]], None] | None) -> None:
        """Start the ranks and wait until all are done, or one has failed, or time is up."""
        ranks = range(len(self.projections))
        for rank in ranks:
            self.node(rank).board.set_state(rank, RankState.RUNNING)
        threads = [threading.Thread(target=self._rank, args=(rank,), daemon=True) for rank in ranks]
        for thread in threads:
            thread.start()
        left = len(threads)
        while left and not self.errors:
            left -= self.done.acquire(timeout=0.02 if watch else self.timeout)
            if watch:
                watch(self.nodes)
            if left and not self.errors and time.monotonic() >= self.deadline:
                raise Hang(f"not done after {self.timeout:g} s\n{self.dump()}")
        if self.errors:
            raise self.errors[0][1]
        for thread in threads:
            thread.join()

    def _rank(self, rank: int) -> None:
        board = self.node(rank).board
        try:
            Rank(self, rank, self.projections[rank]).run()
            board.set_state(rank, RankState.DONE)
        except BaseException as error:  # Whatever it is, the thread that waits for all must see it.
            board.set_state(rank, RankState.FAILED)
            self.errors.append((rank, error))
        self.done.release()

    def result(self) -> Result:
        """Check that nothing is left, and sum up."""
        assert sum(sequencer.private_buffers for sequencer in self.sequencers) == 0, (
            "private buffers are left"
        )
        for node in self.nodes:
            if node.arena is not None:
                assert node.arena.live() == [], "buffers are left in the arena"
                assert node.arena.is_valid()
        arenas = [node.arena.statistics() for node in self.nodes if node.arena is not None]
        return Result(self.job, arenas, self._sites())

    def _sites(self) -> dict[str, dict[str, int]]:
        total: dict[str, dict[str, int]] = {}
        for site in self.job.liveness.walk.sites:
            sums = total.setdefault(site.label, {})
            for rank in range(len(self.job.nodes)):
                for name, value in self.node(rank).board.statistics(rank, site.id)._asdict().items():
                    sums[name] = sums.get(name, 0) + value
        return total

    def dump(self) -> str:
        """Say what every rank is doing."""
        sites = {site.id: site for site in self.job.liveness.walk.sites}
        lines = []
        for rank in range(len(self.job.nodes)):
            slot = self.node(rank).board.slot(rank)
            site = f" at {sites[slot.site].label}" if slot.site != NO_SITE else ""
            age = time.clock_gettime(time.CLOCK_MONOTONIC) - slot.since / 1e9
            who = f"rank {rank} ({self.job.liveness.placement.describe(rank)})"
            asleep = ", asleep" if slot.sleeping else ""
            lines.append(f"{who}: {RANK_TEXTS[slot.state]}{site} for {age:.1f} s{asleep}, TPH {slot.tph:x}")
        for number, node in enumerate(self.nodes):
            blocks = node.arena.live() if node.arena is not None else []
            lines += [f"node {number}: {block}" for block in blocks]
        return "\n".join(lines)


class Rank:
    """One rank: the loop of `pse.runtime.rank` with the wire in the place of MPI, and a deadline."""

    def __init__(self, crew: Crew, rank: int, projection: Projection) -> None:
        node = crew.node(rank)
        self.crew, self.rank, self.arena, self.board = crew, rank, node.arena, node.board
        self.recorder = Recorder(crew.trace, rank) if crew.trace else None
        peers = Peers(self)
        self.moving = (
            Rebalancing(rank, crew.job, peers, self._again, crew.decide()) if crew.job.balance else None
        )
        self.due = 1 if crew.job.pauses else 0
        self._adopt(self._begin(crew.job, projection))

    def _again(self, job: Job) -> Incarnation:
        return self._begin(job, project(job, self.rank, load_once, self.crew.communicators(self.rank)))

    def _begin(self, job: Job, projection: Projection) -> Incarnation:
        sequencer = Sequencer(projection.plan, self.board, self.arena, self.recorder, 0)
        self.crew.sequencers.append(sequencer)
        if job.build.debug:
            sequencer.guard()
        if job.check == "nan":
            sequencer.check_finite()
        if self.crew.poison:
            sequencer.poison()
        return Incarnation(job, projection, sequencer)

    def _adopt(self, incarnation: Incarnation) -> None:
        self.incarnation = incarnation
        self.projection, self.sequencer = incarnation.projection, incarnation.sequencer
        self.calls = PythonCalls(self.sequencer, self.projection, incarnation.job)
        self.sequencer.set_due(self.due)

    def _pause(self) -> None:
        self.due = self.sequencer.rounds + 2
        moved = self.moving.pause(self.incarnation, self.serve) if self.moving else None
        self._adopt(moved or self.incarnation)

    def serve(self, sequencer: Sequencer) -> None:
        """Bring messages of other nodes to this sequencer from now on."""
        self.sequencer = sequencer

    def run(self) -> None:
        while (result := self.sequencer.run(self._patience())) != RunResult.DONE:
            if result == RunResult.PYTHON:
                self.calls.call()
            elif result in (RunResult.POLL, RunResult.SIGNAL):
                self.look_around()
            elif result == RunResult.PAUSE:
                self._pause()
            else:
                raise run_error(result, self.sequencer, self.projection, self.arena)
        self._finish_together()
        if not self.sequencer.messaging_is_empty():
            raise partition_error(self.sequencer, self.projection)

    def _finish_together(self) -> None:
        """Go on listening until all are done: a rank may speak for its node."""
        self.crew.finished.add(self.rank)
        while (missing := len(self.crew.projections) - len(self.crew.finished)) > 0:
            self.look_around()
            self.sequencer.serve()
            seen = self.board.bell(self.rank)
            if missing == len(self.crew.projections) - len(self.crew.finished):
                self.board.wait(self.rank, seen, NAP / 1e9)
        for peer in range(len(self.crew.projections)):
            self.crew.node(peer).board.ring(peer)
        self.look_around()
        self.sequencer.serve()

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Go on listening until something is so."""
        while not done():
            self.sequencer.serve()
            self.look_around()
            self.board.wait(self.rank, self.board.bell(self.rank), NAP / 1e9)

    def _patience(self) -> int:
        """Sleep past the deadline: a lost wake-up must not be mended by somebody who looks now and then."""
        left = max(int((self.crew.deadline + 1 - time.monotonic()) * 1e9), 1)
        return min(NAP, left) if self.projection.remote else left

    def look_around(self) -> None:
        """Take part in the exchange between nodes; fails once another rank has."""
        if self.crew.errors or time.monotonic() > self.crew.deadline + 1:
            raise RuntimeError("another rank failed, or hangs")
        self.crew.wire.poll(self.rank, self.sequencer)


class Meetings:
    """Where ranks meet, one meeting after the other; the numbers that they bring are added."""

    def __init__(self, ranks: int) -> None:
        self.ranks, self.lock = ranks, threading.Lock()
        self.sums: dict[int, np.ndarray] = {}
        self.there: Counter[int] = Counter()
        self.under_way: dict[tuple[int, int], deque[tuple[bytes, list[np.ndarray]]]] = defaultdict(deque)

    def come(self, meeting: int, numbers: Sequence[int]) -> None:
        """Be there."""
        with self.lock:
            self.sums[meeting] = self.sums.get(meeting, 0) + np.array(numbers, np.int64)
            self.there[meeting] += 1


class Peers:
    """The other ranks, for one that moves partitions."""

    def __init__(self, rank: Rank) -> None:
        self.rank, self.meetings, self.met = rank, rank.crew.meetings, 0

    def add(self, numbers: Sequence[int]) -> list[int]:
        meeting, self.met = self.met, self.met + 1
        self.rank.look_around()
        self.meetings.come(meeting, numbers)
        self.rank.wait_until(lambda: self.meetings.there[meeting] == self.meetings.ranks)
        return self.meetings.sums[meeting].tolist()

    def meet(self) -> None:
        self.add([])

    def send(self, rank: int, head: bytes, arrays: Sequence[np.ndarray]) -> None:
        self.meetings.under_way[self.rank.rank, rank].append((head, [array.copy() for array in arrays]))

    def receive(self, rank: int, room: Callable[[bytes], Sequence[np.ndarray]]) -> None:
        mine = self.meetings.under_way[rank, self.rank.rank]
        self.rank.wait_until(lambda: bool(mine))
        head, arrays = mine.popleft()
        for target, array in zip(room(head), arrays, strict=True):
            target[...] = array

    def sent(self) -> None:
        pass


class Wire:
    """Carries messages between emulated nodes: arrays are copied, order between two ranks is kept."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.queues: list[deque[tuple[bytes, np.ndarray | None]]] = [deque() for _ in crew.job.nodes]

    def poll(self, rank: int, sequencer: Sequencer) -> None:
        """Take what a rank sends, and bring what others sent to it."""
        for peer, head, buffer in sequencer.outbox():
            self.queues[peer].append((head, None if buffer is None else outgoing(buffer)))
            if buffer is not None:
                self.release(rank, sequencer, buffer)
            self.crew.node(peer).board.ring(peer)
        while self.queues[rank]:
            head, array = self.queues[rank].popleft()
            arrived = sequencer.receive_buffer(head)
            if arrived is not None:
                np.asarray(arrived)[...] = array
            sequencer.deliver(head, arrived)

    def release(self, rank: int, sequencer: Sequencer, buffer: Any) -> None:
        """Tell the sender that an array has left."""
        sequencer.sent(buffer)


def outgoing(buffer: Any) -> np.ndarray:
    """Copy what of a buffer goes to another node, one move after the other, into the array that arrives."""
    code, itemsize, shape = buffer.description
    names = {value: key.value for key, value in ELEMENT_CODES.items()}
    dtype = np.dtype(names.get(code, f"S{itemsize}"))  # Records are so many bytes.
    parts = buffer.moves if buffer.moves is not None else ((0, shape, strides(shape, itemsize)),)
    reach = max(o + itemsize + sum((n - 1) * s for n, s in zip(e, by, strict=True)) for o, e, by in parts)
    memory = (ctypes.c_char * max(reach, 1)).from_address(buffer.address)
    some = [part for part in parts if 0 not in part[1]]
    arrays = [np.ndarray(extents, dtype, memory, offset, by).ravel() for offset, extents, by in some]
    return np.concatenate(arrays).reshape(shape) if arrays else np.empty(shape, dtype)
