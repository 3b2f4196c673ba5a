"""What one rank does, from an agreed `Job` to the end of its plan.

The rank owns its sequencer, its recorder and its mapping of the node's arena.  What ranks agree on (program,
parameters, nodes, board) has been checked before.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from pse._abi.plan import RunResult
from pse._abi.waiting import RankState
from pse.memory import Arena, ArenaStatistics
from pse.modules import load_module
from pse.records import dataclass
from pse.runtime import _faults
from pse.runtime._channel import Board
from pse.runtime._sequencer import OutputPipe, Sequencer
from pse.runtime.distribution._moves import Moves
from pse.runtime.pause._pause_collectives import MpiPeers
from pse.runtime.plan._communicators import make as make_communicators
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Incarnation, project
from pse.runtime.rank._output_prefix import set_prefixes
from pse.runtime.rank._python_calls import PythonCalls
from pse.runtime.supervise._backoff import Backoff
from pse.runtime.transport._clocks import record_clock
from pse.runtime.transport._resource_counters import record_cpu_time, record_resources
from pse.runtime.transport._termination import await_termination
from pse.runtime.transport._transport import Transport
from pse.trace import Recorder
from pse.trace.format import EventType, Phase

if TYPE_CHECKING:
    from pse.runtime.control._control import Control
    from pse.runtime.pause._changes import LiveValues
    from pse.runtime.pause._checkpoint import Checkpoints
    from pse.runtime.pause._migration import Rebalancing

LONGEST_LAST_SLEEP = 20e-3
"""Seconds that a rank which is done sleeps between two looks, at most."""

_LEAST_WITH_ARRAYS = 100e-6  # seconds; arrays that are under way are not looked after more often


@dataclass
class Outcome:
    """How a rank's part of the run went.

    Attributes
    ----------
    figures : mapping
        What ``report(name, value)`` collected on this rank: the largest value of each name.
    arena : ArenaStatistics or None
        Of the node's arena at the end; None without shared memory.
    moves : Moves or None
        Which partitions moved; None if they couldn't.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    arena: ArenaStatistics | None = None
    moves: Moves | None = None


def _begin_recording(directory: str, rank: int, job: Job) -> Recorder:
    from pse.runtime.rank._recording import begin_recording  # Takes 10 ms.

    return begin_recording(directory, rank, job)


def execute_plan(
    comm: MPI.Intracomm,
    job: Job,
    *,
    board: Board,
    arena_capacity: int,
    trace: str | None = None,
    culprit: int = 0,
    descriptor: int = -1,
    checkpoints: Checkpoints | None = None,
    control: Control | None = None,
    live: LiveValues | None = None,
    output: OutputPipe | None = None,
) -> Outcome:
    """Run this rank's part of a program.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks of the job; only the engine may use it.
    job : Job
        What all ranks agree on.
    board : Board
        The node's board.
    arena_capacity : int
        Bytes that the node's arena may hold.
    trace : str, optional
        Directory for the trace.
    culprit : int, optional
        Address of a ``const char *volatile`` that is kept at the text of the running call.
    descriptor : int, optional
        A descriptor that modules must leave open; the call that closes it fails.
    checkpoints : Checkpoints, optional
        Where to write checkpoints, and from which one to go on.
    control : Control, optional
        Who has the run pause, go on, and tell what it computes.
    live : LiveValues, optional
        Changes of live parameters that are known before, or may come by `control`.
    output : OutputPipe, optional
        Puts a prefix before every line that modules write.

    Raises
    ------
    RunError
        If a module fails, or the arena is full for good.
    """
    rank = comm.Get_rank()
    arena = open_arena(comm, arena_capacity, debug=job.build.debug) if job.shared_memory else None
    recorder = _begin_recording(trace, rank, job) if trace else None
    communicators = make_communicators(comm, job)
    load_once = functools.cache(functools.partial(load_module, mode=job.build))

    def again(job: Job) -> Incarnation:
        projection = project(job, rank, load_once, communicators)
        sequencer = Sequencer(projection.plan, board, arena, recorder, culprit)
        sequencer.watch_descriptor(descriptor)
        if job.build.debug:
            sequencer.guard()
            sequencer.poison()
            _faults.expect_protected_inputs(sequencer.input_finder())
        if job.check == "nan":
            sequencer.check_finite()
        if output:
            set_prefixes(sequencer, projection, job, rank, output)
        return Incarnation(job, projection, sequencer)

    begin = again(job)
    transport = Transport(comm, begin.sequencer)
    peers = MpiPeers(comm, board, transport)
    moving = _rebalancing(rank, job, peers, again) if job.balance else None
    loop = _RankLoop(begin, peers, arena, checkpoints, control, live, moving, recorder, bool(communicators))
    board.set_state(rank, RankState.RUNNING)
    if recorder:
        _record_ready(comm, job, recorder)
    loop.run()
    _finish_together(MpiPeers(comm, board, transport, LONGEST_LAST_SLEEP))
    if not loop.sequencer.messaging_is_empty():
        from pse.runtime.faults._partition_errors import partition_error

        raise partition_error(loop.sequencer, loop.projection)
    loop.finish()
    if recorder:
        _record_done(comm, job, recorder)
    board.set_state(rank, RankState.DONE)
    used, moves = arena.statistics() if arena else None, moving.moves if moving else None
    if recorder:
        recorder.record(EventType.PHASE, a=Phase.END)
        recorder.close()
    return Outcome(loop.calls.figures, used, moves)


