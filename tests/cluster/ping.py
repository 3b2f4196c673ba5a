"""Two ranks: which node each is on, how many share its memory, and how fast a message goes to and fro."""

import socket
import time

import numpy as np
from mpi4py import MPI

BYTES = 3_000_000

comm = MPI.COMM_WORLD
beside = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_size()
message = np.zeros(BYTES, np.uint8)
comm.Barrier()
began = time.monotonic()
if comm.Get_rank() == 0:
    comm.Send(message, 1)
    comm.Recv(message, 1)
else:
    comm.Recv(message, 0)
    comm.Send(message, 0)
rate = 2 * BYTES / (time.monotonic() - began) / 1e6
print(f"{comm.Get_rank()} {socket.gethostname()} {beside} {rate}\n", end="", flush=True)
