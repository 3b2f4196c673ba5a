"""Some ranks' files of a trace: what one of several processes opens that read a trace together.

Each opens its own ranks' files.  To convert times as if it had opened all, it needs of the others what they
know of their hosts' clocks: a clock record, which JSON can hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pse.trace.format._definitions import Definitions
from pse.trace.format._events import EVENT_DTYPE, NONE, EventType
from pse.trace.format._field_values import Array
from pse.trace.store._directory import FILE_NAME, RANK_FILE
from pse.trace.store._rank_file import MOST_TYPES, RankFile, looked_through
from pse.trace.store._run_clock import RunClock
from pse.trace.store._trace_files import is_runtimes, open_files

ClockRecords = dict[str, list[Any]]
"""By the rank: host, start_real, start_clock, first and last time, rows of CLOCK_SYNC (time, a, b, c)."""


def listed_ranks(path: Path) -> list[int]:
    """Name the ranks of which files of events are in a directory.

    Parameters
    ----------
    path : Path
        The directory.

    Returns
    -------
    list of int
        Ascending; empty if the directory can't be read.

    Examples
    --------
    >>> listed_ranks(Path("run1"))
    [0, 1]
    """
    try:
        found = [RANK_FILE.fullmatch(entry.name) for entry in path.iterdir()]
    except OSError:
        return []
    return sorted({int(match[1]) for match in found if match})


def has_definitions(path: Path) -> bool:
    """Say whether a directory has, or should have, definitions: MPI's events alone have none.

    Parameters
    ----------
    path : Path
        The directory.

    Returns
    -------
    bool
        Whether a file of the directory is one of the runtime's.

    Examples
    --------
    >>> has_definitions(Path("run1")), has_definitions(Path("mpi1"))
    (True, False)
    """
    try:
        return any(entry.name == FILE_NAME or is_runtimes(entry.name) for entry in path.iterdir())
    except OSError:
        return False


def open_ranks(
    path: Path, ranks: Collection[int], definitions: Definitions | None
) -> tuple[dict[int, RankFile], list[str]]:
    """Open the files of some ranks.

    Parameters
    ----------
    path : Path
        The trace's directory.
    ranks : collection of int
        Whose files.
    definitions : Definitions or None
        The run's, from wherever they are.

    Returns
    -------
    files : dict of int to RankFile
        The usable ones.
    problems : list of str
        What is missing or damaged, a sentence each.

    Examples
    --------
    >>> files, problems = open_ranks(Path("run1"), [1, 5], trace.definitions)
    >>> sorted(files), problems
    ([1], [])
    """
    problems: list[str] = []
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError as error:
        return {}, [f"rank {rank}: {path} can't be read: {error.strerror}" for rank in ranks]
    files = open_files(path, names, definitions, problems, ranks)
    return files, [*problems, *(problem for rank in sorted(files) for problem in files[rank].problems)]


def in_memory(events: Mapping[int, Array], hosts: Mapping[int, str]) -> dict[int, RankFile]:
    """Files of ranks whose events are in memory, with times of one clock.

    Parameters
    ----------
    events : mapping of int to array of EVENT_DTYPE
        By rank; each has some.
    hosts : mapping of int to str
        Where the ranks ran.

    Returns
    -------
    dict of int to RankFile
        Without a path and process.

    Examples
    --------
    >>> files = in_memory({0: trace.events(0)}, {0: "node0"})
    >>> files[0].host, len(files[0].events)
    ('node0', 24)
    """
    found: dict[int, RankFile] = {}
    for rank, own in events.items():
        own, types, counts, times, _ = looked_through(rank, np.ascontiguousarray(own), len(own))
        found[rank] = RankFile(Path(), rank, hosts[rank], 0, 0, 0, True, own, types, counts, times, ())
    return found


def clock_records(files: Mapping[int, RankFile]) -> ClockRecords:
    """Give what ranks know of their hosts' clocks.

    Parameters
    ----------
    files : mapping of int to RankFile
        By rank.

    Returns
    -------
    ClockRecords
        Of the ranks that compared clocks, and of the lowest rank of each host.

    See Also
    --------
    clock_of
    """
    found: ClockRecords = {}
    for rank in sorted(files):
        found = merge_clock_records(found, {str(rank): _record(files[rank])})
    return found


def _record(file: RankFile) -> list[Any]:
    syncs = file.events[file.types == EventType.CLOCK_SYNC] if file.counts[EventType.CLOCK_SYNC] else ()
    rows = [[int(row[name]) for name in ("time", "a", "b", "c")] for row in syncs]
    times = list(file.times) if len(file.events) else []
    return [file.host, file.start_real, file.start_clock, times, rows]


def merge_clock_records(one: ClockRecords, other: ClockRecords) -> ClockRecords:
    """Put the records of two sets of ranks together: of each host the lowest rank's has all its times.

    Parameters
    ----------
    one, other : ClockRecords
        The records.

    Returns
    -------
    ClockRecords
        Those of both sets.

    Examples
    --------
    >>> both = merge_clock_records(clock_records({0: trace.files[0]}), clock_records({1: trace.files[1]}))
    >>> both == clock_records(trace.files)
    True
    """
    found: ClockRecords = {}
    lowest: dict[str, str] = {}
    for rank, record in sorted({**one, **other}.items(), key=lambda item: int(item[0])):
        host, _, _, times, rows = record
        first = lowest.setdefault(host, rank)
        if first == rank or rows:
            found[rank] = list(record)
        if times:
            all_times = [*found[first][3], *times]
            found[first][3] = [min(all_times), max(all_times)]
    return found


def clock_of(records: ClockRecords, files: Mapping[int, RankFile], named: Mapping[int, str]) -> RunClock:
    """The clock of a run of which only some ranks' files are here.

    Parameters
    ----------
    records : ClockRecords
        Those of all ranks.
    files : mapping of int to RankFile
        The files that are here.
    named : mapping of int to str
        Hosts of other ranks.

    Returns
    -------
    RunClock
        Converts the times of the ranks whose files are here.

    Examples
    --------
    >>> files, problems = open_ranks(Path("run1"), [0], trace.definitions)
    >>> clock = clock_of(clock_records(files), files, {})
    >>> clock.span / 1e6  # ms
    30.0
    """
    stand_ins = {int(rank): _stand_in(int(rank), record) for rank, record in records.items()}
    return RunClock({**files, **stand_ins}, named)


def compared_ranks(records: ClockRecords) -> set[int]:
    """Name the ranks with whose clocks others were compared.

    Parameters
    ----------
    records : ClockRecords
        Those of all ranks.

    Returns
    -------
    set of int
        The ranks.

    Examples
    --------
    >>> compared_ranks(clock_records(trace.files))  # All on one host: no clock was compared.
    set()
    """
    return {row[3] & NONE for record in records.values() for row in record[4]}


def _stand_in(rank: int, record: Iterable[Any]) -> RankFile:
    """A file of the records that a clock is made of."""
    host, start_real, start_clock, times, rows = record
    events = np.zeros(max(len(rows), 1 if times else 0), EVENT_DTYPE)
    for event, row in zip(events, rows, strict=False):
        event["type"] = EventType.CLOCK_SYNC
        for name, value in zip(("time", "a", "b", "c"), row, strict=True):
            event[name] = value
    counts = tuple(len(rows) if kind == EventType.CLOCK_SYNC else 0 for kind in range(MOST_TYPES))
    types = events["type"].astype("u1")
    first, last = times or (0, 0)
    return RankFile(
        Path(), rank, host, 0, start_real, start_clock, True, events, types, counts, (first, last), ()
    )
