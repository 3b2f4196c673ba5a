"""Large traces of MPI, made: what a halo exchange along a ring of ranks would have recorded.

In each iteration a rank posts a receive from both neighbours, sends to both, waits for all four, and takes
part in an MPI_Allreduce.  Ranks come late by random times.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pse import trace
from pse.bench._synthetic_trace import Events, trace_header
from pse.trace import NONE, Collective, EventType, TextKind, pair
from pse.trace.format import EVENT_DTYPE, EVENTS_FILE, MPI_EVENTS

EVENTS = 22  # Of a rank in an iteration.
PERIOD = 100_000  # ns of an iteration
BLOCK = 1 << 14  # Iterations that are made at once.
BYTES = 8192
WORLD = 1  # The number of MPI_COMM_WORLD.
ROUTINES = ("MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce")
LEFT, RIGHT = 1, 2  # Tags: which way a message goes.
REQUESTS = 4  # In an iteration.

Row = tuple[EventType, int, int, int, int, int]
"""Type, flags, a, b (of an end of a routine: how many rows ago it began), communicator, request."""


def write_mpi_trace(directory: str | os.PathLike[str], events: int, ranks: int) -> int:
    """Write a trace of about so many events.

    Parameters
    ----------
    directory : path
        Is made ready for it.
    events : int
        How many there should be; whole iterations are written, at least one.
    ranks : int
        How many ranks the ring has.

    Returns
    -------
    int
        How many events were written.
    """
    trace.create(directory)
    iterations = max(events // ranks // EVENTS, 1)
    heads = [_head(rank, ranks) for rank in range(ranks)]
    for rank, head in enumerate(heads):
        random = np.random.default_rng(rank)
        with (Path(directory) / (EVENTS_FILE % (rank, MPI_EVENTS))).open("wb") as file:
            file.write(trace_header(rank, len(head) + EVENTS * iterations))
            head.tofile(file)
            for first in range(0, iterations, BLOCK):
                _block(list(_rows(rank, ranks)), first, min(BLOCK, iterations - first), random).tofile(file)
    return sum(map(len, heads)) + EVENTS * iterations * ranks


def _head(rank: int, ranks: int) -> Events:
    """Names of routines, and MPI_COMM_WORLD."""
    lines = range(0, ranks, 4) if rank == 0 else range(0)
    events = np.zeros(len(ROUTINES) + 1 + len(lines), EVENT_DTYPE)
    for number, name in enumerate(ROUTINES):
        words = np.frombuffer(name.encode().ljust(16, b"\0"), "<u8")
        fields = (EventType.TEXT, TextKind.REGION, pair(number, 0), *words)
        for field, value in zip(("type", "flags", "a", "b", "c"), fields, strict=True):
            events[number][field] = value
    made = events[len(ROUTINES)]
    made["type"], made["a"] = EventType.MPI_COMMUNICATOR, pair(WORLD, 0)
    made["b"], made["c"] = pair(0, WORLD), pair(ranks, rank)
    for line, first in zip(events[len(ROUTINES) + 1 :], lines, strict=True):
        four = [other if other < ranks else NONE for other in range(first, first + 4)]
        line["type"], line["a"] = EventType.MPI_COMMUNICATOR_RANKS, pair(WORLD, first)
        line["b"], line["c"] = pair(*four[:2]), pair(*four[2:])
    return events


def _rows(rank: int, ranks: int) -> Iterator[Row]:
    """What a rank records in each iteration; requests 0 and 1 receive, 2 and 3 send."""
    left, right = pair((rank - 1) % ranks, RIGHT), pair((rank + 1) % ranks, LEFT)
    for request, source in enumerate((left, right)):
        yield from _call(0, (EventType.MPI_RECEIVE_POST, 0, BYTES, source, WORLD, request))
    for request, target in enumerate((pair((rank - 1) % ranks, LEFT), pair((rank + 1) % ranks, RIGHT)), 2):
        yield from _call(1, (EventType.MPI_SEND, 0, BYTES, target, WORLD, request))
    yield from _call(
        2,
        *((EventType.MPI_RECEIVE, 0, BYTES, source, WORLD, at) for at, source in enumerate((left, right))),
        *((EventType.MPI_SEND_COMPLETE, 0, 0, 0, WORLD, request) for request in (2, 3)),
    )
    begin, end = EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END
    reduce = Collective.ALLREDUCE
    yield from _call(3, (begin, reduce, NONE, 0, WORLD, -1), (end, reduce, 8, 8, WORLD, -1))


def _call(routine: int, *inside: Row) -> Iterator[Row]:
    yield EventType.REGION_ENTER, 0, routine, 0, 0, -1
    yield from inside
    yield EventType.REGION_LEAVE, 0, routine, len(inside) + 1, 0, -1


def _block(rows: list[Row], first: int, iterations: int, random: np.random.Generator) -> Events:
    """The events of some iterations, in order."""
    events = np.zeros((iterations, len(rows)), EVENT_DTYPE)
    numbers = np.arange(first, first + iterations, dtype="<u8")
    late = random.integers(0, PERIOD // 2, iterations, dtype="<u8")
    for place, (kind, flags, a, b, communicator, request) in enumerate(rows):
        column = events[:, place]
        column["time"] = _times(place, rows, numbers, late)
        column["type"], column["flags"], column["site"] = kind, flags, NONE
        column["a"] = a
        column["b"] = events["time"][:, place - b] if kind == EventType.REGION_LEAVE else b
        column["c"] = communicator
        if request >= 0:
            column["c"] |= (numbers * np.uint64(REQUESTS) + np.uint64(request + 1)) << np.uint64(32)
    return events.reshape(-1)


def _times(
    place: int, rows: list[Row], numbers: NDArray[np.uint64], late: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Until the rank waits it is late; from then on all ranks go on together."""
    waits = next(at for at, row in enumerate(rows) if row[0] == EventType.REGION_ENTER and row[2] == 2)
    begin = numbers * np.uint64(PERIOD)
    if place <= waits:
        return begin + late + np.uint64(100 * place)
    return begin + np.uint64(PERIOD // 2 + 100 * place)
