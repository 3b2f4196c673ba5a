"""How a run stands: loops, call sites, threads, queues and memory, as whoever watches sees them.

`Observer` reads the boards that `NodeDiscovery` finds, and counts; an `Overview` is plain data, which goes as
JSON to another process too (a notebook).  Shares are of the last second or so.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pse._abi.channel import NO_SITE
from pse._abi.waiting import RANK_TEXTS, RankState
from pse.language.check import PROCS
from pse.program import ThreadKey
from pse.records import dataclass
from pse.runtime._channel import Board
from pse.runtime.plan._edges import Edge, Role, number_edges
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._loop_progress import LoopCounts
from pse.runtime.status._node_discovery import NodeDiscovery, cpu_seconds
from pse.text import count_text, cpu_share_text, time_text

if TYPE_CHECKING:
    from pse._abi.channel import RankSlot, SiteStatistics

HIDDEN_PATIENCE = 2.0
"""Seconds after the first rank in which the others are expected."""

BEGIN_PATIENCE = 10.0
"""Seconds in which some rank is expected to begin, where ranks may be on other machines."""

_OWN_WORDS: dict[int, str] = {RankState.ABSENT: "starting", RankState.RUNNING: "between calls"}

SHARE_INTERVAL = 1.0
"""Seconds over which shares are taken."""


@dataclass(frozen=True)
class Line:
    """One call site as it stands; `share` is its CPU time over its time so far."""

    thread: str
    name: str
    calls: int
    seconds: float
    share: float
    state: str

    @property
    def cpu(self) -> str:
        """Its share as text; a call that goes on is one of them."""
        return cpu_share_text(self.share, 1e9 * self.seconds, self.calls + 1)

    def __str__(self) -> str:
        numbers = f"{count_text(self.calls, 'call')}  {time_text(1e9 * self.seconds)}  {self.cpu} CPU"
        return f"{self.thread}  {self.name}  {numbers}  {self.state}"


@dataclass(frozen=True)
class LoopLine:
    """One loop; `total` is None where nobody can know it, `bound` says that it is only a limit."""

    name: str
    done: int
    total: int | None
    bound: bool


@dataclass(frozen=True)
class ThreadLine:
    """One thread, over its ranks in sight; `busy` (in modules) and `cpu` are shares of the last second."""

    thread: str
    ranks: int
    busy: float
    cpu: float
    state: str


@dataclass(frozen=True)
class QueueLine:
    """A tag's queues before one thread: the longest now and so far, and how long one may become (0: any)."""

    tag: str
    thread: str
    now: int
    longest: int
    limit: int


@dataclass(frozen=True)
class MemoryLine:
    """A node's arena in bytes."""

    node: str
    in_use: int
    peak: int
    capacity: int


@dataclass(frozen=True)
class Overview:
    """How a run stands.

    Attributes
    ----------
    seconds : float
        Since the watcher began.
    hidden : int
        How many ranks are out of sight though others have begun; all, if none can be seen from here.
    program : str
        Path of the program.
    processors : int
        How many there are.
    ranks : int
        How many ranks.
    loops : sequence of LoopLine
        A line for each loop that runs.
    sites : sequence of Line
        A line for each call site.
    threads : sequence of ThreadLine
        A line for each thread.
    queues : sequence of QueueLine
        A line for each queue that isn't empty.
    memory : sequence of MemoryLine
        A line for each node.

    See Also
    --------
    draw_overview

    Examples
    --------
    >>> overview = Overview("heat.coven", 2, 5, 3.2, (), (), (), (), ())
    >>> Overview.from_json(overview.to_json()).seconds
    3.2
    """

    program: str
    processors: int
    ranks: int
    seconds: float
    loops: Sequence[LoopLine]
    sites: Sequence[Line]
    threads: Sequence[ThreadLine]
    queues: Sequence[QueueLine]
    memory: Sequence[MemoryLine]
    hidden: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give plain data for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Overview:
        """Make one of what `to_json` gave."""
        kinds = {
            "loops": LoopLine,
            "sites": Line,
            "threads": ThreadLine,
            "queues": QueueLine,
            "memory": MemoryLine,
        }
        lines = {name: [kind(**row) for row in data[name]] for name, kind in kinds.items()}
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in (data | lines).items() if name in known})


@dataclass(frozen=True)
class _Sample:
    """Seconds in modules and of CPU time of every rank, at a moment."""

    at: float
    busy: list[float]
    cpu: list[float]


