"""Sums and extremes of messages between machines, nodes and ranks."""
