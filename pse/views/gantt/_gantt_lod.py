"""What the Gantt draws: blocks of time, at a level of detail that suits the pixels there are.

Blocks that are at least a pixel wide are there one by one, as are those that stand alone.  Of all others each
pixel has, by category, how many there are and how much of its time they take: to the nanosecond, so the busy
share of a pixel is that of the trace (`cext/kernels/blocks.c`, which goes once over the mapped records).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse._abi.blocks import BLOCK_DTYPE, KERNEL_SHARE_DTYPE, OPEN, Lane
from pse.trace import EVENT_DTYPE, EventType, Selection, TextKind, Trace, TraceError, WaitReason
from pse.trace.format import Array, low32
from pse.trace.query import (
    MESSAGE_DTYPE,
    PROGRAM_TPH,
    RANKED_EVENT_DTYPE,
    match_messages,
    messages_between_ranks,
    mpi_messages,
)
from pse.trace.store import chunks, decode_texts
from pse.views._blocks import Collector
from pse.views.core._colours import (
    OTHER,
    Style,
    lighter,
    module_styles,
    routine_family,
    routine_styles,
    wait_colours,
)
from pse.views.core._rows import Row, rows
from pse.views.gantt._gantt_data import (
    SHARE_DTYPE,
    Blocks,
    Category,
    RowBlocks,
)

MOST_ENDS = 2_000_000
"""Ends of messages that are looked at; of more, a sample."""
MOST_MESSAGES = 1_000_000
"""Of MPI, and among partitions."""
ALL = 0xFFFFFFFF
LONGEST = 1 << 60
"""Longest window of time, ns: 36 years; only damaged clocks say more."""


def blocks(
    trace: Trace,
    selection: Selection | None = None,
    *,
    shown: Sequence[Row] | None = None,
    pixels: int = 1500,
) -> Blocks:
    """Give the blocks of a trace at a level of detail.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    selection : Selection, optional
        Rows and window of time; calls of other modules and TPHs are there as category ``other``.
    shown : sequence of Row, optional
        The rows that the selection leaves, if the caller has them already.
    pixels : int
        How many the window of time has.

    Returns
    -------
    Blocks
        Blocks, shares of pixels, messages and markers of each row; times are ns since the run's begin.

    Raises
    ------
    TraceError
        The selection leaves nothing.

    Examples
    --------
    >>> found = blocks(trace)
    >>> [(row.row.label, len(row.blocks)) for row in found.rows], found.message_count
    ([('root · thread_A', 6), ('root · thread_B', 4)], 4)
    """
    chosen = selection or Selection()
    return _BlockCollection(trace, chosen, rows(trace, chosen) if shown is None else shown, pixels).run()


class _BlockCollection:
    """Blocks under construction."""

    def __init__(self, trace: Trace, selection: Selection, shown: Sequence[Row], pixels: int) -> None:
        self.trace, self.selection = trace, selection
        self.rows = shown
        self.begin, self.end = window(trace, selection)
        self.edges = _edges(self.begin, self.end, pixels)
        self.categories = [Category("other", "not selected", Style(lighter(OTHER)))]
        self.routines: dict[str, int] = {}
        self.ends: list[Array] = []
        self.contexts: list[Array] = []
        self.markers: list[tuple[int, int, str]] = []
        self.merged = self.sends = self.mpi_sends = 0
        self._add_modules()
        self._add_waits()
        numbers = selection.tph_numbers(trace)
        self.tphs = None if numbers is None else np.array(sorted(numbers), "<u8")
        self.sample = self._sample()

    def run(self) -> Blocks:
        found = [self._row(row) for row in self.rows]
        found = self._name_routines(found)
        self._check(found)
        messages, count, is_sampled = self._messages()
        return Blocks(
            begin=self.begin,
            end=self.end,
            edges=self.edges,
            rows=tuple(found),
            categories=tuple(self.categories),
            routines=tuple(self.routines),
            merged=self.merged,
            messages=messages,
            message_count=count,
            is_sampled=is_sampled,
            tph_names=tph_names(self.trace, np.concatenate(self.contexts)),
            markers=tuple(self.markers),
        )

    def _sample(self) -> int:
        """What share of the messages to look at, of `ALL`."""
        if self.tphs is not None and PROGRAM_TPH not in self.tphs:
            return ALL
        total = sum(len(self.trace.events(row.rank)) for row in self.rows)
        here = total * min(1.0, 3 * (self.end - self.begin) / max(1, self.trace.span))
        return min(ALL, int(MOST_ENDS * ALL / max(1.0, here)))

    # ------------------------------------------------------------ categories

    def _add_modules(self) -> None:
        """Let `site_categories` lead from a call site to its module's category, or to 0."""
        styles = module_styles(self.trace)
        first = len(self.categories)
        self.categories += [Category("module", name, style) for name, style in styles.items()]
        index = {name: first + place for place, name in enumerate(styles)}
        chosen = self.selection.modules
        sites = self.trace.definitions.sites if self.trace.definitions else ()
        self.site_categories = np.zeros(max((site.id + 1 for site in sites), default=len(styles)), "<u4")
        if not sites:
            self.site_categories[:] = np.arange(first, first + len(styles))
        for site in sites:
            if chosen is None or site.names & chosen:
                self.site_categories[site.id] = index[site.module]

    def _add_waits(self) -> None:
        """Let `wait_categories` lead from a reason to its category."""
        first, colours = len(self.categories), wait_colours()
        self.categories += [Category("wait", name, Style(colour)) for name, colour in colours.items()]
        self.categories.append(Category("wait", "unknown reason", Style(OTHER)))
        self.wait_categories = np.full(1 << 16, len(self.categories) - 1, "<u4")
        for reason in WaitReason:
            self.wait_categories[reason] = first + list(colours).index(reason.name.lower())

    def _name_routines(self, found: list[RowBlocks]) -> list[RowBlocks]:
        """Let regions, whose category is the index of their name so far, have that of their look."""
        styles = routine_styles(self.routines)
        looks = [Category("routine", routine_look(name), styles[name]) for name in self.routines]
        known = {look: len(self.categories) + place for place, look in enumerate(dict.fromkeys(looks))}
        self.categories += known
        index = np.array([known[look] for look in looks], "<u4")
        return [RowBlocks(one.row, _looked(one.blocks, index), _summed(_looked(one.shares, index)))
                for one in found]  # fmt: skip

    # ------------------------------------------------------------ one rank

    def _row(self, row: Row) -> RowBlocks:
        trace, rank = self.trace, row.rank
        events = trace.events(rank)
        edges = _to_clock(trace, rank, self.edges)
        width = int(np.diff(edges).min())
        collector = Collector(edges, width, self.site_categories, 0, self.tphs, self.sample)
        for piece in chunks(events):
            collector.take(piece)
        collector.finish()
        sends, mpi_sends, merged, _ = collector.counts
        self.sends, self.mpi_sends, self.merged = (
            self.sends + sends,
            self.mpi_sends + mpi_sends,
            self.merged + merged,
        )
        kept = np.frombuffer(collector.blocks, BLOCK_DTYPE)
        shares = np.frombuffer(collector.shares, KERNEL_SHARE_DTYPE)
        picked = np.frombuffer(collector.picked, EVENT_DTYPE)
        texts = decode_texts(picked[picked["type"] == EventType.TEXT])
        self._pick(rank, picked, texts)
        alone, shares = _alone(shares, edges)
        self.merged -= len(alone)
        kept = np.concatenate([kept, alone])
        kept["begin"], kept["end"] = trace.run_times(rank, kept["begin"]), trace.run_times(rank, kept["end"])
        kept["end"][kept["flags"] & OPEN != 0] = trace.span  # Nothing was recorded since: it went on.
        return RowBlocks(row, self._categorised(kept, texts), self._categorised(_plain(shares), texts))

    def _categorised(self, found: Array, texts: dict[tuple[int, int], str]) -> Array:
        """Waits come with reasons and regions with numbers of the rank, to leave with indices."""
        is_wait, is_region = found["lane"] == Lane.WAIT, found["lane"] >= Lane.REGION
        found["category"][is_wait] = self.wait_categories[found["category"][is_wait] & 0xFFFF]
        numbers, places = np.unique(found["category"][is_region], return_inverse=True)
        names = [texts.get((TextKind.REGION, int(number)), f"routine {number}") for number in numbers]
        own = np.array([self.routines.setdefault(name, len(self.routines)) for name in names], "<u4")
        if len(own):
            found["category"][is_region] = own[places]
        return found

    def _pick(self, rank: int, picked: Array, texts: dict[tuple[int, int], str]) -> None:
        picked = picked[picked["type"] != EventType.TEXT]
        ranked = np.empty(len(picked), RANKED_EVENT_DTYPE)
        for name in EVENT_DTYPE.names or ():
            ranked[name] = picked[name]
        ranked["time"], ranked["rank"] = self.trace.run_times(rank, picked["time"]), rank
        is_marker, is_context = (
            ranked["type"] == kind for kind in (EventType.MARKER, EventType.CONTEXT_BEGIN)
        )
        self.contexts.append(ranked[is_context])
        self.markers += [
            (rank, int(marker["time"]), texts.get((TextKind.MARKER, int(marker["a"])), "marker"))
            for marker in ranked[is_marker]
        ]
        self.ends.append(ranked[~is_marker & ~is_context])

    # ------------------------------------------------------------ the whole

    def _messages(self) -> tuple[Array, int, bool]:
        """Messages, how many there are, and whether these are only some."""
        if not self.sends and self.mpi_sends > MOST_MESSAGES:
            return np.empty(0, MESSAGE_DTYPE), self.mpi_sends, True
        messages = self._tag_messages() if self.sends or not self.mpi_sends else self._mpi_messages()
        is_sampled = self.sample < ALL and self.sends > 0
        count = self.sends if is_sampled else len(messages)
        among = sum(self.trace.files[row.rank].counts[EventType.PARTITION_SEND] for row in self.rows)
        if among > MOST_MESSAGES:
            return messages, count + among, True
        partitions = self._shown(messages_between_ranks(self.trace.partition_messages()))
        return np.concatenate([messages, partitions]), count + len(partitions), is_sampled

    def _tag_messages(self) -> Array:
        ends = np.concatenate([np.empty(0, RANKED_EVENT_DTYPE), *self.ends])
        is_send = ends["type"] == EventType.SEND
        return self._shown(match_messages(ends[is_send], ends[~is_send]).matched)

    def _mpi_messages(self) -> Array:
        found = mpi_messages(self.trace)
        found = found[(found["sent"] >= 0) & (found["received"] >= 0)]
        messages = np.zeros(len(found), MESSAGE_DTYPE)
        for name in ("sender", "receiver", "bytes", "sent", "received"):
            messages[name] = found[name]
        return self._shown(messages)

    def _shown(self, messages: Array) -> Array:
        shown = [row.rank for row in self.rows]
        both = np.isin(messages["sender"], shown) & np.isin(messages["receiver"], shown)
        both &= messages["sender"] != messages["receiver"]
        both &= (messages["received"] >= self.begin) & (messages["sent"] <= self.end)
        if self.tphs is not None:
            both &= np.isin(messages["tph"], self.tphs)
        return messages[both]

    def _check(self, found: Sequence[RowBlocks]) -> None:
        """Of chosen modules or TPHs, there is at least one call."""
        if self.selection.modules is None and self.selection.tphs is None:
            return
        for one in found:
            for table in (one.blocks, one.shares):
                if ((table["lane"] == Lane.CALL) & (table["category"] != 0)).any():
                    return
        raise TraceError(
            "the selection leaves no module call: none has the chosen module, TPH, thread and time at once",
            help="leave out one of them",
        )


