"""One rank's file of events: its header checked, its records mapped.

Nothing is parsed: the records of a file *are* a NumPy array.  What has to be found out is how many there are,
for a rank may have been killed, its disk may have been full, and the file may have been cut by a copy.

May touch: nothing; files are mapped for reading.  Next room: ``reader.py`` gathers the ranks' files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pse.trace.errors import TraceError
from pse.trace.events import EVENT_DTYPE, HEADER_DTYPE, SCHEMA_VERSION, State

Array = npt.NDArray[Any]

BYTE_ORDER = 0x01020304
SCAN_RECORDS = 65536


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
        raise TraceError(f"{path} can't be read: {error.strerror}") from error


def merge_rank_files(first: RankFile, second: RankFile) -> RankFile:
    """One rank's events from two writers in its process, as one file in the order of time.

    The events are copied, as they must be; at equal times those of `first` come first.
    """
    events = np.concatenate([first.events, second.events])
    return replace(
        first,
        closed=first.closed and second.closed,
        events=events[np.argsort(events["time"], kind="stable")],
        problems=first.problems + tuple(f"{problem} ({second.path.name})" for problem in second.problems),
    )


def _open(path: Path, rank: int) -> RankFile:
    size = path.stat().st_size
    header = _read_header(path, size)
    if header["rank"] != rank:
        raise TraceError(f"{path} holds the events of rank {header['rank']}, by its name it is rank {rank}'s")
    records = _map_records(path, size, int(header["header_size"]))
    count = _count_records(records, int(header["records"]))
    return RankFile(
        path=path,
        rank=rank,
        host=bytes(header["host"]).decode(errors="replace"),
        pid=int(header["pid"]),
        start_real=int(header["start_real"]),
        start_clock=int(header["start_clock"]),
        closed=bool(header["state"] & State.CLOSED),
        events=records[:count],
        problems=_problems(rank, header, count),
    )


def _read_header(path: Path, size: int) -> Any:
    with path.open("rb") as file:
        data = file.read(HEADER_DTYPE.itemsize)
    if not data:
        raise TraceError(f"{path} is empty")
    if not data.startswith(b"PSETRACE"[: len(data)]):
        raise TraceError(f"{path} is no file of events: it begins with {data[:8]!r}, not b'PSETRACE'")
    if len(data) < HEADER_DTYPE.itemsize:
        raise TraceError(f"{path} ends within its header, after {size} bytes")
    header = np.frombuffer(data, HEADER_DTYPE)[0]
    _check_header(path, header, size)
    return header


def _check_header(path: Path, header: Any, size: int) -> None:
    if header["byte_order"] != BYTE_ORDER:
        raise TraceError(f"{path} was written on a machine of another byte order, or its header is damaged")
    if header["version"] > SCHEMA_VERSION:
        raise TraceError(
            f"{path} has version {header['version']} of the event format, "
            f"this pse reads up to version {SCHEMA_VERSION}",
            help="read it with the pse that recorded it, or a newer one",
        )
    if header["record_size"] != EVENT_DTYPE.itemsize or header["header_size"] < HEADER_DTYPE.itemsize:
        raise TraceError(f"{path}: its header is damaged (records of {header['record_size']} bytes)")
    if header["header_size"] > size:
        raise TraceError(f"{path} ends within its header, after {size} bytes")


def _map_records(path: Path, size: int, begin: int) -> Array:
    """Map all whole records that the file has room for, written or not."""
    room = (size - begin) // EVENT_DTYPE.itemsize
    if room == 0:
        return np.empty(0, EVENT_DTYPE)
    return np.memmap(path, EVENT_DTYPE, mode="r", offset=begin, shape=(room,)).view(np.ndarray)


def _count_records(records: Array, certain: int) -> int:
    """How many records are complete: those that the header is certain of, and on up to a type of zero."""
    for begin in range(min(certain, len(records)), len(records), SCAN_RECORDS):
        types = records["type"][begin : begin + SCAN_RECORDS]
        if not types.all():
            return begin + int(np.argmin(types != 0))
    return len(records)


def _problems(rank: int, header: Any, count: int) -> tuple[str, ...]:
    problems = []
    if header["state"] & State.TRUNCATED:
        reason = os.strerror(int(header["error"]))
        problems.append(f"rank {rank}: recording stopped after {count:,} events: {reason}")
    elif not header["state"] & State.CLOSED:
        problems.append(f"rank {rank}: it was killed or still runs; its {count:,} events so far are shown")
    if count < header["records"]:
        problems.append(
            f"rank {rank}: the file was cut: {count:,} of its {header['records']:,} events are there"
        )
    return tuple(problems)
