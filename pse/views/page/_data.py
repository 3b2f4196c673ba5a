"""What the page embeds: a head in JSON, and columns of numbers, packed.

Columns lie one after the other; of each, the lowest bytes of all numbers come first, then the next ones, so
that equal bytes lie side by side and deflate finds them.  ``web/timeline/decode.ts`` reads this.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pse.text import count_text, time_text
from pse.trace import NONE, EdgeDefinition, Trace, WaitReason
from pse.trace.format import Array
from pse.trace.query import Selection, outside_of_program
from pse.views.core._memory_balance import imbalance
from pse.views.core._rows import Row, rows
from pse.views.core._selection_caption import selection_text, start_text
from pse.views.page._blocks import BLOCK_DTYPE, Lane, lanes
from pse.views.page._causes import Causes
from pse.views.page._engine import engine_columns
from pse.views.page._kinds import Kinds
from pse.views.page._marks import marks
from pse.views.page._messages import Messages, messages
from pse.views.page._pair import Pair, iterations, lanes_beside
from pse.views.page._path import path_columns
from pse.views.page._series import series
from pse.views.page._slices import slice_columns
from pse.views.page._tphs import TphTable, places_in

MOST_ENTRIES = 1_000_000
"""Blocks that the page holds; of more, short ones are merged."""


def page_data(
    trace: Trace, selection: Selection, most: int, pair: Pair | None = None
) -> tuple[dict[str, Any], str]:
    """Give the head of the page's data, and its columns as text.

    Parameters
    ----------
    trace : Trace
        What is shown.
    selection : Selection
        What of it.
    most : int
        How many blocks are held one by one, about.
    pair : Pair, optional
        What it is compared with.
    """
    shown, kinds = rows(trace, selection), Kinds(trace)
    causes = Causes(trace)
    found = list(lanes(trace, selection, shown, kinds, causes, most))
    window = selection.window(trace)
    begin, end = window.begin, window.end
    compared: dict[str, Any] = {
        "runs": [_title(trace)], "differences": [], "iterations": [],
    }  # fmt: skip
    unmatched = 0
    if pair is not None:
        more, unmatched = lanes_beside(trace, pair.second, selection, shown, kinds, most)
        found += more
        end = max(end, selection.window(pair.second).end)
        compared = _compared(trace, pair, selection)
    tphs = TphTable(trace, np.concatenate([lane.entries["tph"] for lane in found]))
    sent = messages(trace, selection, shown)
    sampled, samples = series(trace, selection, shown, begin, end)
    columns = _entry_columns(found, tphs, begin) | _tph_columns(tphs)
    columns |= _message_columns(sent, tphs, begin) | samples
    path, path_steps = path_columns(trace, shown)
    columns |= path_steps
    slices, left_out = slice_columns(trace, selection, shown)
    columns |= slices
    engine, engine_times = engine_columns(trace, selection, shown)
    columns |= engine_times
    marked, unmarked = marks(trace, shown, begin, end)
    described, text = packed(columns)
    head = {
        "title": _title(trace), "facts": _facts(trace, selection, shown, found),
        "notes": [*_nothing(found, sent), *_merge_notes(found), *unmarked, *left_out,
            *filter(None, [_unmatched(unmatched), sent.note, causes.note]),
            *imbalance(trace), *trace.problems],
        "begin": begin, "end": max(end, begin + 1), "quantum": max(lane.bin for lane in found),
        "blocks": sum(lane.blocks for lane in found), "rows": [_row(row) for row in shown],
        "lanes": [_lane(lane) for lane in found],
        "kinds": kinds.described(), "groups": _groups(kinds),
        "nested": "routines of MPI" if _only_mpi(kinds) else "what is nested",
        "lines": "lines of hand-overs" if trace.definitions else "lines of messages",
        "partitions": _partitions(found),
        "outside": [_outside(trace, row.rank, window.end, end) for row in shown],
        "loops": _loops(trace), "series": sampled, "marks": marked, "endings": causes.texts,
        "suspects": causes.suspects, "final": causes.final, "path": path, "engine": engine,
        "tags": _tags(trace), "messages": sent.described(), "program": _program(trace),
        "graph": _graph(trace, kinds), "columns": described,
    }  # fmt: skip
    return head | compared | {"unmatched": unmatched}, text


def _compared(trace: Trace, pair: Pair, selection: Selection) -> dict[str, Any]:
    """What the head says of two runs: names, differences, and when iterations begin in both."""
    return {
        "runs": [str(run.path) for run in (trace, pair.second)],
        "differences": pair.differences(trace, selection),
        "iterations": iterations(trace, pair.second),
    }


def _unmatched(ranks: int) -> str:
    return (
        f"{count_text(ranks, 'rank')} of the second run without a row in the first: not shown."
        if ranks
        else ""
    )


def _outside(trace: Trace, rank: int, ended: int, end: int) -> list[tuple[int, int]]:
    """When a rank was outside of the program; where a longer run is shown beside it, after its end, too.

    A rank that is recorded later than others still starts, and one that is done before them has ended.
    """
    spans = outside_of_program(trace, rank)
    if spans:
        first, last = trace.run_times(rank, trace.files[rank].events["time"][[0, -1]]).tolist()
        spans = [(0 if a == first else a, trace.span if b == last else b) for a, b in spans]
    return [*spans, (ended, end)] if end > ended else spans


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
    extra, kind, time, count, once = (
        np.concatenate([getattr(lane, name) for lane in found])
        for name in ("extra", "kind", "time", "count", "once")
    )
    of_piece = np.repeat(length, extra + 1)
    return {
        "gap": signed(entries["start"] - before), "length": length, "extra": extra,
        "kind": kind, "less": signed(of_piece - time), "count": count - 1,
        "again": signed(time - once),
        "tph": places_in(tphs.numbers, entries["tph"]), "cpu": entries["cpu"],
        "preempted": entries["preempted"], "since": entries["since"], "until": entries["until"],
        "woken": signed(entries["woken"]),
    } | {name: entries[name] for name in ("peer", "partition", "state", "late", "how")}  # fmt: skip


def _tph_columns(tphs: TphTable) -> dict[str, Array]:
    columns = tphs.columns()
    return columns | {"tph_counter": signed(columns["tph_counter"])}


def _message_columns(found: Messages, tphs: TphTable, begin: int) -> dict[str, Array]:
    table = found.table
    columns = {
        "sent": signed(np.diff(table["sent"], prepend=begin)),
        "took": signed(table["received"] - table["sent"]),
        "message_tph": places_in(tphs.numbers, table["tph"]),
        "message_tag": np.where(table["edge"] == NONE, 0, table["edge"] + 1),
    } | {name: table[name] for name in ("sender", "receiver", "bytes")}
    columns |= {f"message_{name}": table[name] for name in ("kind", "way")}
    summed = table if found.step else table[:0]
    return columns | {"message_count": summed["count"], "message_lasted": signed(summed["lasted"])}


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


def _nothing(found: Sequence[Lane], sent: Messages) -> list[str]:
    """Say so if there is nothing to draw."""
    empty = not (any(lane.blocks for lane in found) or len(sent.table) or sent.note)
    return ["Nothing to show: no calls, waits or routines are recorded here."] if empty else []


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


def _program(trace: Trace) -> dict[str, Any]:
    """The text of the program, and its file's name as places have it."""
    name = trace.definitions.program if trace.definitions else ""
    return {"name": Path(name).name, "lines": (trace.program_text or "").splitlines()}


