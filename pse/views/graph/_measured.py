"""What a run's trace says of the parts of its program's graph: times of calls, and bytes of tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pse.errors import UsageError
from pse.text import count_text, share_text, size_text, time_text
from pse.trace import Trace, digest
from pse.trace.query import all_messages


@dataclass(frozen=True)
class Measured:
    """Texts for a graph.

    Parameters
    ----------
    calls : mapping of int to str
        Time of a call site's calls, its share of the time of all ranks, and their number.
    tags : mapping of (int, str) to str
        By call site and tag that it defines: bytes that were handed over.

    See Also
    --------
    measured_graph

    Examples
    --------
    >>> Measured({1: "18.0 ms · 30 % · 2 calls"}).tags
    {}
    """

    calls: Mapping[int, str] = field(default_factory=dict)
    tags: Mapping[tuple[int, str], str] = field(default_factory=dict)


def measured_graph(trace: Trace, text: str) -> Measured:
    """Read from a trace what its program's graph shows.

    Parameters
    ----------
    trace : Trace
        Of a run of the program.
    text : str
        Text of the program whose graph is drawn.

    Returns
    -------
    Measured
        Texts for `export_graph`.

    Raises
    ------
    UsageError
        The trace is of another program, or of another version of it.

    Examples
    --------
    >>> measured_graph(trace, text).calls[1]  # doctest: +SKIP
    '18.0 ms · 30 % · 2 calls'
    """
    known = trace.definitions
    if known is None or known.text_sha256 != digest(text):
        raise UsageError(
            f"{trace.path} is not a trace of this text of the program",
            help="run the program again with --trace, or draw the program that the trace has a copy of",
        )
    calls, whole = trace.module_calls(), trace.span * len(trace.ranks)
    times = {}
    for site in np.unique(calls["site"]).tolist():
        own = calls[calls["site"] == site]
        time = int((own["leave"] - own["enter"]).sum())
        share = share_text(time / max(1, whole))
        times[site] = f"{time_text(time)} · {share} · {count_text(len(own), 'call')}"
    return Measured(times, _tags(trace))


def _tags(trace: Trace) -> dict[tuple[int, str], str]:
    messages = all_messages(trace)
    sent = np.bincount(messages["edge"].astype("<i8"), messages["bytes"]) if len(messages) else np.zeros(0)
    edges = trace.definitions.edges if trace.definitions else ()
    sums: dict[tuple[int, str], float] = {}
    for edge in edges:  # Each processor has its own edge of a distributed tag.
        if edge.source is not None and edge.id < len(sent) and sent[edge.id]:
            sums[edge.source, edge.tag] = sums.get((edge.source, edge.tag), 0.0) + float(sent[edge.id])
    return {key: size_text(size) for key, size in sums.items()}
