"""The final report of a run: where its time went, what moved, and the figures that its modules reported.

Data flow: every rank hands in its statistics (`contribution`), rank 0 gathers them (`gather`, typed
arrays only) and the report goes to standard output, or to the launcher, which prints it.  Next room:
docs/running.md documents the JSON form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.runtime._channel import Board
from pse.runtime.balance import Moves
from pse.runtime.request import Prepared

if TYPE_CHECKING:
    from mpi4py import MPI

COUNTERS = ("calls", "wall", "cpu", "described", "copied", "remote", "waited")
"""What the board counts for each rank and call site; times in ns, the rest in bytes (calls: number)."""

_TOTALS = ("cpu", "wall", "peak")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class SiteReport:
    """One call site: the sum over its ranks; `cpu_share` is CPU time over time inside the module."""

    site: int
    label: str
    place: str
    thread: str
    calls: int
    seconds: float
    cpu_seconds: float
    cpu_share: float
    waited_seconds: float
    described_bytes: int
    copied_bytes: int
    remote_bytes: int


@dataclass(frozen=True)
class ThreadReport:
    """One thread: the sum over its ranks; `cpu_share` is CPU time of its processes over their wall time."""

    thread: str
    ranks: int
    calls: int
    seconds: float
    cpu_seconds: float
    cpu_share: float
    waited_seconds: float


@dataclass(frozen=True)
class Report:
    """What a run was like.

    Attributes
    ----------
    wall_seconds : float
        From the agreement of all ranks to the end of the last one.
    peak_shared_memory_bytes : int
        Most bytes that live buffers took in the arenas of all nodes.
    figures : mapping of str to float
        What modules reported by name; the largest value of each.
    moves : Moves or None
        How partitions moved; None without the option ``balance``.
    cores : sequence of str
        The cores that each rank may use.
    """

    program: str
    processors: int
    ranks: int
    wall_seconds: float
    described_bytes: int
    copied_bytes: int
    remote_bytes: int
    peak_shared_memory_bytes: int
    figures: Mapping[str, float]
    sites: Sequence[SiteReport]
    threads: Sequence[ThreadReport]
    moves: Moves | None = None
    cores: Sequence[str] = ()


def contribution(board: Board, rank: int, sites: int) -> np.ndarray[Any, Any]:
    """Collect what one rank did at each call site.

    Returns
    -------
    ndarray of uint64, shape (sites, len(COUNTERS))
    """
    rows = [[board.statistics(rank, site)[name] for name in COUNTERS] for site in range(sites)]  # type: ignore[literal-required]
    return np.array(rows, dtype=np.uint64).reshape(sites, len(COUNTERS))


def gather(
    comm: MPI.Intracomm,
    prepared: Prepared,
    counters: np.ndarray[Any, Any],
    *,
    cpu: int,
    wall: int,
    peak: int,
    figures: Mapping[str, float],
    moves: Moves | None = None,
    cores: str = "",
) -> Report | None:
    """Bring all ranks' statistics to rank 0.

    Parameters
    ----------
    counters : ndarray of uint64, shape (sites, len(COUNTERS))
        This rank's `contribution`.
    cpu, wall : int
        Nanoseconds that this process computed, and that passed.
    peak : int
        Peak bytes of the node's arena; zero on all ranks of a node but one.
    moves : Moves, optional
        The same on all ranks.
    cores : str, optional
        The cores that this rank may use.

    Returns
    -------
    Report or None
        The report on rank 0, None on all others.
    """
    totals = np.array([cpu, wall, peak], dtype=np.uint64)
    ranks, root = comm.Get_size(), comm.Get_rank() == 0
    all_counters = np.empty((ranks, *counters.shape), np.uint64) if root else None
    all_totals = np.empty((ranks, len(_TOTALS)), np.uint64) if root else None
    comm.Gather(np.ascontiguousarray(counters), all_counters)
    comm.Gather(totals, all_totals)
    texts = gather_texts(comm, json.dumps([dict(figures), cores]))
    if all_counters is None or all_totals is None or texts is None:
        return None
    all_figures, all_cores = zip(*(json.loads(text) for text in texts), strict=True)
    return build(prepared, all_counters, all_totals, all_figures, moves, all_cores)


def gather_texts(comm: MPI.Intracomm, text: str) -> list[str] | None:
    """Bring a text of every rank to rank 0, in order of ranks; None on all others."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    root = comm.Get_rank() == 0
    lengths = np.empty(comm.Get_size(), np.int64) if root else None
    comm.Gather(np.array([data.size], np.int64), lengths)
    if lengths is None:
        comm.Gatherv(data, None)
        return None
    everything = np.empty(int(lengths.sum()), np.uint8)
    comm.Gatherv(data, [everything, lengths])
    pieces = np.split(everything, np.cumsum(lengths)[:-1])
    return [piece.tobytes().decode() for piece in pieces]


