"""What is incomplete in a trace, counted in all processes and said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pse.analysis.replay._peers import Peers
from pse.text import count_text, list_text
from pse.trace.format import Array
from pse.trace.store import merge_alike, without_events

_TOTALS = {
    "sends": ("send", "sends", "without a receive in the trace"),
    "receives": ("receive", "receives", "without a send in the trace"),
    "collectives": (
        *("collective operation", "collective operations"),
        "that the trace does not have of all ranks, or in which ranks differ: left out",
    ),
    "collective_parts": (
        *("part of a collective operation", "parts of collective operations"),
        "on communicators that the trace does not describe: left out",
    ),
    "outer_messages": (
        *("send or receive", "sends and receives"),
        "with processes of another job, such as spawned ones: left out",
    ),
    "outer_parts": (
        *("part of a collective operation", "parts of collective operations"),
        "with processes of another job, such as spawned ones: left out",
    ),
}
"""What is counted over all ranks."""

_NAMED = 3
"""So many routines of a rank that never ended are named."""


class Problems:
    """Collects what is incomplete.

    Parameters
    ----------
    opening : sequence of str
        What was missing or damaged as the trace was opened, by this process.
    """

    def __init__(self, opening: Sequence[str]) -> None:
        self._opening = list(opening)
        self._missing: set[int] = set()
        self._of_ranks: list[tuple[int, str]] = []
        self._counts: Counter[str] = Counter()

    def say_missing(self, mentioned: set[int], ranks: Array) -> None:
        """Say which of the ranks that are mentioned have no stream."""
        self._missing |= mentioned.difference(ranks.tolist())

    def count_of_rank(self, rank: int, count: int, noun: str, rest: str) -> None:
        """Say of how many things of a rank something is true, if any."""
        if count:
            plural = noun.replace("operation", "operations") if "operation" in noun else None
            self.say_of_rank(rank, f"{count_text(count, noun, plural)} {rest}")

    def count_open_calls(self, rank: int, count: int, routines: Sequence[str]) -> None:
        """Say how many calls of a rank never ended, and which routines of MPI did not, if any."""
        rest = "whose end is not in the trace"
        if routines:
            more = len(routines) - _NAMED
            named = list_text([*routines[:_NAMED], *([f"{more} more"] if more > 0 else [])])
            rest += (
                f", among them {named}: `pse trace why DIR --rank {rank} --at end` tells what it waited for"
            )
        self.count_of_rank(rank, count, "call", rest)

    def say_of_rank(self, rank: int, sentence: str) -> None:
        """Say something of a rank."""
        self._of_ranks.append((rank, f"rank {rank}: {sentence}"))

    def count(self, name: str, count: int) -> None:
        """Count more of what is counted over all ranks."""
        self._counts[name] += count

    def collected(self, peers: Peers) -> tuple[str, ...]:
        """The sentences of all processes; collective."""
        own = [self._opening, sorted(self._missing), self._of_ranks, dict(self._counts)]
        opening, missing, of_ranks, counts = peers.combined(own, _merge)
        said = [
            *opening,
            *map(without_events, sorted(set(missing))),
            *(sentence for _, sentence in sorted(of_ranks, key=lambda row: row[0])),
            *_totals(counts),
        ]
        return tuple(dict.fromkeys(merge_alike(dict.fromkeys(said))))  # Opening may have said some of it.


def _merge(one: list, other: list) -> list:  # type: ignore[type-arg]
    return [
        [*one[0], *other[0]],
        [*one[1], *other[1]],
        [*one[2], *other[2]],
        {name: one[3].get(name, 0) + other[3].get(name, 0) for name in {**one[3], **other[3]}},
    ]


def _totals(counts: dict[str, int]) -> Iterable[str]:
    for name, (noun, plural, rest) in _TOTALS.items():
        if counts.get(name):
            said = f"{count_text(counts[name], noun, plural)} {rest}"
            open_receives = counts.get("open_receives", 0) if name == "sends" else 0
            yield f"{said}{_may_have_got_them(open_receives)}"


def _may_have_got_them(receives: int) -> str:
    """Add to sends without a receive those receives of which it is not known what they got."""
    if not receives:
        return ""
    return (
        f"; {count_text(receives, 'receive')} whose requests were freed or never completed may have got them"
    )
