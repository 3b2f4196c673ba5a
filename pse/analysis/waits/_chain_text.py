"""The chain of a wait in sentences, one rank after the other."""

from __future__ import annotations

from collections.abc import Iterator

from pse.analysis.waits._wait_chain import Link, Message, WaitChain, WaitEnd
from pse.text import list_text, moment_text, size_text, time_text

PROGRAM = "the program"
_UNKNOWN = "the trace has nothing of this thread before, nor when it started"
LONG = 1_000_000
"""ns that the engine hardly ever needs between two calls."""
REASONS = {
    "exclusive": "for the other readers of a tag that it changes in place",
    "space": "for room in the arena",
    "credit": "for room in a full queue that it feeds",
    "remote": "for a transfer between nodes",
    "order": "for its turn in the common order of collective calls",
    "iteration": "for an earlier iteration to complete on all ranks",
    "partitions": "for messages among partitions",
    "start": "for the other ranks",
}
RELEASES = {
    "exclusive": "let go of it",
    "space": "freed some",
    "credit": "took from the queue",
    "order": "came to the call",
    "iteration": "completed one",
}


def wait_chain_text(chain: WaitChain) -> Iterator[str]:
    """Tell a chain of waits as `pse trace why` prints it.

    Parameters
    ----------
    chain : WaitChain
        What `wait_chain` found.

    Yields
    ------
    str
        The lines.

    Examples
    --------
    >>> chain = pse.analysis.wait_chain(trace, 0, pse.analysis.parse_time(trace, "10ms"))
    >>> print(*pse.analysis.wait_chain_text(chain), sep="\\n")
    at 0.010000 s:
    rank 0 (root · thread_A) waited for the tag result of rows (line 6), to execute total (line 7)
      for 9.00 ms, from 0.005000 s to 0.014000 s
      until rank 1 handed over result at 0.014000 s (4.00 KiB by descriptor)
    rank 1 (root · thread_B) executed rows (line 6)
      for 9.00 ms, from 0.005000 s to 0.014000 s
    so rank 0 waited for rank 1, which executed rows (line 6)
    """
    yield f"at {moment_text(chain.time)}:"
    for link in chain.links:
        yield from _link(link, chain)
    yield from _end(chain)
    yield from _other_threads(chain.links[0])


def _link(link: Link, chain: WaitChain) -> Iterator[str]:
    yield f"{link.name} {_state(link)}"
    if times := _times(link):
        yield f"  {times}"
    if link.awaited:
        yield f"  it waited for {link.awaited}"
    if link.ended_by is not None:
        yield f"  {_ended(link, link.ended_by)}"
    if link.meanwhile:
        spent = ", ".join(f"{name} {time_text(time)}" for name, time in link.meanwhile[:4])
        yield f"  from then until it handed over: {spent}"


def _state(link: Link) -> str:
    where = f"{_site(link)}{f', {link.tph}' if link.tph not in ('', PROGRAM) else ''}"
    if link.state == "call":
        return f"executed {where}"
    if link.state == "wait":
        begun = "in" if link.reason == "partitions" else "to execute"
        return f"waited {_reason(link)}{f', {begun} {where}' if link.label else ''}"
    if link.state == "mpi":
        return f"was in {link.routine}{f', called by {where}' if link.label else ''}"
    idle = (link.end or 0) - (link.begin or 0) > LONG
    return {
        "engine": f"was between two calls, in the engine{' or without a core' * idle}",
        "program": f"was outside of MPI, in {link.routine or PROGRAM}",
        "done": "was done with its part of the program, and waited for the other ranks",
        "start": "was starting: it had not come to the program's first statement",
        "end": "was done with the program",
        "lost": "is not shown by the trace at this moment",
    }[link.state]


def _site(link: Link) -> str:
    return f"{link.label} (line {link.line})" if link.line else link.label


def _reason(link: Link) -> str:
    end = link.ended_by
    if link.reason == "partitions" and end is not None and end.message is not None:
        return _for_message(end.message, end.was_late_receiver)
    if link.reason not in ("input", "remote") or not link.tag:
        return REASONS.get(link.reason, f"for {link.reason}")
    return f"for the tag {link.tag}{f' of {link.source}' if link.source else ''}"


def _for_message(message: Message, is_mine: bool) -> str:
    """What a rank waits for whose partition rests."""
    if message.collective:
        return f"for the {message.collective} of partition {message.source if is_mine else message.target}"
    ends = f"tag {message.tag} from partition {message.source} to {message.target}"
    return f"until its message with {ends} was taken" if is_mine else f"for a message with {ends}"