def build(
    prepared: Prepared,
    counters: np.ndarray[Any, Any],
    totals: np.ndarray[Any, Any],
    figures: Iterable[Mapping[str, float]],
    moves: Moves | None = None,
    cores: Sequence[str] = (),
) -> Report:
    """Put a report together.

    Parameters
    ----------
    counters : ndarray of uint64, shape (ranks, sites, len(COUNTERS))
    totals : ndarray of uint64, shape (ranks, 3)
        CPU ns, wall ns and peak bytes of each rank.
    figures : iterable of mapping
        Every rank's figures.
    moves : Moves, optional
        How partitions moved.
    cores : sequence of str
        Every rank's cores.
    """
    moved = counters.sum(axis=(0, 1), dtype=np.uint64)
    return Report(
        program=prepared.request.program,
        processors=prepared.processors,
        ranks=prepared.ranks,
        wall_seconds=float(totals[:, 1].max()) / 1e9,
        described_bytes=int(moved[COUNTERS.index("described")]),
        copied_bytes=int(moved[COUNTERS.index("copied")]),
        remote_bytes=int(moved[COUNTERS.index("remote")]),
        peak_shared_memory_bytes=int(totals[:, 2].sum()),
        figures=_largest(figures),
        sites=_sites(prepared, counters),
        threads=_threads(prepared, counters, totals),
        moves=moves,
        cores=cores,
    )


