"""All ranks pretend to be nodes of their own and measure the links between them; argv: the directory."""

import sys

from mpi4py import MPI

from pse import trace
from pse.runtime.transport._link_probe import record_links
from pse.runtime.transport._resource_counters import record_resources

comm = MPI.COMM_WORLD
if comm.rank == 0:
    trace.create(sys.argv[1])
comm.Barrier()
with trace.Recorder(sys.argv[1], rank=comm.rank) as recorder:
    record_resources(recorder)
    record_links(comm, range(comm.size), recorder)
