"""A stop while checkpoints are on: all ranks agree on the next pause that each can come to, and save there.

When a signal comes, a rank may be anywhere: in a module that waits in MPI for another rank, say, which waits
at its next pause.  So a thread of each rank agrees with those of the others.  It holds its rank at the next
pause, whatever that is, reads how many pauses the rank has passed, and learns of the others' numbers: the
first pause that nobody has passed is where all save.  Ranks that are held before it go on.  No rank has to
come to any place for that.  Inside an `inflight` loop, whose iterations are counted, there is no pause: the
count is brought up to date, and all stop at once.  So do all if some rank has passed its last pause.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FrameType

import numpy as np
from mpi4py import MPI

from pse.runtime import _faults
from pse.runtime._sequencer import Sequencer
from pse.runtime.checkpoint._schedule import STOP_GRACE, late_stop
from pse.runtime.supervise._backoff import Backoff

_HOLD = 1
"""As a pause's number: whichever comes next."""

_ONE_MAY_BE_PASSED = 2
"""From the pauses that a rank has passed to the first that it will be held at: it may be passing one."""


class Stopped(BaseException):
    """A signal asks this rank to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Deferral:
    active = False
    number = 0


def stop(number: int, frame: FrameType | None) -> None:
    """End this rank, unless somebody sees to it that it ends in good order (Python's handler of a signal)."""
    if not _Deferral.active:
        raise Stopped(number)
    _Deferral.number = number


def can_agree() -> bool:
    """Say whether threads may call MPI beside the rank."""
    return MPI.Query_thread() == MPI.THREAD_MULTIPLE


class StopAgreement(threading.Thread):
    """The thread of one rank, asleep until a signal comes.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks; used by nobody else.
    sequencer : Sequencer
        The one that is about to run.
    directory : str
        Of the checkpoints.
    in_flight : callable
        Say whether this rank counts the iterations of an `inflight` loop that still runs.
    count : callable
        Bring the kept count of iterations up to date.

    Attributes
    ----------
    place : int
        The pause at which all ranks save and end; 1 while that is not known, 0 if no signal has come.
    number : int
        That of the signal.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        sequencer: Sequencer,
        directory: str,
        in_flight: Callable[[], bool],
        count: Callable[[], None],
    ) -> None:
        super().__init__(daemon=True)
        self.place = self.number = 0
        self._passed_all = False
        self._comm, self._in_flight, self._count = comm, in_flight, count
        self._lock, self._sequencer = threading.Lock(), sequencer
        self._signals, self._told = os.pipe()
        _Deferral.active = True
        _faults.defer_stops(self._told, STOP_GRACE, late_stop(directory))
        self.start()

    def set_due(self, sequencer: Sequencer, due: int) -> None:
        """Return from the sequencer that runs at a pause (0: at none), and where this stop wants it."""
        with self._lock:
            self._sequencer = sequencer
            sequencer.set_due(min((pause for pause in (due, self.place) if pause), default=0))

    def agreed(self) -> bool:
        """Say whether it is known where all end, if a signal has come."""
        return self.place != _HOLD

    def end_of_pauses(self) -> None:
        """Note that this rank has passed its last pause: a signal ends all ranks at once, wherever they are.

        Raises
        ------
        Stopped
            If one has come meanwhile.
        """
        with self._lock:
            self._passed_all = True
        # What they agree on, or have agreed on, is a pause that this rank does not come to.
        if number := _Deferral.number or self.number:
            raise Stopped(number)

    def end(self) -> None:
        """Defer stops no longer.

        Raises
        ------
        Stopped
            If a signal has come meanwhile.
        """
        _Deferral.active = False
        if _Deferral.number:
            raise Stopped(_Deferral.number)
        _faults.end_deferral()
        os.write(self._told, b"\0")
        self.join()

    def run(self) -> None:
        self.number = number = os.read(self._signals, 1)[0]
        if number == 0:
            return
        place = self._hold() + _ONE_MAY_BE_PASSED
        numbers = np.array([place, self._in_flight(), self._passed_all], np.int64)
        Backoff().sleep_until(self._comm.Iallreduce(MPI.IN_PLACE, numbers, MPI.MAX).Test)
        if numbers[1]:
            self._count()
        if numbers[1:].any():
            Backoff().sleep_until(self._comm.Ibarrier().Test)
            _Deferral.active = False
            _faults.end_deferral()
            os.kill(os.getpid(), number)
        else:
            self.place = int(numbers[0])

    def _hold(self) -> int:
        """Let the rank pass no pause any more; gives how many it has passed."""
        with self._lock:
            self.place = _HOLD
            self._sequencer.set_due(_HOLD)
            return self._sequencer.rounds
