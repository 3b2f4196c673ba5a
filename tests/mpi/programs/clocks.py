"""Compares clocks that are off by known times, as if every rank were a node; then as if all were one.

The second argument names the metahost of each rank, a letter each.
"""

import os
import sys

from mpi4py import MPI

from pse.runtime.transport import _clocks as clocks
from pse.trace import Recorder, clock

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
clocks.clock = lambda: clock() + 1_000_000_000 * rank
os.environ["PSE_METAHOST"] = sys.argv[2][rank]
with Recorder(sys.argv[1], rank) as recorder:
    for nodes in (range(comm.Get_size()), [0] * comm.Get_size()):
        clocks.record_clock(comm, nodes, recorder)
