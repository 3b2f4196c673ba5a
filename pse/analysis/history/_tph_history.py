"""The history of one TPH: where it came into being, every call and hand-over in it on all ranks, its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pse.analysis._activity import Activity, BlockKind, rank_activity
from pse.analysis.history._partition_steps import CollectiveStep, MessageStep, PartitionExchanges
from pse.trace.format import NONE, Array, MessageFlag
from pse.trace.query import (
    NO_CALL,
    Names,
    TimeWindow,
    Tph,
    Tphs,
    Trace,
    message_consumers,
    tph_lifetimes,
    transfer_way,
)


@dataclass(frozen=True)
class Waited:
    """What a rank waited for before a call: for what, which tag, how long (ns)."""

    reason: str
    tag: str
    time: int


@dataclass(frozen=True)
class CallStep:
    """A module call in a TPH; times in ns.

    Parameters
    ----------
    time : int
        When the call began.
    rank : int
        Rank of the job.
    thread : str
        Label of the thread.
    processor : int or None
        Its processor; None for the root.
    label : str
        Call site.
    place : str
        Its place in the program, ``file:line:col``.
    partition : int or None
        Partition; None outside PARALLEL.
    duration : int
        How long it took.
    cpu : int
        CPU time of it.
    failed : bool
        Whether the module failed.
    complete : bool
        Whether it ended within the trace.
    waited : tuple of Waited
        What the rank waited for before it.
    line : str
        The line of the call site; in a segment the lines of the calls that lead there, too.
    kind : str, optional
        ``call``.

    See Also
    --------
    tph_history

    Examples
    --------
    >>> steps = pse.analysis.tph_history(trace, "k=1").steps
    >>> [(step.label, step.duration) for step in steps if step.kind == "call"]
    [('load', 4000000), ('rows', 9000000), ('total', 1000000)]
    """

    time: int
    rank: int
    thread: str
    processor: int | None
    label: str
    place: str
    partition: int | None
    duration: int
    cpu: int
    failed: bool
    complete: bool
    waited: tuple[Waited, ...]
    line: str = ""
    kind: str = "call"


@dataclass(frozen=True)
class HandoverStep:
    """A tag that was handed over in a TPH; times in ns, None: not in the trace.

    Parameters
    ----------
    time : int
        When it was handed over.
    sender : int
        Rank that sent it.
    receiver : int
        Rank that received it.
    tag : str
        Name of the tag.
    source : str
        Call site that defined it.
    bytes : int
        Its size.
    way : str
        How it travelled.
    arrived : int
        When it came.
    read : int or None
        When a call read it; None: not in the trace.
    reader : str
        Call site that read it.
    kind : str, optional
        ``hand-over``.

    See Also
    --------
    tph_history

    Examples
    --------
    >>> steps = pse.analysis.tph_history(trace, "k=1").steps
    >>> [(step.tag, step.sender, step.receiver) for step in steps if step.kind == "hand-over"]
    [('image', 0, 1), ('result', 1, 0)]
    """

    time: int
    sender: int
    receiver: int
    tag: str
    source: str  # what defined it
    bytes: int
    way: str
    arrived: int
    read: int | None  # when the call began that read it
    reader: str
    kind: str = "hand-over"


HistoryStep = CallStep | HandoverStep | MessageStep | CollectiveStep


@dataclass(frozen=True)
class TphHistory:
    """What happened in a TPH.

    Parameters
    ----------
    tph : Tph
        Its loop, counter and parent.
    name, parent : str
        It and its parent in words.
    ranks : tuple of (int, int or None, int or None)
        On which ranks it lived, from when to when (ns; None: not in the trace).
    calls, handovers, messages, collectives : int
        How many there were, those left out included; messages and collectives among partitions.
    module_time, moved, shared : int
        ns in module calls; bytes handed over that moved and that didn't.
    steps : tuple of CallStep, HandoverStep, MessageStep or CollectiveStep
        What happened, in the order of time.
    left_out : int
        Steps that the limit left out, at the end.

    See Also
    --------
    tph_history

    Examples
    --------
    >>> history = pse.analysis.tph_history(trace, "k=1")
    >>> history.calls, history.handovers, history.module_time / 1e6  # ms
    (3, 2, 14.0)
    """

    tph: Tph
    name: str
    parent: str
    ranks: tuple[tuple[int, int | None, int | None], ...]
    calls: int
    handovers: int
    messages: int
    collectives: int
    module_time: int
    moved: int
    shared: int
    steps: tuple[HistoryStep, ...]
    left_out: int

    def to_json(self) -> dict[str, Any]:
        """The history as JSON values."""
        return dataclasses.asdict(self)


def tph_history(
    trace: Trace, which: str, *, begin: float | None = None, end: float | None = None, limit: int = 0
) -> TphHistory:
    """Find what happened in one TPH: its calls, waits and hand-overs on all ranks.

    Parameters
    ----------
    trace : Trace
        The run.
    which : str
        Its number, or its loop's counter: ``65536``, ``k=2``, ``i=1,k=2``.
    begin, end : float, optional
        Only what began between these times, s since the run's origin.
    limit : int, optional
        At most so many steps; 0: all.

    Returns
    -------
    TphHistory
        Its `steps` are in the order of time.

    Raises
    ------
    TraceError
        There is no such TPH, or the end lies before the begin.

    Examples
    --------
    >>> history = tph_history(trace, "k=1")
    >>> [step.label for step in history.steps if step.kind == "call"]
    ['load', 'rows', 'total']
    """
    tphs = Tphs(trace)
    tph = tphs.find(which)
    did = rank_activity(trace)
    messages = did.messages[did.messages["tph"] == tph.number]
    messages = messages[np.argsort(messages["received"], kind="stable")]
    places = np.flatnonzero((did.blocks["tph"] == tph.number) & (did.blocks["kind"] == BlockKind.CALL))
    calls = did.calls[did.blocks["row"][places]]
    maker = _StepMaker(trace, did, messages)
    exchanges = PartitionExchanges(trace, tph.number, Names(trace))
    makers: tuple[tuple[Array, Callable[[int], HistoryStep]], ...] = (
        (calls["enter"], lambda row: maker.call(int(places[row]))),
        (messages["sent"], maker.handover),
        (exchanges.sent, exchanges.message),
        (exchanges.begun, exchanges.collective),
    )
    chosen, left_out = _chosen([times for times, _ in makers], TimeWindow.of_seconds(begin, end), limit)
    steps = tuple(makers[kind][1](row) for kind, row in chosen)
    by_descriptor = (
        messages["flags"] & (MessageFlag.DESCRIPTOR | MessageFlag.REMOTE) == MessageFlag.DESCRIPTOR
    )
    return TphHistory(
        tph=tph,
        name=tphs.short(tph.number),
        parent=tphs.short(tph.parent) if tph.parent is not None else "",
        ranks=tuple(tph_lifetimes(trace, tph.number)),
        calls=len(calls),
        handovers=len(messages),
        messages=len(exchanges.sent),
        collectives=len(exchanges.begun),
        module_time=int((calls["leave"] - calls["enter"]).sum()),
        moved=int(messages["bytes"][~by_descriptor].sum()),
        shared=int(messages["bytes"][by_descriptor].sum()),
        steps=steps,
        left_out=left_out,
    )


def _chosen(kinds: Sequence[Array], window: TimeWindow, limit: int) -> tuple[list[tuple[int, int]], int]:
    """Kind and row of each step in the order of time, from each kind's times; and how many are left out."""
    times = np.concatenate(kinds)
    order = np.argsort(times, kind="stable")
    order = order[window.overlaps(times[order], times[order])]
    kept = order[: limit or None]
    firsts = np.cumsum([0, *map(len, kinds)])
    kind = np.searchsorted(firsts, kept, side="right") - 1
    return list(zip(kind.tolist(), (kept - firsts[kind]).tolist(), strict=True)), len(order) - len(kept)


