"""Benches that only developers of pse need: ``PYTHONPATH=tests python -m benchmarks NAME``."""
