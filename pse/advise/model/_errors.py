"""What advice can't be given for, and why.

Every message says what is missing and what to do.
"""

from __future__ import annotations

from pse.errors import UsageError


class AdviceError(UsageError):
    """There is nothing to advise on, or it can't be done; the message says why (exit code 2).

    Examples
    --------
    >>> pse.advise.advise("mpi1")
    Traceback (most recent call last):
        ...
    AdviceError: mpi1 has no definitions of a program ...
    """


def nothing_between_nodes() -> AdviceError:
    """Refuse a run whose time the network has no part in."""
    return AdviceError(
        "no message goes from node to node in this run: its time doesn't depend on the network",
        help="record a run on several nodes",
    )
