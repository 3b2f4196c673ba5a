"""Large traces, made: what a pipeline of three threads on some processors would have recorded.

In each round the root reads a frame and hands it to `thread_B` of every processor, which computes and hands
its result to `thread_C`, which passes it on: module calls, waits, messages, memory and queue depths, all with
both their ends.  Blocks of rounds are made as arrays, so writing is as fast as the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pse import trace
from pse.errors import RunError
from pse.text import size_text
from pse.trace import NONE, EventType, MemoryFlag, MessageFlag, WaitReason, pair
from pse.trace.format import EVENT_DTYPE, EVENTS_FILE, State, header_bytes, new_header

Events = NDArray[np.void]

PERIOD = 100_000  # ns of a round
START = 1_700_000_000_000_000_000  # ns since 1970
BLOCK = 1 << 14  # Rounds that are made at once.
TEXT = "program pipeline  # made, never run\n"
BYTES = 8 << 20  # of a frame
LOAD, COMPUTE, PASS_ON = range(3)  # Call sites; the edges that they define have the same numbers.


@dataclass(frozen=True)
class Step:
    """One event of a round: when (in parts of the period), what, and which event before began it."""

    at: float
    type: EventType
    flags: int = 0
    site: int = NONE
    a: int = 0
    b: int = 0
    c: int = 0
    begins: int | None = None
    """How many steps before this one its begin is: field `b` is the time of that."""
    counts: bool = field(default=False)
    """Whether field `c` is the number of the round, from 1: the sequence of a message."""


def write_trace(directory: str | os.PathLike[str], events: int, processors: int = 4) -> int:
    """Write a trace of about so many events.

    Parameters
    ----------
    directory : path
        Is made ready for it.
    events : int
        How many there should be; whole rounds are written, at least one.
    processors : int
        How many; there are two ranks for each, and the root.

    Returns
    -------
    int
        How many events were written.
    """
    trace.create(directory)
    ranks = _ranks(processors)
    steps = [_steps(rank, processors) for rank in ranks]
    each = sum(map(len, steps))
    rounds = max(events // each, 1)
    for rank in ranks:
        _write_rank(Path(directory), rank, steps[rank.rank], rounds)
    trace.write_program(directory, TEXT)
    trace.write_definitions(directory, _definitions(ranks))
    return rounds * each


def _ranks(processors: int) -> list[trace.RankDefinition]:
    """The root, then the two threads of each processor."""
    seats = [(processor, thread) for processor in range(processors) for thread in ("thread_B", "thread_C")]
    root = trace.RankDefinition(0, "root", "thread_A", None, "made")
    return [
        root,
        *(
            trace.RankDefinition(rank, "parallel", thread, processor, "made")
            for rank, (processor, thread) in enumerate(seats, 1)
        ),
    ]


def _steps(rank: trace.RankDefinition, processors: int) -> list[Step]:
    """What a rank records in each round."""
    if rank.processor is None:
        return _load(processors)
    handle = rank.processor + 1 << 32
    if rank.thread == "thread_B":
        return [*_await(LOAD, 0, 0.40), *_compute(handle), _send(0.82, COMPUTE, rank.rank + 1)]
    passed = [
        *_call(0.87, 0.97, PASS_ON, cpu=0.001),
        Step(0.98, EventType.FREE, 0, PASS_ON, BYTES, handle, rank.rank - 1),
    ]
    return [*_await(COMPUTE, rank.rank - 1, 0.85), *passed]


def _load(processors: int) -> list[Step]:
    enter, leave = _call(0.01, 0.30, LOAD, cpu=0.15)
    sends = [_send(0.31 + 0.0001 * number, LOAD, 1 + 2 * number) for number in range(processors)]
    wait = Step(0.42, EventType.WAIT_BEGIN, WaitReason.CREDIT, LOAD, pair(NONE, LOAD))
    done = Step(0.95, EventType.WAIT_END, WaitReason.CREDIT, LOAD, pair(NONE, LOAD), begins=1)
    begin, end = Step(0.0, EventType.CONTEXT_BEGIN, c=pair(0, NONE)), Step(0.96, EventType.CONTEXT_END)
    return [begin, enter, leave, *sends, wait, done, end]


def _compute(handle: int) -> list[Step]:
    enter, leave = _call(0.41, 0.80, COMPUTE, cpu=0.3)
    allocate = Step(0.415, EventType.ALLOCATE, MemoryFlag.RECYCLED, COMPUTE, BYTES, handle)
    return [enter, allocate, Step(**(vars(leave) | {"begins": 2}))]


def _call(enter: float, leave: float, site: int, cpu: float) -> list[Step]:
    return [
        Step(enter, EventType.MODULE_ENTER, site=site),
        Step(leave, EventType.MODULE_LEAVE, site=site, a=int(cpu * PERIOD), begins=1),
    ]


def _send(at: float, edge: int, receiver: int) -> Step:
    return Step(at, EventType.SEND, MessageFlag.DESCRIPTOR, edge, BYTES, pair(receiver, edge), counts=True)


def _await(edge: int, sender: int, until: float) -> list[Step]:
    """Wait for a tag, and take it out of its queue."""
    site, end, queue = edge + 1, pair(sender, edge), pair(edge, sender)
    return [
        Step(0.0, EventType.WAIT_BEGIN, WaitReason.INPUT, site, end),
        Step(until, EventType.RECEIVE, MessageFlag.DESCRIPTOR, edge, BYTES, end, counts=True),
        Step(until, EventType.QUEUE_DEPTH, 0, NONE, queue, 1, 4),
        Step(until + 0.001, EventType.WAIT_END, WaitReason.INPUT, site, end, begins=3),
        Step(until + 0.002, EventType.QUEUE_DEPTH, 0, NONE, queue, 0, 4),
    ]


def _write_rank(directory: Path, rank: trace.RankDefinition, steps: list[Step], rounds: int) -> None:
    random = np.random.default_rng(rank.rank)
    with (directory / (EVENTS_FILE % (rank.rank, ""))).open("wb") as file:
        file.write(trace_header(rank.rank, len(steps) * rounds))
        for first in range(0, rounds, BLOCK):
            _block(steps, first, min(BLOCK, rounds - first), random).tofile(file)


def trace_header(rank: int, records: int) -> bytes:
    """The header of a rank's file."""
    header = new_header(rank, start_real=START, start_clock=0, host="made")
    header["records"], header["state"] = records, State.CLOSED
    return header_bytes(header)


