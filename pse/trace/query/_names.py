"""Names for the numbers in a trace, also where its definitions are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pse.text import site_lines
from pse.trace.format._events import NONE, Collective, WaitReason
from pse.trace.format._field_values import Array
from pse.trace.store._trace_files import TraceFiles


class Names:
    """The names of one trace.

    Parameters
    ----------
    trace : TraceFiles
        What the names are taken from.

    Attributes
    ----------
    threads : list of str
        Threads in the order of their lowest rank; a label that both regions use becomes ``root thread_A``.

    Examples
    --------
    >>> names = Names(trace)
    >>> names.threads, names.site(1), names.spoken_rank(1), names.tag(0)
    (['thread_A', 'thread_B'], (1, 'rows', 'pipeline.coven:6:14'), 'rank 1 (root · thread_B)', 'image')
    """

    def __init__(self, trace: TraceFiles) -> None:
        definitions, self._files = trace.definitions, trace.files
        self._sites = {site.id: site for site in definitions.sites} if definitions else {}
        self._lines = site_lines((site.label, site.place) for site in self._sites.values())
        self._edges = {edge.id: edge for edge in definitions.edges} if definitions else {}
        self._ranks = {rank.rank: rank for rank in definitions.ranks} if definitions else {}
        labels = {(rank.region, rank.thread) for rank in self._ranks.values()}
        self._ambiguous = {thread for region, thread in labels if (_other(region), thread) in labels}
        self.threads = list(dict.fromkeys(self.thread(rank) for rank in trace.ranks))
        self._numbers = np.zeros(max(trace.ranks) + 1, "<u2")
        for rank in trace.ranks:
            self._numbers[rank] = self.threads.index(self.thread(rank))

    def thread(self, rank: int) -> str:
        """Label of a rank's thread."""
        found = self._ranks.get(rank)
        if found is None:
            return f"rank {rank}"
        return f"{found.region} {found.thread}" if found.thread in self._ambiguous else found.thread

    def thread_numbers(self, ranks: Array) -> Array:
        """For each rank the index of its thread in `threads`, shape (n,)."""
        return self._numbers[ranks]

    def processor(self, rank: int) -> int | None:
        """Processor of a rank, None for the root."""
        return self._ranks[rank].processor if rank in self._ranks else None

    def place(self, rank: int) -> str:
        """Processor of a rank in words: its number, ``root``, or ``""`` where nothing is known."""
        if rank not in self._ranks:
            return ""
        return "root" if self._ranks[rank].processor is None else str(self._ranks[rank].processor)

    def host(self, rank: int) -> str:
        """Host of a rank."""
        return self._files[rank].host if rank in self._files else ""

    def site(self, number: Any) -> tuple[int | None, str, str]:
        """Number (None for none), label and place ("" if unknown) of a call site."""
        if number == NONE:
            return None, "(no call site)", ""
        found = self._sites.get(int(number))
        return (int(number), found.label, found.place) if found else (int(number), f"site {number}", "")

    def line(self, number: Any) -> str:
        """Line of a call site, ``26 → 14`` in a segment that line 26 calls; "" if unknown."""
        _, label, place = self.site(number)
        return self._lines.get((label, place), "")

    def spoken_site(self, number: Any) -> str:
        """A call site in a sentence: ``fft.rows (line 16)``."""
        _, label, _ = self.site(number)
        return f"{label} (line {line})" if (line := self.line(number)) else label

    def spoken_rank(self, rank: int) -> str:
        """A rank in a sentence: ``rank 3 (p1 · thread_B)``."""
        place = self.place(rank)
        where = f"p{place}" if place.isdigit() else place
        return f"rank {rank} ({where} · {self.thread(rank)})" if where else f"rank {rank}"

    def module(self, number: Any) -> str:
        """Module that a call site calls, "" for none."""
        return self._sites[int(number)].module if int(number) in self._sites else ""

    def reason(self, number: int) -> str:
        """What a wait is for."""
        known = WaitReason.__members__.values()
        return WaitReason(number).name.lower() if number in known else f"reason {number}"

    def operation(self, number: int) -> str:
        """A collective operation among partitions: ``allreduce``."""
        known = Collective.__members__.values()
        return Collective(number).name.lower() if number in known else f"collective {number}"

    def tag(self, edge: int) -> str:
        """Tag that takes an edge."""
        if edge == NONE:
            return "(inbox)"
        return self._edges[edge].tag if edge in self._edges else f"edge {edge}"


def _other(region: str) -> str:
    return "parallel" if region == "root" else "root"
