"""Traces: what is recorded while a program runs, and how it is read.

Writing: `create` a directory, `write_definitions` once, one `Recorder` per rank.  Reading: `open` a
directory, take tables from the `Trace`, or `summarize` it.  ``docs/trace.md`` says what every record means;
the one table behind it is ``cext/recorder/events.def``.

May touch: the trace's directory.  Imports no other room.  Next rooms: ``runtime`` records, ``advise`` and
``views`` read.
"""

from pse.trace._recorder import Recorder, clock, pair
from pse.trace.definitions import (
    Definitions,
    EdgeDefinition,
    LoopDefinition,
    RankDefinition,
    SiteDefinition,
    digest,
)
from pse.trace.directory import create, read_definitions, write_definitions, write_program
from pse.trace.errors import TraceError
from pse.trace.events import (
    EVENT_DTYPE,
    NONE,
    SCHEMA_VERSION,
    Collective,
    EventType,
    MemoryFlag,
    MessageFlag,
    ModuleFlag,
    Phase,
    SendMode,
    TextKind,
    ValueKind,
    WaitReason,
)
from pse.trace.reader import Trace
from pse.trace.reader import open_trace as open
from pse.trace.selection import Selection
from pse.trace.summary import summarize
from pse.trace.summary_rows import Summary

__all__ = [
    "EVENT_DTYPE",
    "NONE",
    "SCHEMA_VERSION",
    "Collective",
    "Definitions",
    "EdgeDefinition",
    "EventType",
    "LoopDefinition",
    "MemoryFlag",
    "MessageFlag",
    "ModuleFlag",
    "Phase",
    "RankDefinition",
    "Recorder",
    "Selection",
    "SendMode",
    "SiteDefinition",
    "Summary",
    "TextKind",
    "Trace",
    "TraceError",
    "ValueKind",
    "WaitReason",
    "clock",
    "create",
    "digest",
    "open",
    "pair",
    "read_definitions",
    "summarize",
    "write_definitions",
    "write_program",
]
