"""Threads of a process that call MPI: their locations become one rank, as MPI counts them.

Each location was imported into a file of its own.  Here their events come into that of the process's rank, by
time, with a THREAD event wherever another thread goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pse.trace.format._events import EVENT_DTYPE, HEADER_DTYPE, EventType, TextKind
from pse.trace.format._field_values import Array
from pse.trace.format._header import HEADER_SIZE, header_bytes
from pse.trace.interchange.otf2._thread_locations import OF_THREADS, in_turn, switches
from pse.trace.store._residuals import RESIDUAL_DTYPE, residuals_path

E = EventType
_MESSAGES = (
    *(E.MPI_SEND, E.MPI_RECEIVE, E.MPI_RECEIVE_POST, E.MPI_SEND_COMPLETE, E.MPI_REQUEST_TEST),
    *(E.MPI_REQUEST_CANCEL, E.MPI_CHANNEL, E.MPI_COLLECTIVE_BEGIN, E.MPI_COLLECTIVE_END),
)
_OF_THE_RANK = (E.CLOCK_SYNC, E.MPI_COMMUNICATOR, E.MPI_COMMUNICATOR_RANKS)
_TEXTS = {
    TextKind.REGION: (TextKind.REGION, TextKind.REGION_PLACE),
    TextKind.COUNTER: (TextKind.COUNTER, TextKind.COUNTER_UNIT),
    TextKind.MARKER: (TextKind.MARKER,),
}
_USERS = {
    TextKind.REGION: (E.REGION_ENTER, E.REGION_LEAVE),
    TextKind.COUNTER: (E.COUNTER,),
    TextKind.MARKER: (E.MARKER,),
}


def calls_mpi(path: Path) -> bool:
    """Whether messages or collective operations are in a file of events."""
    return path.exists() and bool(np.isin(_events(path)["type"], _MESSAGES).any())


def merge_threads(paths: Sequence[Path]) -> None:
    """Put the events of threads into the file of their rank, the first one, and remove the others' files."""
    events, residuals = zip(*map(_read, paths), strict=True)
    for thread in range(1, len(paths)):
        _renumber(events[thread], events[:thread])
        _renumber_requests(events[thread], events[:thread])
    kept = [np.ones(len(events[0]), bool), *map(_is_of_the_thread, events[1:])]
    threads = np.repeat(np.arange(len(paths)), [own.sum() for own in kept])
    merged, parts = (
        np.concatenate([rows[own] for rows, own in zip(columns, kept, strict=True)])
        for columns in (events, residuals)
    )
    order = np.argsort(merged["time"], kind="stable")
    merged, parts, threads = merged[order], parts[order], threads[order]
    turns = np.flatnonzero(np.diff(threads, prepend=0))
    said = switches(merged["time"][turns], threads[turns])
    _write(paths, np.insert(merged, turns, said), np.insert(parts, turns, parts[turns]))


def merge_own_threads(paths: Sequence[Path], numbers: Sequence[int]) -> None:
    """Put the locations that pse has written for threads together as the rank's events were.

    `numbers` are those of the threads, that of the first is 0.
    """
    events = [_read(path)[0] for path in paths]
    for thread in range(1, len(paths)):
        _renumber(events[thread], events[:thread])
    threads = np.repeat(numbers, [len(own) for own in events])
    order = in_turn(events, numbers)
    merged, threads = np.concatenate(events)[order], threads[order]
    of_threads = np.flatnonzero(np.isin(merged["type"], OF_THREADS))
    turns = of_threads[np.flatnonzero(np.diff(threads[of_threads], prepend=0))]
    merged = np.insert(merged, turns, switches(merged["time"][turns], threads[turns]))
    _write(paths, merged, np.zeros(len(merged), RESIDUAL_DTYPE))


def move_rank(path: Path, to: Path, rank: int) -> None:
    """Give a file of events to another rank, which has none."""
    header = np.memmap(path, HEADER_DTYPE, mode="r+", shape=(1,))
    header["rank"] = rank
    header.flush()
    path.rename(to)
    if residuals_path(path).exists():
        residuals_path(path).rename(residuals_path(to))


def _events(path: Path) -> Array:
    return np.fromfile(path, EVENT_DTYPE, offset=HEADER_SIZE)


def _read(path: Path) -> tuple[Array, Array]:
    """The events of a file, and the parts of a ns that their times lack."""
    events, beside = _events(path), residuals_path(path)
    there = beside.exists()
    return events, np.fromfile(beside, RESIDUAL_DTYPE) if there else np.zeros(len(events), RESIDUAL_DTYPE)


def _renumber(events: Array, others: Sequence[Array]) -> None:
    """Give names of a thread numbers that those of others have not."""
    for kind, users in _USERS.items():
        used = np.isin(events["type"], users) | _is_text(events, *_TEXTS[kind])
        most = max(_greatest(own["a"][_is_text(own, *_TEXTS[kind])] & 0xFFFFFFFF) for own in others)
        events["a"][used] += most


def _renumber_requests(events: Array, others: Sequence[Array]) -> None:
    requests = np.isin(events["type"], _MESSAGES) & (events["c"] >> 32 > 0)
    most = max(_greatest(own["c"][np.isin(own["type"], _MESSAGES)] >> 32) for own in others)
    events["c"][requests] += most << np.uint64(32)


def _greatest(numbers: Array) -> np.uint64:
    return np.uint64(numbers.max(initial=0))


def _is_text(events: Array, *kinds: TextKind) -> Array:
    found: Array = (events["type"] == E.TEXT) & np.isin(events["flags"], kinds)
    return found


def _is_of_the_thread(events: Array) -> Array:
    """Which events the rank has not: it knows communicators and comparisons of clocks."""
    return ~np.isin(events["type"], _OF_THE_RANK) & ~_is_text(events, TextKind.COMMUNICATOR)


def _write(paths: Sequence[Path], events: Array, parts: Array) -> None:
    headers = [np.fromfile(path, HEADER_DTYPE, 1) for path in paths]
    header = headers[0]
    header["records"] = len(events)
    for other in headers[1:]:
        header["state"] |= other["state"]
        header["error"] = np.where(header["error"], header["error"], other["error"])
    paths[0].write_bytes(header_bytes(header) + events.tobytes())
    if parts.any():
        parts.tofile(residuals_path(paths[0]))
    for path in paths[1:]:
        path.unlink()
        residuals_path(path).unlink(missing_ok=True)
