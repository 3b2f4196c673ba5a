"""Rows of a picture: one for each rank, the root's first, then processor by processor."""

from __future__ import annotations

from dataclasses import dataclass

from pse.trace import Trace
from pse.trace.query import Names, Selection


@dataclass(frozen=True)
class Row:
    """One rank as a row of a picture.

    Parameters
    ----------
    rank : int
        Rank of the job.
    label : str
        ``root · thread_A``, ``p0 · thread_B``; ``rank 3`` where nothing more is known.
    group : str
        ``root``, ``p0``; "" where nothing more is known.
    thread : str
        Label of the thread, "" if unknown.
    processor : int or None
        None for the root, and if unknown.
    host : str
        Where it ran.

    See Also
    --------
    rows

    Examples
    --------
    >>> row = rows(trace)[1]
    >>> row.rank, row.label, row.thread
    (1, 'root · thread_B', 'thread_B')
    """

    rank: int
    label: str
    group: str
    thread: str
    processor: int | None
    host: str


def rows(trace: Trace, selection: Selection | None = None) -> list[Row]:
    """Give the rows of the ranks that a selection leaves, from top to bottom.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    selection : Selection, optional
        All ranks if not given.

    Returns
    -------
    list of Row
        The root's ranks, then those of each processor, ascending.

    Raises
    ------
    TraceError
        The selection leaves none.

    Examples
    --------
    >>> [row.label for row in rows(trace)]
    ['root · thread_A', 'root · thread_B']
    """
    names = Names(trace)
    found = [_row(trace, names, rank) for rank in (selection or Selection()).ranks_of(trace)]
    return sorted(found, key=lambda row: (-1 if row.processor is None else row.processor, row.rank))


def _row(trace: Trace, names: Names, rank: int) -> Row:
    host = trace.files[rank].host
    known = trace.definitions.ranks if trace.definitions else ()
    if rank >= len(known):
        return Row(rank, names.thread(rank), "", "", None, host)
    group = "root" if known[rank].processor is None else f"p{known[rank].processor}"
    thread = known[rank].thread
    return Row(rank, f"{group} · {thread}", group, thread, known[rank].processor, host)
