"""Strobes and what is noted of them: ``strobes BARRIERS STEPS SWEEPS SLICES``; prints one JSON object.

``late``: percent of the slices that begin more than a tenth of a slice late, in the benchmark of barriers;
``jitter``: µs, p99.  ``timer``, ``timer late``: the same of a thread that does nothing but sleep from slice to slice
while the others compute.  ``emds``: percent by which steps of SAGE take longer if every slice is noted.
"""

import ctypes
import json
import sys
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.bench.peers._proxy import communicator
from pse.bench.peers.barriers import EVERY, SLICE, jitter, synchronize
from pse.bench.peers.sage import Sage

_PR_SET_TIMERSLACK = 29
_LATE = 0.1
"""Part of a slice after which it counts as late."""
_SMOOTH = 1e6
_WARM_UP = 5


def strobes(barriers: int) -> dict[str, float]:
    """Watch the slices of the benchmark of barriers, then a timer beside the same computing."""
    with communicator("bcs-strict", SLICE, emds=8 * barriers) as comm:
        synchronize(comm, barriers)
        rows = comm.slices()
        timed = rows[rows["timed"] > 0]
        found = {
            "late": 100 * float((timed["late"] > _LATE * SLICE * 1e9).mean()),
            "jitter": float(np.percentile(jitter(rows, SLICE), 99)) / 1e3,
        }
        lateness: list[float] = []
        stopping = threading.Event()
        sleeper = threading.Thread(target=_sleep_on, args=(stopping, lateness))
        if comm.rank == 0:
            sleeper.start()
        synchronize(comm, barriers)
        stopping.set()
        if comm.rank == 0:
            sleeper.join()
            begins = np.array(lateness)
            found["timer"] = float(np.percentile(np.abs(np.diff(begins)), 99)) * 1e6
            found["timer late"] = 100 * float((begins > _LATE * SLICE).mean())
    return found
