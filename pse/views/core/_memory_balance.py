"""Whether the memory that a trace says is allocated and freed adds up to nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.text import count_text, size_text
from pse.trace import Trace


def imbalance(trace: Trace) -> list[str]:
    """Say what is freed without having been allocated, and what is never freed in a run that ended.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.

    Returns
    -------
    list of str
        Sentences; none where every rank's sum is zero at the end and never less.
    """
    changes, lowest, left = trace.memory(), [], []
    for rank in trace.ranks:
        held = np.cumsum(changes["bytes"][changes["rank"] == rank])
        lowest.append(-min(int(held.min(initial=0)), 0))
        left.append(max(int(held[-1]), 0) if len(held) and trace.files[rank].closed else 0)
    texts = (
        (lowest, "is freed that was not allocated in this trace"),
        (left, "is not freed when the run ends"),
    )
    return [f"Warning: {_sum_text(sizes)} {text}." for sizes, text in texts if sum(sizes)]


def _sum_text(sizes: Sequence[int]) -> str:
    threads = count_text(sum(size > 0 for size in sizes), "thread")
    return f"{size_text(sum(sizes), zeros=False)} of {threads}"
