"""The critical path as numbers: where its time went, in text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pse.analysis._critical_path import CriticalPath, Step
from pse.text import count_text, share_text, time_text
from pse.trace.query import Trace

Shares = Sequence[tuple[str, str, int, int]]


def tell(trace: Trace, path: CriticalPath, counted: Shares) -> Iterator[str]:
    """The path's time as lines of text, the most first."""
    if not len(path.steps):
        yield "the trace shows no module calls, waits or calls of MPI: there is no path to find"
        return
    jumps = int((path.steps["kind"] == Step.HANDOVER).sum())
    ranks = len(np.unique(path.steps["rank"]))
    yield (
        f"critical path of {time_text(_length(path))}: {count_text(jumps, 'hand-over')}, "
        f"{ranks:,} of {len(trace.ranks):,} ranks"
    )
    width = max(len(label) for label, *_ in counted)
    yield f"{'':{width}}  {'time':>8}  {'share':>6}  {'times':>9}"
    for label, _, time, count in counted:
        yield f"{label:{width}}  {time_text(time):>8}  {share_text(time / _length(path)):>6}  {count:9,}"


def to_json(trace: Trace, path: CriticalPath, counted: Shares) -> dict[str, Any]:
    """The path's time as JSON values, times in ns."""
    rows = [dict(zip(("name", "kind", "time", "count"), row, strict=True)) for row in counted]
    ranks = np.unique(path.steps["rank"]).tolist()
    return {"path": str(trace.path), "length": _length(path), "ranks": ranks, "shares": rows}


def _length(path: CriticalPath) -> int:
    return int((path.steps["end"] - path.steps["begin"]).sum())
