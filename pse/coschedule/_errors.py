"""What can go wrong in the layer, in words: who waits for what, who died, whose calls don't fit together."""

from collections.abc import Sequence
from typing import Final

from pse._abi.coschedule import NONE, Collective, DescriptorKind, Failure
from pse.coschedule._coschedule import Engine
from pse.errors import RunError
from pse.text import count_text, list_text, size_text

_ANY: Final = -1
_FULL: Final = -1
"""Instead of a descriptor's kind: the rank has none left."""
_SHOWN: Final = 8
"""The most ranks whose waits a message lists."""


class CommunicationError(RunError):
    """Communication has failed: on all ranks of the communicator, which can't be used any more.

    See Also
    --------
    DeadlockError
    """


class RankDiedError(CommunicationError):
    """A rank's process ended before it freed the communicator.

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
    if kind == _FULL:
        return "a call that has no room (its operations under way fill the table: wait for some of them)"
    if kind == DescriptorKind.COLLECTIVE:
        return Collective(operation).name.capitalize()
    verb, preposition = {
        DescriptorKind.SEND: ("Send", "to"),
        DescriptorKind.RECEIVE: ("Recv", "from"),
        DescriptorKind.PROBE: ("Probe", "from"),
    }[DescriptorKind(kind)]
    who = "any rank" if peer == _ANY else f"rank {peer}"
    return f"{verb} {preposition} {who}" + ("" if tag == _ANY else f" with tag {tag}")


def _waits_text(awaited: Sequence[tuple[int, int, int, int, int, int]]) -> str:
    first: dict[int, str] = {}
    for kind, owner, peer, tag, operation, _ in awaited:
        first.setdefault(owner, operation_text(kind, peer, tag, operation))
    shown = [f"rank {rank} in {text}" for rank, text in sorted(first.items())[:_SHOWN]]
    more = len(first) - len(shown)
    return list_text([*shown, *([count_text(more, "more rank")] if more > 0 else [])], "and")


def failure_of(engine: Engine) -> CommunicationError:
    """Say why the layer has failed."""
    code, culprit, other = engine.failure()
    awaited = engine.awaited()
    if code == Failure.DEAD:
        slice = engine.totals()["slices"]
        who = f"rank {culprit}" if culprit != NONE else "a rank"
        return RankDiedError(
            f"{who} of the coscheduled communicator ended and did not free it, in slice {slice}",
            help="look for what ended its process: an error above, a signal, or no memory left",
        )
    if code == Failure.MISMATCH:
        calls = {
            owner: f"{Collective(operation).name.capitalize()} of {size_text(size)}"
            for kind, owner, _, _, operation, size in awaited
            if kind == DescriptorKind.COLLECTIVE
        }
        said = " and ".join(f"rank {one} in {calls.get(one, 'another')}" for one in sorted((culprit, other)))
        return MismatchError(
            f"collective operations don't fit together: {said}",
            help="all ranks call the same operations in the same order, with the same root, size and type",
        )
    why = "and other ranks have left" if code == Failure.LEFT else "and no rank can go on"
    return DeadlockError(
        f"deadlock: {_waits_text(awaited)}, {why}",
        help="compare what each waits for with what its peer sends",
    )
