"""Writes a trace as JSON in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.

Processes are the program's processors (hosts, where there are no definitions), threads its ranks.  Module
calls, waits and routines are slices, hand-overs of tags, messages among partitions and of MPI are flows
between them, as is what ended waits if that is given, queue depths, memory and counters are counters, TPHs
and collective operations among partitions are async slices.  Times are microseconds, with nanoseconds as
decimals.

It is written event by event, so a trace of any size fits through.  Both ends of a flow know its name by
themselves: a hand-over has a sequence number, and MPI's messages of one kind between two ranks are counted.
"""

from __future__ import annotations

import collections
import gzip
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from pse import __version__
from pse.trace.format._events import NONE, EventType, MessageFlag, ModuleFlag, Phase, TextKind
from pse.trace.format._field_values import Array, high32, low32, value_of
from pse.trace.interchange._event_streams import Stream, streams, unmatched_ends
from pse.trace.interchange._output import new_file
from pse.trace.interchange._progress import Progress
from pse.trace.query._mpi import mpi_communicators
from pse.trace.query._names import Names
from pse.trace.query._selection import Selection
from pse.trace.query._trace import Trace

E = EventType
Event = tuple[int, int, int, int, int, int, int, int]  # The fields of EVENT_DTYPE.
Json = dict[str, Any]
INSTANT = 0.001  # µs that a hand-over or message lasts: flows begin and end at slices, and a slice lasts.


def export_chrome(
    trace: Trace,
    out: Path,
    selection: Selection | None = None,
    progress: Progress | None = None,
    causes: tuple[Array, Sequence[str]] | None = None,
) -> list[str]:
    """Write a trace as JSON for Perfetto and Chrome.

    Parameters
    ----------
    trace : Trace
        What to write.
    out : Path
        A file that doesn't exist yet or is empty; it is compressed if its name ends with ``.gz``.
    selection : Selection, optional
        What to leave in.
    progress : Progress, optional
        Is told how many events are done.
    causes : tuple of array and sequence of str, optional
        How waits ended, as `pse.analysis.wait_ends` tells it: each becomes a flow from the rank that ended
        the wait to the wait.

    Returns
    -------
    list of str
        What could not be written as it was, a sentence each.

    Raises
    ------
    TraceError
        The selection leaves nothing, or `out` can't be written.

    Examples
    --------
    >>> export_chrome(trace, Path("run1.json"))
    []
    """
    chosen, told = streams(trace, selection), progress or Progress()
    told.begin(sum(map(len, chosen)))
    names = Names(trace)
    writers = [_Rank(trace, names, stream) for stream in chosen]
    with new_file(out) as part, _open(part, out.suffix == ".gz") as file:
        about = {"creator": f"pse {__version__}", "origin": trace.origin, "program": _program(trace)}
        file.write(f'{{"displayTimeUnit":"ns","otherData":{_text(about)},"traceEvents":[\n')
        file.write(",\n".join(_text(event) for writer in writers for event in writer.metadata()))
        for writer in writers:
            for events in writer.events(told):
                file.writelines(f",\n{_text(event)}" for event in events)
        if causes is not None:
            file.writelines(f",\n{_text(event)}" for event in _causes(trace, writers, selection, *causes))
        file.write("\n]}\n")
    return [note for writer in writers for note in writer.notes()]


def _causes(
    trace: Trace, writers: Sequence[_Rank], selection: Selection | None, ends: Array, texts: Sequence[str]
) -> Iterator[Json]:
    """Flows from what ended waits to these, between ranks that are written, in the window."""
    known = {writer.rank: writer for writer in writers}
    window = (selection or Selection()).window(trace)
    ends = ends[window.overlaps(ends["begin"], ends["until"]) & window.overlaps(ends["time"], ends["time"])]
    for number, end in enumerate(
        ends[np.isin(ends["late"], list(known)) & np.isin(ends["rank"], list(known))]
    ):
        rank, late = int(end["rank"]), int(end["late"])
        key, did = f"cause {number}", f"{texts[end['how']]}: ends the wait of rank {rank}"
        # Who rings another rank may lose its core before it notes that; viewers drop flows back in time.
        awake = int(end["until"])
        yield from known[late].cause("s", min(int(end["time"]), awake) / 1000, did, key)
        yield from known[rank].cause("f", awake / 1000, f"awake after rank {late}", key)


def _open(path: Path, compressed: bool) -> IO[str]:
    if compressed:
        return cast(IO[str], gzip.open(path, "wt", 3, "utf-8", "replace"))
    return path.open("w", encoding="utf-8", errors="replace")


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _program(trace: Trace) -> str:
    return trace.definitions.program if trace.definitions else trace.path.name


