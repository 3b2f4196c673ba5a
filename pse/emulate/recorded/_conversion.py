"""From a trace to a recorded program: what each rank computed, sent and received, in the order of its events.

A message is sent without blocking when the trace says that it was sent, and received where the trace says
that it had come; so no rank waits for another that waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pse._abi.emulate import StepKind
from pse.emulate.patterns._cycle import PatternError, Step
from pse.emulate.patterns._simulation import simulate
from pse.emulate.recorded._collectives import Collectives, Item, Sent
from pse.emulate.recorded._program import RecordedProgram
from pse.text import count_text, ranges_text
from pse.trace import MessageFlag, Trace, TraceError
from pse.trace.format import Array
from pse.trace.query import lost_ranks, mpi_messages
from pse.trace.store import without_events

SHORTEST = 100
"""ns: what is shorter does not count as computing."""
DESCRIPTOR_BYTES = 64
_TAGS = 32768


@dataclass(frozen=True)
class TimedProgram:
    """A recorded program, and when its steps were.

    Parameters
    ----------
    program : RecordedProgram
        The program.
    times : tuple of tuple of int
        By rank and step when it was done, ns since the run's origin; a last step that waits for all messages
        has none.

    See Also
    --------
    record_timed_program

    Examples
    --------
    >>> timed = pse.ace.record_timed_program(pse.trace.open("run1"))
    >>> timed.program.ranks, [len(times) for times in timed.times]
    (2, [8, 6])
    """

    program: RecordedProgram
    times: tuple[tuple[int, ...], ...]


def record_program(opened: Trace) -> RecordedProgram:
    """Make an emulated application's program of a trace.

    Parameters
    ----------
    opened : pse.trace.Trace
        A run of a program, or of an MPI program under the tool `trace`.

    Returns
    -------
    RecordedProgram
        Computing, messages and collective operations of each rank.

    Raises
    ------
    TraceError
        Nothing in the trace can be replayed, its order doesn't allow it, or it lacks ranks.

    Examples
    --------
    >>> record_program(pse.trace.open("run1")).save("program.npz")
    PosixPath('program.npz')
    """
    return record_timed_program(opened).program


def record_timed_program(opened: Trace) -> TimedProgram:
    """Make an emulated application's program of a trace, and say when each of its steps was.

    Parameters
    ----------
    opened : pse.trace.Trace
        A run of a program, or of an MPI program under the tool `trace`.

    Returns
    -------
    TimedProgram
        The program, and times of the trace.

    Raises
    ------
    TraceError
        Nothing in the trace can be replayed, its order doesn't allow it, or it lacks ranks.

    Examples
    --------
    >>> timed = pse.ace.record_timed_program(pse.trace.open("run1"))
    >>> timed.program.ranks, timed.times[1][:3]
    (2, (5000001, 14000000, 14000000))
    """
    _require_ranks(opened)
    numbers = {rank: place for place, rank in enumerate(opened.ranks)}
    items: dict[int, list[Item]] = {place: [] for place in numbers.values()}
    collectives = Collectives(opened, numbers)
    whole, halves = _messages(opened)
    messages = [*whole, *collectives.neighbour_messages()]
    notes = [*opened.problems, *halves, *_add_messages(items, numbers, messages), *collectives.add_to(items)]
    _add_computing(items, numbers, opened)
    ordered = [sorted(own, key=lambda item: item[:2]) for own in items.values()]
    steps = tuple(_complete([step for *_, step in own]) for own in ordered)
    if not any(step.kind != StepKind.COMPUTE for own in steps for step in own):
        raise TraceError(
            "the trace has no messages between ranks, so there is nothing to emulate",
            help="record the program on several ranks, with one thread each or more",
        )
    try:
        simulate(steps, groups=collectives.groups)
    except PatternError as error:
        raise TraceError(
            f"the trace can't be replayed in its order: {error.message}",
            help="record the program again: events of a rank are missing, or out of order",
        ) from None
    program = RecordedProgram(steps, tuple(notes), tuple(collectives.groups))
    return TimedProgram(program, tuple(tuple(time for time, *_ in own) for own in ordered))


def _complete(steps: list[Step]) -> tuple[Step, ...]:
    if any(step.kind == StepKind.ISEND for step in steps):
        steps.append(Step(StepKind.WAITALL))
    return tuple(steps)


def _require_ranks(opened: Trace) -> None:
    """Refuse a trace that lacks ranks: what the others did is not the program."""
    if lost := lost_ranks(opened):
        ranks = f"rank{'s' * (len(lost) > 1)} {ranges_text(lost)}"
        told = [problem for problem in opened.problems if problem not in map(without_events, lost)]
        raise TraceError(
            f"{opened.path} lacks the events of {ranks}: without them the program can't be replayed",
            help="; ".join([*told, "record the program again"]),
        )


def _messages(opened: Trace) -> tuple[list[Sent], list[str]]:
    """Give sender, receiver, bytes, and the times of both ends, of every message between two ranks.

    And what is left out: messages of which the trace has one end.
    """
    found: list[Sent] = []
    halves = 0
    for messages in (opened.messages(), mpi_messages(opened), opened.partition_messages()):
        messages = messages[messages["sender"] != messages["receiver"]]
        both = (messages["sent"] >= 0) & (messages["received"] >= 0)
        halves += int((~both).sum())
        found += _sent(messages[both])
    left = f"left out: {count_text(halves, 'message')} of which the trace has one end only"
    return found, [left] if halves else []


def _sent(messages: Array) -> Iterator[Sent]:
    size = messages["bytes"].astype("<i8")
    if "flags" in (messages.dtype.names or ()):
        moved = (messages["flags"] & MessageFlag.DESCRIPTOR) == 0
        size = np.where(moved, size, np.minimum(size, DESCRIPTOR_BYTES))
    columns = [messages["sender"], messages["receiver"], size, messages["sent"], messages["received"]]
    return zip(*(column.tolist() for column in columns), strict=True)


def _add_messages(
    items: dict[int, list[Item]], numbers: dict[int, int], messages: Iterable[Sent]
) -> list[str]:
    counts: Counter[tuple[int, int]] = Counter()
    missing = 0
    for sender, receiver, size, sent, received in messages:
        if sender not in numbers or receiver not in numbers:
            missing += 1
            continue
        pair = numbers[sender], numbers[receiver]
        tag = counts[pair] % _TAGS
        counts[pair] += 1
        items[pair[0]].append((sent, 1, Step(StepKind.ISEND, pair[1], size, 0.0, tag)))
        items[pair[1]].append((max(received, sent + 1), 0, Step(StepKind.RECEIVE, pair[0], size, 0.0, tag)))
    return [f"left out: {count_text(missing, 'message')} of ranks that the trace lacks"] if missing else []


def _add_computing(items: dict[int, list[Item]], numbers: dict[int, int], opened: Trace) -> None:
    """Add what ranks computed: the calls of modules (or else all time), without waits and routines of MPI."""
    calls, waits = opened.module_calls(), opened.waits()
    routines, names = opened.routine_calls()
    is_mpi = np.array([name.startswith("MPI_") for name in names] + [False])[routines["routine"]]
    for rank, place in numbers.items():
        inside = routines[is_mpi & (routines["rank"] == rank)]
        busy = calls[calls["rank"] == rank]
        if not len(busy) and not len(inside):
            continue
        spans = np.stack([busy["enter"], busy["leave"]], axis=1) if len(busy) else _whole(inside)
        waited = waits[waits["rank"] == rank]
        holes = [(inside["enter"], inside["leave"]), (waited["begin"], waited["end"])]
        for begin, end in _without(spans, np.concatenate([np.stack(hole, axis=1) for hole in holes])):
            if end - begin >= SHORTEST:
                seconds = float(end - begin) * 1e-9
                items[place].append((int(end), -1, Step(StepKind.COMPUTE, seconds=seconds)))


def _whole(inside: Array) -> Array:
    """Give the time between the first and the last routine of MPI."""
    return np.array([[inside["enter"].min(), inside["leave"].max()]])


def _without(spans: Array, holes: Array) -> Iterator[tuple[int, int]]:
    """Yield the parts of spans that no hole covers, in order."""
    holes = holes[np.argsort(holes[:, 0], kind="stable")]
    ends = np.maximum.accumulate(holes[:, 1]) if len(holes) else holes[:, 1]
    for begin, end in spans[np.argsort(spans[:, 0], kind="stable")].tolist():
        now = begin
        first = int(np.searchsorted(ends, begin, side="right"))
        for hole in holes[first:].tolist():
            if hole[0] >= end:
                break
            if hole[0] > now:
                yield now, hole[0]
            now = max(now, hole[1])
        if now < end:
            yield now, end