class _StepMaker:
    """Makes steps from rows of tables."""

    def __init__(self, trace: Trace, did: Activity, messages: Array) -> None:
        self._did, self._names, self._messages = did, Names(trace), messages
        self._calls: dict[int, Array] = {}
        edges = trace.definitions.edges if trace.definitions else ()
        self._readers = message_consumers(messages, self._calls_of, {edge.id: edge for edge in edges})

    def _calls_of(self, rank: int) -> Array:
        if rank not in self._calls:
            blocks = self._did.blocks[slice(*self._did.bounds.get(rank, (0, 0)))]
            self._calls[rank] = blocks[blocks["kind"] == BlockKind.CALL]
        return self._calls[rank]

    def call(self, block: int) -> CallStep:
        call = self._did.calls[self._did.blocks["row"][block]]
        _, label, place = self._names.site(call["site"])
        rank = int(call["rank"])
        return CallStep(
            time=int(call["enter"]),
            rank=rank,
            thread=self._names.thread(rank),
            processor=self._names.processor(rank),
            label=label,
            place=place,
            partition=None if call["partition"] == NONE else int(call["partition"]),
            duration=int(call["leave"] - call["enter"]),
            cpu=int(call["cpu"]),
            failed=bool(call["failed"]),
            complete=bool(call["complete"]),
            waited=tuple(self._waited(block)),
            line=self._names.line(call["site"]),
        )

    def _waited(self, block: int) -> list[Waited]:
        """The waits between the rank's call before and this one."""
        blocks, found = self._did.blocks, []
        place = block - 1
        while place >= 0 and blocks["rank"][place] == blocks["rank"][block]:
            if blocks["kind"][place] != BlockKind.WAIT:
                break
            wait = self._did.waits[blocks["row"][place]]
            tag = self._names.tag(int(wait["edge"])) if wait["edge"] != NONE else ""
            time = int(blocks["end"][place] - blocks["since"][place])
            found.append(Waited(self._names.reason(int(wait["reason"])), tag, time))
            run = blocks["last"][place]
            while place >= 0 and blocks["last"][place] == run:
                place -= 1
        return found[::-1]

    def handover(self, row: int) -> HandoverStep:
        message, reader = self._messages[row], self._readers[row]
        call = self._calls_of(int(message["receiver"]))[reader] if reader != NO_CALL else None
        return HandoverStep(
            time=int(message["sent"]),
            sender=int(message["sender"]),
            receiver=int(message["receiver"]),
            tag=self._names.tag(int(message["edge"])),
            source=self._names.spoken_site(int(message["site"])),
            bytes=int(message["bytes"]),
            way=transfer_way(int(message["flags"])),
            arrived=int(message["received"]),
            read=None if call is None else int(call["begin"]),
            reader="" if call is None else self._names.spoken_site(int(call["site"])),
        )
