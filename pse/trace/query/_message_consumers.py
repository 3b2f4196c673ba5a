"""Which call read a message: the trace says when a tag came, and which call sites read it.

Messages of one sender, edge and TPH keep their order, so where there are as many calls as messages (or twice,
three times as many), each belongs to its own.  Of a distributed tag a call may read several pieces of each
sender.  Of others, where there are fewer calls, conditions of loops and branches read the rest; of what had
come before a call, the call then read the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pse.trace.format._definitions import EdgeDefinition
from pse.trace.format._field_values import Array

NO_CALL = -1


def message_consumers(
    messages: Array, calls_of: Callable[[int], Array], edges: Mapping[int, EdgeDefinition]
) -> Array:
    """Tell for each message the first call that read it.

    Parameters
    ----------
    messages : structured array with receiver, sender, edge, tph, received, shape (n,)
        All of their TPHs, in the order of arrival.
    calls_of : callable
        Gives the calls of a rank in the order of time: tph, site, begin.
    edges : mapping of int to EdgeDefinition
        By their numbers.

    Returns
    -------
    array of int64, shape (n,)
        Index among the receiver's calls; `NO_CALL` where no call read it.

    Examples
    --------
    >>> from numpy.lib.recfunctions import rename_fields
    >>> calls = rename_fields(trace.module_calls(), {"enter": "begin"})
    >>> messages = np.sort(trace.messages(), order="received")
    >>> edges = {edge.id: edge for edge in trace.definitions.edges}
    >>> message_consumers(messages, lambda rank: calls[calls["rank"] == rank], edges).tolist()
    [0, 1, 1, 3]
    """
    found = np.full(len(messages), NO_CALL)
    for rows in _alike(messages):
        one = messages[rows[0]]
        edge = edges.get(int(one["edge"]))
        read_by = _pieces_read_by if edge and _is_in_pieces(edge) else _read_by
        calls = calls_of(int(one["receiver"]))
        mine = calls["tph"] == one["tph"]
        for site in edge.targets if edge else ():
            places = np.flatnonzero(mine & (calls["site"] == site))
            read = read_by(messages["received"][rows], calls["begin"][places])
            index = np.where(read >= 0, np.append(places, NO_CALL)[read], NO_CALL)
            sooner = (index >= 0) & ((found[rows] < 0) | (index < found[rows]))
            found[rows[sooner]] = index[sooner]
    return found


def _alike(messages: Array) -> Iterator[Array]:
    """Rows of one sender, receiver, edge and TPH, in the order of arrival."""
    names = ("sender", "receiver", "edge", "tph")
    order = np.lexsort((messages["received"], *(messages[name] for name in names)))
    same = np.ones(max(len(order) - 1, 0), bool)
    for name in names:
        same &= messages[name][order[1:]] == messages[name][order[:-1]]
    yield from np.split(order, np.flatnonzero(~same) + 1) if len(order) else ()


def _is_in_pieces(edge: EdgeDefinition) -> bool:
    _, at, where = edge.type.rpartition("@ ")
    return bool(at) and not where.startswith(("root", "replicated"))


def _pieces_read_by(received: Array, begins: Array) -> Array:
    """For each piece the index of the first call that read it, else `NO_CALL`."""
    each, rest = divmod(len(received), max(len(begins), 1))
    order = np.arange(len(received)) // max(each, 1)
    if len(begins) and each and not rest and (begins[order] >= received).all():
        return order
    if not each:
        return _read_by(received, begins)
    after = np.searchsorted(begins, received, side="left")
    return np.where(after < len(begins), after, NO_CALL)


def _read_by(received: Array, begins: Array) -> Array:
    """For each message the index of the first call that read it, else `NO_CALL`."""
    often, rest = divmod(len(begins), len(received))
    if often and not rest and (begins[::often] >= received).all():
        return np.arange(len(received)) * often
    read, first = np.unique(np.searchsorted(received, begins, side="right") - 1, return_index=True)
    found = np.full(len(received), NO_CALL)
    found[read[read >= 0]] = first[read >= 0]
    return found
