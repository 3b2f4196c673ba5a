"""A trace in a few tables: where the time went, what moved, who waited for what.

Only counting: `print_summary` shows it, `Summary.to_json` hands it to other tools.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from pse.trace.format._events import NONE, MessageFlag
from pse.trace.format._field_values import Array
from pse.trace.query._group_reduce import Groups
from pse.trace.query._messages import match_messages, message_ends
from pse.trace.query._mpi import MpiTraffic, mpi_communicators, mpi_traffic, outermost_calls
from pse.trace.query._names import Names
from pse.trace.query._selection import EVERYTHING, Selection
from pse.trace.query._trace import Trace
from pse.trace.summary._rows import (
    CallRow,
    CommunicatorRow,
    PartitionRow,
    QueueRow,
    RankRow,
    RoutineRow,
    SliceRow,
    Summary,
    TrafficRow,
    WaitRow,
)

Row = TypeVar("Row")


def summarize(trace: Trace, selection: Selection = EVERYTHING) -> Summary:
    """Count everything in a trace that has a place in its summary.

    Parameters
    ----------
    trace : Trace
        What to count in.
    selection : Selection, optional
        What to count.  Shares of ranks' time are of the time window and of all modules.

    Returns
    -------
    Summary
        Its fields `calls`, `waits`, `traffic`, `partitions`, `queues`, `routines`, `communicators`, `slices`,
        `ranks` are tuples of rows; times are ns, amounts bytes.

    Raises
    ------
    TraceError
        The selection leaves nothing, or names what isn't there.

    Examples
    --------
    >>> summary = summarize(trace)
    >>> [(row.label, row.calls, row.total) for row in summary.calls]
    [('load', 2, 8000000), ('rows', 2, 18000000), ('total', 2, 2000000)]
    """
    selection.check(trace)
    names, ranks, definitions = Names(trace), selection.ranks_of(trace), trace.definitions
    calls, busy = _timed(trace, selection, trace.module_calls(), _call_rows, names)
    waits, waiting = _timed(trace, selection, trace.waits(), _wait_rows, names)
    memory = selection.of(trace, trace.memory())
    ends = message_ends(trace)
    messages = match_messages(*ends)
    routine_calls, routines = trace.routine_calls()
    outermost = selection.of(trace, outermost_calls(trace, routine_calls))
    return Summary(
        path=str(trace.path),
        program=definitions.program if definitions else "",
        started=definitions.started if definitions else "",
        span=trace.span,
        events=sum(len(trace.events(rank)) for rank in ranks),
        arena_peak=_arena_peaks(trace, memory),
        unmatched_sends=len(selection.of(trace, messages.sends)),
        unmatched_receives=len(selection.of(trace, messages.receives)),
        calls=calls,
        traffic=_traffic_rows(names, *(selection.of(trace, end) for end in ends)),
        partitions=_partition_rows(names, selection.of(trace, trace.partition_messages())),
        waits=waits,
        queues=_queue_rows(names, selection.of(trace, trace.queue_depths())),
        routines=_routine_rows(selection.of(trace, routine_calls), outermost, routines),
        communicators=tuple(_communicator_row(row) for row in mpi_traffic(trace) if row.rank in ranks),
        slices=_slice_rows(trace, selection),
        ranks=_rank_rows(names, trace, selection, busy, waiting, memory),
        problems=trace.problems,
    )


def _timed(
    trace: Trace, selection: Selection, table: Array, rows: Callable[[Names, Array], Row], names: Names
) -> tuple[Row, dict[int, int]]:
    """Rows of what is selected of a table of blocks, and the time of each rank in any block in the window."""
    begin, end = (name for name in table.dtype.names or () if name in ("enter", "leave", "begin", "end"))
    spent = _time_by_rank(table["rank"], selection.window(trace).lengths(table[begin], table[end]))
    return rows(names, selection.of(trace, table)), spent


def _slice_rows(trace: Trace, selection: Selection) -> tuple[SliceRow, ...]:
    """Join the slices that ranks ran with what was matched of their own operations."""
    slices, matches = (selection.of(trace, table) for table in (trace.time_slices(), trace.slice_matches()))
    matches = matches[~matches["send"]]  # Their receives are there.
    rows = []
    for rank in sorted({*slices["rank"].tolist(), *matches["rank"].tolist()}):
        names = mpi_communicators(trace, rank)
        own, matched = (table[table["rank"] == rank] for table in (slices, matches))
        for number in sorted({*own["communicator"].tolist(), *matched["communicator"].tolist()}):
            ran, got = (table[table["communicator"] == number] for table in (own, matched))
            name = names[number].name if number in names else f"communicator {number}"
            rows.append(_slice_row(name, rank, ran, got))
    return tuple(rows)


def _slice_row(name: str, rank: int, ran: Array, got: Array) -> SliceRow:
    exchange = float(ran["exchange"].mean()) if len(ran) else 0.0
    whole = float((ran["end"] - ran["begin"]).mean()) if len(ran) else 0.0
    moved = float((got["end"] - got["begin"]).mean()) if len(got) else 0.0
    operations, timed = int(ran["operations"].sum()), int(ran["timed"].sum())
    return SliceRow(name, rank, len(ran), timed, exchange, whole - exchange, operations, len(got), moved)


def _call_rows(names: Names, calls: Array) -> tuple[CallRow, ...]:
    groups = Groups(calls["site"], names.thread_numbers(calls["rank"]))
    times = calls["leave"] - calls["enter"]
    columns = (
        *(groups.count, groups.sum(calls["failed"]), groups.sum(~calls["complete"])),
        *(groups.sum(times), groups.sum(np.where(calls["complete"], times, 0))),
        *(groups.max(times), groups.sum(calls["cpu"])),
    )
    return tuple(
        _call_row(names, site, names.threads[thread], *map(int, numbers))
        for site, thread, *numbers in zip(groups.first, groups.second, *columns, strict=True)
    )


def _call_row(
    names: Names,
    site: Any,
    thread: str,
    count: int,
    failed: int,
    unfinished: int,
    total: int,
    ended: int,
    longest: int,
    cpu: int,
) -> CallRow:
    """Nobody knows yet how long an unfinished call takes, nor its CPU time: means are of the others."""
    number, label, place = names.site(site)
    return CallRow(
        site=number,
        label=label,
        place=place,
        thread=thread,
        calls=count,
        failed=failed,
        unfinished=unfinished,
        total=total,
        mean=ended / (count - unfinished) if unfinished < count else total / count,
        max=longest,
        cpu=cpu,
        cpu_share=_share(cpu, ended),
    )


def _traffic_rows(names: Names, sends: Array, receives: Array) -> tuple[TrafficRow, ...]:
    sites, ranks = (np.concatenate([sends[name], receives[name]]) for name in ("site", "rank"))
    groups = Groups(sites, names.thread_numbers(ranks))
    columns = [*_traffic(groups, sends, 0, len(receives)), *_traffic(groups, receives, len(sends), 0)]
    return tuple(
        TrafficRow(*names.site(site), names.threads[thread], *map(int, counts))
        for site, thread, *counts in zip(groups.first, groups.second, *columns, strict=True)
    )


def _traffic(groups: Groups, ends: Array, before: int, after: int) -> Iterator[Array]:
    """Messages of one direction, then their bytes by descriptor, copied, remote: each of shape (groups,)."""
    yield groups.sum(np.repeat(np.array([0, 1, 0], "i1"), [before, len(ends), after]))
    flags, size = ends["flags"].astype("<u2"), ends["a"].astype("<u8")
    column = np.zeros(before + len(ends) + after, "<u8")
    for flag in (MessageFlag.DESCRIPTOR, MessageFlag.COPIED, MessageFlag.REMOTE):
        np.multiply(size, flags & flag != 0, out=column[before : before + len(ends)])
        yield groups.sum(column)


def _partition_rows(names: Names, messages: Array) -> tuple[PartitionRow, ...]:
    """Count messages among partitions (`PARTITION_MESSAGE_DTYPE`) by call site, thread, and what they are."""
    messages = messages[messages["sent"] >= 0]
    groups = Groups(messages["site"], names.thread_numbers(messages["sender"]), messages["collective"])
    own = messages["sender"] == messages["receiver"]
    remote = messages["flags"] & MessageFlag.REMOTE != 0
    ways = [groups.sum(np.where(way, messages["bytes"], 0)) for way in (own, ~own & ~remote, remote)]
    return tuple(
        PartitionRow(
            *names.site(site),
            names.threads[thread],
            "collectives" if is_collective else "messages",
            *map(int, counts),
        )
        for site, thread, is_collective, *counts in zip(
            groups.first, groups.second, groups.third, groups.count, *ways, strict=True
        )
    )


def _wait_rows(names: Names, waits: Array) -> tuple[WaitRow, ...]:
    groups = Groups(waits["site"], names.thread_numbers(waits["rank"]), waits["reason"])
    times = waits["end"] - waits["begin"]
    numbers = (groups.count, groups.sum(times), groups.max(times))
    return tuple(
        WaitRow(*names.site(site), names.threads[thread], names.reason(int(reason)), *map(int, row))
        for site, thread, reason, *row in zip(
            groups.first, groups.second, groups.third, *numbers, strict=True
        )
    )


def _queue_rows(names: Names, samples: Array) -> tuple[QueueRow, ...]:
    groups = Groups(samples["edge"], names.thread_numbers(samples["rank"]))
    columns = zip(
        groups.first, groups.second, groups.max(samples["depth"]), groups.max(samples["limit"]), strict=True
    )
    return tuple(
        QueueRow(_number(edge), names.tag(int(edge)), names.threads[thread], int(peak), int(limit))
        for edge, thread, peak, limit in columns
    )


def _routine_rows(calls: Array, outermost: Array, routines: list[str]) -> tuple[RoutineRow, ...]:
    """Calls of routines; of a recursion, all count, and the time of the outermost ones is the total."""
    groups = Groups(calls["routine"])
    totals = np.zeros(len(routines), "<i8")
    np.add.at(totals, outermost["routine"], outermost["leave"] - outermost["enter"])
    times = calls["leave"] - calls["enter"]
    columns = zip(groups.first, groups.count, groups.sum(times), groups.max(times), strict=True)
    return tuple(
        RoutineRow(
            routine=routines[routine],
            ranks=len(np.unique(calls["rank"][calls["routine"] == routine])),
            calls=int(count),
            total=int(totals[routine]),
            mean=float(time / count),
            max=int(longest),
        )
        for routine, count, time, longest in columns
    )


def _communicator_row(row: MpiTraffic) -> CommunicatorRow:
    fields = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    return CommunicatorRow(**fields | {"communicator": row.communicator.name, "size": row.communicator.size})


def _rank_rows(
    names: Names,
    trace: Trace,
    selection: Selection,
    busy: dict[int, int],
    waiting: dict[int, int],
    memory: Array,
) -> tuple[RankRow, ...]:
    peaks = _peaks(memory["rank"], memory["bytes"])
    rows = []
    for rank in selection.ranks_of(trace):
        span = _rank_span(trace, selection, rank)
        rows.append(
            RankRow(
                rank=rank,
                thread=names.thread(rank),
                processor=names.processor(rank),
                host=trace.files[rank].host,
                events=len(trace.events(rank)),
                span=span,
                busy=_share(busy.get(rank, 0), span),
                waiting=_share(waiting.get(rank, 0), span),
                peak_memory=peaks.get(rank, 0),
                closed=trace.files[rank].closed,
            )
        )
    return tuple(rows)


def _time_by_rank(ranks: Array, times: Array) -> dict[int, int]:
    groups = Groups(ranks)
    return dict(zip(groups.first.tolist(), groups.sum(times).tolist(), strict=True))


def _peaks(owners: Array, changes: Array) -> dict[int, int]:
    """The largest running total of each owner; `changes` are in the order of time."""
    groups = Groups(owners)
    return dict(zip(groups.first.tolist(), groups.peak(changes).tolist(), strict=True))


def _arena_peaks(trace: Trace, memory: Array) -> dict[str, int]:
    shared = memory[~memory["local"] & np.isin(memory["rank"], trace.ranks)]
    hosts = sorted({file.host for file in trace.files.values()})
    number = np.zeros(max(trace.ranks) + 1, "<u4")
    for rank, file in trace.files.items():
        number[rank] = hosts.index(file.host)
    peaks = _peaks(number[shared["rank"]], shared["bytes"])
    return {hosts[number]: peak for number, peak in peaks.items()}


def _rank_span(trace: Trace, selection: Selection, rank: int) -> int:
    """How long a rank was there in the window of time."""
    if not len(trace.events(rank)):
        return 0
    begin, end = trace.run_times(rank, np.array(trace.files[rank].times, "<u8"))
    return int(selection.window(trace).lengths(begin, end))


def _share(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole > 0 else 0.0


def _number(value: Any) -> int | None:
    return None if value == NONE else int(value)
