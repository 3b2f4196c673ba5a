"""Fixtures for the runtime's tests: a cache of builds, and the helpers beside this file."""

import sys
from pathlib import Path

import pytest

# harness, oracle and writer are shared by the test modules, which pytest imports one by one.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory):
    """One cache for all tests: builds are dear."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache_directory(runtime_cache, monkeypatch):
    """Keep builds away from the user's cache."""
    monkeypatch.setenv("PSE_CACHE", str(runtime_cache))
