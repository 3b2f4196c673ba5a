"""The definitions of an OTF2 archive: everything gets its number at first use, and is written at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pse.text import split_place
from pse.trace.interchange.otf2._records import DEFINITIONS, U32, U64, UNDEFINED, Library, array

MPI, USER, MEASUREMENT_SYSTEM = 4, 1, 6  # Paradigms.
FUNCTION, BARRIER, ONE_TO_ALL, ALL_TO_ONE, ALL_TO_ALL, OTHER, POINT_TO_POINT = 1, 15, 23, 24, 25, 26, 28
ARTIFICIAL = 31
TYPE_UINT64, TYPE_INT64, TYPE_DOUBLE, TYPE_STRING = 4, 8, 10, 11
COMM_LOCATIONS, COMM_GROUP, COMM_SELF = 4, 5, 6
ACCUMULATED_START, ABSOLUTE_POINT = 0, 17
CREATE_DESTROY_EVENTS = 1
ORDER = (
    *("Paradigm", "Attribute", "SystemTreeNode", "SystemTreeNodeDomain", "SystemTreeNodeProperty"),
    *("LocationGroup", "Location", "Region", "Group", "Comm", "MetricMember", "MetricClass", "Parameter"),
)
"""What refers to something comes after it; strings come before all."""

_ROLES = {
    **dict.fromkeys(("Barrier", "Ibarrier"), BARRIER),
    **dict.fromkeys(("Bcast", "Scatter", "Scatterv"), ONE_TO_ALL),
    **dict.fromkeys(("Gather", "Gatherv", "Reduce"), ALL_TO_ONE),
    **dict.fromkeys(("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv"), ALL_TO_ALL),
    **dict.fromkeys(("Alltoallw", "Reduce_scatter", "Reduce_scatter_block"), ALL_TO_ALL),
    **dict.fromkeys(("Scan", "Exscan"), OTHER),
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend", "Recv", "Isend", "Irecv"), POINT_TO_POINT),
}


class DefinitionWriter:
    """Numbers of the definitions of one archive."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self._numbers: dict[tuple[str, Any], int] = {}
        self._written: dict[str, list[tuple[Any, ...]]] = {record: [] for record in ORDER}
        self._written["Paradigm"] = [
            (USER, self.string("user"), 1),
            (MPI, self.string("MPI"), 0),
            (MEASUREMENT_SYSTEM, self.string("measurement system"), 0),
        ]

    def string(self, text: str) -> int:
        """Number of a string; C's strings end at a NUL, so none may be inside."""
        return self._strings.setdefault(text.replace("\0", "\N{REPLACEMENT CHARACTER}"), len(self._strings))

    def number(self, record: str, key: Any, fields: Callable[[], tuple[Any, ...]]) -> int:
        """Number of a definition; when it is new, `fields` gives what follows the number in its record."""
        found = self._numbers.get((record, key))
        if found is None:
            rest = fields()
            found = self._numbers[record, key] = len(self._written[record])
            self._written[record].append((found, *rest))
        return found

    def add(self, record: str, *fields: Any) -> None:
        """Add a definition that has no number, or one that the caller chose."""
        self._written[record].append(fields)

    def attribute(self, name: str, kind: int) -> int:
        """Number of an attribute of events."""
        return self.number("Attribute", name, lambda: (self.string(name), 0, kind))

    def region(self, name: str, place: str = "", paradigm: int = USER) -> int:
        """Number of a region; `place` is that of a call site and becomes its description too."""

        def fields() -> tuple[Any, ...]:
            file, line = ("MPI", 0) if paradigm == MPI else _file_and_line(place)
            role = _ROLES.get(name.removeprefix("MPI_"), FUNCTION) if paradigm == MPI else FUNCTION
            names = (self.string(name), self.string(name), self.string(place))
            return (*names, role, paradigm, 0, self.string(file), line, line)

        return self.number("Region", (name, place, paradigm), fields)

    def routine(self, name: str, place: str = "") -> int:
        """Number of the region of a routine; MPI's are known to analysers by their plain names.

        What they were called is their description: they have no place.
        """
        if name.startswith("MPI_"):
            return self.region(name.removesuffix("_c"), name, MPI)
        return self.region(name, place)

    def program(self, name: str) -> int:
        """Number of the string with a program's name; SCALASCA looks for a region of this name, too."""

        def fields() -> tuple[Any, ...]:
            shown = self.string(name.rpartition("/")[2])
            return (shown, self.string(name), 0, ARTIFICIAL, MEASUREMENT_SYSTEM, 0, 0, 0, 0)

        self.number("Region", ("program", name), fields)
        return self.string(name)

    def group(self, members: Sequence[int], kind: int = COMM_GROUP) -> int:
        """Number of a group of ranks (COMM_LOCATIONS: of locations, in the order of ranks)."""
        fields = (self.string(""), kind, MPI, 0, tuple(members))
        return self.number("Group", (kind, tuple(members)), lambda: fields)

    def communicator(self, key: Any, name: str, group: int, parent: int = UNDEFINED, flags: int = 0) -> int:
        """Number of a communicator; `key` tells it from others of the same name."""
        return self.number("Comm", key, lambda: (self.string(name), group, parent, flags))

    def metric(
        self, key: Any, name: str, unit: str, kind: int = TYPE_UINT64, mode: int = ABSOLUTE_POINT
    ) -> int:
        """Number of a metric with one member."""
        scale = -9 if unit == "ns" else 0

        def member() -> tuple[Any, ...]:
            shown = "s" if scale else unit
            return (self.string(name), self.string(unit), 3, mode, kind, 1, scale, self.string(shown))

        def fields() -> tuple[Any, ...]:
            return ((self.number("MetricMember", key, member),), 2, 0)

        return self.number("MetricClass", key, fields)

    def parameter(self, name: str) -> int:
        """Number of a parameter that is an unsigned number."""
        return self.number("Parameter", name, lambda: (self.string(name), 2))

    def write(self, library: Library, clock: tuple[int, int, int, int], writer: int) -> None:
        """Write the clock's properties and all that was defined with a writer of global definitions."""
        library.call(
            "GlobalDefWriter_WriteClockProperties", writer, *clock, types=DEFINITIONS["ClockProperties"]
        )
        for text, number in self._strings.items():
            encoded = text.encode(errors="replace")
            library.call("GlobalDefWriter_WriteString", writer, number, encoded, types=DEFINITIONS["String"])
        for record in ORDER:
            for fields in self._written[record]:
                values = _with_arrays(record, fields)
                library.call(f"GlobalDefWriter_Write{record}", writer, *values, types=DEFINITIONS[record])


def _file_and_line(place: str) -> tuple[str, int]:
    file, steps = split_place(place)
    return file, steps[-1][0] if steps else 0


def _with_arrays(record: str, fields: tuple[Any, ...]) -> tuple[Any, ...]:
    """Fields as C takes them: a sequence becomes its length and an array."""
    if record == "Group":
        *rest, members = fields
        return (*rest, len(members), array(U64, members))
    if record == "MetricClass":
        number, members, occurrence, recorder = fields
        return (number, len(members), array(U32, members), occurrence, recorder)
    return fields