def _largest(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for some in figures:
        for name, value in some.items():
            # A value that is no number is the worst there can be, and must not get lost.
            if name not in largest or math.isnan(value) or value > largest[name]:
                largest[name] = value
    return largest


def _sites(prepared: Prepared, counters: np.ndarray[Any, Any]) -> list[SiteReport]:
    rows = []
    for site in prepared.sites:
        total = dict(zip(COUNTERS, counters[:, site.id].sum(axis=0, dtype=np.uint64).tolist(), strict=True))
        rows.append(
            SiteReport(
                site=site.id,
                label=site.label,
                place=str(site.span),
                thread=prepared.placement.thread_of(site).label,
                calls=total["calls"],
                seconds=total["wall"] / 1e9,
                cpu_seconds=total["cpu"] / 1e9,
                cpu_share=_share(total["cpu"], total["wall"]),
                waited_seconds=total["waited"] / 1e9,
                described_bytes=total["described"],
                copied_bytes=total["copied"],
                remote_bytes=total["remote"],
            )
        )
    return rows


def _threads(
    prepared: Prepared, counters: np.ndarray[Any, Any], totals: np.ndarray[Any, Any]
) -> list[ThreadReport]:
    rows = []
    for key in prepared.placement.keys:
        name = f"root {key.label}" if key.region == "root" else key.label
        ranks = [rank for rank in range(prepared.ranks) if prepared.placement.seat(rank).key == key]
        total = counters[ranks].sum(axis=(0, 1), dtype=np.uint64).tolist()
        calls, seconds, waited = total[0], total[1] / 1e9, total[COUNTERS.index("waited")] / 1e9
        cpu, wall = totals[ranks, 0].sum(), totals[ranks, 1].sum()
        share = _share(int(cpu), int(wall))
        rows.append(ThreadReport(name, len(ranks), calls, seconds, float(cpu) / 1e9, share, waited))
    return rows


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def to_json(report: Report) -> str:
    """Write a report as one JSON object on one line; a figure that is no finite number is null."""
    data = asdict(report)
    data["figures"] = {
        name: value if math.isfinite(value) else None for name, value in data["figures"].items()
    }
    return json.dumps(data, allow_nan=False)


def from_json(text: str) -> Report:
    """Read a report back."""
    data = json.loads(text)
    data["figures"] = {n: math.nan if value is None else value for n, value in data["figures"].items()}
    data["sites"] = [SiteReport(**row) for row in data["sites"]]
    data["threads"] = [ThreadReport(**row) for row in data["threads"]]
    data["moves"] = Moves(**data["moves"]) if data["moves"] else None
    data["cores"] = tuple(data["cores"])
    return Report(**data)


def to_text(report: Report) -> str:
    """Write a report for people, ending with a newline."""
    head = f"{report.program}: {report.wall_seconds:.2f} s on {report.processors} "
    head += f"processor{'s' * (report.processors != 1)} ({report.ranks} rank{'s' * (report.ranks != 1)})"
    site_rows = [_site_row(site) for site in report.sites]
    thread_rows = [
        (
            t.thread,
            str(t.ranks),
            str(t.calls),
            f"{t.seconds:.3f}",
            _percent(t.cpu_share),
            f"{t.waited_seconds:.3f}",
        )
        for t in report.threads
    ]
    site_head = ("call site", "place", "thread", "calls", "seconds", "CPU", "waited", "handed over", "copied")
    thread_head = ("thread", "ranks", "calls", "seconds", "CPU", "waited")
    parts = [head, "", *_table(site_head, site_rows, 3), "", *_table(thread_head, thread_rows, 1), ""]
    return "\n".join(parts + _summary(report)) + "\n"


def _site_row(site: SiteReport) -> tuple[str, ...]:
    place = site.place.rpartition("/")[2]
    times = (f"{site.seconds:.3f}", _percent(site.cpu_share), f"{site.waited_seconds:.3f}")
    moved = (size_text(site.described_bytes), size_text(site.copied_bytes + site.remote_bytes))
    return (site.label, place, site.thread, str(site.calls), *times, *moved)


def _summary(report: Report) -> list[str]:
    rows = [
        ("handed over by descriptor", size_text(report.described_bytes)),
        ("copied on a node", size_text(report.copied_bytes)),
        ("sent between nodes", size_text(report.remote_bytes)),
        ("peak shared memory", size_text(report.peak_shared_memory_bytes)),
        ("wall time", f"{report.wall_seconds:.3f} s"),
        *([("partitions moved", moves_text(report.moves))] if report.moves else []),
        *([("cores of ranks", cores_text(report.cores))] if len(set(report.cores)) > 1 else []),
        *((name, f"{value:.6g}") for name, value in report.figures.items()),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def cores_text(cores: Sequence[str]) -> str:
    """Write which ranks use which cores.

    Examples
    --------
    >>> cores_text(["0-1", "0", "0", "1"])
    '0-1: rank 0; 0: ranks 1, 2; 1: rank 3'
    """
    users: dict[str, list[str]] = {}
    for rank, some in enumerate(cores):
        users.setdefault(some, []).append(str(rank))
    return "; ".join(f"{some}: rank{'s' * (len(r) > 1)} {', '.join(r)}" for some, r in users.items())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Align a table; the first `left` columns are words, the others numbers."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def moves_text(moves: Moves) -> str:
    """Write for people how partitions moved.

    Examples
    --------
    >>> moves_text(Moves(2, 5, 1.875, 1.04))
    '5 in 2 rounds of balancing; busiest processor over mean: 1.88 before, 1.04 at the end'
    >>> moves_text(Moves(0, 0, 1.0, 1.02))
    'none; busiest processor over mean: 1.02 at the end'
    """
    if moves.times == 0:
        return f"none; busiest processor over mean: {moves.after:.2f} at the end"
    rounds = "one round" if moves.times == 1 else f"{moves.times} rounds"
    busiest = f"busiest processor over mean: {moves.before:.2f} before, {moves.after:.2f} at the end"
    return f"{moves.partitions} in {rounds} of balancing; {busiest}"


def size_text(size: int) -> str:
    """Write a number of bytes for people: ``1.5 MiB``.

    Examples
    --------
    >>> size_text(512), size_text(1536), size_text(1 << 30)
    ('512 B', '1.5 KiB', '1.0 GiB')
    """
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


FIELDS = tuple(field.name for field in fields(Report))
"""Names in the JSON form, at its top."""
