"""Statistics of messages as text: a line for each pair of places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pse.analysis.statistics._message_statistics import MessageStatistics
from pse.text import count_text, size_text, time_text
from pse.trace.format import Array

_HEADS = ("sender", "receiver", "messages", "bytes", "max rate", "min duration")
_NAMES = 2  # Columns of names, at the left.


def statistics_text(found: MessageStatistics, top: int = 40) -> Iterator[str]:
    """Give the lines of a report.

    Parameters
    ----------
    found : MessageStatistics
        What went from each place to each.
    top : int, default 40
        How many pairs of each kind are listed, those with the most bytes.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> found = pse.analysis.message_statistics(pse.trace.open("run1"), by="rank")
    >>> print(*statistics_text(found), sep="\\n")
    tags handed over, by rank
    sender  receiver  messages     bytes  max rate  min duration
    rank 0  rank 1           2  8.00 KiB         –             –
    rank 1  rank 0           2  8.00 KiB         –             –
    """
    for number, (kind, table) in enumerate(found.tables.items()):
        if number:
            yield ""
        yield f"{kind}, by {found.by}"
        shown = np.sort(np.argsort(-table["bytes"].astype("<f8"), kind="stable")[:top])
        yield from _aligned([_HEADS, *(_cells(found, table[place]) for place in shown)])
        if len(shown) < len(table):
            rest = np.delete(table, shown)
            more = size_text(float(rest["bytes"].sum()))
            yield f"and {count_text(len(rest), 'pair')} more with {more}"


def _cells(found: MessageStatistics, pair: Array) -> tuple[str, ...]:
    rate, duration = float(pair["rate"]), float(pair["duration"])
    return (
        found.names[pair["sender"]],
        found.names[pair["receiver"]],
        f"{pair['messages']:,}",
        size_text(float(pair["bytes"])),
        "–" if np.isnan(rate) else f"{size_text(rate)}/s",
        "–" if np.isnan(duration) else time_text(duration),
    )


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(
            f"{cell:{'<' if at < _NAMES else '>'}{width}}" for at, (cell, width) in enumerate(cells)
        )
