"""What one rank does, from an agreed `Job` to the end of its plan.

Ownership: the rank owns its sequencer, its recorder and its mapping of the node's arena. Everything that
is agreed among ranks (program, parameters, nodes, board) comes from `launch`'s side, already checked.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from mpi4py import MPI

from pse.errors import RunError
from pse.memory import Arena, ArenaError, ArenaStatistics
from pse.modules import load_module
from pse.runtime import _sequencer as codes
from pse.runtime._channel import DONE, RUNNING, Board
from pse.runtime._sequencer import Sequencer
from pse.runtime.distribution._load_balancer import Moves
from pse.runtime.faults import _failures as failures, _partition_errors as mailfaults
from pse.runtime.pause._checkpoint import Checkpoints
from pse.runtime.pause._migration import Rebalancing, Standing
from pse.runtime.pause._pause_collectives import MpiPeers
from pse.runtime.plan._communicators import make as make_communicators
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import project
from pse.runtime.rank._python_calls import PythonCalls
from pse.runtime.rank._recording import begin_recording
from pse.runtime.transport._clocks import record_clock
from pse.runtime.transport._link_probe import record_links
from pse.runtime.transport._resource_counters import record_cpu_time, record_footing
from pse.runtime.transport._transport import Transport
from pse.trace import Recorder
from pse.trace.format import EventType, Phase

# Between nodes: test, then sleep a little longer each time nothing has come: a fifth of the wait so far, so
# that what comes is seen after a tenth more of the wait.
SHORTEST_NAP, LONGEST_NAP = 20_000, 5_000_000  # ns; a look costs 20 to 40 µs: under 1 % of a core
LAST_NAP = 20_000_000  # for a rank that is done


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


def run_rank(
    comm: MPI.Intracomm,
    job: Job,
    *,
    board: Board,
    arena_capacity: int,
    trace: str | None = None,
    culprit: int = 0,
    checkpoints: Checkpoints | None = None,
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
    checkpoints : Checkpoints, optional
        Where to write checkpoints, and from which one to go on.

    Raises
    ------
    RunError
        If a module fails, or the arena is full for good.
    """
    rank = comm.Get_rank()
    arena = open_arena(comm, arena_capacity) if job.shared_memory else None
    recorder = begin_recording(trace, rank, job) if trace else None
    communicators = make_communicators(comm, job)
    load_once = functools.cache(load_module)

    def again(job: Job) -> Standing:
        projection = project(job, rank, load_once, communicators)
        return Standing(job, projection, Sequencer(projection.plan, board, arena, recorder, culprit))

    begin = again(job)
    transport = Transport(comm, begin.sequencer)
    peers = MpiPeers(comm, board, transport)
    moving = Rebalancing(rank, job, peers, again) if job.balance else None
    loop = _Loop(begin, peers, arena, checkpoints, moving)
    board.set_state(rank, RUNNING)
    if recorder:
        _record_ready(comm, job, recorder)
    loop.run()
    _finish_together(comm, transport, loop.sequencer)
    if not loop.sequencer.mail_is_empty():
        raise mailfaults.error(loop.sequencer, loop.projection)
    if checkpoints:
        checkpoints.finish()
    if recorder:
        _record_done(comm, job, recorder)
    board.set_state(rank, DONE)
    used, moves = arena.statistics() if arena else None, moving.moves if moving else None
    if recorder:
        recorder.record(EventType.PHASE, a=Phase.END)
        recorder.close()
    return Outcome(loop.calls.figures, used, moves)


def _record_ready(comm: MPI.Intracomm, job: Job, recorder: Recorder) -> None:
    """Record what readers of a trace have to know of clocks, cores and links, last what time has passed."""
    record_clock(comm, job.nodes, recorder)
    record_footing(recorder)
    record_links(comm, job.nodes, recorder)
    record_cpu_time(recorder)
    recorder.record(EventType.PHASE, a=Phase.READY)


def _record_done(comm: MPI.Intracomm, job: Job, recorder: Recorder) -> None:
    record_clock(comm, job.nodes, recorder)
    record_cpu_time(recorder)
    recorder.record(EventType.PHASE, a=Phase.DONE)


