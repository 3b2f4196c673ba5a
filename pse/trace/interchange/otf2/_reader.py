"""Imports OTF2 archives, Score-P's for one: every location becomes a rank of a trace.

MPI's ranks keep their numbers, further threads come after them.  Times are ns, corrected by the archive's
clock offsets; of each comparison of clocks its error bound stays.  What can't be read is said, and the rest
is kept.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import errno
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pse.records import dataclass
from pse.trace.format._definitions import Definitions, RankDefinition
from pse.trace.format._errors import TraceError
from pse.trace.format._events import EVENTS_FILE, MPI_EVENTS
from pse.trace.interchange._event_file import EventFile
from pse.trace.interchange._output import new_directory
from pse.trace.interchange._progress import Progress
from pse.trace.interchange.otf2._archive import Archive, Place, opened
from pse.trace.interchange.otf2._clock import NS, Clock
from pse.trace.interchange.otf2._location_reader import LocationReader
from pse.trace.interchange.otf2._location_state import Location
from pse.trace.interchange.otf2._markers import Marker, read_markers
from pse.trace.interchange.otf2._records import (
    I64,
    POINTER,
    REAL,
    U64,
    UNDEFINED64,
    Library,
    Otf2Error,
    definition_callback,
)
from pse.trace.interchange.otf2._thread_locations import NAME
from pse.trace.interchange.otf2._thread_merging import calls_mpi, merge_own_threads, merge_threads, move_rank
from pse.trace.interchange.otf2._truncated_files import whole_events
from pse.trace.interchange.otf2._writer import DEFINITIONS, PROBLEMS, PROGRAM
from pse.trace.store._directory import write_definitions, write_program

BATCH = 16384


def import_otf2(anchor: Path, directory: Path, progress: Progress | None = None) -> list[str]:
    """Make a trace from an OTF2 archive.

    Parameters
    ----------
    anchor : Path
        The archive's anchor file, ``traces.otf2``.
    directory : Path
        The trace: a directory that doesn't exist yet or is empty.
    progress : Progress, optional
        Is told how many events are done.

    Returns
    -------
    list of str
        What could not be taken over, a sentence each.

    Raises
    ------
    TraceError
        The package otf2 is missing, the file is not an archive, nothing in it can be read, or `directory`
        can't be written.

    Examples
    --------
    >>> import_otf2(Path("archive/traces.otf2"), Path("imported"))  # doctest: +SKIP
    []
    """
    with Library() as library, opened(library, anchor) as archive, new_directory(directory) as out:
        return _Import(library, archive, out).run(progress or Progress())


@dataclass(frozen=True)
class _LocalDefinitions:
    """What the file of definitions of a location says: its clock's offsets, in ticks."""

    offsets: tuple[tuple[int, int], ...] = ()
    bounds: tuple[float, ...] = ()


