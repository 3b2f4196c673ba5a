"""Fixtures for the tests of messages among partitions."""

import pytest
from pse_testing.partition_world import build_world


@pytest.fixture(scope="session")
def world_library(tmp_path_factory):
    """Give the C library with a world around it."""
    return build_world(tmp_path_factory.mktemp("messages"))