def window(trace: Trace, selection: Selection) -> tuple[int, int]:
    """The window of time that a selection leaves, ns; a nanosecond at least.

    Raises
    ------
    TraceError
        It lies outside of the run.
    """
    chosen = selection.window(trace)
    begin = min(chosen.begin, LONGEST)
    return begin, max(min(chosen.end, begin + LONGEST), begin + 1)


def tph_names(trace: Trace, begins: Array) -> dict[int, str]:
    """Name TPHs by the counters of their loops, from their CONTEXT_BEGIN: ``i = 1, k = 3``."""
    loops = {loop.id: loop.counter for loop in trace.definitions.loops} if trace.definitions else {}
    found: dict[int, str] = {}
    columns = (begins["tph"], begins["a"], begins["b"].view("<i8"), low32(begins["c"]))
    for tph, parent, value, loop in zip(*(column.tolist() for column in columns), strict=True):
        own = f"{loops[loop] or 'round'} = {value}" if loop in loops else ""
        found.setdefault(tph, ", ".join(filter(None, [found.get(parent), own])))
    return {tph: name for tph, name in found.items() if name}


def routine_look(name: str) -> str:
    """Name what routines of one colour have in common: a family of MPI's, or the routine itself."""
    return f"MPI: {routine_family(name)}" if name.startswith("MPI_") else name


