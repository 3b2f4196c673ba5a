"""Receives by MPI_Mrecv that MPI_Mprobe has waited for: the wait for a late sender is in the probe.

mpi4py receives Python objects so.  The trace does not say which probe found which message, so a receive has a
probe only if there was exactly one since the receive before it.
"""

from __future__ import annotations

import numpy as np

from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._columns import Columns
from pse.trace import EventType, TextKind, Trace
from pse.trace.format import Array
from pse.trace.store import chunks

PROBE, RECEIVES = "MPI_Mprobe", ("MPI_Mrecv", "MPI_Mrecv_c")


def move_to_probes(trace: Trace, rank: int, tree: CallTree, receives: Columns) -> None:
    """Let receives of a rank that have a probe be completed by it, where it is called as they are."""
    routines = [
        key[1] for key, name in trace.texts(rank).items() if key[0] == TextKind.REGION and name == PROBE
    ]
    if not routines:
        return
    is_receive = np.array([path.name in RECEIVES for path in tree.paths], bool)
    probe_of = np.array([tree.sibling(path, PROBE) for path in range(len(tree.paths))], "<i8")
    rows = np.flatnonzero(is_receive[receives["path"]])
    enter, leave = _calls(trace, rank, np.array(routines, "<u8"))
    before = np.searchsorted(leave, receives["enter"][rows], side="right")
    probes = np.diff(before, prepend=0) == 1
    probes &= probe_of[receives["path"][rows]] >= 0
    rows, chosen = rows[probes], before[probes] - 1
    receives["path"][rows] = probe_of[receives["path"][rows]]
    receives["enter"][rows], receives["leave"][rows] = enter[chosen], leave[chosen]


def _calls(trace: Trace, rank: int, routines: Array) -> tuple[Array, Array]:
    """When calls of routines were entered and left, ns since the run's origin, by their ends."""
    found = [np.empty((0, 2), "<u8")]
    for chunk in chunks(trace.events(rank)):
        ends = chunk[(chunk["type"] == EventType.REGION_LEAVE) & np.isin(chunk["a"], routines)]
        found.append(np.stack([ends["b"], ends["time"]], axis=1))
    enter, leave = np.concatenate(found).T
    return trace.run_times(rank, enter).astype("<f8"), trace.run_times(rank, leave).astype("<f8")