class _Import:
    """An import that is under way."""

    def __init__(self, library: Library, archive: Archive, out: Path) -> None:
        self._library, self._archive, self._out = library, archive, out
        self._own = archive.creator.startswith("pse ")
        self._definitions = _kept_definitions(archive) if self._own else _thread_names(archive)
        self._problems: list[str] = []
        self._lost: collections.Counter[str] = collections.Counter()
        self._marks = self._read_marks()
        self._communicators: collections.defaultdict[int, dict[int, int]] = collections.defaultdict(dict)

    def run(self, progress: Progress) -> list[str]:
        """Read all locations; give what could not be taken over."""
        places = self._archive.places
        progress.begin(sum(place.events for place in places if place.events != UNDEFINED64))
        with self._files_open("Def"):
            local = {place: self._local_definitions(place) for place in places}
        with self._files_open("Evt"):
            found = sum(self._read(place, known, progress) for place, known in local.items() if known)
        if not found:
            reasons = "; ".join(self._problems) or "it has no events"
            raise TraceError(
                f"{self._archive.anchor}: nothing of this archive can be imported: {reasons}",
                help="copy all of the archive, or record it again",
            )
        self._merge_threads()
        if self._definitions is not None:
            write_definitions(self._out, self._definitions)
        if self._own and (program := self._archive.property(PROGRAM)) is not None:
            write_program(self._out, program)
        return [*_kept_problems(self._archive), *self._problems, *self._lost_ones()]

    def _merge_threads(self) -> None:
        """Make one rank of the threads of a process that call MPI; its others keep ranks of their own."""
        files = {place: self._file_of(place.rank) for place in self._archive.places}
        gone = set[int]()
        for rank in [place for place in files if place.is_mpi and files[place].exists()]:
            others = [place for place in files if place.process == rank.process and not place.is_mpi]
            threads = [place for place in others if self._own or calls_mpi(files[place])]
            if threads and self._own:
                numbers = [0, *(int(place.name.removeprefix(NAME)) for place in threads)]
                merge_own_threads([files[place] for place in (rank, *threads)], numbers)
            elif threads:
                merge_threads([files[place] for place in (rank, *threads)])
                gone |= {place.rank for place in threads}
        if gone and self._definitions is not None:
            self._definitions = replace(self._definitions, ranks=tuple(self._close_gaps(gone)))

    def _close_gaps(self, gone: set[int]) -> Iterator[RankDefinition]:
        """Number ranks anew."""
        assert self._definitions is not None
        kept = [rank for rank in self._definitions.ranks if rank.rank not in gone]
        for number, rank in enumerate(kept):
            if number != rank.rank and self._file_of(rank.rank).exists():
                move_rank(self._file_of(rank.rank), self._file_of(number), number)
            yield replace(rank, rank=number)

    def _file_of(self, rank: int) -> Path:
        return self._out / (EVENTS_FILE % (rank, MPI_EVENTS if self._definitions is None else ""))

    def _read_marks(self) -> dict[int, list[Marker]]:
        try:
            return read_markers(self._archive)
        except Otf2Error as error:
            path = self._archive.anchor.with_suffix(".marker")
            self._problems.append(f"{path} can't be read, so its marks are left out: {error}")
            return {}

    def _lost_ones(self) -> Iterator[str]:
        if self._lost:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._lost.items()))
            yield f"events that have no place in a trace of pse were left out: {kinds}"

    @contextlib.contextmanager
    def _files_open(self, kind: str) -> Iterator[None]:
        """Have the locations' files of a kind open; who misses a file is found out one by one."""
        for place in self._archive.places:
            self._archive.call("SelectLocation", place.location, types=(U64,))
        with contextlib.suppress(Otf2Error):
            self._archive.call(f"Open{kind}Files")
        yield
        with contextlib.suppress(Otf2Error):
            self._archive.call(f"Close{kind}Files")

    def _path(self, place: Place, suffix: str) -> Path:
        return self._archive.anchor.with_suffix("") / f"{place.location}.{suffix}"

    def _local_definitions(self, place: Place) -> _LocalDefinitions | None:
        """Read the definitions of a location; None if its events can't be understood.

        They may hold tables without which numbers in the events mean something else.  An archive may do
        without all of these files, but where some are there, the others are missing.
        """
        if not self._path(place, "def").exists():
            if any(self._path(other, "def").exists() for other in self._archive.places):
                self._problem(
                    place, f"{self._path(place, 'def')} is missing, so its events can't be understood"
                )
                return None
            return _LocalDefinitions()
        try:
            if self._archive.is_cut(self._path(place, "def")):
                self._problem(
                    place, f"{self._path(place, 'def')} is cut off, so its events can't be understood"
                )
                return None
            return self._read_local(place)
        except (OSError, Otf2Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self._problem(place, f"{self._path(place, 'def')} can't be read: {reason}")
            return None

    def _read_local(self, place: Place) -> _LocalDefinitions:
        offsets: list[tuple[int, int]] = []
        bounds: list[float] = []

        def keep(_data: int, time: int, offset: int, bound: float) -> int:
            offsets.append((time, offset))
            bounds.append(bound)
            return 0

        callback = definition_callback((U64, I64, REAL))(keep)
        callbacks = self._library.make("DefReaderCallbacks_New")
        self._library.call("DefReaderCallbacks_SetClockOffsetCallback", callbacks, callback)
        reader = self._library.make("Reader_GetDefReader", self._archive.handle, place.location, types=(U64,))
        self._archive.call("RegisterDefCallbacks", reader, callbacks, None)
        self._archive.call("ReadAllLocalDefinitions", reader, ctypes.byref(U64()))
        self._archive.call("CloseDefReader", reader)
        self._library.function("DefReaderCallbacks_Delete", POINTER, result=None)(callbacks)
        return _LocalDefinitions(tuple(offsets), tuple(bounds))

    def _read(self, place: Place, local: _LocalDefinitions, progress: Progress) -> int:
        """Read the events of a location; give their number in the trace."""
        resolution, first, _, real = self._archive.clock
        clock = Clock(resolution, local.offsets)
        file = EventFile(
            self._file_of(place.rank),
            *(place.rank, place.host, 0 if real == UNDEFINED64 else real, Clock(resolution).ns(first)),
            with_residuals=not clock.is_exact,
        )
        try:
            known = self._communicators[place.process if self._own else -1 - place.location]
            location = Location(self._archive, place, file, clock, self._own, known)
            syncs, marks = self._syncs(place, local, clock), self._marks.get(place.rank, ())
            callbacks = LocationReader(self._library, location, syncs, marks)
            whole = self._read_events(place, callbacks, progress)
            callbacks.finish()
            self._lost.update(location.lost)
            file.close(0 if whole else errno.ENODATA)
        finally:
            file.abandon()
        if not callbacks.seen and not (whole and (self._definitions or not self._own)):
            file.remove()  # Ranks whose events were not exported, or can't be read.
        return callbacks.seen

    def _syncs(self, place: Place, local: _LocalDefinitions, clock: Clock) -> list[tuple[int, int]]:
        """When the location's clock was compared, and how well; an archive without that has one clock."""
        resolution = self._archive.clock[0]
        if local.offsets:
            bounds = (_ns_of(bound, resolution) for bound in local.bounds)
            return [(clock.ns(ticks), bound) for (ticks, _), bound in zip(local.offsets, bounds, strict=True)]
        several = len({other.host for other in self._archive.places}) > 1
        return [(0, 0), (UNDEFINED64, 0)] if several and not self._own else []

    def _read_events(self, place: Place, callbacks: LocationReader, progress: Progress) -> bool:
        """Read a location's events; whether all of them could be read."""
        read, path = 0, self._path(place, "evt")
        if not path.exists():
            return self._incomplete(place, 0, "the file is missing")
        try:
            is_cut = self._archive.is_cut(path)
            readable = whole_events(path, self._archive.chunk_size) if is_cut else place.events
        except OSError as error:
            return self._incomplete(place, 0, f"the file can't be read: {error.strerror}")
        self._library.last_error()
        try:
            reader = self._library.make(
                "Reader_GetEvtReader", self._archive.handle, place.location, types=(U64,)
            )
            self._library.function("EvtReader_ApplyClockOffsets", POINTER, ctypes.c_int)(reader, 0)
            table = callbacks.register()
            self._archive.call("RegisterEvtCallbacks", reader, table, None)  # It is copied.
            self._library.function("EvtReaderCallbacks_Delete", POINTER, result=None)(table)
            while read < readable and (more := self._batch(reader, callbacks, readable - read)):
                read += more
                progress.advance(more)
            self._archive.call("CloseEvtReader", reader)
        except Otf2Error as error:
            return self._incomplete(place, callbacks.seen, str(error))
        if place.events not in (read, UNDEFINED64):
            return self._incomplete(place, read, "the file is cut off" if is_cut else "the file ends there")
        return True

    def _incomplete(self, place: Place, seen: int, reason: str) -> bool:
        path = self._path(place, "evt")
        self._problem(place, f"{path}: {seen:,} of {place.events:,} events can be read: {reason}")
        return False

    def _batch(self, reader: int, callbacks: LocationReader, left: int) -> int:
        """Read some events; give their number.  The library takes it amiss if there are fewer."""
        count = U64()
        function = self._library.function("Reader_ReadLocalEvents", POINTER, POINTER, U64, POINTER)
        code = function(self._archive.handle, reader, min(left, BATCH), ctypes.byref(count))
        if callbacks.failure is not None:
            raise callbacks.failure
        self._library.check(code)
        return count.value

    def _problem(self, place: Place, text: str) -> None:
        self._problems.append(f"rank {place.rank} (location {place.location}): {text}")


def _ns_of(ticks: float, resolution: int) -> int:
    """Ticks as ns; damaged ones may be anything."""
    return round(min(max(ticks * NS / resolution, 0), _CENTURIES)) if ticks == ticks else _CENTURIES


_CENTURIES = 1 << 62  # ns


def _kept_problems(archive: Archive) -> list[str]:
    """What was missing in the trace that pse exported, a sentence each."""
    try:
        said = json.loads(archive.property(PROBLEMS) or "[]")
    except ValueError:
        return []
    return [str(text) for text in said] if isinstance(said, list) else []


def _kept_definitions(archive: Archive) -> Definitions | None:
    """The definitions of the trace that pse exported."""
    text = archive.property(DEFINITIONS)
    return None if text is None else Definitions.from_json(text)


def _thread_names(archive: Archive) -> Definitions | None:
    """Definitions that only name threads, where processes have several; pure MPI needs none."""
    places = archive.places
    if len({place.process for place in places}) == len(places):
        return None
    real, anchor = archive.clock[3], archive.anchor.resolve()
    started = datetime.fromtimestamp(0 if real == UNDEFINED64 else real / 1e9, UTC)
    return Definitions(
        program=anchor.parent.name if anchor.stem == "traces" else anchor.stem,
        text_sha256=hashlib.sha256(anchor.read_bytes()).hexdigest(),
        parameters={},
        options={},
        sites=(),
        edges=(),
        ranks=tuple(
            RankDefinition(place.rank, "parallel", place.name, place.process, place.host) for place in places
        ),
        environment={"imported from": "OTF2", "creator": archive.creator},
        started=started.isoformat(),
    )
