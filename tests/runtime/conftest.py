"""Fixtures for the runtime's tests: a cache of builds, and the helpers beside this file."""

import sys
from pathlib import Path

import pytest

# harness, oracle and writer are shared by the test modules, which pytest imports one by one.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def cache_directory(shared_cache, monkeypatch):
    """Keep builds away from the user's cache."""
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
