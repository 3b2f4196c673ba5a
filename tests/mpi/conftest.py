"""Fixtures for tests under real MPI: modules for random programs."""

from pathlib import Path

import pytest
from pse_testing.program_writer import write_modules

PROGRAMS = Path(__file__).parents[1] / "runtime" / "programs"


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """The modules of the runtime's programs, for every element type."""
    folder = tmp_path_factory.mktemp("modules")
    write_modules(folder, PROGRAMS)
    return folder
