"""A trace: the files of a run, and the tables that are made of them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

from pse.records import dataclass
from pse.trace.format._field_values import Array
from pse.trace.query import (
    _frames as frames,
    _memory_changes as memory_changes,
    _messages as messages,
    _mpi as mpi,
    _partition_messages as partition_messages,
    _tables as tables,
    _time_slices as time_slices,
)
from pse.trace.query._mpi_messages import lost_ranks
from pse.trace.query._selection import Selection
from pse.trace.store._partial_opening import listed_ranks
from pse.trace.store._trace_defects import merge_alike, without_events
from pse.trace.store._trace_files import TraceFiles


@dataclass(frozen=True)
class Trace(TraceFiles):
    """The trace of one run, as `open` gives it.

    A table is a structured array with a row for each call, message or wait.  All times in tables are ns since
    the run's `origin`, and can be compared between ranks and hosts.  A field that holds a number of a rank,
    call site, edge or partition is `NONE` (2**32 - 1) where there is none.

    Parameters
    ----------
    path : Path
        The trace's directory.
    definitions : Definitions or None
        What the numbers stand for; None if they are missing or damaged (then a problem says so).
    files : mapping of int to RankFile
        The usable files by rank.
    problems : tuple of str
        What is missing or damaged, a sentence each.
    clock : RunClock
        Converts each rank's times into the run's.
    program_text : str or None
        The program as it ran; None if there is no copy of it.

    Examples
    --------
    >>> trace = pse.trace.open("run1")
    >>> calls = trace.module_calls()
    >>> int((calls["leave"] - calls["enter"]).sum()) / 1e9  # seconds in modules, all ranks together
    0.028
    """

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """Open the trace in a directory; see `pse.trace.open`."""
        found = super().open(directory)
        said = {*listed_ranks(found.path), *(one.rank for one in getattr(found.definitions, "ranks", ()))}
        lost = [without_events(rank) for rank in lost_ranks(found) if rank not in said]
        return replace(found, problems=(*found.problems, *merge_alike(lost)))

    def module_calls(self) -> Array:
        """All module calls, by rank, then in the order of their ends.

        Returns
        -------
        structured array, shape (calls,)
            ``rank`` (uint32), ``site`` (uint32, call site), ``tph`` (uint64), ``partition`` (uint32),
            ``enter`` and ``leave`` (int64, ns), ``cpu`` (uint64, ns), ``preempted`` (uint64, ns that it was
            ready to run without a core), ``status`` (int32, what the module returned), ``failed`` (bool),
            ``complete`` (bool; False: the end of the trace interrupted it, and ``leave`` is the rank's last
            event).
        """
        return tables.module_calls(self)

    def messages(self) -> Array:
        """All hand-overs of tags of which both ends are in the trace.

        Returns
        -------
        structured array, shape (messages,)
            ``sender`` and ``receiver`` (uint32, ranks), ``edge`` (uint32, which says the tag), ``sequence``
            (uint64), ``bytes`` (uint64), ``flags`` (uint16, `MessageFlag`), ``site`` (uint32, the call site
            that defined the tag), ``tph`` (uint64), ``sent`` and ``received`` (int64, ns).
        """
        return messages.match_messages(*messages.message_ends(self)).matched

    def unmatched_messages(self) -> tuple[Array, Array]:
        """Sends of tags without their receive, and receives without their send.

        Returns
        -------
        sends, receives : structured arrays
            Events (`EVENT_DTYPE`) with the ``time`` in ns since the origin, and their ``rank`` (uint32).
        """
        found = messages.match_messages(*messages.message_ends(self))
        return found.sends, found.receives

    def partition_messages(self) -> Array:
        """All messages among partitions; those of which only one end is in the trace come last.

        Returns
        -------
        structured array, shape (messages,)
            ``sender`` and ``receiver`` (uint32, ranks), ``source`` and ``target`` (uint32, partitions),
            ``tag`` (uint32), ``collective`` (bool, a part of a collective operation), ``bytes`` (uint64),
            ``flags`` (uint16, `MessageFlag`), ``site`` (uint32), ``tph`` (uint64), and the times ``sent``,
            ``received``, ``taken`` (the receiver had the bytes) and ``done`` (the sender knew), int64 ns,
            -1 where the trace doesn't show them.
        """
        return partition_messages.partition_messages(self)

    def partition_collectives(self) -> Array:
        """All collective operations among partitions, a row for each partition: by rank, then in order.

        Returns
        -------
        structured array, shape (rows,)
            ``rank`` and ``partition`` (uint32), ``instance`` (int64, the same for all partitions of one
            operation), ``operation`` (uint16, `Collective`), ``number`` (uint32, which operation of its scope
            it is), ``scope`` (uint32, set of partitions), ``root`` and ``site`` (uint32), ``tph`` (uint64),
            ``bytes`` (uint64, of this partition), ``begin`` and ``end`` (int64, ns; an end that the trace
            doesn't show is -1).
        """
        return partition_messages.partition_collectives(self)

    def waits(self) -> Array:
        """All waits, by rank, then in the order of their ends.

        Returns
        -------
        structured array, shape (waits,)
            ``rank`` and ``site`` (uint32), ``tph`` (uint64), ``reason`` (uint16, `WaitReason`), ``peer``
            (uint32, the rank that was waited for) and ``edge`` (uint32) where they are known, ``begin`` and
            ``end`` (int64, ns), ``complete`` (bool; False: the end of the trace interrupted it, and ``end``
            is the rank's last event).
        """
        return tables.waits(self)

    def memory(self) -> Array:
        """All changes of the memory that tags hold, by time.

        Returns
        -------
        structured array, shape (changes,)
            ``time`` (int64, ns), ``rank`` (uint32, the one that allocated it), ``site`` (uint32), ``tph`` and
            ``handle`` (uint64), ``bytes`` (int64, negative: freed), ``local`` (bool, the process's own memory
            instead of the node's arena).  A block whose parts several ranks allocated has a row for each when
            it is freed.
        """
        return memory_changes.memory(self)

    def queue_depths(self) -> Array:
        """All samples of the depths of queues, by rank, then in order.

        Returns
        -------
        structured array, shape (samples,)
            ``time`` (int64, ns), ``rank``, ``edge`` and ``sender`` (uint32; `NONE`: the whole inbox, all
            senders), ``depth`` (uint64) and ``limit`` (uint64; 0: none).
        """
        return tables.queue_depths(self)

    def routine_calls(self) -> tuple[Array, list[str]]:
        """All calls of MPI routines that returned, by rank, then in the order of their ends.

        Returns
        -------
        calls : structured array, shape (calls,)
            ``rank`` (uint32), ``routine`` (uint32, index of `names`), ``enter`` and ``leave`` (int64, ns),
            ``returned`` (int64).
        names : list of str
            Names of the routines.
        """
        return mpi.routine_calls(self)

    def time_slices(self) -> Array:
        """All time slices of the coscheduled layer, by the rank whose process ran them, then in order.

        Returns
        -------
        structured array, shape (slices,)
            ``rank``, ``communicator`` (the rank's number for it) and ``slice`` (uint32), ``timed`` (bool;
            False: it began because a rank blocked), ``begin`` and ``end`` (int64, ns), ``exchange`` (uint32,
            ns from its begin until descriptors were exchanged; the rest was scheduling), ``operations``
            (uint32, that it scheduled).
        """
        return time_slices.time_slices(self)

    def slice_matches(self) -> Array:
        """All operations that slices matched, by rank, then as they were recorded.

        Returns
        -------
        structured array, shape (operations,)
            ``rank``, ``communicator``, ``slice``, ``peer`` (other rank in the communicator, or root) and
            ``request`` (uint32; 0: a blocking call), ``collective``, ``send`` (bool), ``begin`` and ``end``
            (int64, ns: when it was matched, and when the rank saw it complete; a send may be complete before
            it is matched: when the rank saw that).
        """
        return time_slices.slice_matches(self)

    def frame(self, name: str, selection: Selection | None = None) -> Any:
        """One of the tables as a pandas data frame: names instead of numbers, times in seconds.

        Parameters
        ----------
        name : str
            ``module_calls``, ``waits``, ``messages``, ``memory``, ``queue_depths``, ``routine_calls``,
            ``partition_messages``, ``partition_collectives``, ``time_slices`` or ``slice_matches``.
        selection : Selection, optional
            Which rows.

        Returns
        -------
        pandas.DataFrame
            A row for each of the table's.  ``processor`` is a number, ``root``, or nothing; blocks of time
            have a ``duration``.

        Raises
        ------
        TraceError
            There is no such table, pandas is missing, or the selection names what isn't in the trace.
        """
        frames.check_table(name)
        table, routines = self.routine_calls() if name == "routine_calls" else (getattr(self, name)(), [])
        return frames.data_frame(self, table, routines, selection)


def open(directory: str | os.PathLike[str]) -> Trace:
    """Open the trace in a directory.

    Parameters
    ----------
    directory : path
        What was given to ``pse run --trace``.

    Returns
    -------
    Trace
        All that is usable; `Trace.problems` says what isn't.

    Raises
    ------
    TraceError
        There is no such directory, it is not a trace, or nothing in it is usable.

    Examples
    --------
    >>> trace = pse.trace.open("run1")
    >>> trace.ranks, trace.problems
    ((0, 1), ())
    """
    return Trace.open(directory)
