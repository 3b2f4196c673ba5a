"""Ranks that analyze a trace together; prints seconds, the most that one sent, and what each computed."""

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
    works = world.gather(sent.work)
    if world.rank == 0:
        found = dict(zip(sent._fields, most.tolist(), strict=True))
        print(json.dumps({"seconds": taken, **found, "works": works}))


if __name__ == "__main__":
    main()