class _Rank:
    """The events of one rank as JSON."""

    def __init__(self, trace: Trace, names: Names, stream: Stream) -> None:
        self._trace, self._names, self._stream, self._rank = trace, names, stream, stream.rank
        self._texts = trace.texts(stream.rank)
        known = {rank.rank: rank for rank in trace.definitions.ranks} if trace.definitions else {}
        defined = known.get(stream.rank)
        self._thread = defined.thread if defined else f"rank {stream.rank}"
        self._process = host = names.host(stream.rank)
        hosts = list(dict.fromkeys(map(names.host, trace.ranks)))
        self._pid = hosts.index(host) + 1  # 0 stands for the idle process.
        if defined:
            self._thread += f" (rank {stream.rank})"
            processor = defined.processor
            self._process = f"root ({host})" if processor is None else f"p{processor} ({host})"
            self._pid = 1 if processor is None else processor + 2
        self._tid = stream.rank + 1
        self._communicators = mpi_communicators(trace, stream.rank)
        numbered = trace.select(stream.rank, EventType.MPI_COMMUNICATOR)
        places = zip(low32(numbered["a"]).tolist(), high32(numbered["c"]).tolist(), strict=True)
        self._places = dict(places)  # This rank in each of its communicators.
        self._counts: collections.Counter[str] = collections.Counter()
        loops = trace.definitions.loops if trace.definitions else ()
        self._counters = {loop.id: loop.counter for loop in loops}
        self._stack: list[tuple[str, int]] = []
        self._held = self._dropped = 0
        self._makers: dict[int, Callable[[float, Event], Iterable[Json]]] = {
            E.MODULE_ENTER: self._module_enter,
            E.MODULE_LEAVE: self._module_leave,
            E.WAIT_BEGIN: self._wait_begin,
            E.WAIT_END: lambda now, event: self._end(now, "wait", event[2]),
            E.REGION_ENTER: self._region_enter,
            E.REGION_LEAVE: lambda now, event: self._end(now, "routine", event[5]),
            E.SEND: lambda now, event: self._hand_over(now, event, "s"),
            E.RECEIVE: lambda now, event: self._hand_over(now, event, "f"),
            E.PARTITION_SEND: lambda now, event: self._among(now, event, "s"),
            E.PARTITION_RECEIVE: lambda now, event: self._among(now, event, "f"),
            E.PARTITION_COLLECTIVE_BEGIN: lambda now, event: self._together(now, event, "b"),
            E.PARTITION_COLLECTIVE_END: lambda now, event: self._together(now, event, "e"),
            E.MPI_SEND: lambda now, event: self._message(now, event, "s"),
            E.MPI_RECEIVE: lambda now, event: self._message(now, event, "f"),
            E.QUEUE_DEPTH: self._queue,
            E.ALLOCATE: lambda now, event: self._memory(now, event[5]),
            E.FREE: lambda now, event: self._memory(now, -event[5]),
            E.COUNTER: self._counter,
            E.CONTEXT_BEGIN: self._context_begin,
            E.CONTEXT_END: self._context_end,
            E.MARKER: self._marker,
            E.PHASE: self._phase,
        }

    @property
    def rank(self) -> int:
        """Rank of the job."""
        return self._rank

    def cause(self, phase: str, now: float, name: str, key: str) -> Iterable[Json]:
        """One end of an arrow from what ended a wait to that."""
        slice_ = self._json("X", now, dur=INSTANT, name=name, cat="cause", args={})
        return (slice_, self._flow(phase, now, "ends a wait", key))

    def metadata(self) -> Iterator[Json]:
        """Names and the order of processes and threads."""
        names = {
            "process_name": {"name": self._process},
            "process_sort_index": {"sort_index": self._pid},
            "thread_name": {"name": self._thread},
            "thread_sort_index": {"sort_index": self._tid},
        }
        for name, args in names.items():
            yield {"ph": "M", "name": name, "pid": self._pid, "tid": self._tid, "args": args}

    def events(self, progress: Progress) -> Iterator[list[Json]]:
        """All events, in the order of time, in portions."""
        now = 0.0
        for chunk, times in self._stream.chunks():
            made: list[Json] = []
            for time, event in zip(times.tolist(), chunk.tolist(), strict=True):
                maker = self._makers.get(event[1])
                if maker is not None:
                    now = time / 1000
                    made += maker(now, event)
            yield made
            progress.advance(len(chunk))
        yield [self._json("E", now) for _ in self._stack]

    def notes(self) -> Iterator[str]:
        """What could not be written as it was."""
        if self._dropped:
            yield f"rank {self._rank}: {unmatched_ends(self._dropped)}"

    def _json(self, phase: str, now: float, **rest: Any) -> Json:
        return {"ph": phase, "ts": now, "pid": self._pid, "tid": self._tid, **rest}

    def _begin(self, now: float, kind: str, number: int, name: str, **args: Any) -> Iterable[Json]:
        self._stack.append((kind, number))
        return (self._json("B", now, name=name, cat=kind, args=args),)

    def _end(self, now: float, kind: str, number: int, **args: Any) -> Iterable[Json]:
        """End a slice; what is open inside it ends with it."""
        key = (kind, number)
        if key not in self._stack:
            self._dropped += 1
            return ()
        ended = []
        while self._stack.pop() != key:
            self._dropped += 1
            ended.append(self._json("E", now))
        return (*ended, self._json("E", now, args=args) if args else self._json("E", now))

    def _module_enter(self, now: float, event: Event) -> Iterable[Json]:
        _, label, place = self._names.site(event[3])
        args = {"TPH": event[4], "at": place} | ({} if event[5] == NONE else {"partition": event[5]})
        return self._begin(now, "module", event[3], label, **args)

    def _module_leave(self, now: float, event: Event) -> Iterable[Json]:
        args = {"CPU time (ms)": event[5] / 1e6, "returned": _signed(event[7] & NONE, 32)}
        if event[2] & ModuleFlag.FAILED:
            args["failed"] = True
        return self._end(now, "module", event[3], **args)

    def _wait_begin(self, now: float, event: Event) -> Iterable[Json]:
        reason, peer, edge = event[2], event[5] & NONE, event[5] >> 32
        args: Json = {"TPH": event[4]}
        if peer != NONE:
            args["rank"] = peer
        if edge != NONE:
            args["tag"] = self._names.tag(edge)
        return self._begin(now, "wait", reason, f"wait: {self._names.reason(reason)}", **args)

    def _region_enter(self, now: float, event: Event) -> Iterable[Json]:
        name = self._name(TextKind.REGION, event[5], "routine")
        place = self._texts.get((TextKind.REGION_PLACE, event[5]))
        return self._begin(now, "routine", event[5], name, **({"at": place} if place else {}))

    def _hand_over(self, now: float, event: Event, phase: str) -> Iterable[Json]:
        _, _, flags, site, tph, size, ends, sequence = event
        partner, tag = ends & NONE, self._names.tag(ends >> 32)
        pair = (self._rank, partner) if phase == "s" else (partner, self._rank)
        args = {"bytes": size, "TPH": tph, "defined by": self._names.site(site)[1], "how": _how(flags)}
        name = f"{'send' if phase == 's' else 'receive'} {tag}"
        slice_ = self._json("X", now, dur=INSTANT, name=name, cat="hand-over", args=args)
        return (slice_, self._flow(phase, now, tag, f"tag {pair[0]} {pair[1]} {sequence}"))

    def _among(self, now: float, event: Event, phase: str) -> Iterable[Json]:
        """A message among partitions: of those that are alike in all else, the n-th is the n-th."""
        _, _, flags, site, tph, size, ends, partitions = event
        partner, tag = ends & NONE, ends >> 32
        pair = (self._rank, partner) if phase == "s" else (partner, self._rank)
        collective = flags & MessageFlag.COLLECTIVE
        kind = f"partitions {pair[0]} {pair[1]} {tph} {site} {partitions} {tag} {collective}"
        self._counts[phase + kind] += 1
        source, target = partitions & NONE, partitions >> 32
        args: Json = {"bytes": size, "TPH": tph, "sent by": self._names.site(site)[1], "how": _how(flags)}
        args |= {"from partition": source, "to partition": target} | ({} if collective else {"tag": tag})
        name = f"send to partition {target}" if phase == "s" else f"receive from partition {source}"
        slice_ = self._json("X", now, dur=INSTANT, name=name, cat="partitions", args=args)
        return (slice_, self._flow(phase, now, "partitions", f"{kind} {self._counts[phase + kind]}"))

    def _together(self, now: float, event: Event, phase: str) -> Iterable[Json]:
        """A partition's part of a collective operation: it lasts while others of the rank run."""
        partition, number, root, scope = event[6] & NONE, event[6] >> 32, event[7] & NONE, event[7] >> 32
        name = f"{self._names.operation(event[2])} of partition {partition} · {self._thread}"
        args: Json = {"TPH": event[4], "number": number} | ({} if root == NONE else {"root": root})
        id_ = {"local": f"{self._rank}.{event[4]}.{scope}.{partition}.{number}"}
        rest = {"name": name, "args": args} if phase == "b" else {"name": name}
        return (self._json(phase, now, cat="collective", id2=id_, **rest),)

    def _message(self, now: float, event: Event, phase: str) -> Iterable[Json]:
        """A message of MPI.

        Its slice is not the routine around it: Perfetto draws arrows from the slice that begins first, and
        whoever receives may have waited since long before the message was sent.
        """
        partner, tag, number = event[6] & NONE, event[6] >> 32, event[7] & NONE
        known = self._communicators.get(number)
        if known is None:
            return ()
        # Messages between two ranks with one tag don't overtake each other, so the n-th is the n-th.
        own = self._places.get(number, 0)
        pair = (own, partner) if phase == "s" else (partner, own)
        kind = f"message {known.leader} {known.number} {pair[0]} {pair[1]} {tag}"
        self._counts[phase + kind] += 1
        way, args = "to" if phase == "s" else "from", {"bytes": event[5], "tag": tag, "on": known.name}
        name = f"message {way} {partner}"
        slice_ = self._json("X", now, dur=INSTANT, name=name, cat="message", args=args)
        return (slice_, self._flow(phase, now, "message", f"{kind} {self._counts[phase + kind]}"))

    def _flow(self, phase: str, now: float, name: str, key: str) -> Json:
        """One end of an arrow; Perfetto wants its id to be a number of 64 bits, as text."""
        rest = {"bp": "e"} if phase == "f" else {}
        number = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        return self._json(phase, now, name=name, cat="flow", id=f"0x{number}", **rest)

    def _queue(self, now: float, event: Event) -> Iterable[Json]:
        edge, sender = event[5] & NONE, event[5] >> 32
        name = f"queue {self._names.tag(edge)}" + ("" if sender == NONE else f" from rank {sender}")
        return self._sample(now, name, "entries", event[6])

    def _memory(self, now: float, change: int) -> Iterable[Json]:
        self._held += change
        return self._sample(now, "memory allocated minus freed", "bytes", self._held)

    def _counter(self, now: float, event: Event) -> Iterable[Json]:
        unit = self._texts.get((TextKind.COUNTER_UNIT, event[5])) or "value"
        name = self._name(TextKind.COUNTER, event[5], "counter")
        return self._sample(now, name, unit, value_of(event[6], event[2]))

    def _sample(self, now: float, name: str, unit: str, value: float) -> Iterable[Json]:
        """A counter belongs to a process, so its name says the thread.  JSON knows no infinity."""
        if not math.isfinite(value):
            return ()
        return (self._json("C", now, name=f"{name} · {self._thread}", args={unit: value}),)

    def _context_begin(self, now: float, event: Event) -> Iterable[Json]:
        counter, value = self._counters.get(event[7] & NONE, ""), _signed(event[6], 64)
        name = f"{counter} = {value}" if counter else f"TPH {event[4]}"
        args = {"TPH": event[4], "parent": event[5], "counter": value}
        return (self._context("b", now, event[4], name=f"{name} · {self._thread}", args=args),)

    def _context_end(self, now: float, event: Event) -> Iterable[Json]:
        return (self._context("e", now, event[4], name=""),)

    def _context(self, phase: str, now: float, tph: int, **rest: Any) -> Json:
        return self._json(phase, now, cat="TPH", id2={"local": f"{self._rank}.{tph}"}, **rest)

    def _marker(self, now: float, event: Event) -> Iterable[Json]:
        name = self._name(TextKind.MARKER, event[5], "marker")
        args = {"first": event[6], "second": event[7], "TPH": event[4]}
        return (self._json("i", now, s="t", name=name, cat="marker", args=args),)

    def _phase(self, now: float, event: Event) -> Iterable[Json]:
        name = Phase(event[5]).name.lower() if event[5] in _PHASES else f"phase {event[5]}"
        return (self._json("i", now, s="t", name=f"run: {name}", cat="phase", args={"exit code": event[6]}),)

    def _name(self, kind: TextKind, number: int, what: str) -> str:
        return self._texts.get((kind, number), f"{what} {number}")


_PHASES = frozenset(map(int, Phase))


def _how(flags: int) -> str:
    return ", ".join(flag.name.lower() for flag in MessageFlag if flags & flag and flag.name) or "-"


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
