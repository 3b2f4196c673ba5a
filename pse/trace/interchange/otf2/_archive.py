"""The definitions of an OTF2 archive, as they were read: ranks, hosts, communicators."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pse.errors import system_help
from pse.records import dataclass
from pse.text import printable_text
from pse.trace.format._errors import TraceError, refuse_pipes
from pse.trace.interchange.otf2._definition_writer import COMM_GROUP, COMM_LOCATIONS, COMM_SELF, MPI
from pse.trace.interchange.otf2._records import (
    DEFINITIONS,
    POINTER,
    TEXT,
    U8,
    U32,
    U64,
    UNDEFINED,
    Library,
    Otf2Error,
    definition_callback,
    items,
)
from pse.trace.interchange.otf2._truncated_files import is_whole

METRIC_LOCATION, ACCELERATOR = 3, 2
PLAIN = POSIX = 1


@dataclass(frozen=True)
class Place:
    """A location and what it becomes: the rank of an imported trace.

    Parameters
    ----------
    rank : int
        Its number in the imported trace.
    location : int
        Its number in the archive.
    name : str
        Its name: ``Master thread``.
    process : int
        Rank of its process in MPI; without MPI, processes are numbered as they come.
    host : str
        Where it ran.
    events : int
        How many events it has.
    is_mpi : bool
        Whether it is a rank of MPI, not a further thread of one.
    """

    rank: int
    location: int
    name: str
    process: int
    host: str
    events: int
    is_mpi: bool


class Archive:
    """An archive that is open for reading.

    Parameters
    ----------
    library : Library
        The C library.
    anchor : Path
        The archive's anchor file, ``traces.otf2``.

    Attributes
    ----------
    handle : int
        The library's reader.
    tables : dict
        Definitions: record, then number, then the fields that follow the number.
    creator : str
        What wrote the archive.
    chunk_size : int
        Bytes of a chunk of events.

    Raises
    ------
    TraceError
        It isn't an archive, it is damaged, or newer than the library.
    """

    def __init__(self, library: Library, anchor: Path) -> None:
        _check_anchor(anchor)
        if not (definitions := anchor.with_suffix(".def")).exists():
            raise TraceError(f"{definitions} is missing: the archive can't be read without it", help=_WHOLE)
        self.library, self.anchor = library, anchor
        self.tables: dict[str, dict[Any, tuple[Any, ...]]] = {record: {} for record in DEFINITIONS}
        try:
            refuse_pipes(definitions)
            self.handle = library.make("Reader_Open", os.fsencode(anchor), types=(TEXT,))
            self.call("SetSerialCollectiveCallbacks")
            self.creator = self._creator()
            self.chunk_size, self.marks_ends = self._layout()
            if self.is_cut(definitions):
                raise TraceError(f"{definitions} is cut off", help=_WHOLE)
            self._read_definitions()
        except Otf2Error as error:
            raise TraceError(f"{anchor} can't be read: {error}", help=_HELP) from error
        except OSError as error:
            raise TraceError(f"{definitions} can't be read: {error.strerror}", help=_WHOLE) from error
        if not self.tables["ClockProperties"]:
            raise TraceError(
                f"{anchor}: the archive doesn't say what its clock is (no ClockProperties)", help=_WHOLE
            )

    def call(self, name: str, *arguments: Any, types: tuple[Any, ...] = ()) -> None:
        """Call a function of the library's reader."""
        self.library.call(f"Reader_{name}", self.handle, *arguments, types=types)

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(Otf2Error):
            self.call("Close")

    def string(self, number: int) -> str:
        """A string, "" for none."""
        found: str = self.tables["String"].get(number, ("",))[0]
        return found

    def name(self, record: str, number: int) -> str:
        """Name of a definition whose first field is its name."""
        found = self.tables[record].get(number)
        return printable_text(self.string(found[0])) if found else f"{record.lower()} {number}"

    @functools.cached_property
    def clock(self) -> tuple[int, int, int, int]:
        """Ticks per second, first time, length, and the first time in ns since 1970."""
        resolution, *rest = self.tables["ClockProperties"][0]
        return (max(resolution, 1), *rest)

    @functools.cached_property
    def places(self) -> list[Place]:
        """What becomes of the locations: MPI's ranks come first, then other threads, by their processes."""
        locations = self.tables["Location"]
        ranks = [location for location in self._mpi_locations if location in locations]
        processes: dict[int, int] = {}
        for location in [*ranks, *sorted(locations)]:
            processes.setdefault(self._process(location), len(processes))
        rest = [
            number
            for number in sorted(locations, key=lambda n: (processes[self._process(n)], n))
            if number not in set(ranks) and (locations[number][1] != METRIC_LOCATION or locations[number][2])
        ]
        return [self._place(rank, number, processes) for rank, number in enumerate([*ranks, *rest])]

    def _place(self, rank: int, location: int, processes: dict[int, int]) -> Place:
        name, _, events, group = self.tables["Location"][location]
        process = processes[self._process(location)]
        node = self.tables["LocationGroup"].get(group, (0, 0, UNDEFINED))[2]
        host = self._hosts.get(node, "unknown host")
        is_mpi = rank < len(self._mpi_locations)
        shown = self.string(name) or self._recorded(location)
        return Place(rank, location, shown, process, host, events, is_mpi)

    def _recorded(self, location: int) -> str:
        """What an unnamed location tells of: recorders of metrics often have no name."""
        for metric, recorder, *_ in self.tables["MetricInstance"].values():
            members = self.tables["MetricClass"].get(metric, ((),))[0]
            if recorder == location and members:
                return self.name("MetricMember", members[0])
        return f"location {location}"

    def _process(self, location: int) -> int:
        """The location group that a location belongs to; an accelerator's is the process that uses it."""
        group: int = self.tables["Location"][location][3]
        _, kind, _, user = self.tables["LocationGroup"].get(group, (0, 0, 0, UNDEFINED))
        return user if kind == ACCELERATOR and user in self.tables["LocationGroup"] else group

    @functools.cached_property
    def _mpi_locations(self) -> tuple[int, ...]:
        """Locations of MPI's ranks, in their order."""
        for _, kind, paradigm, _, members in self.tables["Group"].values():
            if (kind, paradigm) == (COMM_LOCATIONS, MPI):
                return tuple(members)
        return ()

    @functools.cached_property
    def _hosts(self) -> dict[int, str]:
        """Name of the host of every system-tree node; with several machines, ``machine/host``."""
        nodes = self.tables["SystemTreeNode"]
        found = {number: self._above(number) for number in nodes}
        several = len({machine for machine, _ in found.values() if machine is not None}) > 1
        names = {}
        for number, (machine, host) in found.items():
            names[number] = self.name("SystemTreeNode", host)
            if several and machine not in (None, host):
                names[number] = f"{self.name('SystemTreeNode', machine)}/{names[number]}"
        twice = collections.Counter(names[host] for host in {host for _, host in found.values()})
        return {n: name if twice[name] == 1 else f"{name} ({found[n][1]})" for n, name in names.items()}

    def _above(self, number: int) -> tuple[int | None, int]:
        """The machine and the node that a system-tree node belongs to; a node without either is a host."""
        machine, host = None, number
        seen: set[int] = set()
        while number in self.tables["SystemTreeNode"] and number not in seen:
            seen.add(number)
            _, kind, parent = self.tables["SystemTreeNode"][number]
            kind_name = self.string(kind).lower()
            host = number if kind_name == "node" else host
            machine = number if kind_name == "machine" and machine is None else machine
            number = parent
        return machine, host

    @functools.cached_property
    def members(self) -> dict[int, tuple[int, ...] | None]:
        """Ranks in every communicator of MPI, of both sides of an intercommunicator; None: only oneself."""
        found: dict[int, tuple[int, ...] | None] = {}
        for number, (_, group, *_rest) in self.tables["Comm"].items():
            kind, paradigm = self.tables["Group"].get(group, (0, 0, MPI))[1:3]
            if paradigm == MPI:
                found[number] = None if kind == COMM_SELF else self._ranks(group)
        for number, (_, first, second, *_rest) in self.tables["InterComm"].items():
            found[number] = self._ranks(first) + self._ranks(second)
        return found

    def _ranks(self, group: int) -> tuple[int, ...]:
        """Ranks of the members of a group, which are places among MPI's locations or locations."""
        _, kind, _, _, members = self.tables["Group"].get(group, (0, 0, 0, 0, ()))
        if kind == COMM_GROUP:
            return tuple(members)
        places = {location: rank for rank, location in enumerate(self._mpi_locations)}
        return tuple(places[location] for location in members if location in places)

    @functools.cached_property
    def sides(self) -> dict[int, tuple[int, ...]]:
        """First side of every intercommunicator."""
        return {number: self._ranks(fields[1]) for number, fields in self.tables["InterComm"].items()}

    def property(self, name: str) -> str | None:
        """A text that pse keeps in properties of a system-tree node, in parts."""
        parts = {}
        for (_, key), (_, value) in self.tables["SystemTreeNodeProperty"].items():
            of, _, part = self.string(key).rpartition("/")
            if of == name and part.isdigit():
                parts[int(part)] = self.string(value & UNDEFINED)  # A union: a string is half of it.
        return "".join(parts[part] for part in sorted(parts)) if parts else None

    def is_cut(self, path: Path) -> bool:
        """Whether a file of the archive lacks its end."""
        return self.marks_ends and not is_whole(path)

    def _layout(self) -> tuple[int, bool]:
        """Bytes of a chunk of events; whether files end with a mark that can be looked for."""
        events, definitions, version = U64(), U64(), (U8(), U8(), U8())
        compression, substrate = U8(), U8()
        self.call("GetChunkSize", ctypes.byref(events), ctypes.byref(definitions))
        self.call("GetVersion", *map(ctypes.byref, version))
        self.call("GetCompression", ctypes.byref(compression))
        self.call("GetFileSubstrate", ctypes.byref(substrate))
        plain = (compression.value, substrate.value) == (PLAIN, POSIX)
        return max(events.value, 1), plain and version[0].value >= 2

    def _creator(self) -> str:
        text = POINTER()
        self.call("GetCreator", ctypes.byref(text))
        return (ctypes.cast(text, TEXT).value or b"").decode(errors="replace")

    def _read_definitions(self) -> None:
        callbacks = self.library.make("GlobalDefReaderCallbacks_New")
        keep = []
        for record, types in DEFINITIONS.items():
            callback = definition_callback(types)(functools.partial(self._keep, record))
            keep.append(callback)
            self.library.call(f"GlobalDefReaderCallbacks_Set{record}Callback", callbacks, callback)
        reader = self.library.make("Reader_GetGlobalDefReader", self.handle)
        self.call("RegisterGlobalDefCallbacks", reader, callbacks, None)
        count = U64()
        self.call("ReadAllGlobalDefinitions", reader, ctypes.byref(count))
        self.call("CloseGlobalDefReader", reader)
        self.library.function("GlobalDefReaderCallbacks_Delete", POINTER, result=None)(callbacks)

    def _keep(self, record: str, _data: int, *fields: Any) -> int:
        """Keep a definition; those that have no number of their own are kept by what they belong to."""
        if record == "String":
            self.tables[record][fields[0]] = ((fields[1] or b"").decode(errors="replace"),)
        elif record == "ClockProperties":
            self.tables[record][0] = fields
        elif record == "Group":
            *rest, count, members = fields
            self.tables[record][rest[0]] = (*rest[1:], tuple(items(members, U64, count)))
        elif record == "MetricClass":
            number, count, members, *_ = fields
            self.tables[record][number] = (tuple(items(members, U32, count)),)
        elif record == "SystemTreeNodeProperty":
            self.tables[record][fields[:2]] = fields[2:]
        else:
            self.tables[record][fields[0]] = fields[1:]
        return 0


