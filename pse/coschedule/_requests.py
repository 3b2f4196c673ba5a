"""Operations under way."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from pse._abi.coschedule import Outcome
from pse.coschedule._errors import TruncationError, failure_of

if TYPE_CHECKING:
    from pse.coschedule._coschedule import Engine

Outcomes = tuple[int, int, int, bool]
"""Source, tag, bytes of a message, and whether it was too long."""


def fill(status: MPI.Status | None, found: Outcomes) -> None:
    """Tell a status what came, and complain of a message that was too long."""
    source, tag, size, truncated = found
    if status is not None:
        status.Set_source(source)
        status.Set_tag(tag)
        status.Set_elements(MPI.BYTE, size)
    if truncated:
        raise TruncationError(
            f"a message from rank {source} with tag {tag} is longer than its buffer of {size} bytes",
            help="receive it into a larger buffer (Probe tells how long it is)",
        )


def check_pieces(found: Outcomes) -> None:
    """Complain of a collective operation in which a piece was longer than its place."""
    if found[3]:
        raise TruncationError(
            "a rank has more for this one than there is room for in the buffer of a collective operation",
            help="give counts that are the same where a piece is sent and where it is received",
        )


class Request:
    """An operation under way, as `mpi4py.MPI.Request`.

    Parameters
    ----------
    engine : Engine
        Where it is under way; None: it is complete.
    number : int
        Its descriptor.
    buffers : object
        What must live until it is complete.
    is_collective : bool
        It is not a message.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF) as comm:
    ...     here = np.zeros(2)
    ...     requests = [comm.Irecv(here, source=0), comm.Isend(np.ones(2), dest=0)]
    ...     bcs.Request.Waitall(requests)
    ...     here.tolist()
    True
    [1.0, 1.0]
    """

    def __init__(
        self, engine: "Engine | None", number: int = 0, buffers: Any = None, is_collective: bool = False
    ) -> None:
        self._engine, self._number, self._buffers = engine, number, buffers
        self._is_collective = is_collective

    def __bool__(self) -> bool:
        """Say whether the operation was not yet seen complete."""
        return self._engine is not None

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait until the operation is complete.

        Parameters
        ----------
        status : MPI.Status, optional
            Is told source, tag and size of what came.

        Returns
        -------
        bool
            True.

        Raises
        ------
        CommunicationError
            A rank died, or it is a deadlock.
        TruncationError
            The message is longer than its buffer.
        """
        if self._engine is None:
            return True
        found = self._engine.wait(self._number)
        if found is None:
            raise failure_of(self._engine)
        self._end(found, status)
        return True

    def _end(self, found: Outcomes, status: MPI.Status | None) -> None:
        self._engine = self._buffers = None
        if self._is_collective:
            check_pieces(found)
        else:
            fill(status, found)

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Say whether the operation is complete.

        Parameters
        ----------
        status : MPI.Status, optional
            Is told source, tag and size of what came.

        Returns
        -------
        bool
            In an ordered communicator the answer is a function of the program alone: False means that all
            other ranks were blocked and it was still incomplete.
        """
        return self.Testall([self], None if status is None else [status])

    @staticmethod
    def Waitall(requests: Sequence["Request"], statuses: Sequence[MPI.Status] | None = None) -> bool:
        """Wait until all operations are complete.

        Parameters
        ----------
        requests : sequence of Request
            Of one communicator.
        statuses : sequence of MPI.Status, optional
            One for each.

        Returns
        -------
        bool
            True.
        """
        engine, numbers = Request._under_way(requests)
        if engine is not None and engine.wait_all(numbers) != Outcome.COMPLETE:
            raise failure_of(engine)
        Request._take(requests, statuses)
        return True

    @staticmethod
    def _under_way(requests: Sequence["Request"]) -> "tuple[Engine | None, list[int]]":
        """Give the engine and the descriptors of those that were not seen complete; no engine if all were."""
        engines = [one._engine for one in requests if one]
        return (engines[0] if engines else None), [one._number for one in requests if one]

    @staticmethod
    def _take(requests: Sequence["Request"], statuses: Sequence[MPI.Status] | None) -> None:
        """See that complete operations are complete."""
        for place, one in enumerate(requests):
            if one._engine is not None:
                one._end(one._engine.take(one._number), None if statuses is None else statuses[place])

    @staticmethod
    def Testall(requests: Sequence["Request"], statuses: Sequence[MPI.Status] | None = None) -> bool:
        """Say whether all operations are complete; only then they are seen so.

        Parameters
        ----------
        requests : sequence of Request
            Of one communicator.
        statuses : sequence of MPI.Status, optional
            One for each.

        Returns
        -------
        bool
            As `Test` says.
        """
        engine, numbers = Request._under_way(requests)
        if engine is not None:
            outcome = engine.test(numbers)
            if outcome == Outcome.FAILED:
                raise failure_of(engine)
            if outcome == Outcome.INCOMPLETE:
                return False
        Request._take(requests, statuses)
        return True

    @staticmethod
    def Waitany(requests: Sequence["Request"], status: MPI.Status | None = None) -> int:
        """Wait until one operation is complete.

        Parameters
        ----------
        requests : sequence of Request
            Of one communicator.
        status : MPI.Status, optional
            Is told source, tag and size of what came.

        Returns
        -------
        int
            Which one; MPI.UNDEFINED if all were seen complete before.  In an ordered communicator it is the
            first in the list that is complete when all ranks are blocked: a function of the program alone.
        """
        engine, numbers = Request._under_way(requests)
        if engine is None:
            return MPI.UNDEFINED
        waiting = [place for place, one in enumerate(requests) if one]
        answer = engine.wait_any(numbers)
        if answer is None:
            raise failure_of(engine)
        chosen = requests[waiting[answer]]
        chosen._end(engine.take(chosen._number), status)
        return waiting[answer]
