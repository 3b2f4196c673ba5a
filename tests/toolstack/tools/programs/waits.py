"""Rank 0 waits for a message of rank 1, which waits until it is received."""

from mpi4py import MPI

one = bytearray(4)
if MPI.COMM_WORLD.rank == 0:
    MPI.COMM_WORLD.Recv(one, 1, 7)
else:
    MPI.COMM_WORLD.Ssend(one, 0, 7)
