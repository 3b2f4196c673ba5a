"""A trace as it lies on disk: definitions, the ranks' files, and what is wrong with them.

What is there is shown: a missing or damaged file of one rank is a problem with a name, not the end.

May touch: nothing; everything is read-only.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.trace.format._definitions import Definitions
from pse.trace.format._errors import TraceError
from pse.trace.format._events import EVENT_DTYPE, EventType
from pse.trace.query import _mpi as mpi, _partition_messages as partition_messages, _tables as tables
from pse.trace.query._clocks import RunClock
from pse.trace.store._chunked_reading import pieces
from pse.trace.store._directory import FILE_NAME, RANK_FILE, read_definitions, read_program
from pse.trace.store._files import MOST_TYPES, Array, RankFile, merge_rank_files, open_rank_file
from pse.trace.store._trace_defects import gathered

if TYPE_CHECKING:
    from pse.trace.query._selection import Selection


@dataclass(frozen=True)
class Trace:
    """The trace of one run, opened by `open`.

    Parameters
    ----------
    path : Path
        Its directory.
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
    """

    path: Path
    definitions: Definitions | None
    files: Mapping[int, RankFile]
    problems: tuple[str, ...]
    clock: RunClock
    program_text: str | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks whose events are there, ascending."""
        return tuple(sorted(self.files))

    @property
    def origin(self) -> int:
        """When the earliest event of all ranks happened, ns since 1970 (UTC): time 0 of all tables."""
        return self.clock.origin

    @property
    def span(self) -> int:
        """From the earliest event to the latest, ns."""
        return self.clock.span

    def run_times(self, rank: int, raw: Array) -> Array:
        """Times of a rank's clock, as its events have them, as ns since `origin`: int64, comparable."""
        return self.clock.times(rank, raw)

    def events(self, rank: int) -> Array:
        """All events of a rank in the order of writing, with the times of its host's clock.

        An array of `EVENT_DTYPE`, mapped read-only.

        Raises
        ------
        TraceError
            The trace has no such rank.
        """
        try:
            return self.files[rank].events
        except KeyError:
            there = ", ".join(map(str, self.ranks))
            raise TraceError(f"{self.path} has no events of rank {rank}; there are ranks {there}") from None

    def select(self, rank: int, *types: EventType) -> Array:
        """Copy of a rank's events of the given types, in the order of writing."""
        events, file, wanted = self.events(rank), self.files[rank], np.zeros(MOST_TYPES, bool)
        wanted[list(types)] = True
        width = EVENT_DTYPE.itemsize // 8
        chosen = np.empty((sum(file.counts[kind] for kind in types), width), "<u8")
        at = made = 0
        for piece in pieces(events) if len(chosen) else ():
            places = np.flatnonzero(wanted[file.types[at : at + len(piece)]])
            words = piece.view("<u8").reshape(-1, width)  # Copied faster than records.
            words.take(places, axis=0, out=chosen[made : made + len(places)], mode="clip")
            at, made = at + len(piece), made + len(places)
        return chosen.view(EVENT_DTYPE).reshape(-1)

    def texts(self, rank: int) -> dict[tuple[int, int], str]:
        """Names that a rank gave to things numbered by itself, by (`TextKind`, number)."""
        return tables.texts(self, rank)

    def module_calls(self) -> Array:
        """All module calls: structured array of `tables.MODULE_CALL_DTYPE`, by rank, then in order.

        A call that a crash interrupted is there too: not `complete`, `leave` is the rank's last event.
        """
        return tables.module_calls(self)

    def messages(self) -> Array:
        """All messages of which both ends are there: structured array of `tables.MESSAGE_DTYPE`."""
        return tables.match_messages(*tables.message_ends(self)).matched

    def unmatched_messages(self) -> tuple[Array, Array]:
        """Sends without their receive, and receives without their send: arrays of `RANKED_EVENT_DTYPE`."""
        found = tables.match_messages(*tables.message_ends(self))
        return found.sends, found.receives

    def partition_messages(self) -> Array:
        """All messages among partitions: array of `partition_messages.PARTITION_MESSAGE_DTYPE`.

        Those of which only one end is there come last, with -1 as the time of the other.
        """
        return partition_messages.partition_messages(self)

    def partition_collectives(self) -> Array:
        """All collective operations among partitions, a row for each partition: by rank, then in order.

        An array of `partition_messages.PARTITION_COLLECTIVE_DTYPE`.
        """
        return partition_messages.partition_collectives(self)

    def waits(self) -> Array:
        """All waits: structured array of `tables.WAIT_DTYPE`, by rank, then in order.

        A wait that the end of the trace interrupted is there too: not `complete`, `end` is the last event.
        """
        return tables.waits(self)

    def memory(self) -> Array:
        """All changes of held memory: structured array of `tables.MEMORY_DTYPE`, by time."""
        return tables.memory(self)

    def queue_depths(self) -> Array:
        """All samples of queue depths: structured array of `tables.QUEUE_DTYPE`, by rank, then in order."""
        return tables.queue_depths(self)

    def routine_calls(self) -> tuple[Array, list[str]]:
        """All calls of MPI routines, and the routines' names: array of `mpi.ROUTINE_CALL_DTYPE`."""
        return mpi.routine_calls(self)

    def frame(self, name: str, selection: Selection | None = None) -> Any:
        """One of the tables as a pandas data frame: names instead of numbers, times in seconds.

        Parameters
        ----------
        name : str
            ``module_calls``, ``waits``, ``messages``, ``memory``, ``queue_depths`` or ``routine_calls``.
        selection : Selection, optional
            What part of it.

        Returns
        -------
        pandas.DataFrame
            A row for each of the table's; ``processor`` is a number, ``root``, or nothing.

        Raises
        ------
        TraceError
            There is no such table, pandas is missing, or the selection names what isn't there.
        """
        from pse.trace.query import _frames as frames

        return frames.frame(self, name, selection)


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
        There is no such directory, it holds no trace, or nothing in it is usable.
    """
    path = Path(directory)
    names = _list(path)
    problems: list[str] = []
    definitions = _definitions(path, names, problems)
    files = _open_files(path, names, definitions, problems)
    if not files:
        raise TraceError(f"{path}: nothing of this trace can be read: {'; '.join(gathered(problems))}")
    for rank in sorted(files):
        problems += files[rank].problems
    clock = RunClock(files, {rank.rank: rank.host for rank in definitions.ranks} if definitions else {})
    text = _program(path, definitions, problems)
    return Trace(path, definitions, files, gathered([*problems, *clock.problems]), clock, text)


def _list(path: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such directory", help=_HELP) from None
    except NotADirectoryError:
        raise TraceError(f"{path} is a file; a trace is a directory", help=_HELP) from None
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}") from error
    if FILE_NAME not in names and not any(map(RANK_FILE.fullmatch, names)):
        raise TraceError(f"{path} holds no trace: neither {FILE_NAME} nor files of events", help=_HELP)
    return names


_HELP = "record one with: pse run PROGRAM -p P --trace DIR"


def _definitions(path: Path, names: Iterable[str], problems: list[str]) -> Definitions | None:
    if not any(name == FILE_NAME or _is_runtimes(name) for name in names):
        return None  # MPI's events only: no call sites.
    try:
        return read_definitions(path)
    except TraceError as error:
        problems.append(f"{error.message}; call sites and ranks are shown by number")
        return None


def _program(path: Path, definitions: Definitions | None, problems: list[str]) -> str | None:
    try:
        return read_program(path, definitions) if definitions else None
    except TraceError as error:
        problems.append(error.message)
        return None


def _is_runtimes(name: str) -> bool:
    found = RANK_FILE.fullmatch(name)
    return found is not None and not found[2]


def _open_files(
    path: Path, names: Iterable[str], definitions: Definitions | None, problems: list[str]
) -> dict[int, RankFile]:
    there = _by_rank(path, names)
    wanted = set(there) if definitions is None else {rank.rank for rank in definitions.ranks}
    for rank in sorted(there.keys() - wanted):
        problems += [f"{file.name} belongs to another run; it is left out" for file in there[rank]]
    files = {}
    for rank in sorted(wanted):
        parts = list(_open_parts(path, rank, there.get(rank, []), definitions, problems))
        if len(parts) == 2 and (parts[0].host, parts[0].pid) != (parts[1].host, parts[1].pid):
            problems.append(f"{parts.pop().path.name} belongs to another run; it is left out")
        if parts:
            files[rank] = functools.reduce(merge_rank_files, parts)
    return files


def _by_rank(path: Path, names: Iterable[str]) -> dict[int, list[Path]]:
    """The files of each rank, the runtime's first."""
    there: dict[int, list[Path]] = {}
    for name in sorted(names, key=lambda name: not _is_runtimes(name)):
        found = RANK_FILE.fullmatch(name)
        if found:
            there.setdefault(int(found[1]), []).append(path / name)
    return there


def _open_parts(
    path: Path, rank: int, there: list[Path], definitions: Definitions | None, problems: list[str]
) -> Iterator[RankFile]:
    if definitions is not None and not any(_is_runtimes(part.name) for part in there):
        problems.append(f"rank {rank}: its file rank-{rank:05}.events is missing from {path}")
    for part in there:
        try:
            yield open_rank_file(part, rank)
        except TraceError as error:
            problems.append(f"rank {rank}: {error.message}")