def _block(steps: list[Step], first: int, rounds: int, random: np.random.Generator) -> Events:
    """The events of some rounds, in order; rounds begin later and calls end earlier by random times."""
    events = np.zeros((rounds, len(steps)), EVENT_DTYPE)
    numbers = np.arange(first, first + rounds, dtype="<u8")
    begins = numbers * np.uint64(PERIOD) + random.integers(0, PERIOD // 100, rounds, dtype="<u8")
    for place, step in enumerate(steps):
        column = events[:, place]
        column["time"] = begins + np.uint64(step.at * PERIOD)
        if step.type == EventType.MODULE_LEAVE:
            column["time"] -= random.integers(0, PERIOD // 12, rounds, dtype="<u8")
        column["type"], column["flags"], column["site"] = step.type, step.flags, step.site
        column["tph"], column["a"] = numbers + np.uint64(1), step.a
        column["b"] = step.b if step.begins is None else events["time"][:, place - step.begins]
        column["c"] = numbers + np.uint64(1) if step.counts else step.c
    return events.reshape(-1)


def _definitions(ranks: list[trace.RankDefinition]) -> trace.Definitions:
    sites = (("load", "thread_A"), ("compute", "thread_B"), ("pass_on", "thread_C"))
    return trace.Definitions(
        program="pipeline.coven",
        text_sha256=trace.digest(TEXT),
        parameters={},
        options={},
        sites=tuple(
            trace.SiteDefinition(number, name, name, f"pipeline.coven:{number + 1}:1", thread, number > 0)
            for number, (name, thread) in enumerate(sites)
        ),
        edges=(
            trace.EdgeDefinition(LOAD, "frame", LOAD, (COMPUTE,), "f64[n] @ root"),
            trace.EdgeDefinition(COMPUTE, "result", COMPUTE, (PASS_ON,), "f64[n] @ block(0)"),
        ),
        ranks=tuple(ranks),
        environment={},
        started="2023-11-14T22:13:20+00:00",
        loops=(trace.LoopDefinition(0, "k", "pipeline.coven:1:1"),),
    )


@contextlib.contextmanager
def room_for(directory: str | os.PathLike[str], events: int) -> Iterator[None]:
    """Say how large a trace is that can't be written, and what to do."""
    try:
        yield
    except OSError as error:
        size = size_text(events * EVENT_DTYPE.itemsize)
        message = f"a trace of {size} can't be written to {directory}: {error.strerror}"
        raise RunError(message, help="set TMPDIR to a directory with enough free space") from error
