"""How many files a process may have open: mpiexec and the launcher need some for every rank."""

from __future__ import annotations

import resource

from pse.errors import RunError
from pse.text import count_text

FILES = 32
"""Files that a process of a job has open in any case."""

FILES_PER_RANK = 8
"""Files that mpiexec has open for a rank: its pipes, and what it asks the process manager through."""


def ranks_within(files: int) -> int:
    """Give how many ranks can be started on this machine if a process may have so many files open.

    Parameters
    ----------
    files : int
        The limit.

    Returns
    -------
    int
        Ranks.

    Examples
    --------
    >>> ranks_within(64)
    4
    """
    return max(0, (files - FILES) // FILES_PER_RANK)


def raise_file_limit(ranks: int) -> None:
    """Allow this process, and what it starts, as many open files as a run on this machine needs.

    Parameters
    ----------
    ranks : int
        How many ranks run here.

    Raises
    ------
    RunError
        If the system doesn't allow so many.

    See Also
    --------
    ranks_within

    Examples
    --------
    >>> raise_file_limit(1)
    """
    needed = FILES + FILES_PER_RANK * ranks
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise RunError(
            f"a process may have {hard} files open here, and to start {count_text(ranks, 'rank')} takes "
            f"up to {needed}",
            help=f"raise the limit (ulimit -n {needed}), or ask the system's administrator to do so",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