def _record_ready(comm: MPI.Intracomm, job: Job, recorder: Recorder) -> None:
    """Record what readers of a trace have to know of clocks, cores and links, last what time has passed."""
    from pse.runtime.transport._link_probe import record_links  # Most runs are not traced.

    record_clock(comm, job.nodes, recorder)
    record_resources(recorder)
    record_links(comm, job.nodes, recorder)
    record_cpu_time(recorder)
    recorder.record(EventType.PHASE, a=Phase.READY)


def _record_done(comm: MPI.Intracomm, job: Job, recorder: Recorder) -> None:
    record_clock(comm, job.nodes, recorder)
    record_cpu_time(recorder)
    recorder.record(EventType.PHASE, a=Phase.DONE)


def open_arena(comm: MPI.Intracomm, capacity: int, *, debug: bool = False) -> Arena:
    """Make the node's arena on its first rank (to debug: guarded and poisoned); the others map it."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    place = np.zeros(2, dtype=np.int64)
    arena = None
    if node.Get_rank() == 0:
        arena = Arena.create(capacity)
        if debug:
            arena.guard()
            arena.poison(True)
        place[:] = os.getpid(), arena.fd
    node.Bcast(place)
    if arena is None:
        arena = Arena.attach(int(place[0]), int(place[1]))
    node.Barrier()
    node.Free()
    return arena


class _RankLoop:
    """The rank's loop: run the sequencer, do what it asks for."""

    def __init__(
        self,
        begin: Incarnation,
        peers: MpiPeers,
        arena: Arena | None,
        checkpoints: Checkpoints | None,
        control: Control | None,
        live: LiveValues | None,
        moving: Rebalancing | None,
        recorder: Recorder | None,
        has_communicators: bool,
    ) -> None:
        self.peers, self.transport, self.arena = peers, peers.transport, arena
        self.checkpoints, self.control, self.live, self.moving = checkpoints, control, live, moving
        self.figures: dict[str, float] = {}
        self.backoff = Backoff()
        self._has_communicators = has_communicators
        self._adopt(begin)
        if checkpoints:
            checkpoints.begin(self.projection, self.sequencer, self.figures)
        if live:
            live.begin(self.sequencer.rounds, recorder)
        if control:
            resumed = checkpoints is not None and checkpoints.resumed is not None
            control.begin(self.incarnation, peers, resumed=resumed)
        self._wait_for_due()

    def run(self) -> None:
        while True:
            result = self.sequencer.run(round(1e9 * self.backoff.seconds) if self._looks else 0)
            if result == RunResult.DONE:
                return self._end()
            if result == RunResult.PYTHON:
                self.calls.call()
            elif result == RunResult.POLL or (result == RunResult.SIGNAL and self._looks):
                self._look()
            elif result == RunResult.PAUSE:
                self._pause()
            elif result != RunResult.SIGNAL:
                from pse.runtime.faults._failures import run_error

                raise run_error(result, self.sequencer, self.projection, self.arena)

    def _end(self) -> None:
        if self.live and self.peers.comm.Get_rank() == 0:
            self.live.warn_of_rest(self.sequencer.rounds)
        if self.checkpoints:
            self.checkpoints.end_of_loops()
        if self.control:
            self.control.end_of_pauses()

    def finish(self) -> None:
        """All ranks have come to the end of the program."""
        if self.checkpoints:
            self.checkpoints.finish()
        if self.control:
            self.control.finish()

    def _look(self) -> None:
        """Serve the other nodes; the next look is later each time nothing came, but in time for arrays."""
        if self.transport.poll():
            self.backoff.reset()
        elif self.transport.busy:
            self.backoff.lengthen(at_most=max(self.transport.patience / 1e9, _LEAST_WITH_ARRAYS))
        else:
            self.backoff.lengthen()

    def _adopt(self, incarnation: Incarnation) -> None:
        """Run this from now on."""
        self.incarnation = incarnation
        self.job, self.projection, self.sequencer = (
            incarnation.job,
            incarnation.projection,
            incarnation.sequencer,
        )
        # What a module has begun to send may not arrive before its rank calls MPI again.
        self._looks = bool(self.projection.remote) or self._has_communicators
        self.calls = PythonCalls(self.sequencer, self.projection, self.job, self.figures)

    def _pause(self) -> None:
        """Do what all ranks do together at this point of the program."""
        if self.live:
            self.live.pause(self.incarnation)
        if self.control:
            self.control.pause(self.incarnation, self.checkpoints, self.figures)
        if self.checkpoints:
            self.checkpoints.pause(self.projection, self.sequencer, self.peers, self.figures)
        moved = self.moving.pause(self.incarnation, self._serve) if self.moving else None
        if moved:
            self._adopt(moved)
        self._wait_for_due()

    def _serve(self, sequencer: Sequencer) -> None:
        self.transport.sequencer = sequencer

    def _wait_for_due(self) -> None:
        wanted = [other.due for other in (self.moving, self.control, self.live) if other and other.due]
        due = min(wanted, default=0)
        if self.checkpoints:
            self.checkpoints.set_due(self.sequencer, due)
        else:
            self.sequencer.set_due(due)


def _rebalancing(rank: int, job: Job, peers: MpiPeers, again: Callable[[Job], Incarnation]) -> Rebalancing:
    from pse.runtime.pause._migration import Rebalancing  # Few runs move partitions.

    return Rebalancing(rank, job, peers, again)


def _finish_together(peers: MpiPeers) -> None:
    """Wait, asleep, until every rank is done and everything sent has arrived: MPI won't end before that."""
    transport = peers.transport

    def is_quiet() -> bool:
        """Serve what others send; true if nothing is under way from or to this rank that it knows of."""
        transport.sequencer.serve()
        return not (transport.poll() or transport.busy)

    def counts() -> tuple[int, int]:
        peers.wait(is_quiet)
        return transport.sent, transport.received

    await_termination(peers.add, counts)
    transport.close()
