"""The report of a deadlock among partitions: a cycle, a message nobody sends, a collective not reached.

The engine finds out that nothing will ever move again (cext/engine/deadlock_detection.c) and brings what
every partition waits for; here that becomes words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pse._abi.coven import CollectiveKind
from pse._abi.messaging import WAIT_DTYPE, WaitKind
from pse.errors import RunError
from pse.language.check import CallSite
from pse.text import ranges_text

_MESSAGES = (WaitKind.WAITS_RECEIVE, WaitKind.WAITS_SEND)
_MOST = 12  # lines of a list; the rest is counted

Row = Any


def deadlock_error(table: bytes, sites: Mapping[int, CallSite]) -> RunError:
    """Say why nothing will ever move again.

    Parameters
    ----------
    table : bytes
        Rows of `WAIT_DTYPE` of all ranks.
    sites : mapping
        The program's call sites.
    """
    return _Report(np.frombuffer(table, WAIT_DTYPE), sites).error()


class _Report:
    def __init__(self, rows: np.ndarray[Any, Any], sites: Mapping[int, CallSite]) -> None:
        self.sites = sites
        self.rows = sorted(rows, key=lambda row: (row["tph"], row["scope"], row["partition"], row["kind"]))
        self.waits = [
            row for row in self.rows if row["kind"] in (WaitKind.WAITS_RECEIVE, WaitKind.WAITS_SEND)
        ]
        self.collectives = [row for row in self.rows if row["kind"] == WaitKind.WAITS_COLLECTIVE]

    def error(self) -> RunError:
        cycle = self._cycle()
        if cycle:
            head = f"deadlock: {len(cycle)} partitions wait for each other"
            if len(cycle) == 1:
                head = "deadlock: a partition waits for itself"
            help = "let one of them send before it waits"
            return RunError(f"{head}\n{_listed(map(self._line, cycle))}", help=help)
        if self.collectives:
            return self._unreached()
        return self._unsent()

    def _cycle(self) -> list[Row]:
        """Follow from each partition what it waits for; the first way that comes back."""
        by_partition: dict[tuple[int, int, int], list[Row]] = {}
        for row in self.waits:
            by_partition.setdefault(_who(row), []).append(row)
        finished: set[tuple[int, int, int]] = set()
        for start in by_partition:
            way: list[Row] = []
            if found := _search(start, by_partition, way, finished):
                return found
        return []

    def _unreached(self) -> RunError:
        """The first collective that somebody waits in, and who has not come to it."""
        row = min(self.collectives, key=lambda row: (row["tph"], row["scope"], row["sequence"]))
        same = [r for r in self.rows if (r["tph"], r["scope"]) == (row["tph"], row["scope"])]
        reached = {int(r["partition"]): int(r["sequence"]) for r in same if r["kind"] == WaitKind.REACHED}
        for r in same:
            if r["kind"] == WaitKind.REACHED:
                partition = int(r["partition"])
                reached[partition] = max(reached[partition], int(r["sequence"]))
        there = [p for p, number in sorted(reached.items()) if number >= row["sequence"]]
        missing = sorted(set(range(int(row["partitions"]))) - set(there))
        lines = [f"it was called by {_numbers(there)}", f"it was not called by {_numbers(missing)}"]
        lines += [self._line(r) for r in self.waits if int(r["partition"]) in missing]
        name = CollectiveKind(row["collective"]).name.lower()
        message = (
            f"{self._span(row)}: deadlock: not all partitions call {name}() in module {self._label(row)}"
        )
        if row["index"] >= 0:
            message += f" (iteration {row['index']})"
        return RunError(
            f"{message}\n{_listed(lines)}",
            help="all partitions of a region call the same collectives in the same order",
        )

    def _unsent(self) -> RunError:
        waiting = {_who(row) for row in self.waits}
        lines = [self._line(row, gone=_peer(row) not in waiting) for row in self.waits]
        return RunError(
            f"deadlock: {self._awaited()}\n{_listed(lines)}",
            help="compare tags and partitions of the sends and receives",
        )

    def _awaited(self) -> str:
        kinds = {int(row["kind"]) for row in self.waits}
        if kinds == {WaitKind.WAITS_SEND}:
            return "partitions have sent messages that nobody will ever receive"
        missing = "send or receive" if WaitKind.WAITS_SEND in kinds else "send"
        return f"partitions wait for messages that nobody will ever {missing}"

    def _line(self, row: Row, *, gone: bool = False) -> str:
        """Say what a partition waits for; `gone`: of one that has nothing left to do."""
        peer, tagged = f"partition {row['peer']}", f"message with tag {row['tag']}"
        if row["kind"] == WaitKind.WAITS_SEND:
            what = f"{peer}{', which will never' if gone else ' to'} receive its {tagged}"
        else:
            what = f"a {tagged} from {peer}{', which will never send it' if gone else ''}"
        iteration = f", iteration {row['index']}" if row["index"] >= 0 else ""
        where = f"(module {self._label(row)}, {self._span(row)}{iteration})"
        return f"partition {row['partition']} {where} waits for {what}"

    def _span(self, row: Row) -> str:
        site = self.sites.get(int(row["site"]))
        return str(site.span) if site else "the program"

    def _label(self, row: Row) -> str:
        site = self.sites.get(int(row["site"]))
        return site.label if site else "unknown"


def _who(row: Row) -> tuple[int, int, int]:
    return int(row["tph"]), int(row["scope"]), int(row["partition"])


def _peer(row: Row) -> tuple[int, int, int]:
    return int(row["tph"]), int(row["scope"]), int(row["peer"])


def _search(
    start: tuple[int, int, int],
    by_partition: Mapping[tuple[int, int, int], Sequence[Row]],
    way: list[Row],
    finished: set[tuple[int, int, int]],
) -> list[Row]:
    """Walk along what partitions wait for, without recursion; the rows of the first cycle, else nothing."""
    branches: list[Iterator[Row]] = [iter(by_partition.get(start, ()))]
    on_way = {start}
    while branches:
        row = next(branches[-1], None)
        if row is None:
            branches.pop()
            if way:
                last = way.pop()
                on_way.discard(_peer(last))
                finished.add(_peer(last))
            continue
        peer = _peer(row)
        if peer in on_way:
            whole = [*way, row]
            first = next(i for i, step in enumerate(whole) if _who(step) == peer)
            return whole[first:]
        if peer not in finished:
            way.append(row)
            on_way.add(peer)
            branches.append(iter(by_partition.get(peer, ())))
    finished.add(start)
    return []


def _listed(lines: Any) -> str:
    listed = [f"  {line}" for line in lines]
    if len(listed) > _MOST:
        listed = [*listed[:_MOST], f"  and {len(listed) - _MOST} more"]
    return "\n".join(listed)


def _numbers(partitions: Sequence[int]) -> str:
    """Partitions as people list them: partitions 0 to 3, 7."""
    if not partitions:
        return "no partition"
    return f"partition{'s' if len(partitions) > 1 else ''} {ranges_text(partitions, ' to ')}"