def _edges(begin: int, end: int, pixels: int) -> Array:
    """Edges of pixels in whole ns, none of them empty."""
    pixels = max(1, min(pixels, end - begin))
    edges: Array = begin + np.rint(np.linspace(0, end - begin, pixels + 1)).astype("<i8")
    return edges


def _to_clock(trace: Trace, rank: int, times: Array) -> Array:
    """Times of the run by a rank's own clock, ascending."""
    raw = times
    for _ in range(4):  # Clocks drift little, so each round adds many digits.
        raw = raw - (trace.run_times(rank, raw) - times)
    steps = np.maximum(np.diff(raw), 1)
    ascending: Array = np.ascontiguousarray(np.concatenate([raw[:1], raw[0] + np.cumsum(steps)]))
    return ascending


def _alone(shares: Array, edges: Array) -> tuple[Array, Array]:
    """Take the blocks that have nothing else around them out of the shares, to be drawn one by one."""
    parts = np.zeros((int(shares["last"]["lane"].max(initial=0)) + 1, len(edges) + 5), "<i8")
    np.add.at(parts, (shares["last"]["lane"], shares["pixel"] + 3), shares["parts"])
    sums = np.cumsum(parts, axis=1)
    lane, pixel = shares["last"]["lane"], shares["pixel"].astype("<i8") + 3
    around = sums[lane, pixel + 2] - sums[lane, pixel - 3]
    is_alone = (shares["parts"] == 1) & (around == 1)
    return shares["last"][is_alone], shares[~is_alone]


def _plain(shares: Array) -> Array:
    plain = np.zeros(len(shares), SHARE_DTYPE)
    for name in ("time", "pixel", "count"):
        plain[name] = shares[name]
    plain["lane"], plain["category"] = shares["last"]["lane"], shares["last"]["category"]
    return plain


def _looked(found: Array, index: Array) -> Array:
    is_region = found["lane"] >= Lane.REGION
    if "detail" in (found.dtype.names or ()):
        found["detail"][is_region] = found["category"][is_region]
    if len(index):
        found["category"][is_region] = index[found["category"][is_region]]
    return found


def _summed(shares: Array) -> Array:
    """One entry for each lane, pixel and category, in that order."""
    if not len(shares):
        return shares
    order = np.lexsort([shares[name] for name in ("category", "pixel", "lane")])
    shares = shares[order]
    is_first = np.ones(len(shares), bool)
    is_first[1:] = np.logical_or.reduce(
        [shares[name][1:] != shares[name][:-1] for name in ("category", "pixel", "lane")]
    )
    begins = np.flatnonzero(is_first)
    summed = shares[begins]
    for name in ("time", "count"):
        summed[name] = np.add.reduceat(shares[name], begins)
    return summed
