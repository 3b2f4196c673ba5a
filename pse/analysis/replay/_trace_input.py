"""What is analysed: a trace of pse as it is, an OTF2 archive through a trace in a temporary directory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pse.analysis.replay._peers import Alone, Peers
from pse.analysis.replay._rank_calls import in_run_time
from pse.analysis.replay._stream_placement import Streams, place_streams
from pse.trace import Definitions, EventType, Trace, TraceError, open as open_trace, read_definitions
from pse.trace.format import EVENT_DTYPE
from pse.trace.store import (
    NOT_ALL_READ,
    RunClock,
    clock_of,
    clock_records,
    compared_ranks,
    has_definitions,
    in_memory,
    listed_ranks,
    merge_alike,
    merge_clock_records,
    open_ranks,
)

ANCHOR = "traces.otf2"


@dataclass(frozen=True)
class Source:
    """A trace as one of the processes that analyse it has it.

    Parameters
    ----------
    trace : Trace
        The trace with the files of which this process reads the events.
    streams : Streams
        All streams, and who reads them.
    problems : list of str
        What this process found missing or damaged.
    """

    trace: Trace
    streams: Streams
    problems: list[str]


@contextlib.contextmanager
def opened(source: str | os.PathLike[str] | Trace, peers: Peers) -> Iterator[Source]:
    """Open what is to be analysed; collective.

    Parameters
    ----------
    source : Trace or path
        A trace (of a process alone), its directory, the anchor file of an OTF2 archive, or the directory that
        this file is in.
    peers : Peers
        The processes that analyse it.

    Yields
    ------
    Source
        The trace; an imported one is there until the end of the context.

    Raises
    ------
    TraceError
        It is neither, or nothing of it can be read; on all processes.
    """
    if isinstance(source, Trace):
        yield whole(source, [])
        return
    path = Path(source)
    _refuse_others(path)
    anchor = path / ANCHOR if (path / ANCHOR).is_file() else path
    with contextlib.ExitStack() as kept:
        notes: list[str] = []
        if imported := _any(peers, anchor.is_file()):
            path, notes = _imported(anchor, peers, kept)
        found = whole(_opened(path), notes) if isinstance(peers, Alone) else _part(path, peers, notes)
        yield replace(found, problems=_without_what_the_import_said(found.problems)) if imported else found


_RUNTIME = (
    *(EventType.CONTEXT_BEGIN, EventType.CONTEXT_END, EventType.MODULE_ENTER, EventType.MODULE_LEAVE),
    *(EventType.SEND, EventType.RECEIVE, EventType.QUEUE_DEPTH, EventType.FREE),
    *(EventType.PARTITION_SEND, EventType.PARTITION_RECEIVE, EventType.PARTITION_TAKE),
    *(EventType.PARTITION_SEND_COMPLETE, EventType.WAIT_BEGIN, EventType.WAIT_END),
)
_RANKED_DTYPE = np.dtype([("rank", "<u4"), ("event", EVENT_DTYPE)])


def runtime_trace(trace: Trace, streams: Streams, peers: Peers) -> Trace | None:
    """The events of the runtime of all ranks, on process 0, with the run's times; collective.

    None elsewhere, and where no rank waited between calls.
    """
    parts = [np.empty(0, _RANKED_DTYPE)]
    for rank in trace.ranks:
        events = in_run_time(trace, rank, trace.select(rank, *_RUNTIME))
        made = np.empty(len(events), _RANKED_DTYPE)
        made["rank"], made["event"] = rank, events
        parts.append(made)
    rows = peers.gathered(np.concatenate(parts))
    if not (rows["event"]["type"] == EventType.WAIT_END).any():
        return None
    rows = rows[np.argsort(rows["rank"], kind="stable")]
    ranks, first = np.unique(rows["rank"], return_index=True)
    by_rank = dict(zip(ranks.tolist(), np.split(rows["event"], first[1:]), strict=True))
    files = in_memory(by_rank, {rank: streams.hosts[streams.host[rank]] for rank in by_rank})
    return Trace(trace.path, trace.definitions, files, (), RunClock(files, {}))


_CUBES = {
    ".npz": "a cube that pse analyze wrote, not a trace|read it with: pse cube mean {path}",
    ".cubex": "a cube in the format of Cube, not a trace|open it with Cube's own tools: cube {path}",
}


_KINDS = "name the directory of a trace, or the anchor file of an OTF2 archive (.otf2)"


def _opened(path: Path) -> Trace:
    """Open a trace where a cube, too, or an archive could have been meant."""
    if not path.exists():
        help = (
            "record a trace with: pse run PROGRAM -p P --trace DIR, "
            "or PSE_TRACE_DIRECTORY=DIR pse tools run --tools trace …"
        )
        raise TraceError(f"there is no trace or archive {path}", help=help)
    return open_trace(path)


def _refuse_others(path: Path) -> None:
    """Say which command reads a file that an analysis has written, and what no analysis reads."""
    if path.suffix in _CUBES and path.is_file():
        what, _, advice = _CUBES[path.suffix].partition("|")
        raise TraceError(f"{path} is {what}", help=advice.format(path=path))
    if path.is_file() and path.suffix != Path(ANCHOR).suffix:
        raise TraceError(f"{path} is neither a trace nor an archive", help=_KINDS)


def _without_what_the_import_said(problems: list[str]) -> list[str]:
    """What is wrong with streams of an archive; how many events of one could be read, its import says."""
    return [problem for problem in problems if NOT_ALL_READ not in problem]


def _any(peers: Peers, value: bool) -> bool:
    return bool(peers.least(np.array([-int(value)], "<i8"))[0])


def whole(trace: Trace, notes: list[str]) -> Source:
    """A trace that this process has alone."""
    streams = Streams(np.full(1 + max(trace.ranks), -1, "<i4"))
    streams.owner[list(trace.ranks)] = 0
    streams.share_hosts(Alone(), trace.files, (file.host for file in trace.files.values()))
    return Source(trace, streams, [*notes, *trace.problems])


def _imported(anchor: Path, peers: Peers, kept: contextlib.ExitStack) -> tuple[Path, list[str]]:
    """Import an archive on each node, by its first process."""
    from pse.trace.interchange import import_otf2  # Traces of pse do without.

    told: list[Any] = ["", [], ["", ""]]
    if peers.local.rank == 0:
        directory = kept.enter_context(tempfile.TemporaryDirectory(prefix="pse-analyze-"))
        told[0] = str(Path(directory) / (anchor.resolve().parent.name or "trace"))  # Pages show the name.
        try:
            told[1] = import_otf2(anchor, Path(told[0]))
        except TraceError as error:
            told[2] = [error.message, error.help or ""]
    trace, notes, failed = peers.local.combined(told, lambda one, other: one)
    message, advice = peers.combined(failed, lambda one, other: one if one[0] else other)
    if message:
        raise TraceError(message, help=advice or None)
    return Path(trace), notes if peers.rank == 0 else []


def _part(path: Path, peers: Peers, notes: list[str]) -> Source:
    """Open the streams of this process, and share with the others what all must know."""
    streams = place_streams(peers, listed_ranks(path) if peers.local.rank == 0 else [])
    definitions, problems = _definitions(path, peers)
    own = streams.of(peers.rank)
    if peers.rank == 0 and definitions is not None:
        own += sorted({rank.rank for rank in definitions.ranks} - set(streams.ranks.tolist()))
    files, missing = open_ranks(path, own, definitions)
    streams.lose(peers, files)
    if not len(streams.ranks):
        _say_that_nothing_is_there(path, peers, missing)
    records = peers.combined(clock_records(files), merge_clock_records)
    streams.share_hosts(peers, files, (record[0] for record in records.values()))
    named = {rank.rank: rank.host for rank in definitions.ranks} if definitions else {}
    for rank in compared_ranks(records):
        if rank < len(streams.host) and streams.host[rank] >= 0:
            named[rank] = streams.hosts[streams.host[rank]]
    clock = clock_of(records, files, named)
    said = [*notes, *problems, *clock.problems] if peers.rank == 0 else []
    return Source(Trace(path, definitions, files, (), clock), streams, [*said, *missing])


def _definitions(path: Path, peers: Peers) -> tuple[Definitions | None, list[str]]:
    """The definitions from the lowest process that has them, and what is wrong with them."""
    text = problem = ""
    if peers.local.rank == 0 and has_definitions(path):
        try:
            text = read_definitions(path).to_json()
        except TraceError as error:
            problem = f"{error.message}; call sites and ranks are shown by number"
    text, problem = peers.combined(
        [text, problem], lambda one, other: one if one[0] or not other[0] else other
    )
    return (Definitions.from_json(text), []) if text else (None, [problem] if problem else [])


def _say_that_nothing_is_there(path: Path, peers: Peers, missing: list[str]) -> None:
    """Raise the same error on all processes."""
    said = [f"{path}: nothing of this trace can be read: {'; '.join(merge_alike(missing))}", ""]
    if peers.rank == 0:
        try:
            _opened(path)
        except TraceError as error:
            said = [error.message, error.help or ""]
    message, advice = peers.combined(said, lambda one, other: one)
    raise TraceError(message, help=advice or None)
