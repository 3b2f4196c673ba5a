"""The trace of a run as it lies on disk: definitions, the ranks' files, and what is wrong with them.

What is there is shown: a missing or damaged file of one rank is a problem with a name, not the end.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np

from pse.errors import system_help
from pse.records import dataclass
from pse.trace.format._definitions import Definitions
from pse.trace.format._errors import DAMAGED, TraceError
from pse.trace.format._events import EVENT_DTYPE, EVENTS_FILE, EventType
from pse.trace.format._field_values import Array
from pse.trace.store._chunked_reading import chunks
from pse.trace.store._directory import FILE_NAME, RANK_FILE, read_definitions, read_program
from pse.trace.store._rank_file import MOST_TYPES, RankFile, merge_rank_files, open_rank_file
from pse.trace.store._run_clock import RunClock
from pse.trace.store._text_records import decode_texts
from pse.trace.store._trace_defects import merge_alike

RARE = 256
"""Of fewer than one event in so many not all pages are read."""
FEW = 8
"""Types that are compared one by one, which is faster than a table."""


@dataclass(frozen=True)
class TraceFiles:
    """The files of one run's trace: definitions, the events of all ranks, and one clock for them.

    `pse.trace.Trace`, which offers the tables that are made of them, says what the fields are.
    """

    path: Path
    definitions: Definitions | None
    files: Mapping[int, RankFile]
    problems: tuple[str, ...]
    clock: RunClock
    program_text: str | None = None

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """Open the trace in a directory; see `pse.trace.open`."""
        path = Path(directory)
        names = _list(path)
        problems: list[str] = []
        definitions = _definitions(path, names, problems)
        files = open_files(path, names, definitions, problems)
        if not files:
            raise TraceError(
                f"{path}: nothing of this trace can be read: {'; '.join(merge_alike(problems))}", help=DAMAGED
            )
        for rank in sorted(files):
            problems += files[rank].problems
        clock = RunClock(files, {rank.rank: rank.host for rank in definitions.ranks} if definitions else {})
        text = _program(path, definitions, problems)
        return cls(path, definitions, files, merge_alike([*problems, *clock.problems]), clock, text)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks whose events are there, ascending."""
        return tuple(sorted(self.files))

    @property
    def origin(self) -> int:
        """When the earliest event of all ranks happened, ns since 1970 (UTC): time 0 of all tables."""
        return self.clock.origin

    @property
    def span(self) -> int:
        """From the earliest event to the latest, ns."""
        return self.clock.span

    def run_times(self, rank: int, raw: Array) -> Array:
        """Times of a rank's clock, as its events have them, as ns since `origin`: int64, comparable."""
        return self.clock.times(rank, raw)

    def events(self, rank: int) -> Array:
        """All events of a rank in the order of writing, with the times of its host's clock.

        An array of `EVENT_DTYPE`, mapped read-only.

        Raises
        ------
        TraceError
            The trace has no such rank.
        """
        try:
            return self.files[rank].events
        except KeyError:
            there = ", ".join(map(str, self.ranks))
            raise TraceError(
                f"{self.path} has no events of rank {rank}; it has those of the ranks {there}",
                help="name one of these ranks",
            ) from None

    def select(self, rank: int, *types: EventType) -> Array:
        """Copy of a rank's events of the given types, in the order of writing."""
        events, file = self.events(rank), self.files[rank]
        width = EVENT_DTYPE.itemsize // 8
        chosen = np.empty((sum(file.counts[kind] for kind in types), width), "<u8")
        if len(chosen) * RARE < len(events):
            places = _places(file.types, types) if len(chosen) else np.empty(0, "<i8")
            events.view("<u8").reshape(-1, width).take(places, axis=0, out=chosen)
            return chosen.view(EVENT_DTYPE).reshape(-1)
        at = made = 0
        for chunk in chunks(events) if len(chosen) else ():
            places = _places(file.types[at : at + len(chunk)], types)
            words = chunk.view("<u8").reshape(-1, width)  # Copied faster than records.
            words.take(places, axis=0, out=chosen[made : made + len(places)], mode="clip")
            at, made = at + len(chunk), made + len(places)
        return chosen.view(EVENT_DTYPE).reshape(-1)

    def texts(self, rank: int) -> dict[tuple[int, int], str]:
        """Names that a rank gave to what it numbers itself, by (`TextKind`, number)."""
        return decode_texts(self.select(rank, EventType.TEXT))