_WHOLE = "copy all of the archive: traces.otf2, traces.def and the directory traces"
_HELP = "is it whole, and no newer than the installed package otf2? (otf2-print -I says what it is)"


def _check_anchor(anchor: Path) -> None:
    """Say what is wrong with a file that is clearly no anchor file."""
    help_ = "name the anchor file of an OTF2 archive: traces.otf2"
    try:
        with anchor.open("rb") as file:
            head = file.read(6)
    except FileNotFoundError:
        raise TraceError(f"there is no OTF2 archive {anchor}", help=help_) from None
    except IsADirectoryError:
        raise TraceError(f"{anchor} is a directory, not an anchor file", help=help_) from None
    except OSError as error:
        message = f"{anchor} can't be read: {error.strerror}"
        raise TraceError(message, help=system_help(error, anchor)) from error
    if not head:
        raise TraceError(f"{anchor} is empty", help=help_)
    if b"OTF2"[: len(head)] not in head:
        raise TraceError(
            f"{anchor} is not the anchor file of an OTF2 archive: it begins with other bytes", help=help_
        )


@contextlib.contextmanager
def opened(library: Library, anchor: Path) -> Iterator[Archive]:
    """Open an archive and close it again."""
    archive = Archive(library, anchor)
    try:
        yield archive
    finally:
        archive.close()
