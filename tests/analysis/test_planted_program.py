"""A `.coven` program with modules that are slow by known times: what its ranks wait, and where."""

from pathlib import Path

import numpy as np
import pytest

from pse.analysis import analyze
from pse.trace import WaitReason, open as open_trace

PROGRAM = Path(__file__).parent / "programs" / "planted.coven"
WAITS = {
    "queue_empty": (WaitReason.INPUT, "use (line 8)", "numbers (line 7)", 5),
    "queue_full": (WaitReason.CREDIT, "numbers (line 11)", "use (line 12)", 3),
    "arena_wait": (WaitReason.SPACE, "numbers (line 15)", "use (line 16)", 2),
    "partition_parked": (WaitReason.PARTITIONS, "ring (line 22)", "first (line 21)", 1),
}
"""By metric: where a rank waits, for which calls, and for how many of them."""


def sites(run):
    return {f"{site.label} (line {site.place.split(':')[-2]})": site.id for site in run.definitions.sites}


@pytest.mark.mpi
def test_what_a_slow_module_makes_others_wait_is_found(pse, tmp_path):
    assert pse("run", PROGRAM, "-p", "2", "--trace", tmp_path / "run").code == 0
    run = open_trace(tmp_path / "run")
    cube, calls, waits, numbers = analyze(run), run.module_calls(), run.waits(), sites(run)
    for metric, (reason, place, late, count) in WAITS.items():
        rows = [row for row in range(len(cube.call_paths)) if f" / {place}" in cube.path_text(row)]
        found = cube.exclusive(metric)[rows].sum()
        own = waits[(waits["site"] == numbers[place]) & (waits["reason"] == reason)]
        assert found == pytest.approx((own["end"] - own["begin"]).sum(), rel=0.02), metric
        slow = calls[calls["site"] == numbers[late]]
        assert np.count_nonzero([overlaps(own, call) for call in slow]) >= count - 1, metric


def overlaps(waits, call):
    """Whether most of a call of 100 ms or more was waited for."""
    both = np.minimum(waits["end"], call["leave"]) - np.maximum(waits["begin"], call["enter"])
    length = call["leave"] - call["enter"]
    return length >= 100_000_000 and np.maximum(both, 0).sum() > length / 2