def _graph(trace: Trace, kinds: Kinds) -> dict[str, Any]:
    """The program's graph: call sites as nodes, and edges between their places; a tag's type as written.

    Each processor has its own edge of a distributed tag: in the graph they are one, with the numbers of all.
    """
    sites = trace.definitions.sites if trace.definitions else ()
    place = {site.id: number for number, site in enumerate(sites)}
    edges = trace.definitions.edges if trace.definitions else ()
    nodes = [
        {"label": site.label, "place": site.place, "thread": site.thread}
        | {name: kinds.look(site.module)[name] for name in ("colour", "ink")}
        for site in sites
    ]
    known = [(edge, place[edge.source]) for edge in edges if edge.source in place]
    ends: dict[tuple[object, ...], dict[str, Any]] = {}
    for edge, source in known:
        targets = [
            place[target]
            for target in edge.targets
            if target in place and source == _source(place[target], edge.tag, known)
        ]
        one = {"edges": [], "tag": edge.tag, "type": edge.type, "source": source, "targets": targets}
        ends.setdefault((edge.tag, edge.type, source, *targets), one)["edges"].append(edge.id)
    return {"nodes": nodes, "edges": list(ends.values())}


def _source(target: int, tag: str, edges: Sequence[tuple[EdgeDefinition, int]]) -> int:
    """Which call defines a tag for another: the last one before it, else the last one of the loop around."""
    sources = [source for edge, source in edges if edge.tag == tag]
    return max((source for source in sources if source < target), default=max(sources))


def _lane(lane: Lane) -> dict[str, Any]:
    return {
        "row": lane.row,
        "nested": lane.nested,
        "layer": lane.layer,
        "run": lane.run,
        "count": len(lane.entries),
    }


def _row(row: Row) -> dict[str, Any]:
    where = [
        f"processor {row.processor}" if row.processor is not None else row.group,
        row.thread,
        f"rank {row.rank}",
        row.host,
    ]
    return {
        "rank": row.rank, "label": row.label, "group": row.group, "thread": row.thread,
        "name": row.thread or row.label, "host": row.host, "where": " · ".join(filter(None, where)),
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
