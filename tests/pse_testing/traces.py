"""Synthetic traces: rows that the real recorder writes, files of ranks, and what their numbers mean.

A row is the keyword arguments of `Recorder.record_at`; times are ns.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pse import trace
from pse.trace import NONE, Collective, EventType, MessageFlag, TextKind, WaitReason, pair
from pse.trace.format import HEADER_DTYPE

Row = dict[str, int]


def call_rows(
    site: int,
    begin: int,
    end: int,
    tph: int = 1,
    flags: int = 0,
    cpu: int | None = None,
    partition: int = NONE,
) -> list[Row]:
    """Enter and leave a module; without `cpu` all of its time is CPU time."""
    head = {"site": site, "tph": tph}
    cpu = end - begin if cpu is None else cpu
    return [
        {"time": begin, "type": EventType.MODULE_ENTER, "a": partition, **head},
        {"time": end, "type": EventType.MODULE_LEAVE, "a": cpu, "b": begin, "c": pair(0, partition),
         "flags": flags, **head},
    ]  # fmt: skip


def wait_rows(
    begin: int,
    end: int | None,
    reason: int = WaitReason.INPUT,
    tph: int = 1,
    site: int = NONE,
    peer: int = NONE,
    edge: int = NONE,
) -> list[Row]:
    """Wait; without an end the trace ends in it."""
    head = {"site": site, "tph": tph, "flags": reason, "a": pair(peer, edge)}
    rows = [{"time": begin, "type": EventType.WAIT_BEGIN, **head}]
    return rows if end is None else [*rows, {"time": end, "type": EventType.WAIT_END, "b": begin, **head}]


def send_rows(time: int, site: int, edge: int, to: int, sequence: int = 1, tph: int = 1) -> list[Row]:
    """Hand over 4096 bytes by descriptor."""
    return [{"time": time, "type": EventType.SEND, "site": site, "tph": tph, "a": 4096, "b": pair(to, edge),
             "c": sequence, "flags": MessageFlag.DESCRIPTOR}]  # fmt: skip


def receive_rows(time: int, site: int, edge: int, of: int, sequence: int = 1, tph: int = 1) -> list[Row]:
    """Get what `send_rows` hands over."""
    return [row | {"type": EventType.RECEIVE} for row in send_rows(time, site, edge, of, sequence, tph)]


def phase_rows(time: int, phase: int) -> list[Row]:
    """Come to a phase of the run."""
    return [{"time": time, "type": EventType.PHASE, "a": phase}]


def region_rows(number: int, begin: int, end: int, inner: Iterable[Row] = ()) -> list[Row]:
    """Enter a routine, do what is in it, leave it."""
    return [
        {"time": begin, "type": EventType.REGION_ENTER, "a": number},
        *inner,
        {"time": end, "type": EventType.REGION_LEAVE, "a": number, "b": begin},
    ]


def text_rows(number: int, name: str, kind: int = TextKind.REGION, time: int = 0) -> list[Row]:
    """Name something: 16 bytes in each row."""
    data = name.encode()
    parts = [data[at : at + 16].ljust(16, b"\0") for at in range(0, max(len(data), 1), 16)]
    words = [[int.from_bytes(part[at : at + 8], "little") for at in (0, 8)] for part in parts]
    return [
        {"time": time, "type": EventType.TEXT, "flags": kind, "a": pair(number, part), "b": b, "c": c}
        for part, (b, c) in enumerate(words)
    ]


def partition_rows(
    kind: str,
    time: int,
    other: int,
    partitions: tuple[int, int],
    tag: int = 5,
    flags: int = MessageFlag.COPIED,
    size: int = 800,
    tph: int = 1,
) -> list[Row]:
    """One end of a message among partitions (source, target) at call site 1: SEND, RECEIVE, TAKE …"""
    return [{"time": time, "type": EventType[f"PARTITION_{kind}"], "site": 1, "tph": tph, "flags": flags,
             "a": size, "b": pair(other, tag), "c": pair(*partitions)}]  # fmt: skip


def collective_rows(
    time: int,
    partition: int,
    begin: int | None = None,
    number: int = 1,
    root: int = NONE,
    operation: int = Collective.ALLREDUCE,
    tph: int = 1,
) -> list[Row]:
    """A partition comes to a collective operation; with `begin`, when it came, it is done with it."""
    kind = "BEGIN" if begin is None else "END"
    return [{"time": time, "type": EventType[f"PARTITION_COLLECTIVE_{kind}"], "site": 1, "tph": tph,
             "flags": operation, "a": 8 if begin is None else begin, "b": pair(partition, number),
             "c": pair(root, 1)}]  # fmt: skip


def write_rank(directory: Path, rank: int, rows: Iterable[Row]) -> Path:
    """Write the file of one rank, and give its path."""
    with trace.Recorder(directory, rank) as recorder:
        for row in rows:
            recorder.record_at(**row)
    return directory / f"rank-{rank:05}.events"


def patch_header(path: Path, field: str, data: bytes) -> None:
    """Overwrite a field in the header of a file of events."""
    fields = HEADER_DTYPE.fields
    assert fields is not None
    with path.open("r+b") as file:
        file.seek(fields[field][1])
        file.write(data)


def set_host(path: Path, host: str) -> None:
    """Let a file of events come from a host."""
    patch_header(path, "host", host.encode().ljust(256, b"\0"))


def name_as_tools(directory: Path) -> None:
    """Call the files of events what the tool `trace` calls them: MPI's alone, without definitions."""
    for path in directory.glob("rank-?????.events"):
        path.rename(path.with_suffix(".mpi.events"))


