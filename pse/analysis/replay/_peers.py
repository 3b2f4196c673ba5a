"""The processes of an analysis, and what travels among them: rows to named processes, and small tables.

All functions are collective.  One process alone analyses with the same code: nothing travels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pse.analysis.replay._columns import Columns
from pse.trace.format import Array


class Traffic(NamedTuple):
    """What a process of an analysis sent to others.  Operations of all processes count as trees of messages.

    Parameters
    ----------
    messages : int
        Messages.
    partners : int
        Bytes of the times of partners, which grow with the events of a process.
    trees : int
        Bytes of what all merge and get: names and call paths, which grow as the logarithm of the number of
        processes.
    tables : int
        Bytes of tables with a number for each rank or process N: who reads which stream, how many rows go to
        each.  They grow as N log N.
    results : int
        Bytes of severities, which process 0 gets of all: they grow as N.
    work : float
        CPU time of the process without its waits for others, s.

    See Also
    --------
    analysis_traffic
    """

    messages: int
    partners: int
    trees: int
    tables: int
    results: int
    work: float


class Delivery(Protocol):
    """Rows that arrived, by the process that sent them, in its order."""

    @property
    def rows(self) -> Columns:
        """The rows."""

    def reply(self, answers: Array) -> Array:
        """Send an answer for each row back; give those for the own rows, in the order of these."""


class Group(Protocol):
    """Processes that analyse a trace together, all or some of them.

    Attributes
    ----------
    rank : int
        Which one this is.
    """

    rank: int

    def combined(self, value: Any, merge: Callable[[Any, Any], Any]) -> Any:
        """Merge a value that JSON can hold of all of them, in their order, and give it to all."""


class Peers(Group, Protocol):
    """All processes that analyse a trace together.

    Attributes
    ----------
    size : int
        How many there are.
    nodes : array of int64, shape (size,)
        The node of each; nodes are numbered by their lowest process.
    """

    size: int
    nodes: Array

    @property
    def local(self) -> Group:
        """Those on the node of this one."""

    def deliver(self, rows: Columns, dtype: np.dtype[np.void], to: Array) -> Delivery:
        """Send each row to a process, as records of a type."""

    def least(self, values: Array) -> Array:
        """The least of the values of all processes at each place; signed, and of the same shape on all.

        MPICH 4.0 orders unsigned numbers as if they were signed.
        """

    def gathered(self, rows: Array) -> Array:
        """The rows of all processes on process 0, in their order; none elsewhere."""


@dataclass(frozen=True)
class OwnRows:
    """A delivery of a process to itself."""

    rows: Columns

    def reply(self, answers: Array) -> Array:
        """Give the answers."""
        return answers


class Alone:
    """One process that analyses all streams."""

    def __init__(self) -> None:
        self.rank, self.size, self.nodes = 0, 1, np.zeros(1, "<i8")

    @property
    def local(self) -> Group:
        """Give this process itself."""
        return self

    def deliver(self, rows: Columns, dtype: np.dtype[np.void], to: Array) -> Delivery:
        """Give the rows."""
        return OwnRows(rows)

    def combined(self, value: Any, merge: Callable[[Any, Any], Any]) -> Any:
        """Give the value."""
        return value

    def least(self, values: Array) -> Array:
        """Give the values."""
        return values

    def gathered(self, rows: Array) -> Array:
        """Give the rows."""
        return rows
