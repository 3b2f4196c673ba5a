"""What a careful hand would write with mpi4py, to compare with; each file runs as a module under mpiexec.

``python -m pse.bench.peers.NAME ARGUMENTS``: rank 0 prints one JSON object.  These files import as little of
pse as they can.  They use MPI as it comes, with the settings that its users have.
"""