def open_arena(comm: MPI.Intracomm, capacity: int) -> Arena:
    """Make the node's arena on its first rank; the others map it."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    place = np.zeros(2, dtype=np.int64)
    arena = None
    if node.Get_rank() == 0:
        arena = _made(capacity)
        place[:] = os.getpid(), arena.fd
    node.Bcast(place)
    if arena is None:
        arena = Arena.attach(int(place[0]), int(place[1]))
    node.Barrier()
    node.Free()
    return arena


def _made(capacity: int) -> Arena:
    try:
        return Arena.create(capacity)
    except ArenaError as error:
        raise RunError(str(error), help=error.help or "choose the size with -o arena=SIZE") from error


class _Loop:
    """The rank's loop: run the sequencer, do what it asks for."""

    def __init__(
        self,
        begin: Standing,
        peers: MpiPeers,
        arena: Arena | None,
        checkpoints: Checkpoints | None,
        moving: Rebalancing | None,
    ) -> None:
        self.peers, self.transport, self.arena = peers, peers.transport, arena
        self.checkpoints, self.moving = checkpoints, moving
        self.figures: dict[str, float] = {}
        self.nap = SHORTEST_NAP
        self._stand(begin)
        if checkpoints:
            checkpoints.begin(self.projection, self.sequencer, self.figures)
        self._wait_for_due()

    def run(self) -> None:
        while True:
            result = self.sequencer.run(self.nap if self.projection.remote else 0)
            if result == codes.RUN_DONE:
                return
            if result == codes.RUN_PYTHON:
                self.calls.call()
            elif result == codes.RUN_POLL:
                self._look()
            elif result == codes.RUN_PAUSE:
                self._pause()
            elif result != codes.RUN_SIGNAL:
                raise failures.ended_by(result, self.sequencer, self.projection, self.arena)

    def _look(self) -> None:
        """Serve the other nodes; the next look is later each time nothing came, but in time for arrays."""
        if self.transport.poll():
            self.nap = SHORTEST_NAP
            return
        longest = LONGEST_NAP
        if self.transport.busy:
            longest = min(longest, max(int(self.transport.patience), 5 * SHORTEST_NAP))
        self.nap = min(5 * self.nap // 4, longest)

    def _stand(self, standing: Standing) -> None:
        """Run this from now on."""
        self.standing = standing
        self.job, self.projection, self.sequencer = standing.job, standing.projection, standing.sequencer
        self.calls = PythonCalls(self.sequencer, self.projection, self.job, self.figures)

    def _pause(self) -> None:
        """Do what all ranks do together at this point of the program."""
        if self.checkpoints:
            self.checkpoints.pause(self.projection, self.sequencer, self.peers, self.figures)
        moved = self.moving.pause(self.standing, self._serve) if self.moving else None
        if moved:
            self._stand(moved)
        self._wait_for_due()

    def _serve(self, sequencer: Sequencer) -> None:
        self.transport.sequencer = sequencer

    def _wait_for_due(self) -> None:
        dues = [part.due for part in (self.checkpoints, self.moving) if part and part.due]
        self.sequencer.set_due(min(dues, default=0))


def _finish_together(comm: MPI.Intracomm, transport: Transport, sequencer: Sequencer) -> None:
    """Wait, asleep, until every rank is done and everything sent has arrived.

    What arrives may make a rank send once more (a credit, a scalar that it passes on), and MPI won't end
    over a message that nobody has taken.  So ranks count until the sums of what was sent and of what came
    are the same twice (Mattern, "Algorithms for distributed termination detection", 1987).
    """
    before, now = (0, 1), (1, 0)
    while now[0] != now[1] or now != before:
        before = now
        _until_quiet(transport, sequencer)
        totals = np.array([transport.sent, transport.received])
        request, nap = comm.Iallreduce(MPI.IN_PLACE, totals), SHORTEST_NAP
        while not request.Test():
            sequencer.serve()
            nap = SHORTEST_NAP if transport.poll() else _sleep(nap)
        now = (int(totals[0]), int(totals[1]))
    transport.close()


def _until_quiet(transport: Transport, sequencer: Sequencer) -> None:
    """Serve what others send until nothing is under way from or to this rank that it knows of."""
    nap = SHORTEST_NAP
    sequencer.serve()
    while transport.poll() or transport.busy:
        nap = _sleep(nap)
        sequencer.serve()


def _sleep(nap: int) -> int:
    time.sleep(nap / 1e9)
    return min(2 * nap, LAST_NAP)
