"""Ranks that analyze a trace together; prints seconds, and the most that one computed, and sent, by kind."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from mpi4py import MPI

from pse.analysis import analysis_traffic


def main() -> None:
    """Analyze the trace whose directory is the argument."""
    world = MPI.COMM_WORLD
    world.Barrier()
    begin = time.perf_counter()
    sent = analysis_traffic(sys.argv[1], world)
    world.Barrier()
    most = np.empty(len(sent))
    taken = time.perf_counter() - begin
    world.Allreduce(np.array(sent, float), most, MPI.MAX)
    if world.rank == 0:
        print(json.dumps({"seconds": taken, **dict(zip(sent._fields, most.tolist(), strict=True))}))


if __name__ == "__main__":
    main()
