"""Tables as pandas data frames: names instead of numbers, times in seconds.

pandas is asked for only here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from pse.trace.format._errors import TraceError
from pse.trace.format._events import NONE, MessageFlag
from pse.trace.format._field_values import Array
from pse.trace.query._names import Names
from pse.trace.query._selection import Selection
from pse.trace.store._trace_files import TraceFiles

TABLES = (
    *("module_calls", "waits", "messages", "memory", "queue_depths", "routine_calls"),
    *("partition_messages", "partition_collectives", "time_slices", "slice_matches"),
)
SECONDS = {"enter", "leave", "cpu", "preempted", "begin", "end", "sent", "received", "time", "taken", "done"}
NUMBERS = {"rank", "site", "partition", "peer", "sender", "receiver", "root"}  # NONE among them is missing.
OWN_FLAGS = MessageFlag.DESCRIPTOR | MessageFlag.COPIED | MessageFlag.REMOTE | MessageFlag.SCALAR
"""Those of tags; messages among partitions have one more, and say in a field what the last one does."""
BLOCKS = (("enter", "leave"), ("begin", "end"))
"""Fields between which a row's duration is."""


def check_table(name: str) -> None:
    """Check that there is a table of this name.

    Raises
    ------
    TraceError
        There is none; the help says which there are.
    """
    if name not in TABLES:
        raise TraceError(f"there is no table {name!r}", help=f"the tables are {', '.join(TABLES)}")


def data_frame(trace: TraceFiles, table: Array, routines: Sequence[str], selection: Selection | None) -> Any:
    """Make a data frame of a table; `routines` are the names that its numbers of routines stand for."""
    pandas, names = _pandas(), Names(trace)
    if selection is not None:
        table = selection.of(trace, table)
    columns: dict[str, Any] = {}
    for field in table.dtype.names or ():
        columns |= _columns(pandas, names, routines, field, table[field])
    for begin, end in BLOCKS:
        if begin in columns:
            columns["duration"] = columns[end] - columns[begin]
    return pandas.DataFrame(columns)


def _pandas() -> ModuleType:
    try:
        import pandas as pd
    except ImportError as error:
        raise TraceError(
            f"data frames need pandas, which can't be imported: {error}",
            help="install it with: pip install 'pse[notebook]'",
        ) from None
    module: ModuleType = pd
    return module


def _columns(
    pandas: ModuleType, names: Names, routines: Sequence[str], field: str, values: Array
) -> dict[str, Any]:
    """The columns that one field of a table becomes."""
    if field == "flags":
        return {
            flag.name.lower(): values & flag != 0 for flag in MessageFlag if flag & OWN_FLAGS and flag.name
        }
    if field in SECONDS:
        return {field: np.where(values == -1, np.nan, values / 1e9)}
    columns: dict[str, Any] = {}
    if field in NUMBERS:
        columns[field] = pandas.array(values.astype("<i8"), dtype="Int64")
        columns[field][values == NONE] = pandas.NA
    named: dict[str, dict[str, Callable[[Any], str]]] = {
        "rank": {"processor": names.place, "thread": names.thread, "host": names.host},
        "site": {"label": lambda site: names.site(site)[1], "module": names.module},
        "edge": {"tag": names.tag},
        "reason": {"reason": names.reason},
        "routine": {"routine": routines.__getitem__},
        "operation": {"operation": names.operation},
    }
    columns |= {name: _named(pandas, values, text) for name, text in named.get(field, {}).items()}
    return columns or {field: values}


def _named(pandas: ModuleType, values: Array, text: Callable[[Any], str]) -> Any:
    """A categorical column: every value's name; numbers that share a name become one."""
    codes, numbers = pandas.factorize(values)
    labels = [text(int(number)) for number in numbers]
    categories = list(dict.fromkeys(labels))
    known = np.array([categories.index(label) for label in labels], "<i8")
    return pandas.Categorical.from_codes(known[codes], categories)
