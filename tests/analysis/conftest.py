"""A run with known numbers: one rank loads and saves, another transforms."""

from pathlib import Path

import pytest
from pse_testing.traces import (
    small_definitions,
    write_rank,
)

from pse import trace
from pse.trace.interchange import import_otf2
from tests.analysis.rows import LOADER, ROWS


@pytest.fixture
def written(tmp_path):
    """Write a run of these ranks' rows; rank 0 is the root's, the others are a processor each."""

    def write(*ranks, known=True):
        site, edge = trace.SiteDefinition, trace.EdgeDefinition
        if known:
            trace.write_definitions(tmp_path, small_definitions(
                processors=len(ranks) - 1,
                sites=(site(0, "load", "load", "small.coven:3:1", "thread_A"),
                       site(1, "fft.rows", "rows", "small.coven:4:1", "thread_B", True),
                       site(2, "save", "save", "small.coven:5:1", "thread_A")),
                edges=(edge(0, "image", 0, (1,)), edge(1, "result", 1, (2,))),
            ))  # fmt: skip
        for rank, rows in enumerate(ranks):
            if rows is not None:
                write_rank(tmp_path, rank, rows)
        return trace.open(tmp_path)

    return write


@pytest.fixture
def pipeline(written):
    """Rank 0 loads, rank 1 transforms, rank 0 saves."""
    return written(LOADER, ROWS)


@pytest.fixture(scope="session")
def archive():
    """An OTF2 archive of a random program."""
    pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
    return sorted((Path(__file__).parent / "data" / "waitstates").glob("*/traces.otf2"))[0].parent


@pytest.fixture(scope="session")
def random_run(archive, tmp_path_factory):
    """The trace that such an archive becomes."""
    path = tmp_path_factory.mktemp("imported") / "run"
    import_otf2(archive / "traces.otf2", path)
    return path
