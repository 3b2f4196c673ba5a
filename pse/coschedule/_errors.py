"""What can go wrong in the layer, in words: who waits for what, who died, whose calls don't fit together."""

import atexit
import functools
import sys
from typing import Final

from pse._abi.coschedule import NONE, Collective, DescriptorKind, Failure
from pse.coschedule._coschedule import Engine, message_text
from pse.errors import RunError
from pse.text import size_text

_NAMES: Final = [one.name.capitalize() for one in Collective]


class CommunicationError(RunError):
    """Communication has failed: on all ranks of the communicator, which can't be used any more.

    See Also
    --------
    DeadlockError
    """


class RankDiedError(CommunicationError):
    """A rank's process ended before it freed the communicator, or is stopped while others wait.

    See Also
    --------
    DeadlockError
    """


class DeadlockError(CommunicationError):
    """All ranks wait, and none of their operations can complete.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF) as comm:
    ...     comm.Recv(np.zeros(1), source=0)
    Traceback (most recent call last):
        ...
    DeadlockError: deadlock: rank 0 in Recv from rank 0, and no rank can go on
    """


class MismatchError(CommunicationError):
    """Ranks called different collective operations, or the same with different arguments.

    See Also
    --------
    DeadlockError
    """


class TruncationError(RunError):
    """A message is longer than the buffer that was to receive it; the buffer has its first bytes.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF) as comm:
    ...     request = comm.Isend(np.ones(2), dest=0)
    ...     comm.Recv(np.zeros(1), source=0)
    Traceback (most recent call last):
        ...
    TruncationError: a message from rank 0 with tag 0 is longer than its buffer of 8 bytes
    """


def operation_text(kind: int, peer: int, tag: int, operation: int) -> str:
    """Say what a rank has posted, as programs spell it."""
    if kind == DescriptorKind.COLLECTIVE:
        return _NAMES[operation]
    return message_text(kind, peer, tag)


def failure_of(engine: Engine) -> CommunicationError:
    """Say why the layer has failed."""
    code, culprit, other = engine.failure()
    if code in _LOST:
        _abort_at_exit()
        return _LOST[Failure(code)](culprit, engine.totals()["slices"])
    if code == Failure.FULL:
        return CommunicationError(
            f"rank {culprit} has {engine.most_operations():,} operations under way, the most that there may "
            "be",
            help="wait for some of them before it begins more",
        )
    if code == Failure.MISMATCH:
        return _mismatch(engine, culprit, other)
    return DeadlockError(
        engine.deadlock_text(_NAMES), help="compare what each waits for with what its peer sends"
    )


@functools.cache
def _abort_at_exit() -> None:
    """End the job when this process ends: MPI_Finalize would wait for a rank that is gone."""
    atexit.register(_abort)


def _abort() -> None:
    from mpi4py import MPI

    sys.stdout.flush()
    sys.stderr.flush()
    if MPI.Is_initialized() and not MPI.Is_finalized():
        MPI.COMM_WORLD.Abort(1)


def _silence(culprit: int, slice: int) -> RankDiedError:
    return RankDiedError(
        f"the node of rank {culprit} has not answered for 10 s, in slice {slice}",
        help="its machine or that rank's process stands still (a debugger, SIGSTOP), or the network is down",
    )


def _standstill(rank: int, slice: int) -> RankDiedError:
    return RankDiedError(
        f"rank {rank} of the coscheduled communicator has stood still for 10 s, in slice {slice}",
        help="its process is stopped (SIGSTOP): continue such a process sooner (kill -CONT)",
    )


def _death(rank: int, slice: int) -> RankDiedError:
    who = f"rank {rank}" if rank != NONE else "a rank"
    return RankDiedError(
        f"{who} of the coscheduled communicator ended and did not free it, in slice {slice}",
        help="look for what ended its process: an error above, a signal, or no memory left",
    )


_LOST: Final = {Failure.DEAD: _death, Failure.SILENT: _silence, Failure.STOPPED: _standstill}
"""What is told of a rank that doesn't go on."""


def _mismatch(engine: Engine, *ranks: int) -> MismatchError:
    calls = {
        owner: f"{_NAMES[operation]} of {size_text(size)}" for owner, operation, size in engine.collectives()
    }
    said = " and ".join(f"rank {one} in {calls.get(one, 'another')}" for one in sorted(ranks))
    return MismatchError(
        f"collective operations don't fit together: {said}",
        help="all ranks call the same operations in the same order, with the same root, size and type",
    )