def write_trace(
    directory: Path,
    ranks: Iterable[Iterable[Row] | None],
    definitions: trace.Definitions | None,
    routines: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> trace.Trace:
    """Write a trace and open it.

    Parameters
    ----------
    directory : path
        Where.
    ranks : iterable of (iterable of rows, or None)
        The rows of each rank; None: its file is missing.
    definitions : Definitions or None
        None: the tool `trace` wrote it.
    routines : sequence of str
        Names of the routines that all ranks call, from number 0.
    hosts : sequence of str
        Where the ranks ran, if that is not where the test runs.
    """
    trace.create(directory)
    if definitions is not None:
        trace.write_definitions(directory, definitions)
    names = [row for number, name in enumerate(routines) for row in text_rows(number, name)]
    for rank, rows in enumerate(ranks):
        if rows is not None:
            write_rank(directory, rank, [*names, *rows])
    for rank, host in enumerate(hosts):
        set_host(directory / f"rank-{rank:05}.events", host)
    if definitions is None:
        name_as_tools(directory)
    return trace.open(directory)


def small_definitions(processors: int = 2, **changes: Any) -> trace.Definitions:
    """Definitions of a small program: two call sites, one edge, one root rank and `processors` others."""
    values = {
        "program": "programs/small.coven",
        "text_sha256": "0" * 64,
        "parameters": {"N": 8, "tol": 1e-6, "name": "ü"},
        "options": {"shared_memory": True},
        "sites": (
            trace.SiteDefinition(0, "load_frame", "load_frame", "programs/small.coven:9:14", "thread_A"),
            trace.SiteDefinition(1, "fft.rows", "rows", "programs/small.coven:12:16", "thread_B", True),
        ),
        "edges": (trace.EdgeDefinition(0, "image", 0, (1,), "c128[N, N] @ root"),),
        "ranks": tuple(
            trace.RankDefinition(rank, "parallel" if rank else "root", "thread_B" if rank else "thread_A",
                                 rank - 1 if rank else None, "node0")
            for rank in range(1 + processors)
        ),
        "environment": {"python": "3.11", "mpi": {"name": "MPICH", "version": [5, 0]}},
        "started": "2025-01-31T12:00:00+01:00",
        "loops": (trace.LoopDefinition(0, "k", "programs/small.coven:8:3"),),
    }  # fmt: skip
    return trace.Definitions(**(values | changes))
