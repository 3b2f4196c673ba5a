"""One rank's file of events: its header checked, its records mapped.

Nothing is parsed: the records of a file *are* a NumPy array.  They are looked through once, in C, for what
all tables need: how many there are of each type, for a rank may have been killed, its disk may have been
full, and the file may have been cut by a copy; and whether time goes forward.
"""

from __future__ import annotations

import errno
import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pse.errors import system_help
from pse.records import dataclass
from pse.text import time_text
from pse.trace._reading import merge, scan
from pse.trace.format._errors import DAMAGED, TraceError, refuse_pipes
from pse.trace.format._events import BYTE_ORDER, EVENT_DTYPE, HEADER_DTYPE, MAGIC, SCHEMA_VERSION, State
from pse.trace.format._field_values import Array
from pse.trace.store._chunked_reading import CHUNK, chunks

_MAGIC = MAGIC.encode()
MOST_RANKS = 1 << 22  # Tables by rank stay small.
MOST_TYPES = 256  # Types that are told apart.
FOUND = 6  # Numbers that a scan finds, before those for each type.


@dataclass(frozen=True)
class RankFile:
    """The events of one rank.

    Parameters
    ----------
    path : Path
        The file.
    rank : int
        Who wrote it.
    host : str
        Where it ran.
    pid : int
        Its process id there.
    start_real : int
        When recording began, ns since 1970 (UTC).
    start_clock : int
        The same moment by the clock of the events, ns.
    closed : bool
        Whether the writer closed it; if not, it still runs or was killed.
    events : structured array of EVENT_DTYPE
        All complete records, mapped read-only.
    types : array of uint8
        The type of each; 0 for 256 and above.
    counts : tuple of int
        How many there are of each of these types.
    times : tuple of int
        The least and the greatest time among them, ns of the clock of the events.
    problems : tuple of str
        What is missing, and why.
    """

    path: Path
    rank: int
    host: str
    pid: int
    start_real: int
    start_clock: int
    closed: bool
    events: Array
    types: Array
    counts: tuple[int, ...]
    times: tuple[int, int]
    problems: tuple[str, ...]


def open_rank_file(path: Path, rank: int) -> RankFile:
    """Map the events of one rank.

    Raises
    ------
    TraceError
        It can't be read, isn't such a file, is another rank's, or is newer than this reader.
    """
    try:
        return _open(path, rank)
    except OSError as error:
        if error.errno == errno.EMFILE and _may_open_more():
            return open_rank_file(path, rank)
        raise TraceError(f"{path} can't be read: {error.strerror}", help=system_help(error, path)) from error