class Observer:
    """Reads how a run stands, again and again.

    Parameters
    ----------
    board : Board
        The board that the watcher holds.
    prepared : Prepared
        The run.
    memory : bool, optional
        Whether to look at arenas, for which they are mapped.

    Attributes
    ----------
    elsewhere : bool
        Whether all ranks may be on other machines; if not, ranks that nobody sees have not begun.
    """

    elsewhere = False

    def __init__(self, board: Board, prepared: Prepared, *, memory: bool = True) -> None:
        self.prepared, self.discovery = prepared, NodeDiscovery(board, arenas=memory)
        self._began, self._first_seen = time.monotonic(), 0.0
        self._keys = [prepared.placement.seat(rank).key for rank in range(prepared.ranks)]
        self._counts = LoopCounts(prepared)
        edges = number_edges(prepared.walk, prepared.program.tags, prepared.environment)
        self._edges = [edge for edge, _ in edges.numbered()]
        self._longest: dict[tuple[str, ThreadKey], tuple[int, int]] = {}
        self._samples: deque[_Sample] = deque()

    def observe(self) -> Overview:
        """Look at everything."""
        self.discovery.look()
        boards = [self.discovery.board_of(rank) for rank in range(self.prepared.ranks)]
        slots = [board.slot(rank) for rank, board in enumerate(boards)]
        done = [
            [board.statistics(rank, site.id) for site in self.prepared.sites]
            for rank, board in enumerate(boards)
        ]
        hidden = self._hidden()
        self._take_sample(slots, done)
        return Overview(
            program=self.prepared.request.program,
            processors=self.prepared.processors,
            ranks=self.prepared.ranks,
            seconds=time.monotonic() - self._began,
            loops=self._loops(boards, done, hidden),
            sites=self._sites(slots, done, hidden),
            threads=self._threads(slots, hidden),
            queues=self._queues(boards),
            memory=self._memory(),
            hidden=len(hidden),
        )

    def _hidden(self) -> set[int]:
        """Give the ranks that are out of sight, not those that have only not begun yet."""
        hidden = set(self.discovery.hidden())
        if len(hidden) == self.prepared.ranks:
            late = time.monotonic() - self._began >= BEGIN_PATIENCE
            return hidden if self.elsewhere and late else set()
        self._first_seen = self._first_seen or time.monotonic()
        return hidden if time.monotonic() - self._first_seen >= HIDDEN_PATIENCE else set()

    def _ranks(self, key: ThreadKey) -> list[int]:
        return [rank for rank, other in enumerate(self._keys) if other == key]

    def _loops(
        self, boards: Sequence[Board], done: Sequence[Sequence[SiteStatistics]], hidden: set[int]
    ) -> list[LoopLine]:
        counted = self._counts.count(boards, done, hidden)
        return [LoopLine(name, number, total, bound) for name, number, total, bound in counted]

    def _sites(
        self, slots: Sequence[RankSlot], done: Sequence[Sequence[SiteStatistics]], hidden: set[int]
    ) -> list[Line]:
        now, lines = time.monotonic_ns(), []
        for site in self.prepared.sites:
            thread = self.prepared.placement.thread_of(site)
            ranks = [rank for rank in self._ranks(thread) if rank not in hidden]
            made = [done[rank][site.id] for rank in ranks]
            calls, wall, cpu = (sum(getattr(one, name) for one in made) for name in ("calls", "wall", "cpu"))
            running = {rank: max(0, now - slots[rank].since) for rank in ranks if slots[rank].site == site.id}
            seconds = (wall + sum(running.values())) / 1e9
            if self._elapsed > 0:  # Calls that go on use the CPU as their ranks did in the last second.
                cpu += sum(self._share("cpu", [rank]) * spent for rank, spent in running.items())
                wall += sum(running.values())
            state = site_state(calls, len(running), [slots[rank] for rank in ranks])
            name = f"{site.label}:{self.prepared.walk.line(site)}"
            lines.append(Line(thread.label, name, calls, seconds, cpu / wall if wall else 0.0, state))
        return lines

    def _take_sample(self, slots: Sequence[RankSlot], done: Sequence[Sequence[SiteStatistics]]) -> None:
        self._samples.append(_sample(slots, done))
        while len(self._samples) > 2 and self._samples[-1].at - self._samples[1].at >= SHARE_INTERVAL:
            self._samples.popleft()

    @property
    def _elapsed(self) -> float:
        """Seconds between the first and the last sample."""
        return self._samples[-1].at - self._samples[0].at if self._samples else 0.0

    def _threads(self, slots: Sequence[RankSlot], hidden: set[int]) -> list[ThreadLine]:
        lines = []
        for key in self.prepared.placement.keys:
            ranks = [rank for rank in self._ranks(key) if rank not in hidden]
            busy, cpu = self._share("busy", ranks), self._share("cpu", ranks)
            lines.append(
                ThreadLine(thread_name(key), len(ranks), busy, cpu, thread_state([slots[r] for r in ranks]))
            )
        return lines

    def _share(self, what: str, ranks: Sequence[int]) -> float:
        """Give how much of the last second some ranks spent, on average."""
        first, last = self._samples[0], self._samples[-1]
        whole = self._elapsed * len(ranks)
        spent = sum(getattr(last, what)[rank] - getattr(first, what)[rank] for rank in ranks)
        return min(1.0, max(0.0, spent / whole)) if whole > 0 else 0.0

    def _queues(self, boards: Sequence[Board]) -> list[QueueLine]:
        """Give every queue that ever was seen with something in it."""
        now: dict[tuple[str, ThreadKey], int] = {}
        tags = self.prepared.program.tags
        for rank, board in enumerate(boards):
            for number, length in board.queues(rank).items():
                edge, key = self._edges[number], self._keys[rank]
                queue = (tags[edge.tag].display or edge.tag, key)
                now[queue] = max(now.get(queue, 0), length)
                longest, _ = self._longest.get(queue, (0, 0))
                self._longest[queue] = max(longest, length), self._limit(edge, key)
        return [
            QueueLine(tag, thread_name(key), now.get((tag, key), 0), longest, limit)
            for (tag, key), (longest, limit) in self._longest.items()
        ]

    def _limit(self, edge: Edge, key: ThreadKey) -> int:
        """How many arrays a queue takes; 0 where nothing bounds it."""
        if edge.role not in (Role.VALUE, Role.EXIT):
            return 0
        parts = self.prepared.program.tags[edge.tag].type.distribution
        pieces = 1
        if key.region == "root" and parts.distributed:
            pieces = int(str(self.prepared.environment[parts.partition or PROCS]))
        return pieces * self.prepared.options.depth(key.label)

    def _memory(self) -> list[MemoryLine]:
        lines = []
        for number, node in enumerate(self.discovery.nodes):
            held = node.memory()
            if held:
                lines.append(MemoryLine(f"node {number}", held.in_use, held.peak, held.capacity))
        return lines


