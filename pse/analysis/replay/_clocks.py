"""Clocks of the ranks of a trace: whether its times keep the clock condition, and a trace whose times do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, replace

import numpy as np

from pse.analysis.clocks._clock_condition import (
    ClockCondition,
    bounds,
    check_condition,
    needs_neighbours,
)
from pse.analysis.clocks._clock_repair import (
    LATENCY,
    MOVED_DTYPE,
    moved_times,
    points_of,
    repair_clocks,
)
from pse.analysis.clocks._host_alignment import align_hosts, orders_of, orders_of_operations
from pse.analysis.replay._collective_parts import PART_DTYPE
from pse.analysis.replay._collective_waits import operations_of
from pse.analysis.replay._columns import Columns, columns_of
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._stream_placement import Streams
from pse.text import count_text, list_text, time_text
from pse.trace.format import Array
from pse.trace.query import Trace, mpi_messages
from pse.trace.store import Comparison, RunClock

MESSAGE_DTYPE = np.dtype([("sender", "<u4"), ("receiver", "<u4"), ("sent", "<f8"), ("received", "<f8")])


_NEVER = np.iinfo("<i8").max
_YEAR = 365.25 * 86400e9  # ns


def check_clocks(receives: Columns, parts: Columns, peers: Peers) -> ClockCondition:
    """Check whether all that was received was sent before; collective.

    Parameters
    ----------
    receives : Columns of END_DTYPE
        This process's receives, with partners.
    parts : Columns of PART_DTYPE
        The complete operations that met here, by operation, then by place.
    peers : Peers
        All processes.
    """
    found = check_condition(receives["partner"], receives["leave"])
    if len(parts):
        found += check_condition(bounds(parts["operation"], operations_of(parts)), parts["end"])
    total = peers.combined(list(astuple(found)), lambda one, other: list(astuple(_sum(one, other))))
    return ClockCondition(*total)


def _sum(one: list[float], other: list[float]) -> ClockCondition:
    return ClockCondition(*one) + ClockCondition(*other)  # type: ignore[arg-type]


def repaired(
    trace: Trace, streams: Streams, messages: Array, parts: Columns, peers: Peers
) -> tuple[Trace, dict[str, float]]:
    """The trace with times that keep the clock condition; collective.

    Gives the hosts, too, whose clocks were set by what went to and fro between them, and how far these may
    still be off, ns.

    One process moves the events of all: which it moves where depends on all of them.

    Parameters
    ----------
    trace : Trace
        The trace as it is.
    streams : Streams
        Who has which ranks.
    messages : array as `messages_of` gives it
        Those that this process's ranks received.
    parts : Columns of PART_DTYPE
        The complete operations that met here.
    peers : Peers
        All processes.
    """
    messages, records = peers.gathered(messages), peers.gathered(parts.packed(PART_DTYPE))
    ranks, first, last = _first_and_last(trace, streams, peers)
    rows, told = np.empty(0, MOVED_DTYPE), [[], 0]
    if peers.rank == 0:  # The same however messages and operations were spread.
        messages = messages[np.lexsort([messages[name] for name in MESSAGE_DTYPE.names or ()])]
        records = records[np.lexsort([records[name] for name in ("place", "ordinal", "identity")])]
        alignments = align_hosts(*_known_orders(messages, records, trace.clock, streams))
        lines = {made.host: made.line for made in alignments}
        earlier = -int(_aligned(first, lines, streams, ranks).min(initial=_NEVER)) if lines else 0
        _align(messages, records, lines, streams, earlier)
        rows = _moved_events(messages, records, trace.clock, streams)
        told = [[[made.host, made.line.times, made.line.offsets, made.bound] for made in alignments], earlier]
    found, earlier = peers.combined(told, lambda one, other: one)
    lines = {host: Comparison("", tuple(times), tuple(offsets)) for host, times, offsets, _ in found}
    span = int(_aligned(last, lines, streams, ranks).max(initial=0)) + earlier
    to = streams.owners(rows["rank"], peers.rank)
    own = peers.deliver(columns_of(rows), MOVED_DTYPE, to).rows.packed(MOVED_DTYPE)
    by_name = {streams.hosts[host]: line for host, line in lines.items()}
    clock = trace.clock.aligned(by_name, earlier, span).moved(moved_times(own))
    return replace(trace, clock=clock), {streams.hosts[host]: bound for host, *_, bound in found}


def _first_and_last(trace: Trace, streams: Streams, peers: Peers) -> tuple[Array, Array, Array]:
    """All ranks that have events, and when these begin and end, int64 ns; collective."""
    found = np.full((2, len(streams.owner)), _NEVER)
    for rank, file in trace.files.items():
        if len(file.events):
            found[:, rank] = trace.run_times(rank, np.array(file.times, "<u8")) * np.array([1, -1])
    first, last = (peers.least(times) for times in found)
    ranks = np.flatnonzero(first != _NEVER)
    return ranks, first[ranks], -last[ranks]


def _aligned(times: Array, lines: Mapping[int, Comparison], streams: Streams, ranks: Array) -> Array:
    """Times of ranks by the corrected clocks of their hosts."""
    found = times.copy()
    for host, line in lines.items():
        own = streams.host[ranks] == host
        found[own] = line.convert(times[own])
    return found


def _align(
    messages: Array, records: Array, lines: Mapping[int, Comparison], streams: Streams, earlier: int
) -> None:
    for rows, rank, time in (
        *((messages, "sender", "sent"), (messages, "receiver", "received")),
        *((records, "rank", "begin"), (records, "rank", "end")),
    ):
        rows[time] = _aligned(rows[time], lines, streams, rows[rank]) + earlier


def _known_orders(
    messages: Array, records: Array, clock: RunClock, streams: Streams
) -> tuple[Array, set[int]]:
    """What messages and operations prove about the clocks of hosts, and which of these were compared."""
    one, other = (streams.host[messages[end]] for end in ("sender", "receiver"))
    latencies = least_latencies(messages, clock, streams)
    found = [orders_of(one, messages["sent"], other, messages["received"], latencies)]
    if len(records):
        rows = operations_of(columns_of(records))
        found.append(orders_of_operations(records["operation"], streams.host[records["rank"]], rows))
    compared = {number for number, host in enumerate(streams.hosts) if clock.is_compared(host)}
    return np.concatenate(found), compared


def messages_of(sends: Columns, receives: Columns) -> Array:
    """Messages with known times as `repaired` takes them; sends SEND_DTYPE, receives END_DTYPE."""
    known = np.isfinite(sends["start_enter"]) & np.isfinite(receives["leave"])
    found = np.empty(int(known.sum()), MESSAGE_DTYPE)
    found["sender"], found["receiver"] = sends["sender"][known], receives["receiver"][known]
    found["sent"], found["received"] = sends["start_enter"][known], receives["leave"][known]
    return found


def acknowledgements(sends: Columns) -> Array:
    """What receivers tell senders of synchronous messages, as messages: their receive is posted.

    Sends are this process's, END_DTYPE.
    """
    known = sends["is_synchronous"] & np.isfinite(sends["partner"]) & np.isfinite(sends["leave"])
    found = np.empty(int(known.sum()), MESSAGE_DTYPE)
    found["sender"], found["receiver"] = sends["receiver"][known], sends["sender"][known]
    found["sent"], found["received"] = sends["partner"][known], sends["leave"][known]
    return found


def neighbour_messages(parts: Columns, edges: Array) -> Array:
    """What neighbours send each other in operations among them, as messages.

    Parts are those of `CollectiveOperations`, with its edges.
    """
    sources, targets = edges[:, needs_neighbours(parts["operation"][edges[0]])]
    found = np.empty(len(sources), MESSAGE_DTYPE)
    found["sender"], found["receiver"] = parts["rank"][sources], parts["rank"][targets]
    found["sent"], found["received"] = parts["begin"][sources], parts["end"][targets]
    return found


def event_messages(trace: Trace) -> Array:
    """Messages as `repaired` takes them, with the times of their own events, not of the calls."""
    messages = mpi_messages(trace)
    messages = messages[(messages["sent"] >= 0) & (messages["received"] >= 0)]
    found = np.empty(len(messages), MESSAGE_DTYPE)
    for name in MESSAGE_DTYPE.names or ():
        found[name] = messages[name]
    return found


def _moved_events(messages: Array, records: Array, clock: RunClock, streams: Streams) -> Array:
    """What `repair_clocks` gives for messages and operations."""
    rows = operations_of(columns_of(records)) if len(records) else None
    ends = (
        points_of(messages["sender"], messages["sent"], is_end=False),
        points_of(messages["receiver"], messages["received"], is_end=True),
    )
    return repair_clocks(ends, least_latencies(messages, clock, streams), records, rows)


def least_latencies(messages: Array, clock: RunClock, streams: Streams) -> Array:
    """How long messages take at least, int64 ns, as it was measured.

    On a host it is the shortest message, from the call that sends to the end of the call that receives: both
    are of one clock.  Between hosts it is half of the fastest round trip when their clocks were compared.
    """
    one, other = (streams.host[messages[end]] for end in ("sender", "receiver"))
    several = len(streams.hosts) + 1
    pairs, pair = np.unique(one * np.int64(several) + other, return_inverse=True)
    found = np.full(len(pairs), LATENCY, "<i8")
    for number, (host, peer) in enumerate(
        zip(*(ends.tolist() for ends in divmod(pairs, several)), strict=True)
    ):
        if host == peer:
            chosen = messages[pair == number]
            found[number] = max((chosen["received"] - chosen["sent"]).min(), LATENCY)
        elif min(host, peer) >= 0:
            found[number] = max(clock.least_latency(streams.hosts[host], streams.hosts[peer]), LATENCY)
    latencies: Array = found[pair]
    return latencies


def longest_run(trace: Trace, peers: Peers) -> int:
    """The longest time from the first to the last event of a rank, ns; collective."""
    own = max((file.times[1] - file.times[0] for file in trace.files.values()), default=0)
    return -int(peers.least(np.array([-min(own, 1 << 62)], "<i8"))[0])


def clock_problems(
    before: ClockCondition, after: ClockCondition | None, bounds: Mapping[str, float], longest: int
) -> Iterator[str]:
    """Say what was wrong with the clocks, and what is after the repair; None: there was none.

    `bounds` tells of hosts whose clocks were set how far these may still be off, ns.
    """
    if not before.violations:
        return
    is_unknown = not bounds and before.largest > longest
    yield f"{_too_early(before)}; {_repair_text(after, is_unknown)}"
    if bounds:
        off = list_text([f"{host} by {time_text(bound)}" for host, bound in bounds.items()])
        yield (
            "clocks of hosts were set by what went to and fro between them; if they run evenly, "
            f"they may still be off: {off} at most"
        )
    elif is_unknown:
        yield (
            f"clocks differ by {_distance_text(before.largest)} or more, but no rank ran longer than "
            f"{time_text(longest)}: waits for ranks with other clocks can't be known, and what is shown of "
            "them (waits, completion, delays) means nothing"
        )


def _too_early(before: ClockCondition) -> str:
    looked_at = "message or end of a collective operation", "messages and ends of collective operations"
    return (
        f"by the clocks of their ranks, {before.violations:,} of {count_text(before.count, *looked_at)} "
        f"came before what {'it needs' if before.violations == 1 else 'they need'}, "
        f"at most {_distance_text(before.largest)} too early"
    )


def _repair_text(after: ClockCondition | None, is_unknown: bool) -> str:
    """What the repair of times came to; where clocks have nothing in common no number tells it."""
    if after is None:
        return "waits there are wrong"
    if is_unknown and not after.violations:
        return "their times can't be repaired"
    if not after.violations:
        return "their times were repaired, and none is left"
    left = f"{after.violations:,} {'is' if after.violations == 1 else 'are'} left"
    if is_unknown:
        return f"their times can't be repaired: {left}"
    return f"their times were repaired, and {left}, at most {_distance_text(after.largest)} too early"


def _distance_text(time: float) -> str:
    """How far clocks are apart: those that were never set may differ by years."""
    years = time / _YEAR
    return time_text(time) if years < 2 else f"{years:,.0f} years"
