"""The history of a TPH as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from pse.analysis.history._partition_steps import CollectiveStep, MessageStep
from pse.analysis.history._tph_history import CallStep, HandoverStep, HistoryStep, TphHistory
from pse.text import (
    count_text,
    list_text,
    moment_text,
    program_line,
    ranges_text,
    share_text,
    size_text,
    split_place,
    time_text,
)

WIDTH = 26  # Of the column of ranks.


def tph_history_text(history: TphHistory) -> Iterator[str]:
    """Tell what happened in a TPH as `pse trace follow` prints it.

    Parameters
    ----------
    history : TphHistory
        What `tph_history` found.

    Yields
    ------
    str
        The lines: what it is, what happened in it, and its end.

    Examples
    --------
    >>> history = pse.analysis.tph_history(trace, "k=1")
    >>> print(*list(pse.analysis.tph_history_text(history))[:7], sep="\\n")
    TPH 2 (k = 1), an iteration of the loop at line 4 of pipeline.coven, in TPH 0
    came into being at 0.015000 s on rank 0, at 0.015000 s on the last of 2
    3 module calls, 14.0 ms; 2 hand-overs: 8.00 KiB by descriptor, 0 B moved
    <BLANKLINE>
             time  where                       what
       0.015000 s  rank 0 (root · thread_A)    load (line 5): 4.00 ms, CPU 50 %
                                               waited for image 4.00 ms
    """
    yield from _head(history)
    yield ""
    yield f"{'time':>13}  {'where':<{WIDTH}}  what"
    for step in history.steps:
        yield from _step(step)
    if history.left_out:
        yield f"… and {history.left_out:,} more: see --from, --until and --limit"
    yield from _ends(history)


def _head(history: TphHistory) -> Iterator[str]:
    tph = history.tph
    loop = f", an iteration of the loop {_at(tph.place)}" if tph.place else ""
    yield f"{history.name}{loop}{f', in {history.parent}' if history.parent else ''}"
    begins = [begin for _, begin, _ in history.ranks if begin is not None]
    if begins:
        first = next(rank for rank, begin, _ in history.ranks if begin is not None)
        last = (
            f", at {moment_text(max(begins))} on the last of {len(history.ranks):,}"
            if len(begins) > 1
            else ""
        )
        yield f"came into being at {moment_text(min(begins))} on rank {first}{last}"
    calls = f"{count_text(history.calls, 'module call')}, {time_text(history.module_time)}"
    tags = f"{count_text(history.handovers, 'hand-over')}"
    yield f"{calls}; {tags}: {size_text(history.shared)} by descriptor, {size_text(history.moved)} moved"
    exchanges = ((history.messages, "message"), (history.collectives, "collective operation"))
    if among := list_text(count_text(count, name) for count, name in exchanges if count):
        yield f"{among} among partitions"


def _ends(history: TphHistory) -> Iterator[str]:
    ends = [(end, rank) for rank, _, end in history.ranks if end is not None]
    if ends:
        end, rank = max(ends)
        yield f"{moment_text(end):>13}  {f'rank {rank}':<{WIDTH}}  it is gone from the last rank"
    lost = [rank for rank, begin, end in history.ranks if begin is not None and end is None]
    if lost:
        yield f"its end is not in the trace on rank{'s' * (len(lost) > 1)} {ranges_text(lost)}"


def _step(step: HistoryStep) -> Iterator[str]:
    if isinstance(step, CallStep):
        return _call(step)
    if isinstance(step, HandoverStep):
        return _handover(step)
    return _message(step) if isinstance(step, MessageStep) else _collective(step)


def _message(step: MessageStep) -> Iterator[str]:
    ways = [f"{size_text(step.bytes)} {step.way}"]
    if step.sender != step.receiver and step.arrived is not None:
        ways.append(f"arrived after {time_text(step.arrived - step.time)}")
    if step.taken is not None and step.arrived is not None:
        ways.append(f"taken {time_text(step.taken - step.arrived)} later")
    ways += ["its arrival is not in the trace"] * (step.arrived is None)
    where = f"rank {step.sender} → {step.receiver}" if step.sender != step.receiver else f"rank {step.sender}"
    what = f"message with tag {step.tag} from partition {step.source} to {step.target}, by {step.label}"
    yield f"{moment_text(step.time):>13}  {where:<{WIDTH}}  {what}: {', '.join(ways)}"


def _collective(step: CollectiveStep) -> Iterator[str]:
    end = (
        f"all were done after {time_text(step.done - step.time)}"
        if step.done is not None
        else "it never ended"
    )
    later = time_text(step.last_came - step.time)
    last = f"partition {step.last} on rank {step.last_rank} came last, {later} later"
    what = f"{step.operation} of {step.partitions:,} partitions, in {step.label}: {last}; {end}"
    yield f"{moment_text(step.time):>13}  {f'rank {step.rank}':<{WIDTH}}  {what}"


def _call(step: CallStep) -> Iterator[str]:
    for waited in step.waited:
        what = f"for {waited.tag}" if waited.reason == "input" and waited.tag else f"({waited.reason})"
        yield f"{'':13}  {'':<{WIDTH}}  waited {what} {time_text(waited.time)}"
    time = f"{time_text(step.duration)}{' FAILED' * step.failed}" if step.complete else "the trace ends in it"
    part = f" of partition {step.partition}" if step.partition is not None else ""
    cpu = f", CPU {share_text(step.cpu / step.duration)}" if step.duration and step.complete else ""
    what = f"{step.label}{f' (line {step.line})' if step.line else ''}{part}"
    yield f"{moment_text(step.time):>13}  {_where(step):<{WIDTH}}  {what}: {time}{cpu}"


def _handover(step: HandoverStep) -> Iterator[str]:
    amount = f"{size_text(step.bytes)} {step.way}" if step.bytes else step.way
    arrived = f"arrived after {time_text(max(0, step.arrived - step.time))}"
    read = f", in the queue {time_text(step.read - step.arrived)}" if step.read is not None else ""
    reader = f" until {step.reader}" if step.reader else ""
    where = f"rank {step.sender} → {step.receiver}"
    what = f"{step.tag} of {step.source}: {amount}, {arrived}{read}{reader}"
    yield f"{moment_text(step.time):>13}  {where:<{WIDTH}}  {what}"


def _where(step: CallStep) -> str:
    place = "root" if step.processor is None else f"p{step.processor}"
    thread = step.thread.removeprefix("root ").removeprefix("parallel ")
    return f"rank {step.rank} ({place} · {thread})" if not thread.startswith("rank ") else thread


def _at(place: str) -> str:
    file, steps = split_place(place)
    return f"at line {program_line(place)} of {file}" if steps else f"at {place}"
