"""Writes a trace as an OTF2 archive: a location for each thread of a rank, the hosts above them.

Laid out as Score-P does it, so that SCALASCA and Vampir take it: machine and node, one process per rank,
MPI's routines with the paradigm MPI and the file "MPI", MPI_Init and MPI_Finalize on every rank (added where
they were not recorded), all of it inside one region.  Hand-overs of tags are messages of a communicator of
their own.  Times are the run's, already corrected between hosts: ns, as in the first rank's clock.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pse import __version__
from pse.trace.format._errors import TraceError
from pse.trace.format._events import EventType, TextKind
from pse.trace.format._field_values import Array
from pse.trace.interchange._event_streams import Stream, streams, unmatched_ends
from pse.trace.interchange._output import new_directory
from pse.trace.interchange._progress import Progress
from pse.trace.interchange.otf2 import _mapping as mapping
from pse.trace.interchange.otf2._definition_writer import (
    ACCUMULATED_START,
    TYPE_INT64,
    TYPE_STRING,
    TYPE_UINT64,
    DefinitionWriter,
)
from pse.trace.interchange.otf2._location_writer import AddedRecords, LocationWriter
from pse.trace.interchange.otf2._records import (
    I64,
    POINTER,
    REAL,
    TEXT,
    U8,
    U64,
    UNDEFINED,
    UNDEFINED64,
    Library,
    Otf2Error,
)
from pse.trace.interchange.otf2._symbols import Symbols
from pse.trace.interchange.otf2._thread_locations import NAME, ThreadSplitter
from pse.trace.query._selection import Selection
from pse.trace.query._trace import Trace

CREATOR = f"pse {__version__}"
DEFINITIONS, PROGRAM, PROBLEMS = "PSE::definitions", "PSE::program", "PSE::problems"
PART = 1 << 16
CHUNK_SIZE = 1 << 20
WRITE, POSIX, PLAIN = 0, 1, 1
_FLUSH = ctypes.CFUNCTYPE(U8, POINTER, U8, U64, POINTER, ctypes.c_bool)
_FLUSHED = ctypes.CFUNCTYPE(U64, POINTER, U8, U64)


class _FlushCallbacks(ctypes.Structure):
    _fields_ = (("before", _FLUSH), ("after", _FLUSHED))


def export_otf2(
    trace: Trace, out: Path, selection: Selection | None = None, progress: Progress | None = None
) -> list[str]:
    """Write a trace as an OTF2 archive: ``OUT/traces.otf2`` and what belongs to it.

    Parameters
    ----------
    trace : Trace
        What to write.
    out : Path
        A directory that doesn't exist yet or is empty.
    selection : Selection, optional
        What to leave in; ranks that are left out have no events.
    progress : Progress, optional
        Is told how many events are done.

    Returns
    -------
    list of str
        What could not be written as it was, a sentence each.

    Raises
    ------
    TraceError
        The package otf2 is missing, the selection leaves nothing, or `out` can't be written.

    Examples
    --------
    >>> export_otf2(trace, Path("archive"))  # doctest: +SKIP
    []
    """
    with Library() as library:
        chosen = streams(trace, selection)
        with new_directory(out) as directory:
            try:
                return _Archive(library, directory, trace).write(chosen, progress or Progress())
            except Otf2Error as error:
                help_ = "is the disk full, or a limit on the size of files reached?"
                raise TraceError(f"{out} can't be written: {error}", help=help_) from error


class _Archive:
    """An archive that is being written."""

    def __init__(self, library: Library, directory: Path, trace: Trace) -> None:
        self.library, self.trace = library, trace
        self.definer = DefinitionWriter()
        self.symbols = Symbols(trace, self.definer)
        self.attributes = {name: self._attribute(name) for name in mapping.NAMES}
        self.program = trace.definitions.program if trace.definitions else trace.path.name
        self.base = _base(trace)
        self.dropped = 0
        self._counts: dict[tuple[int, int], int] = {}  # Events by rank and thread.
        self._numbers: dict[tuple[int, int], int] = {}  # Locations of further threads.
        self._handle = library.make(
            "Archive_Open",
            *(os.fsencode(directory), b"traces", WRITE, CHUNK_SIZE, 4 * CHUNK_SIZE, POSIX, PLAIN),
            types=(TEXT, TEXT, U8, U64, U64, U8, U8),
        )
        self._callbacks = _FlushCallbacks(_FLUSH(lambda *_: 1), _FLUSHED())
        self._own("SetFlushCallbacks", ctypes.addressof(self._callbacks), None)
        self._own("SetSerialCollectiveCallbacks")
        library.call("Archive_SetCreator", self._handle, CREATOR.encode(), types=(TEXT,))

    def write(self, chosen: list[Stream], progress: Progress) -> list[str]:
        """Write events, then the definitions that they need."""
        by_rank = {stream.rank: stream for stream in chosen}
        ends = [stream.ends for stream in chosen if len(stream)]
        self._ends = min((first for first, _ in ends), default=0), max((last for _, last in ends), default=0)
        progress.begin(sum(map(len, chosen)))
        with self._files("Def"), self._files("Evt"):
            for rank in range(self.symbols.size):
                self._write_rank(rank, by_rank.get(rank), progress)
        self._define_ranks()
        writer = self.library.make("Archive_GetGlobalDefWriter", self._handle)
        self.definer.write(self.library, self._clock(), writer)
        self._own("CloseGlobalDefWriter", writer)
        self._own("Close")
        return list(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.dropped:
            yield (
                f"{unmatched_ends(self.dropped)}; "
                "OTF2 needs calls and waits to be nested: what could not be was left out or moved"
            )

    def _attribute(self, name: str) -> int:
        kind = TYPE_INT64 if name in mapping.SIGNED else TYPE_UINT64
        return self.definer.attribute(mapping.PREFIX + name, kind)

    def _write_rank(self, rank: int, stream: Stream | None, progress: Progress) -> None:
        """Write the events of a rank, those of each thread to a location of its own."""
        if stream is None or not len(stream):
            self._end_location(rank, 0, self._event_writer(rank, 0))
            return
        around, threads = self._surroundings(stream), ThreadSplitter()
        locations = {0: self._location(rank, 0, around)}
        for chunk, times in stream.chunks():
            for thread, events, own_times in threads.split(chunk, times):
                if thread not in locations:
                    locations[thread] = self._location(rank, thread, None)
                locations[thread].write(events, self.shifted(own_times))
            progress.advance(len(chunk))
        for thread, location in locations.items():
            location.end()
            self.dropped += location.dropped
            self._end_location(rank, thread, location.writer)

    def _location(self, rank: int, thread: int, around: AddedRecords | None) -> LocationWriter:
        writer = self._event_writer(rank, thread)
        location = LocationWriter(self.library, writer, self.symbols, self.attributes, rank)
        location.begin(around)
        return location

    def _event_writer(self, rank: int, thread: int) -> int:
        if thread:
            self._numbers[rank, thread] = self.symbols.size + len(self._numbers)
        number = self._numbers.get((rank, thread), rank)
        return self.library.make("Archive_GetEvtWriter", self._handle, number, types=(U64,))

    def _end_location(self, rank: int, thread: int, writer: int) -> None:
        """Count the events of a location, and write its definitions."""
        count = U64()
        self.library.call("EvtWriter_GetNumberOfEvents", writer, ctypes.byref(count))
        self._counts[rank, thread] = count.value
        self._own("CloseEvtWriter", writer)
        number = self._numbers.get((rank, thread), rank)
        definitions = self.library.make("Archive_GetDefWriter", self._handle, number, types=(U64,))
        if thread == 0:
            self._write_comparisons(rank, definitions)
        self._own("CloseDefWriter", definitions)

    def _write_comparisons(self, rank: int, writer: int) -> None:
        """Say how well this rank's clock is known; times are corrected, so no offset is left."""
        if rank not in self.trace.ranks:
            return
        syncs = self.trace.select(rank, EventType.CLOCK_SYNC)
        for time, bound in zip(self.times(rank, syncs["time"]), syncs["b"].tolist(), strict=True):
            self.library.call(
                "DefWriter_WriteClockOffset", writer, time, 0, float(bound), types=(U64, I64, REAL)
            )

    def times(self, rank: int, raw: Array) -> list[int]:
        """Times of a rank's clock as the archive's."""
        return self.shifted(self.trace.run_times(rank, raw))

    def shifted(self, times: Array) -> list[int]:
        """Times since the run's origin as the archive's; there is no time before 0."""
        shifted: list[int] = np.maximum(times + self.base, 0).tolist()
        return shifted

    def _clock(self) -> tuple[int, int, int, int]:
        real = self.trace.origin
        return (10**9, self.base, self.trace.span, real if real > 0 else UNDEFINED64)

    def _define_ranks(self) -> None:
        """Define hosts, processes and locations."""
        definer = self.definer
        known = {rank.rank: rank for rank in self.trace.definitions.ranks} if self.trace.definitions else {}
        hosts = {rank: file.host for rank, file in self.trace.files.items()}
        machine = definer.number("SystemTreeNode", "machine", lambda: self._node("machine", "machine"))
        self._keep_definitions(machine)
        for rank in range(self.symbols.size):
            defined = known.get(rank)
            host = hosts.get(rank) or (defined.host if defined else "unknown host")
            name = f"MPI Rank {rank}"
            if defined:
                where = "root" if defined.processor is None else f"p{defined.processor}"
                name += f" ({where} {defined.thread})"
            definer.add("LocationGroup", rank, definer.string(name), 1, self._host(host, machine), UNDEFINED)
            thread = definer.string(defined.thread if defined else "Master thread")
            definer.add("Location", rank, thread, 1, self._counts[rank, 0], rank)
        for (rank, number), location in self._numbers.items():
            shown = definer.string(f"{NAME}{number}")
            definer.add("Location", location, shown, 1, self._counts[rank, number], rank)

    def _host(self, host: str, machine: int) -> int:
        """The node of a host; ``machine/node``, as imports name it, has its machine above it."""
        above, _, name = host.rpartition("/")
        definer = self.definer
        if above:
            machine = definer.number("SystemTreeNode", above, lambda: self._node(above, "machine"))
        return definer.number("SystemTreeNode", (above, name), lambda: self._node(name, "node", machine))

    def _node(self, name: str, kind: str, parent: int = UNDEFINED) -> tuple[int, int, int]:
        return self.definer.string(name), self.definer.string(kind), parent

    def _keep_definitions(self, node: int) -> None:
        """The trace's own definitions and its program travel along: an import has them again."""
        definitions = self.trace.definitions
        if definitions is not None:
            self._keep(node, DEFINITIONS, json.dumps(json.loads(definitions.to_json())))
        if self.trace.program_text is not None:
            self._keep(node, PROGRAM, self.trace.program_text)
        if problems := _problems(self.trace):
            self._keep(node, PROBLEMS, json.dumps(problems))

    def _keep(self, node: int, name: str, text: str) -> None:
        """Add a property, in parts: a record must fit into a chunk."""
        for part, begin in enumerate(range(0, len(text), PART)):
            numbers = self.definer.string(f"{name}/{part}"), self.definer.string(text[begin : begin + PART])
            self.definer.add("SystemTreeNodeProperty", node, numbers[0], TYPE_STRING, numbers[1])

    @contextlib.contextmanager
    def _files(self, kind: str) -> Iterator[None]:
        self._own(f"Open{kind}Files")
        yield
        self._own(f"Close{kind}Files")

    def _own(self, name: str, *arguments: Any) -> None:
        self.library.call(f"Archive_{name}", self._handle, *arguments)

    def _surroundings(self, stream: Stream) -> AddedRecords:
        """What every process of an MPI program has, where this rank's events don't have it."""
        routines = stream.routines()
        begin, end = self.shifted(np.array(self._ends))
        name = "engine" if self.trace.definitions else "program"
        return AddedRecords(
            program=self.definer.program(self.program),
            whole=self.definer.region(name),
            first=None if routines & {"MPI_Init", "MPI_Init_thread"} else self.definer.routine("MPI_Init"),
            last=None if "MPI_Finalize" in routines else self.definer.routine("MPI_Finalize"),
            begin=begin,
            end=end,
            cpu=self.definer.metric("CPU time", "CPU time in modules", "ns", mode=ACCUMULATED_START),
        )


def _base(trace: Trace) -> int:
    """What makes times since the run's origin those of the first rank's clock: these stay as they are."""
    for rank in trace.ranks:
        first = trace.events(rank)["time"][:1]
        if len(first):
            return max(int(first[0]) - int(trace.run_times(rank, first)[0]), 0)
    return 0


def _problems(trace: Trace) -> list[str]:
    """What is missing in a trace, and what its recorders have left out."""
    notes = [
        f"rank {rank}: {text}"
        for rank in trace.ranks
        for (kind, _), text in trace.texts(rank).items()
        if kind == TextKind.NOTE
    ]
    return [*trace.problems, *notes]
