"""Waits between calls of a `.coven` program, with the rank that ended each, as rows."""

from __future__ import annotations

import numpy as np

from pse.analysis._activity import Activity, BlockKind
from pse.analysis.waits._wait_causes import wait_causes
from pse.trace.format import NONE, Array

ENDED_WAIT_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # that waits
        ("reason", "<u2"),  # WaitReason
        ("site", "<u4"),
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("late", "<u4"),  # the rank that ended the wait
        ("time", "<i8"),  # ns: when it did so; after the begin, and not after the end
    ]
)
"""A wait that another rank ended; several, if it went on after the rank was woken for something else."""


def ended_waits(did: Activity) -> Array:
    """The waits between calls that other ranks ended: array of ENDED_WAIT_DTYPE, by rank, then by begin.

    Parameters
    ----------
    did : Activity
        What all ranks did.
    """
    ended = wait_causes(did)[did.blocks["last"]]
    chosen = (did.blocks["kind"] == BlockKind.WAIT) & (ended["rank"] != NONE)
    chosen &= (ended["time"] > did.blocks["begin"]) & (ended["rank"] != did.blocks["rank"])
    blocks, ended = did.blocks[chosen], ended[chosen]
    waits, found = did.waits[blocks["row"]], np.empty(len(blocks), ENDED_WAIT_DTYPE)
    for name in ("rank", "begin", "end"):
        found[name] = blocks[name]
    found["reason"], found["site"] = waits["reason"], waits["site"]
    found["late"], found["time"] = ended["rank"], np.minimum(ended["time"], blocks["end"])
    return found
