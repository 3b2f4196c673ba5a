"""Fixtures for the tests of messages among partitions."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))


@pytest.fixture(scope="session")
def mailroom(tmp_path_factory):
    """Give the C library with a world around it."""
    from mailroom import build

    return build(tmp_path_factory.mktemp("mail"))


@pytest.fixture(autouse=True)
def cache_directory(shared_cache, monkeypatch):
    """Keep builds away from the user's cache."""
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))
