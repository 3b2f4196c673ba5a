"""One tree of call paths for all ranks: each rank numbers its routines and nodes for itself."""

from __future__ import annotations

import numpy as np

from pse._abi.replay import FrameKind
from pse._abi.waiting import WAIT_TEXTS
from pse.analysis.cube._cube import CallPath
from pse.analysis.cube._metrics import metric_of_routine
from pse.analysis.replay._rank_calls import RankCalls
from pse.text import program_line
from pse.trace import NONE, TextKind, WaitReason
from pse.trace.format import Array
from pse.trace.query import Names, Trace

_KIND_SHIFT, _REASON_SHIFT = 56, 32
METRIC_OF_WAIT: dict[int, str] = {
    WaitReason.INPUT: "queue_empty",
    WaitReason.EXCLUSIVE: "readers_wait",
    WaitReason.SPACE: "arena_wait",
    WaitReason.CREDIT: "queue_full",
    WaitReason.REMOTE: "transfer_wait",
    WaitReason.ORDER: "order_wait",
    WaitReason.START: "start_wait",
    WaitReason.ITERATION: "iteration_wait",
    WaitReason.PARTITIONS: "partition_parked",
}


class CallTree:
    """The call paths of all ranks.

    Parameters
    ----------
    trace : Trace
        What the numbers of routines and call sites stand for.

    Attributes
    ----------
    paths : list of CallPath
        All call paths; parents come before their children.
    metrics : list of str
        For each call path the metric that its time belongs to.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace, self._names = trace, Names(trace)
        self._found: dict[CallPath, int] = {}
        definitions = trace.definitions
        self._sites = {site.id: site for site in definitions.sites} if definitions else {}
        self.paths: list[CallPath] = []
        self.metrics: list[str] = []
        imported = definitions is not None and "imported from" in definitions.environment
        program = definitions.program.rpartition("/")[2] if definitions and not imported else "program"
        self._root = self._add(CallPath(-1, "program", program), "execution")

    def add_rank(self, calls: RankCalls) -> Array:
        """Take in the call paths of a rank; for each of its nodes the index of its call path."""
        texts = self._trace.texts(calls.rank)
        found = np.zeros(len(calls.nodes), "<u4")
        for node, row in enumerate(calls.nodes[1:].tolist(), 1):
            key, parent = row[0], int(found[row[3]])
            kind, number = FrameKind(key >> _KIND_SHIFT), key & NONE
            if kind == FrameKind.ROUTINE:
                name = texts.get((TextKind.REGION, number), f"routine {number}")
                place = texts.get((TextKind.REGION_PLACE, number), "")
                found[node] = self._add(CallPath(parent, "routine", name, place), metric_of_routine(name))
            elif kind == FrameKind.SITE:
                site = self._site(parent, number)
                module = self._sites[number].module if number in self._sites else "module"
                found[node] = self._add(CallPath(site, "module", module), "execution")
            else:
                found[node] = self._wait(self._site(parent, number), key >> _REASON_SHIFT & 0xFFFF)
        return found

    def _wait(self, parent: int, reason: int) -> int:
        name = f"wait {WAIT_TEXTS.get(reason, f'({reason})')}"
        return self._add(CallPath(parent, "wait", name), METRIC_OF_WAIT.get(reason, "waiting"))

    def _site(self, parent: int, number: int) -> int:
        """The call path of a call site, with the loops around it."""
        if number == NONE:
            return parent
        site = self._sites.get(number)
        for loop in site.loops if site and parent == self._root else ():
            name = f"loop {loop.counter}" if loop.counter else "loop"
            line = program_line(loop.place)
            shown = f"{name} (line {line})" if line else name
            parent = self._add(CallPath(parent, "loop", shown, loop.place), "execution")
        place = site.place if site else ""
        return self._add(CallPath(parent, "call site", self._names.spoken_site(number), place), "execution")

    def _add(self, path: CallPath, metric: str) -> int:
        known = self._found.get(path)
        if known is None:
            known = self._found[path] = len(self.paths)
            self.paths.append(path)
            self.metrics.append(metric)
        return known