def _places(found: Array, types: Iterable[EventType]) -> Array:
    """Where some types are among those of events."""
    if len(wanted := set(types)) > FEW:
        is_wanted = np.zeros(MOST_TYPES, bool)
        is_wanted[list(wanted)] = True
        return np.flatnonzero(is_wanted[found])
    return np.flatnonzero(functools.reduce(np.logical_or, (found == kind for kind in wanted)))


def _list(path: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        raise TraceError(f"there is no trace {path}", help=_HELP) from None
    except NotADirectoryError:
        raise TraceError(f"{path} is a file; a trace is a directory", help=_HELP) from None
    except OSError as error:
        raise TraceError(f"{path} can't be read: {error.strerror}", help=system_help(error, path)) from error
    if FILE_NAME not in names and not any(map(RANK_FILE.fullmatch, names)):
        raise TraceError(f"{path} is not a trace: it has neither {FILE_NAME} nor files of events", help=_HELP)
    return names


_HELP = (
    "record one with: pse run PROGRAM -p P --trace DIR "
    "(a run that is killed before its ranks have started MPI leaves none)"
)


def _definitions(path: Path, names: Iterable[str], problems: list[str]) -> Definitions | None:
    if not any(name == FILE_NAME or is_runtimes(name) for name in names):
        return None  # MPI's events only: no call sites.
    try:
        return read_definitions(path)
    except TraceError as error:
        problems.append(f"{error.message}; call sites and ranks are shown by number")
        return None


def _program(path: Path, definitions: Definitions | None, problems: list[str]) -> str | None:
    try:
        return read_program(path, definitions) if definitions else None
    except TraceError as error:
        problems.append(error.message)
        return None


def is_runtimes(name: str) -> bool:
    """Whether a file is the runtime's, not that of others."""
    found = RANK_FILE.fullmatch(name)
    return found is not None and not found[2]


def open_files(
    path: Path,
    names: Iterable[str],
    definitions: Definitions | None,
    problems: list[str],
    ranks: Collection[int] | None = None,
) -> dict[int, RankFile]:
    """Open the usable files of all ranks, or of some; say what is wrong with them."""
    there = _by_rank(path, names)
    wanted = set(there) if definitions is None else {rank.rank for rank in definitions.ranks}
    if ranks is not None:
        there = {rank: there[rank] for rank in ranks if rank in there}
        wanted &= set(ranks)
    for rank in sorted(there.keys() - wanted):
        problems += [f"{file.name} belongs to another run; it is left out" for file in there[rank]]
    files = {}
    for rank in sorted(wanted):
        parts = list(_open_parts(path, rank, there.get(rank, []), definitions, problems))
        if parts:
            own = [part for part in parts if (part.host, part.pid) == (parts[0].host, parts[0].pid)]
            strange = (part.path.name for part in parts if part not in own)
            problems += [f"{name} belongs to another run; it is left out" for name in strange]
            files[rank] = functools.reduce(merge_rank_files, own)
    return files


def _by_rank(path: Path, names: Iterable[str]) -> dict[int, list[Path]]:
    """The files of each rank, the runtime's first."""
    there: dict[int, list[Path]] = {}
    for name in sorted(names, key=lambda name: not is_runtimes(name)):
        found = RANK_FILE.fullmatch(name)
        if found:
            there.setdefault(int(found[1]), []).append(path / name)
    return there


def _open_parts(
    path: Path, rank: int, there: list[Path], definitions: Definitions | None, problems: list[str]
) -> Iterator[RankFile]:
    if definitions is not None and not any(is_runtimes(part.name) for part in there):
        problems.append(f"rank {rank}: its file {EVENTS_FILE % (rank, '')} is missing from {path}")
    for part in there:
        try:
            yield open_rank_file(part, rank)
        except TraceError as error:
            problems.append(f"rank {rank}: {error.message}")
