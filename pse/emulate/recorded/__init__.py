"""Recorded programs as emulated applications: their messages and compute times, from a trace."""
