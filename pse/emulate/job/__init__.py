"""One launch, inside an MPI job: phase one, phase two, and the gathering of their times."""
