"""What a rank was waiting for at a moment, and for whom, along the chain to a rank that didn't wait.

Each link asks what one rank did at the same moment.  If it waited, whoever ended that wait is the next link:
a message has a sender, and may have a late receiver; for the other reasons see `wait_causes`.  Of a wait that
never ended, the next link is the rank that should have handed over.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cached_property
from typing import Any

import numpy as np

from pse.analysis._activity import Activity, BlockKind, rank_activity
from pse.analysis.chains._mpi_wait_causes import mpi_wait_causes
from pse.analysis.waits._cause_description import CauseDescriber
from pse.analysis.waits._thread_choice import RankThreads
from pse.analysis.waits._unended_calls import UnendedCalls
from pse.analysis.waits._wait_causes import wait_causes
from pse.analysis.waits._wait_chain import Link, WaitChain, WaitEnd
from pse.analysis.waits._wake_candidates import CauseKind
from pse.text import moment_text
from pse.trace.format import NONE, Array, EventType, Phase, TraceError, WaitReason
from pse.trace.query import Names, TimeWindow, Tphs, Trace

LONGEST = 64
"""Links after which a chain ends in any case."""


def parse_time(trace: Trace, text: str) -> int:
    """Read a moment of a run as users write it.

    Parameters
    ----------
    trace : Trace
        The run.
    text : str
        ``0.25`` (seconds since the run's begin), ``250ms``, ``50%`` of the run, or ``end``.

    Returns
    -------
    int
        ns since the run's origin.

    Raises
    ------
    TraceError
        It isn't one of these, or it lies outside of the run.

    Examples
    --------
    >>> pse.analysis.parse_time(trace, "50%"), pse.analysis.parse_time(trace, "12ms")
    (15000000, 12000000)
    """
    units = {"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0, "%": trace.span / 100}
    found = re.fullmatch(r"(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)\s*(s|ms|us|µs|ns|%|)", text.strip(), re.IGNORECASE)
    if text.strip() == "end":
        return trace.span
    if not found:
        raise TraceError(
            f"{text!r} is not a time",
            help="write seconds since the run's begin (0.25), 250ms, 50% of the run, or end",
        )
    time = float(found[1]) * units[found[2].lower()]
    if time > trace.span + 1:
        latest = moment_text(trace.span // 1000 * 1000)  # Rounded up it would be after the end, too.
        help = f"write a time up to {latest}, a share of the run such as 50%, or end"
        message = f"{text} is after the end of the run, which took {moment_text(trace.span)}"
        raise TraceError(message, help=help)
    return min(round(time), trace.span)


def wait_chain(trace: Trace, rank: int, time: int, thread: int | None = None) -> WaitChain:
    """Find what a rank was waiting for at a moment, and for whom, from rank to rank.

    Parameters
    ----------
    trace : Trace
        The run.
    rank : int
        The rank to begin with.
    time : int
        The moment, ns since the run's origin; `parse_time` makes it of what a user writes.
    thread : int, optional
        Of a rank with several threads in MPI the one to begin with: 0 is that which started MPI; by default
        one that waits at the moment.

    Returns
    -------
    WaitChain
        Its `links` lead from this rank to one that nobody kept waiting at that moment.

    Raises
    ------
    TraceError
        The trace has no events of this rank, or none of this thread.

    Examples
    --------
    >>> chain = wait_chain(trace, 0, parse_time(trace, "10ms"))
    >>> [(link.rank, link.state) for link in chain.links]
    [(0, 'wait'), (1, 'call')]
    """
    trace.events(rank)
    return _Search(trace, time).chain(rank, thread)


def wait_suspects(trace: Trace) -> dict[int, int]:
    """Name, for each rank whose last wait never ended, the rank that should have ended it.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    dict of int to int
        Ranks by ranks that wait for them; those of which the trace says nothing are left out.

    Examples
    --------
    >>> wait_suspects(trace)  # All waits of run1 ended.
    {}
    """
    search = _Search(trace, trace.span)
    ends = {rank: search.link(rank).ended_by for rank in trace.ranks}
    return {rank: end.rank for rank, end in ends.items() if end is not None and not end.certain}


def final_waits(trace: Trace) -> dict[int, Link]:
    """Tell of each rank that was done with its part of the program how long it waited for the last one.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    dict of int to Link
        By rank what the chain says of the time after its last call; of a trace that is cut off, nothing.

    Examples
    --------
    >>> final = final_waits(trace)[1]
    >>> final.begin, final.ended_by.rank, final.ended_by.time
    (28000000, 0, 29000000)
    """
    search = _Search(trace, 0)
    links = {rank: search.final(rank) for rank in trace.ranks}
    return {rank: link for rank, link in links.items() if link is not None}


class _Search:
    """Finds for one rank after the other what it did at a moment, and for whom it waited."""

    def __init__(self, trace: Trace, time: int) -> None:
        self._trace, self._time = trace, time
        self._names, self._tphs = Names(trace), Tphs(trace)
        self._activity: Activity = rank_activity(trace)
        self._messages = self._activity.messages
        self._causes = wait_causes(self._activity)
        self._describer = CauseDescriber(self._activity)
        self._mpi = mpi_wait_causes(self._activity)
        self._threads = RankThreads(self._activity)
        self._unended = UnendedCalls(trace)

    def chain(self, rank: int, thread: int | None = None) -> WaitChain:
        links: list[Link] = []
        asked: set[tuple[int, int]] = set()
        until: int | None = None
        here = rank, self._threads.chosen(rank, thread, self._waiting_threads(rank))
        while here not in asked and len(links) < LONGEST:
            asked.add(here)
            links.append(self.link(here[0], until, here[1]))
            after = links[-1].ended_by
            if after is None or (after.certain and after.time <= self._time):
                return self._made(links)
            until = after.time if after.certain else None
            here = after.rank, self._late_thread(after.rank, until)
        return self._made(links, circle=here in asked)

    def _made(self, links: list[Link], *, circle: bool = False) -> WaitChain:
        abort = self._unended.abort()
        if abort is not None and abort[1] > self._time and all(link.complete for link in links):
            abort = None
        return WaitChain(self._time, tuple(links), circle, abort)

    def _waiting_threads(self, rank: int) -> list[int]:
        """Threads of a rank in calls of MPI at the moment; only those that others kept waiting if any did."""
        rows = [row for row in self._open_calls(rank) if self._routine_name(row).startswith("MPI_")]
        kept = [row for row in rows if self._cause_in_mpi(row) is not None]
        return sorted({int(self._threads.of_call[row]) for row in kept or rows})

    def _late_thread(self, rank: int, until: int | None) -> int:
        """The thread of a rank that ended a wait at a time: it was in MPI then."""
        if until is None:
            return self._threads.chosen(rank, None, self._waiting_threads(rank))
        calls = self._activity.routines
        near = (calls["rank"] == rank) & (calls["enter"] <= until) & (calls["leave"] >= until)
        rows = np.flatnonzero(near)
        rows = rows[np.argsort(-calls["enter"][rows], kind="stable")]  # The last that began.
        return int(self._threads.of_call[rows[0]]) if len(rows) else 0

    def link(self, rank: int, until: int | None = None, thread: int = 0) -> Link:
        """What a rank, or one of its threads, did at the moment."""
        if rank in self._threads.several:
            return self._of_thread(rank, until, thread)
        name = self._names.spoken_rank(rank)
        if rank not in self._trace.ranks:
            return Link(rank, name, "lost")
        block = self._block(rank)
        if block < 0:
            link = self._in_unended(rank, name) or self._between(rank, name)
        elif self._activity.blocks["kind"][block] == BlockKind.WAIT:
            link = self._waiting(rank, name, block)
        elif self._activity.blocks["kind"][block] == BlockKind.CALL:
            link = self._calling(rank, name, block)
        else:
            link = self._in_routine(rank, name, int(self._activity.blocks["row"][block]))
        if link.ended_by is None and until is not None and link.end is not None and until > link.end:
            link = dataclasses.replace(link, meanwhile=self._meanwhile(rank, until))
        return link

    def _of_thread(self, rank: int, until: int | None, thread: int) -> Link:
        """What a thread did, of a rank of which nothing but routines was recorded."""
        name = f"{self._names.spoken_rank(rank)} · thread {thread}"
        waiting = self._waiting_threads(rank)
        others = tuple(other for other in waiting if other != thread) if thread in waiting else ()
        rows = [row for row in self._open_calls(rank) if self._threads.of_call[row] == thread]
        in_mpi = [row for row in rows if self._routine_name(row).startswith("MPI_")]
        if in_mpi:
            return dataclasses.replace(self._in_routine(rank, name, in_mpi[0]), thread=thread, others=others)
        if (unended := self._in_unended(rank, name, thread)) is not None:
            return dataclasses.replace(unended, thread=thread, others=others)
        begin, end = self._threads.around(rank, thread, self._time)
        first, last = self._ends(rank)
        if begin is None and thread == 0:
            begin = first
        end = min(end, last)
        inside = self._routine_name(rows[0]) if rows else ""
        link = Link(rank, name, "program", begin, end, routine=inside, thread=thread)
        if until is not None and until > end:
            spent = self._threads.spent(rank, thread, self._time, until)
            link = dataclasses.replace(link, meanwhile=spent)
        return link

    def _block(self, rank: int) -> int:
        """The block that the rank was in; one that the trace's end cut off goes on."""
        found, last = self._activity.at(rank, self._time), self._activity.begun(rank, self._time)
        return last if found < 0 and last >= 0 and not self._complete(last) else found

    def _complete(self, block: int) -> bool:
        kind, row = self._activity.blocks["kind"][block], self._activity.blocks["row"][block]
        if kind == BlockKind.ROUTINE:
            return True
        return bool(
            (self._activity.calls if kind == BlockKind.CALL else self._activity.waits)["complete"][row]
        )

    def _where(self, block: Any) -> dict[str, Any]:
        """Place in the program and times of a block."""
        row = self._activity.blocks[block]
        _, label, place = self._names.site(row["site"])
        known = row["site"] != NONE
        return {
            "begin": int(row["since"]),
            "end": int(row["end"]),
            "complete": self._complete(block),
            "label": label if known else "",
            "place": place,
            "line": self._names.line(row["site"]),
            "tph": self._tphs.short(int(row["tph"])) if row["tph"] else "",
        }

    def _calling(self, rank: int, name: str, block: int) -> Link:
        where = self._where(block)
        routine = self._routine(rank)
        inside = self._in_unended(rank, name) if routine is None else self._in_routine(rank, name, routine)
        if inside is None:
            return Link(rank, name, "call", **where)
        place = {key: where[key] for key in ("label", "place", "line", "tph")}
        return dataclasses.replace(inside, **place)

    def _routine(self, rank: int) -> int | None:
        """The call of an MPI routine that the rank was in."""
        rows = [row for row in self._open_calls(rank) if self._routine_name(row).startswith("MPI_")]
        return rows[0] if rows else None

    def _function(self, rank: int) -> str:
        """The innermost function or region that the rank was in; empty where none was recorded."""
        rows = self._open_calls(rank)
        return self._routine_name(rows[0]) if rows else ""

    def _open_calls(self, rank: int) -> list[int]:
        """The calls of routines and functions that the rank was in, the innermost first: it ends first."""
        calls = self._activity.routines
        here = (calls["rank"] == rank) & (calls["enter"] <= self._time) & (calls["leave"] > self._time)
        rows: list[int] = np.flatnonzero(here).tolist()
        return rows

    def _routine_name(self, row: int) -> str:
        return self._activity.routine_names[int(self._activity.routines["routine"][row])]

    def _in_unended(self, rank: int, name: str, thread: int | None = None) -> Link | None:
        """In a call of MPI of which the trace shows no end."""
        call = self._unended.at(rank, self._time, thread)
        if call is None:
            return None
        other, awaited = call.awaited.rank, call.awaited.words
        end = None if other is None else WaitEnd(other, self._trace.span, certain=False)
        link = Link(rank, name, "mpi", call.enter, self._trace.span, complete=False, routine=call.routine)
        return dataclasses.replace(link, ended_by=end, awaited=awaited)

    def _in_routine(self, rank: int, name: str, row: int) -> Link:
        call, cause = self._activity.routines[row], self._cause_in_mpi(row)
        ended = None if cause is None else self._describer.of_routine(cause)
        times = int(call["enter"]), int(call["leave"])
        return Link(rank, name, "mpi", *times, routine=self._routine_name(row), ended_by=ended)

    def _cause_in_mpi(self, row: int) -> Any | None:
        """Who came late to a call of MPI, after the moment."""
        later = (cause for cause in self._mpi[row] if cause["rank"] != NONE and cause["time"] > self._time)
        return next(later, None)

    def _waiting(self, rank: int, name: str, block: int) -> Link:
        wait = self._activity.waits[self._activity.blocks["row"][block]]
        cause, edge = self._causes[block], int(wait["edge"])
        ended = self._suspect(rank, wait) if cause["rank"] == NONE else self._describer.of_wait(cause)
        if edge == NONE and cause["kind"] == CauseKind.TAG:
            edge = int(self._messages["edge"][cause["message"]])
        return Link(
            rank,
            name,
            "wait",
            **self._where(block),
            reason=self._names.reason(int(wait["reason"])),
            tag=self._names.tag(edge) if edge != NONE else "",
            source=self._source(edge),
            ended_by=ended,
        )

    def _source(self, edge: int) -> str:
        """What defines the tag of an edge: ``fft.rows (line 16)``."""
        definitions = self._trace.definitions
        found = next((e for e in definitions.edges if e.id == edge), None) if definitions else None
        return self._names.spoken_site(found.source) if found and found.source is not None else ""

    def _suspect(self, rank: int, wait: Any) -> WaitEnd | None:
        """Of a wait that never ended: whoever should have ended it."""
        if wait["complete"]:
            return None
        found = int(wait["peer"]) if wait["peer"] != NONE else None
        if found is None and wait["reason"] in (WaitReason.INPUT, WaitReason.REMOTE):
            found = self._usual(self._messages["edge"] == wait["edge"], "receiver", "sender", rank)
            found = self._definer(rank, int(wait["edge"])) if found is None else found
        elif found is None and wait["reason"] == WaitReason.PARTITIONS:
            found = self._describer.expected_waker(rank, wait)
        elif found is None and wait["reason"] == WaitReason.CREDIT:
            found = self._usual(self._messages["site"] == wait["site"], "sender", "receiver", rank)
        return (
            WaitEnd(found, int(wait["end"]), certain=False) if found is not None and found != rank else None
        )

    def _usual(self, chosen: Array, mine: str, other: str, rank: int) -> int | None:
        """At the other end of the last message of such."""
        rows = np.flatnonzero(chosen & (self._messages[mine] == rank))
        if not len(rows):
            return None
        return int(self._messages[other][rows[np.argmax(self._messages["sent"][rows])]])

    def _definer(self, rank: int, edge: int) -> int | None:
        """The rank that defines a tag: on the same processor, else the only one with that thread."""
        definitions = self._trace.definitions
        source = next((e.source for e in definitions.edges if e.id == edge), None) if definitions else None
        if definitions is None or source is None or (site := definitions.site(source)) is None:
            return None
        region = "parallel" if site.parallel else "root"
        ranks = [r for r in definitions.ranks if (r.region, r.thread) == (region, site.thread)]
        near = [r.rank for r in ranks if r.processor == self._names.processor(rank)]
        return near[0] if near else ranks[0].rank if len(ranks) == 1 else None

    def _between(self, rank: int, name: str) -> Link:
        """In no block: in the engine, or before or after the program."""
        time, own = self._time, self._activity.of(rank)
        if not len(self._trace.events(rank)):
            return Link(rank, name, "lost")
        first, last = self._ends(rank)
        before = own["end"][own["begin"] <= time]
        after = own["begin"][own["begin"] > time]
        begin = int(before.max()) if len(before) else first
        end = int(after[0]) if len(after) else last
        phases = self._phases(rank)
        if time > last:
            return Link(rank, name, "end" if Phase.END in phases else "lost", last, None)
        if time < phases.get(Phase.READY, first):
            return Link(rank, name, "start", first, phases.get(Phase.READY, first))
        if time >= phases.get(Phase.DONE, last + 1):
            return Link(rank, name, "end", phases[Phase.DONE], last)
        begin = max(begin, phases.get(Phase.READY, begin))
        if not len(after) and (final := self.final(rank)) is not None:
            return final
        is_mpi = self._trace.definitions is None and (not len(own) or own["kind"][0] == BlockKind.ROUTINE)
        if is_mpi:
            return Link(rank, name, "program", begin, end, routine=self._function(rank))
        return Link(rank, name, "engine", begin, end)

    def final(self, rank: int) -> Link | None:
        """What a rank does after its last block: it is done with its part, and waits for the last one."""
        own, phases = self._activity.of(rank), self._phases(rank)
        if Phase.DONE not in phases or not len(own):
            return None
        begin = max(int(own["end"].max()), phases.get(Phase.READY, 0))
        name, done = self._names.spoken_rank(rank), phases[Phase.DONE]
        return Link(rank, name, "done", begin, done, ended_by=self._last_done(rank))

    def _last_done(self, rank: int) -> WaitEnd | None:
        """The rank that was done last, if it still worked then: all wait for it."""
        last, end = self._last_end
        return WaitEnd(last, end) if last != rank and end > self._time else None

    @cached_property
    def _last_end(self) -> tuple[int, int]:
        """The rank whose last block ends last, and when."""
        ends = {other: int(self._activity.of(other)["end"].max(initial=0)) for other in self._trace.ranks}
        last = max(ends, key=lambda other: ends[other])
        return last, ends[last]

    def _ends(self, rank: int) -> tuple[int, int]:
        times = self._trace.run_times(rank, self._trace.events(rank)["time"][[0, -1]])
        return int(times[0]), int(times[1])

    def _phases(self, rank: int) -> dict[int, int]:
        events = self._trace.select(rank, EventType.PHASE)
        times = self._trace.run_times(rank, events["time"])
        return dict(zip(events["a"].tolist(), times.tolist(), strict=True))

    def _meanwhile(self, rank: int, until: int) -> tuple[tuple[str, int], ...]:
        """Where the time went from the moment until a hand-over, the most first."""
        own = self._activity.of(rank)
        lengths = TimeWindow(self._time, until).lengths(own["begin"], own["end"])
        rows = np.flatnonzero(lengths)
        times: dict[str, int] = {}
        for block, spent in zip(own[rows], lengths[rows].tolist(), strict=True):
            if block["kind"] == BlockKind.ROUTINE:
                name = self._routine_name(block["row"])
            elif block["kind"] == BlockKind.WAIT:
                name = "waiting"
            else:
                name = self._names.spoken_site(int(block["site"]))
            times[name] = times.get(name, 0) + spent
        rest = until - self._time - sum(times.values())
        between = "program" if len(own) and own["kind"][0] == BlockKind.ROUTINE else "engine"
        times |= {between: rest} if rest > 0 else {}
        return tuple(sorted(times.items(), key=lambda item: -item[1]))
