"""What is to be measured: the configuration, read from a TOML file and checked before MPI starts."""
