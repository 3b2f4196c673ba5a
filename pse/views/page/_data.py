"""What the page embeds: a head in JSON, and columns of numbers, packed.

Columns lie one after the other; of each, the lowest bytes of all numbers come first, then the next ones, so
that equal bytes lie side by side and deflate finds them.  ``web/timeline/decode.ts`` reads this.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pse.text import time_text
from pse.trace import NONE, EventType, Trace, WaitReason
from pse.trace.format import Array
from pse.trace.query import Selection, messages_between_ranks, mpi_messages, outside_of_program
from pse.views.core._memory_balance import imbalance
from pse.views.core._rows import Row, rows
from pse.views.core._selection_caption import selection_text, start_text
from pse.views.page._blocks import BLOCK_DTYPE, Lane, lanes
from pse.views.page._causes import Causes
from pse.views.page._kinds import Kinds
from pse.views.page._marks import marks
from pse.views.page._path import path_columns
from pse.views.page._series import series
from pse.views.page._slices import slice_columns
from pse.views.page._tphs import TphTable, places_in

MOST_ENTRIES = 1_000_000
"""Blocks that the page holds; of more, short ones are merged."""
MOST_MESSAGES = 200_000
"""Hand-overs that the page holds; of more, none."""
MOST_SENDS = 2_000_000
"""Of ranks of which a part is shown: to find those of the part, all are matched."""


def page_data(trace: Trace, selection: Selection, most: int) -> tuple[dict[str, Any], str]:
    """Give the head of the page's data, and its columns as text.

    Parameters
    ----------
    trace : Trace
        What is shown.
    selection : Selection
        What of it.
    most : int
        How many blocks are held one by one, about.
    """
    shown, kinds = rows(trace, selection), Kinds(trace)
    causes = Causes(trace)
    found = list(lanes(trace, selection, shown, kinds, causes, most))
    window = selection.window(trace)
    begin, end = window.begin, window.end
    tphs = TphTable(trace, np.concatenate([lane.entries["tph"] for lane in found]))
    messages, notes = _messages(trace, selection, shown)
    sampled, samples = series(trace, selection, shown, begin, end)
    columns = _entry_columns(found, tphs, begin) | _tph_columns(tphs)
    columns |= _message_columns(messages, shown, tphs, begin) | samples
    path, path_steps = path_columns(trace, shown)
    columns |= path_steps
    slices, left_out = slice_columns(trace, selection, shown)
    columns |= slices
    marked, more = marks(trace, shown, begin, end)
    described, text = packed(columns)
    head = {
        "title": _title(trace), "facts": _facts(trace, selection, shown, found),
        "notes": [*_merge_notes(found), *notes, *more, *left_out, *filter(None, [causes.note]),
            *imbalance(trace), *trace.problems],
        "begin": begin, "end": max(end, begin + 1), "quantum": max(lane.bin for lane in found),
        "blocks": sum(lane.blocks for lane in found), "rows": [_row(row) for row in shown],
        "lanes": [_lane(lane) for lane in found],
        "kinds": kinds.described(), "groups": _groups(kinds),
        "nested": "routines of MPI" if _only_mpi(kinds) else "what is nested",
        "lines": "lines of hand-overs" if trace.definitions else "lines of messages",
        "partitions": _partitions(found),
        "outside": [outside_of_program(trace, row.rank) for row in shown],
        "loops": _loops(trace), "series": sampled, "marks": marked, "endings": causes.texts, "path": path,
        "tags": _tags(trace), "columns": described,
    }  # fmt: skip
    return head, text


def packed(columns: dict[str, Array]) -> tuple[list[dict[str, Any]], str]:
    """Pack columns of numbers from 0: what they are, and their bytes, deflated, in base64."""
    described, parts = [], []
    for name, column in columns.items():
        values = np.ascontiguousarray(column, "<u8")
        planes = (int(values.max(initial=0)).bit_length() + 7) // 8
        described.append({"name": name, "count": len(values), "planes": planes})
        parts.append(values.view("u1").reshape(-1, 8)[:, :planes].T.tobytes())
    return described, base64.b64encode(zlib.compress(b"".join(parts), 6)).decode("ascii")


def signed(values: Array) -> Array:
    """Numbers of both signs as numbers from 0: 0, -1, 1, -2, … become 0, 1, 2, 3, …."""
    values = values.astype("<i8")
    return np.where(values < 0, -2 * values - 1, 2 * values)


def _partitions(found: Sequence[Lane]) -> int:
    numbers = np.unique(np.concatenate([lane.entries["partition"] for lane in found]))
    return int(np.count_nonzero(numbers))


def _entry_columns(found: Sequence[Lane], tphs: TphTable, begin: int) -> dict[str, Array]:
    entries = np.concatenate([np.empty(0, BLOCK_DTYPE), *(lane.entries for lane in found)])
    before = np.concatenate([np.append(begin, lane.entries["end"])[:-1] for lane in found])
    length = entries["end"] - entries["start"]
    extra, kind, time, count = (
        np.concatenate([getattr(lane, name) for lane in found]) for name in ("extra", "kind", "time", "count")
    )
    of_piece = np.repeat(length, extra + 1)
    return {
        "gap": signed(entries["start"] - before), "length": length, "extra": extra,
        "kind": kind, "less": signed(of_piece - time), "count": count - 1,
        "tph": places_in(tphs.numbers, entries["tph"]), "cpu": entries["cpu"],
        "preempted": entries["preempted"], "since": entries["since"], "until": entries["until"],
        "woken": signed(entries["woken"]),
    } | {name: entries[name] for name in ("peer", "partition", "state", "late", "how")}  # fmt: skip


def _tph_columns(tphs: TphTable) -> dict[str, Array]:
    columns = tphs.columns()
    return columns | {"tph_counter": signed(columns["tph_counter"])}


def _messages(trace: Trace, selection: Selection, shown: Sequence[Row]) -> tuple[Array | None, list[str]]:
    """Hand-overs between ranks that are shown, by time; None and a note if there are too many."""
    sent = [trace.files[row.rank].counts for row in shown]
    count = sum(each[EventType.SEND] + each[EventType.PARTITION_SEND] for each in sent)
    count = count or sum(each[EventType.MPI_SEND] for each in sent)
    if count <= (MOST_MESSAGES if selection == Selection() else MOST_SENDS):
        ranks, messages = [row.rank for row in shown], selection.of(trace, _all_messages(trace))
        kept = messages[np.isin(messages["sender"], ranks) & np.isin(messages["receiver"], ranks)]
        count = len(kept)
        if count <= MOST_MESSAGES:
            return kept[np.argsort(kept["sent"], kind="stable")], []
    return None, [
        f"{count:,} hand-overs are too many for one page, so it draws no lines. A page of a part has them."
    ]


def _all_messages(trace: Trace) -> Array:
    """Hand-overs of tags and messages among partitions; messages of MPI where there are none."""
    messages = np.concatenate([trace.messages(), messages_between_ranks(trace.partition_messages())])
    if len(messages):
        return messages
    found = mpi_messages(trace)
    found = found[(found["sent"] >= 0) & (found["received"] >= 0)]
    messages = np.zeros(len(found), messages.dtype)
    for name in ("sender", "receiver", "bytes", "sent", "received"):
        messages[name] = found[name]
    return messages


def _message_columns(
    messages: Array | None, shown: Sequence[Row], tphs: TphTable, begin: int
) -> dict[str, Array]:
    names = ("sent", "took", "sender", "receiver", "message_tph", "bytes", "message_tag")
    if messages is None or not len(messages):
        return {name: np.empty(0, "<u8") for name in names}
    places = np.zeros(max(row.rank for row in shown) + 1, "<i8")
    places[[row.rank for row in shown]] = np.arange(len(shown))
    gaps = np.diff(messages["sent"], prepend=begin)
    columns = (
        signed(gaps), signed(messages["received"] - messages["sent"]), places[messages["sender"]],
        places[messages["receiver"]], places_in(tphs.numbers, messages["tph"]), messages["bytes"],
        np.where(messages["edge"] == NONE, 0, messages["edge"] + 1),
    )  # fmt: skip
    return dict(zip(names, columns, strict=True))


def _title(trace: Trace) -> str:
    return trace.definitions.program if trace.definitions else trace.path.resolve().name


def _facts(trace: Trace, selection: Selection, shown: Sequence[Row], found: Sequence[Lane]) -> list[str]:
    hosts = len({row.host for row in shown})
    part = f" of {len(trace.ranks):,}" if len(shown) < len(trace.ranks) else ""
    facts = [
        f"{len(shown):,}{part} rank{'s' * (len(trace.ranks) != 1)} on {hosts} host{'s' * (hosts != 1)}",
        time_text(trace.span), f"{sum(lane.blocks for lane in found):,} blocks",
    ]  # fmt: skip
    facts += filter(None, [selection_text(selection)])
    if trace.definitions:
        facts += [f"{name} = {value}" for name, value in trace.definitions.parameters.items() if name != "P"]
        facts += filter(None, [start_text(trace.definitions.started)])
    return facts


def _merge_notes(found: Sequence[Lane]) -> list[str]:
    merged = [lane for lane in found if lane.bin]
    if not merged:
        return []
    blocks, entries = (
        sum(count) for count in zip(*((lane.blocks, len(lane.entries)) for lane in found), strict=True)
    )
    longest = time_text(max(lane.bin for lane in merged))
    return [
        f"Level of detail: {blocks:,} blocks are held as {entries:,}; neighbours shorter than {longest} are "
        "merged, sums of times stay exact.",
        "To see each block, write a page of a shorter time or of fewer ranks (--from, --until, --rank).",
    ]


def _tags(trace: Trace) -> list[str]:
    """Names of tags by the numbers of their edges."""
    names = {edge.id: edge.tag for edge in trace.definitions.edges} if trace.definitions else {}
    return [names.get(number, "") for number in range(max(names, default=-1) + 1)]


def _lane(lane: Lane) -> dict[str, Any]:
    return {"row": lane.row, "nested": lane.nested, "state": lane.state, "count": len(lane.entries)}


def _row(row: Row) -> dict[str, Any]:
    where = [
        f"processor {row.processor}" if row.processor is not None else row.group,
        row.thread,
        f"rank {row.rank}",
        row.host,
    ]
    return {
        "rank": row.rank, "label": row.label, "group": row.group, "thread": row.thread,
        "name": row.thread or row.label, "where": " · ".join(filter(None, where)),
    }  # fmt: skip


def _groups(kinds: Kinds) -> list[dict[str, Any]]:
    """The legend: modules as first called in the program, waits by their number, routines by name."""
    order = {f"wait:{reason.name.lower()}": f"{reason:02}" for reason in WaitReason}
    order |= {f"call:{name}": f"{place:09}" for place, name in enumerate(kinds.modules)}
    return sorted(
        kinds.groups.values(), key=lambda group: (group["category"], order.get(group["id"], group["name"]))
    )


def _only_mpi(kinds: Kinds) -> bool:
    names = [group["name"] for group in kinds.groups.values() if group["category"] == "routine"]
    return bool(names) and all(name.startswith("MPI_") for name in names)


def _loops(trace: Trace) -> list[str]:
    """Names of loops' counters by the loops' numbers."""
    known = {loop.id: loop.counter for loop in trace.definitions.loops} if trace.definitions else {}
    return [known.get(number, "") for number in range(max(known, default=-1) + 1)]
