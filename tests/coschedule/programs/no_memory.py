"""One rank meets a limit where ranks share memory: WHAT RANK LIMIT; what all were told is printed."""

import resource
import sys

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
told = world.gather(said)
if told:  # One process prints: lines of several may be torn.
    print(*told, sep="\n")
