"""Communication between nodes: arrays through MPI, clocks, measured links."""
