"""Checkpoint files: manifest, values, schedule."""