def _times(link: Link) -> str:
    if link.begin is None:
        return "" if link.end is None else f"until {moment_text(link.end)}; {_UNKNOWN}"
    if link.end is None:
        return f"its last event is at {moment_text(link.begin)}"
    if not link.complete:
        return f"from {moment_text(link.begin)} on; the trace doesn't show the end of it"
    return (
        f"for {time_text(link.end - link.begin)}, from {moment_text(link.begin)} to {moment_text(link.end)}"
    )


def _ended(link: Link, end: WaitEnd) -> str:
    if not end.certain:
        return f"it never ended; rank {end.rank} should have ended it"
    at = moment_text(end.time)
    if end.tag:
        amount = f"{size_text(end.bytes)} {end.way}" if end.bytes else end.way
        return f"until rank {end.rank} handed over {end.tag} at {at} ({amount}){_late(link, end)}"
    if end.message is not None:
        return f"until rank {end.rank} {_did(link, end)} at {at}{_amount(end)}{_late(link, end)}{_last(end)}"
    if link.state == "done":
        return f"until rank {end.rank} was done, too, at {at}"
    if link.state == "mpi":
        return f"until rank {end.rank} came to it, at {at}"
    return f"until rank {end.rank} {RELEASES.get(link.reason, 'woke it')} at {at}"


def _did(link: Link, end: WaitEnd) -> str:
    """What the other rank did with a message; for waits that were not for it, which one it was."""
    if end.message is None or link.reason == "partitions":
        what = "it" if end.message is None or end.message.tag is not None else "its part"
        return f"took {what}" if end.was_late_receiver else f"sent {what}"
    kind = (
        f"with tag {end.message.tag}" if end.message.tag is not None else f"of the {end.message.collective}"
    )
    if link.state == "mpi" and end.was_late_receiver:
        return f"posted the receive for its message {kind}"
    return f"{'took' if end.was_late_receiver else 'sent'} a message {kind}"


def _amount(end: WaitEnd) -> str:
    amount = f"{size_text(end.bytes)} {end.way}".strip() if end.bytes else end.way
    return f" ({amount})" if amount else ""


def _last(end: WaitEnd) -> str:
    """Who came last to a collective operation; with a root, all may have come long before."""
    last = end.message.last if end.message is not None else None
    if last is None:
        return ""
    root = f" (its root is partition {last.root})" if last.root is not None else ""
    return (
        f"; partition {last.partition} on rank {last.rank} came to it last, at {moment_text(last.time)}{root}"
    )


def _late(link: Link, end: WaitEnd) -> str:
    """A rank that sleeps may be woken late, where others have its core."""
    late = (link.end or 0) - end.time
    return f", and it awoke {time_text(late)} later" if link.complete and late > 1_000_000 else ""


def _end(chain: WaitChain) -> Iterator[str]:
    first, last = chain.links[0], chain.links[-1]
    if chain.circle and last.ended_by is not None:
        is_stuck = all(link.state == "mpi" and not link.complete for link in chain.links)
        kind = ", a deadlock" if is_stuck and chain.abort is None else ""
        yield f"this closes a circle{kind}: rank {last.ended_by.rank} is named above"
    elif last.state in ("wait", "mpi") and last.ended_by is None:
        yield "the trace doesn't show who ended this" if last.state == "wait" else _nobody(last)
    elif last.ended_by is not None:
        yield f"so {_short(last)} had what it needed but was not awake yet: on a busy core this takes long"
    elif len(chain.links) > 1:
        yield f"so {_short(first)} waited for {_short(last)}, which {_what(last)}"
    if chain.abort is not None:
        rank, time = chain.abort
        yield f"rank {rank} ended the run by MPI_Abort, at {moment_text(time)}; no wait went on after it"


def _other_threads(first: Link) -> Iterator[str]:
    if first.others:
        threads = list_text([str(thread) for thread in first.others])
        who = f"threads {threads} were" if len(first.others) > 1 else f"thread {threads} was"
        yield f"of rank {first.rank} {who} in MPI, too: --thread chooses one"


def _nobody(last: Link) -> str:
    if not last.complete:
        return f"the trace doesn't show which rank should have ended this {last.routine}"
    return f"the trace shows nobody who came late to this {last.routine}"


def _short(link: Link) -> str:
    return f"rank {link.rank}" if link.thread is None else f"rank {link.rank} · thread {link.thread}"


def _what(link: Link) -> str:
    return f"executed {_site(link)}" if link.state == "call" else _state(link)