def _may_open_more() -> bool:
    """Raise this process's limit of open files, of which each mapped one takes one, to what it may be."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == most:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return True


def merge_rank_files(first: RankFile, second: RankFile) -> RankFile:
    """One rank's events from two writers in its process, as one file in the order of time.

    The events are copied, as they must be; at equal times those of `first` come first.
    """
    events = np.empty(len(first.events) + len(second.events), EVENT_DTYPE)
    merge(as_bytes(first.events), as_bytes(second.events), as_bytes(events))
    events, types, counts, times, _ = looked_through(first.rank, events, len(events))
    return replace(
        first,
        closed=first.closed and second.closed,
        events=events,
        types=types,
        counts=counts,
        times=times,
        problems=first.problems + tuple(f"{problem} ({second.path.name})" for problem in second.problems),
    )


def as_bytes(records: Array) -> Array:
    """Contiguous records or rows as bytes, as the kernels want them."""
    return records.view("u1").reshape(-1)


def _open(path: Path, rank: int) -> RankFile:
    refuse_pipes(path)
    size = path.stat().st_size
    header = _read_header(path, size)
    if header["rank"] != rank:
        raise TraceError(
            f"{path} holds the events of rank {header['rank']}, but its name says rank {rank}",
            help="give the file its own name again, with the rank that its header has",
        )
    if rank >= MOST_RANKS:
        raise TraceError(
            f"{path}: the rank must be below {MOST_RANKS:,}", help="remove the file: no run has such a rank"
        )
    records = _map_records(path, size, int(header["header_size"]))
    events, types, counts, times, backwards = looked_through(rank, records, int(header["records"]))
    if len(events):
        _check_times(path, times[0] - int(header["start_clock"]))
    return RankFile(
        path=path,
        rank=rank,
        host=bytes(header["host"]).partition(b"\0")[0].decode(errors="replace"),
        pid=int(header["pid"]),
        start_real=int(header["start_real"]),
        start_clock=int(header["start_clock"]),
        closed=bool(header["state"] & State.CLOSED),
        events=events,
        types=types,
        counts=counts,
        times=times,
        problems=(*_problems(rank, header, len(events)), *backwards),
    )


NOT_ALL_READ = "not all events of its archive could be read"
"""What is wrong with a file that an import has written of a damaged one; the import says how many."""
_YEAR = 365 * 86_400 * 10**9  # ns


def _check_times(path: Path, since: int) -> None:
    """Refuse events of which even the first is a century and more from when recording began."""
    if abs(since) > 100 * _YEAR:
        when = f"{abs(since) // _YEAR:,} years {'after' if since > 0 else 'before'} recording began"
        raise TraceError(f"{path.name}: its clock is impossible: the first event is {when}", help=DAMAGED)


def _read_header(path: Path, size: int) -> Any:
    with path.open("rb") as file:
        data = file.read(HEADER_DTYPE.itemsize)
    if not data:
        raise TraceError(
            f"{path} is empty", help="the rank ended before it recorded anything: record the run again"
        )
    if not data.startswith(_MAGIC[: len(data)]):
        raise TraceError(
            f"{path} is not a file of events: it begins with {data[:8]!r}, not {_MAGIC!r}", help=DAMAGED
        )
    if len(data) < HEADER_DTYPE.itemsize:
        raise TraceError(f"{path} ends within its header, after {size} bytes", help=DAMAGED)
    header = np.frombuffer(data, HEADER_DTYPE)[0]
    _check_header(path, header, size)
    return header


def _check_header(path: Path, header: Any, size: int) -> None:
    if header["byte_order"] != BYTE_ORDER:
        raise TraceError(
            f"{path} was written on a machine of another byte order, or its header is damaged",
            help="read it on a machine like that which recorded it, or record the run again",
        )
    if header["version"] > SCHEMA_VERSION:
        raise TraceError(
            f"{path} has version {header['version']} of the event format, but "
            f"this pse reads up to version {SCHEMA_VERSION}",
            help="read it with the pse that recorded it, or a newer one",
        )
    if header["record_size"] != EVENT_DTYPE.itemsize or header["header_size"] < HEADER_DTYPE.itemsize:
        raise TraceError(
            f"{path}: its header is damaged (records of {header['record_size']} bytes)", help=DAMAGED
        )
    if header["header_size"] > size:
        raise TraceError(f"{path} ends within its header, after {size} bytes", help=DAMAGED)


def _map_records(path: Path, size: int, begin: int) -> Array:
    """Map all whole records that the file has room for, written or not."""
    room = (size - begin) // EVENT_DTYPE.itemsize
    if room == 0:
        return np.empty(0, EVENT_DTYPE)
    return np.memmap(path, EVENT_DTYPE, mode="r", offset=begin, shape=(room,)).view(np.ndarray)


def looked_through(
    rank: int, records: Array, certain: int
) -> tuple[Array, Array, tuple[int, ...], tuple[int, int], list[str]]:
    """Find the complete records: those that the header is certain of, and on up to a type of zero.

    Gives them, their types, how many there are of each, their first and last time, and what is wrong.
    """
    types, found, count = np.zeros(len(records), "u1"), np.zeros(FOUND + MOST_TYPES, "<u8"), 0
    for chunk in chunks(records):
        count += scan(as_bytes(chunk), certain, types[count : count + len(chunk)], found)
        if count % CHUNK:
            break
    earliest, latest, _, backwards, furthest, *counts = found[1:].tolist()
    problems = []
    if backwards:
        often = "once" if backwards == 1 else f"{backwards:,} times"
        problems.append(
            f"rank {rank}: its clock ran backwards {often}, by at most {time_text(furthest)}; "
            "times around there are wrong"
        )
    return records[:count], types[:count], tuple(counts), (earliest, latest), problems


def _problems(rank: int, header: Any, count: int) -> tuple[str, ...]:
    problems = []
    if header["state"] & State.TRUNCATED and header["error"] == errno.ENODATA:
        problems.append(f"rank {rank}: {NOT_ALL_READ}")
    elif header["state"] & State.TRUNCATED:
        reason = os.strerror(int(header["error"]))
        problems.append(f"rank {rank}: recording stopped after {count:,} events: {reason}")
    elif not header["state"] & State.CLOSED:
        problems.append(f"rank {rank}: it was killed or still runs; its {count:,} events so far are shown")
    if count < header["records"]:
        problems.append(
            f"rank {rank}: the file was cut off: only {count:,} of its {header['records']:,} events are there"
        )
    return tuple(problems)