def thread_name(key: ThreadKey) -> str:
    """Name a thread as the report does: ``thread_B``, ``root thread_A``."""
    return f"root {key.label}" if key.region == "root" else key.label


def _sample(slots: Sequence[RankSlot], done: Sequence[Sequence[SiteStatistics]]) -> _Sample:
    now = time.monotonic_ns()
    running = (0 if slot.site == NO_SITE else max(0, now - slot.since) for slot in slots)
    busy = [
        (sum(site.wall for site in sites) + more) / 1e9 for sites, more in zip(done, running, strict=True)
    ]
    cpu = [cpu_seconds(slot.pid) if slot.pid else 0.0 for slot in slots]
    return _Sample(now / 1e9, busy, cpu)


def site_state(calls: int, running: int, slots: Sequence[RankSlot]) -> str:
    """Say in words what a call site's ranks do, those in sight."""
    if not slots:
        return "out of sight"
    if running:
        return f"running on {running} of {len(slots)}" if len(slots) > 1 else "running"
    states = {slot.state for slot in slots}
    if states <= {RankState.DONE, RankState.LEFT}:
        return "done"
    if calls == 0:
        return "starting" if states <= {RankState.ABSENT} else "to come"
    if RankState.RUNNING in states:
        return "between calls"
    return RANK_TEXTS[states.pop()] if len(states) == 1 else "waiting"


def _slot_state(slot: RankSlot) -> str:
    if slot.site != NO_SITE:
        return "in a module"
    return _OWN_WORDS.get(slot.state, RANK_TEXTS[slot.state])


def thread_state(slots: Sequence[RankSlot]) -> str:
    """Say in words what a thread's ranks do; the most frequent first."""
    words = [_slot_state(slot) for slot in slots]
    counted = sorted({word: words.count(word) for word in words}.items(), key=lambda item: -item[1])
    if len(counted) == 1 and len(words) > 1:
        return counted[0][0] if len(words) < 3 else f"all {counted[0][0]}"
    return ", ".join(f"{count} {word}" if len(words) > 1 else word for word, count in counted)
