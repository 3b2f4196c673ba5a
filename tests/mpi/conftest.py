"""Fixtures for tests under real MPI: a cache of builds, programs with their modules, and the runtime's
helpers.
"""

import sys
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[1] / "runtime"
# harness, oracle and writer of the runtime's tests serve here too.
sys.path.insert(0, str(RUNTIME))


@pytest.fixture(autouse=True)
def cache_directory(shared_cache, monkeypatch):
    """Keep builds away from the user's cache."""
    monkeypatch.setenv("PSE_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """The modules of the runtime's programs, for every element type."""
    from writer import write_modules

    folder = tmp_path_factory.mktemp("modules")
    write_modules(folder, RUNTIME / "programs")
    return folder
