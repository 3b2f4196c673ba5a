"""The wait states that SCALASCA's own analyser found in the same OTF2 archives."""

import json
from pathlib import Path

import numpy as np
import pytest

from pse.analysis import analyze, severities_json
from tests.analysis.test_planted_waits import assert_explained

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")

DATA = Path(__file__).parent / "data" / "waitstates"
PINGPONG = Path(__file__).parents[1] / "trace" / "data" / "pingpong-otf2" / "traces.otf2"
BOUND = 0.002  # µs


@pytest.mark.parametrize("archive", sorted(path.name for path in DATA.iterdir() if path.is_dir()))
def test_all_severities_of_random_programs_are_scalascas(archive):
    expected = json.loads((DATA / archive / "severities.json").read_text())["severities"]
    cube = analyze(DATA / archive / "traces.otf2")
    found = severities_json(cube)["severities"]
    assert {metric: set(found[metric]) for metric in found} == {
        metric: set(expected[metric]) for metric in expected
    }
    for metric, regions in expected.items():
        for region, values in regions.items():
            assert np.abs(np.subtract(found[metric][region], values)).max() <= BOUND, (metric, region)
    assert cube.problems == ()
    assert_explained(cube)


def test_the_severities_of_a_real_trace_with_a_fast_clock_are_scalascas():
    """Its clock ticks 2.1 times in a ns: of ten short waits nothing may be lost."""
    cube = analyze(PINGPONG.parent)
    late_sender, late_receiver = (cube.by_region(f"mpi_late{end}") for end in ("sender", "receiver"))
    assert late_sender["MPI_Recv"] == pytest.approx([11_836, 33_288], abs=1e3 * BOUND)
    assert late_receiver["MPI_Send"] == pytest.approx([602_735, 17_826], abs=1e3 * BOUND)
    assert {location.node for location in cube.locations} == {"quartz10"}
    last = cube.path_text(len(cube.call_paths) - 1)
    assert last == "program / int main(int, char**) / MPI_Finalize"
