"""What a figure is: its value, whether it holds, what JSON says of it."""

import json
import math

import numpy as np
import pytest

from pse.bench import Against, Figure, Result
from pse.bench._figures import share_bounds
from pse.bench._scaling_model import fit_growth


def figure(**changes):
    given = {"name": "hop", "unit": "µs", "sense": "<=", "target": 4.0, "samples": (3.0, 9.0, 2.0)}
    return Figure(**(given | changes))


TEN = (2.9, 3.0, 3.1, 3.0, 2.8, 3.2, 3.0, 3.1, 2.9, 3.0)


def test_the_value_is_the_median_and_its_interval_lies_within_the_samples():
    assert figure().value == 3.0
    low, high = figure(samples=TEN).interval
    assert min(TEN) <= low <= 3.0 <= high <= max(TEN)


@pytest.mark.parametrize(
    ("sense", "target", "verdict"),
    [
        *[("<=", 3.3, "holds"), ("<=", 3.0, "open"), ("<=", 2.7, "missed")],
        *[(">=", 2.7, "holds"), (">=", 3.0, "open"), (">=", 3.3, "missed")],
    ],
)
def test_the_verdict_compares_the_interval_with_the_target(sense, target, verdict):
    assert figure(samples=TEN, sense=sense, target=target).verdict == verdict


def test_bounds_of_a_share_are_those_of_the_binomial_law():
    assert share_bounds(0, 60) == (0.0, pytest.approx(100 * (1 - 0.05 ** (1 / 60))))
    assert share_bounds(60, 60) == (pytest.approx(100 * 0.05 ** (1 / 60)), 100.0)
    low, high = share_bounds(3, 60)
    for bound, rows in ((high, range(4)), (low, range(3, 61))):
        law = [math.comb(60, k) * (bound / 100) ** k * (1 - bound / 100) ** (60 - k) for k in rows]
        assert sum(law) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(("alarms", "verdict"), [(0, "holds"), (1, "open"), (8, "missed")])
def test_a_share_with_its_own_bounds_has_a_verdict(alarms, verdict):
    share = 100 * alarms / 60
    assert figure(samples=(share,), target=5.0, bounds=share_bounds(alarms, 60)).verdict == verdict


@pytest.mark.parametrize("target", [1.0, 99.0])
def test_few_launches_have_no_interval_and_leave_the_verdict_open(target):
    few = figure(samples=TEN[:9], target=target)
    assert (few.interval, few.verdict) == (None, "open")


@pytest.mark.parametrize(
    ("factor", "bound", "verdict"),
    [(1.2, True, "wrong bound"), (1.2, False, "holds"), (1.0, True, "holds"), (0.5, True, "holds")],
)
def test_a_bound_that_is_beaten_by_more_than_noise_is_wrong(factor, bound, verdict):
    noise = (1.0, 1.01, 0.99, 1.02, 0.98) * 2
    least = tuple(factor * one * two for one, two in zip(TEN, noise, strict=True))
    assert figure(samples=TEN, against=Against("floor", "µs", least, bound=bound)).verdict == verdict


def test_ratio_compares_in_the_peers_unit():
    assert figure().ratio is None
    assert figure(against=Against("MPI", "µs", (1.5,))).ratio == 2.0
    assert figure(unit="×", against=Against("futex", "µs", (2.0,), ours=(5.0, 5.0))).ratio == 2.5


@pytest.mark.parametrize("samples", [(), (1.0, math.nan), (math.inf,)])
def test_samples_must_be_there_and_finite(samples):
    with pytest.raises(ValueError, match="hop: expected at least one sample, all finite"):
        figure(samples=samples)
    with pytest.raises(ValueError, match="MPI: expected at least one sample, all finite"):
        Against("MPI", "µs", samples)


def test_other_senses_are_refused():
    with pytest.raises(ValueError, match="hop: sense must be <= or >=, not '<'"):
        figure(sense="<")


def test_json_has_the_documented_keys_and_survives_a_round_trip():
    result = Result("hop", (figure(against=Against("MPI", "µs", (1.5,))), figure()), {"cores": 2})
    read = json.loads(json.dumps(result.to_json()))
    assert list(read) == ["bench", "figures", "environment"]
    assert read["bench"] == "hop"
    assert read["environment"] == {"cores": 2}
    for one in read["figures"]:
        assert list(one) == [
            "name",
            "value",
            "unit",
            "sense",
            "target",
            "verdict",
            "interval",
            "samples",
            "against",
        ]
    first, second = read["figures"]
    assert (first["value"], first["verdict"], first["samples"]) == (3.0, "open", [3.0, 9.0, 2.0])
    assert first["against"] == {"name": "MPI", "value": 1.5, "unit": "µs", "samples": [1.5], "ours": []}
    assert second["against"] is None


@pytest.mark.parametrize(("law", "f"), [("log₂ p", np.log2), ("p", np.asarray)])
def test_the_law_of_growth_that_was_planted_is_found_with_its_interval(law, f):
    numbers, noise = [1, 2, 4, 8], np.random.default_rng(3)
    times = [100 + 20 * f(np.float64(number)) + noise.normal(0, 1, 5) for number in numbers]
    found = fit_growth(numbers, times)
    low, high = found.interval
    assert found.law == law
    assert low <= 20 <= high
    assert high - low < 3
    expected = 20 * f(np.float64(1024))
    assert found.more(numbers, [row[0] for row in times], 1024) == pytest.approx(expected, rel=0.2)
