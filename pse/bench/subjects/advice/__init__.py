"""Benches of the advisor."""
