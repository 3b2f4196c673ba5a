"""Marks that somebody set in an OTF2 archive (``traces.marker``; Vampir and otf2-marker do that)."""

from __future__ import annotations

import ctypes
from typing import Any

from pse.records import dataclass
from pse.trace.interchange.otf2._archive import Archive
from pse.trace.interchange.otf2._clock import Clock
from pse.trace.interchange.otf2._records import POINTER, TEXT, U8, U32, U64, definition_callback

LOCATION, LOCATION_GROUP = 1, 2


@dataclass(frozen=True)
class Marker:
    """A mark: when, ns, for how long, ns, and its text: ``category: what somebody wrote``."""

    time: int
    duration: int
    text: str


def read_markers(archive: Archive) -> dict[int, list[Marker]]:
    """Marks by the rank that they belong to; those of more than a process go to the first rank.

    Raises
    ------
    Otf2Error
        They can't be read.
    """
    found: dict[int, list[Marker]] = {}
    if not archive.anchor.with_suffix(".marker").exists():
        return found
    library, clock = archive.library, Clock(archive.clock[0])
    categories: dict[int, str] = {}

    def define(_data: int, number: int, _group: bytes, category: bytes, _severity: int) -> int:
        categories[number] = category.decode(errors="replace")
        return 0

    def keep(_data: int, time: int, duration: int, number: int, scope: int, where: int, text: bytes) -> int:
        name = ": ".join(filter(None, [categories.get(number, ""), text.decode(errors="replace")]))
        mark = Marker(clock.ns(time), clock.ns(duration), name)
        found.setdefault(_rank(archive, scope, where), []).append(mark)
        return 0

    callbacks = library.make("MarkerReaderCallbacks_New")
    handlers: dict[str, Any] = {
        "DefMarker": definition_callback((U32, TEXT, TEXT, U8))(define),
        "Marker": definition_callback((U64, U64, U32, U8, U64, TEXT))(keep),
    }
    for name, handler in handlers.items():
        library.call(f"MarkerReaderCallbacks_Set{name}Callback", callbacks, handler)
    reader = library.make("Reader_GetMarkerReader", archive.handle)
    archive.call("RegisterMarkerCallbacks", reader, callbacks, None)
    archive.call("ReadAllMarkers", reader, ctypes.byref(U64()))
    archive.call("CloseMarkerReader", reader)
    library.function("MarkerReaderCallbacks_Delete", POINTER, result=None)(callbacks)
    return found


def _rank(archive: Archive, scope: int, where: int) -> int:
    for place in archive.places:
        group = archive.tables["Location"][place.location][3]
        if (scope, where) in ((LOCATION, place.location), (LOCATION_GROUP, group)):
            return place.rank
    return 0
