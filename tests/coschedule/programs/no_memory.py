"""One rank meets a limit where ranks share memory: WHAT RANK LIMIT; each says what it was told."""

import resource
import sys

import numpy as np
from mpi4py import MPI

from pse import bcs
from pse.errors import RunError

world = MPI.COMM_WORLD
limit = getattr(resource, sys.argv[3])
before = resource.getrlimit(limit)
with getattr(bcs, sys.argv[1])(world):  # What is loaded and opened once is there.
    pass
if world.rank == int(sys.argv[2]):
    resource.setrlimit(limit, (0, before[1]))
said = "nothing"
try:
    getattr(bcs, sys.argv[1])(world)
except RunError as error:
    said = f"{error}; {error.help}"
resource.setrlimit(limit, before)
print(said, flush=True)
world.Allreduce(np.zeros(1), np.zeros(1))
