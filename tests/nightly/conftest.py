"""Proofs that take too long for every run of the tests: ``make nightly``."""

import pytest


@pytest.fixture(autouse=True)
def cache_directory(shared_cache, monkeypatch):
    """Keep builds away from the user's cache."""
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
