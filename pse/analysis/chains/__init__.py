"""Who kept ranks waiting, in calls of MPI too: the chain from rank to rank, and how all waits ended."""
