"""A simulated run of a program under an assignment of threads."""
