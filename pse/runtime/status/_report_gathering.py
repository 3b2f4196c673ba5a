"""How the final report comes about: every rank hands in its statistics, rank 0 gathers them in typed arrays.

The report goes to standard output, or to the launcher, which prints it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pse._abi.channel import SiteStatistics
from pse.runtime._channel import Board
from pse.runtime.distribution._moves import Moves
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._report import Report, SiteReport, ThreadReport
from pse.text import text_bytes

if TYPE_CHECKING:
    from mpi4py import MPI

COUNTERS = SiteStatistics._fields
"""What the board counts for each rank and call site; times in ns, the rest in bytes (calls: number)."""

_TOTALS = ("cpu", "wall", "peak")


def contribution(board: Board, rank: int, sites: int) -> np.ndarray[Any, Any]:
    """Collect what one rank did at each call site.

    Returns
    -------
    ndarray of uint64, shape (sites, len(COUNTERS))
    """
    rows = [board.statistics(rank, site) for site in range(sites)]
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
    data = np.frombuffer(text_bytes(text), dtype=np.uint8)
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
        folded={key.label: onto.label for key, onto in prepared.placement.folded.items()},
    )


def _largest(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for some in figures:
        for name, value in some.items():
            # A value that is not a number is the worst there can be, and must not get lost.
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
