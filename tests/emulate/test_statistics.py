"""Summaries, time series, disturbances and comparisons find what was planted, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.planted_measurements import planted_cycles, planted_exchanges, planted_results
from scipy import stats

from pse._student import student_quantile
from pse.emulate import (
    CYCLE,
    Results,
    autocorrelation,
    compare,
    disturbances,
    find_changes,
    find_period,
    loaded_ratios,
    run_times,
    summaries,
)
from pse.emulate.statistics._bootstrap import launch_interval
from pse.emulate.statistics._comparison import _Pair, _test
from pse.errors import UsageError


@pytest.fixture(scope="module")
def quiet():
    return planted_results(planted_cycles(), planted_exchanges(ranks=4))


def noise(length, seed=0, spikes=0.02):
    source = np.random.default_rng(seed)
    white = source.normal(0, 0.05, length)
    late = (source.random(length) < spikes) * source.exponential(3e-5, length)
    return 1e-5 * np.exp(0.8 * white + 0.6 * np.roll(white, 1)) + late


def test_quantiles_of_students_distribution_are_those_of_scipy():
    for freedom in (4, 9, 30):
        for probability in (0.9, 0.975, 0.995):
            assert student_quantile(probability, freedom) == pytest.approx(
                stats.t.ppf(probability, freedom), rel=0.02
            )


@pytest.mark.parametrize("statistic", [np.mean, np.median])
def test_intervals_over_launches_hold_the_truth(statistic):
    source = np.random.default_rng(1)
    found = [launch_interval(source.normal(5, 1, 10), statistic) for _ in range(200)]
    assert np.mean([low <= 5 <= high for low, high in found]) >= 0.91


def test_summaries_are_what_numpy_says(quiet):
    found = {one.metric: one for one in summaries(quiet)}
    own = quiet.cycles["communication"]
    one = found["communication"]
    assert (one.name, one.rank, one.size, one.load, one.count, one.launches) == (
        "halo",
        None,
        1024,
        50,
        16000,
        10,
    )
    assert (one.mean, one.median, one.sigma, one.variance) == pytest.approx(
        (own.mean(), np.median(own), own.std(ddof=1), own.var(ddof=1))
    )
    assert one.quantiles[0.99] == np.quantile(own, 0.99)
    assert one.mean_interval[0] < one.mean < one.mean_interval[1]
    assert one.median_interval[0] < one.median < one.median_interval[1]
    assert 0.005 < one.outliers < 0.02
    total = found["compute"].mean + one.mean + found["barrier"].mean
    assert found["cycle"].mean == pytest.approx(total)


def test_summaries_have_a_row_for_each_rank_or_pattern():
    first, second = planted_cycles(cycles=50), planted_cycles(cycles=50, seed=1)
    second["application"] = 1
    applications = [{"name": name, "pattern": "pairwise"} for name in ("one", "two")]
    both = planted_results(np.concatenate([first, second]))
    both = Results(both.cycles, both.exchanges, {"applications": applications})
    ranks = summaries(both, "rank", ["communication"])
    assert [(one.name, one.rank) for one in ranks] == [(n, rank) for n in ("one", "two") for rank in range(4)]
    (pattern,) = summaries(both, "pattern", ["communication"])
    assert (pattern.name, pattern.count) == ("pairwise", 4000)


def test_constant_times_have_no_dispersion():
    rows = np.zeros(40, CYCLE)
    rows["communication"], rows["cycle"] = 1e-6, np.arange(40)
    (one,) = summaries(planted_results(rows), metrics=["communication"])
    assert (one.sigma, one.outliers, one.mean_interval) == (pytest.approx(0, abs=1e-20), 0, None)
    assert np.isnan(one.autocorrelation).all()
    assert not disturbances(planted_results(rows))


def test_autocorrelation_is_that_of_the_definition():
    series = noise(500)
    centred = series - series.mean()
    expected = [(centred[lag:] * centred[:-lag]).sum() / (centred**2).sum() for lag in (1, 2, 3)]
    assert autocorrelation(series, 3) == pytest.approx(expected)


@settings(max_examples=some_of(25), deadline=None)
@given(seed=st.integers(0, 10**6), period=st.integers(4, 100), phase=st.integers(0, 3))
def test_planted_periods_are_found(seed, period, phase):
    series = noise(1000, seed)
    series[phase::period] += 1e-3
    found = find_period(series)
    assert found is not None
    assert found.cycles == pytest.approx(period, rel=0.01)
    assert found.excess == pytest.approx(1e-3, rel=0.05)


def test_a_period_that_is_no_whole_number_of_cycles_is_found():
    series = noise(1000)
    series[np.arange(0, 6000, 100) // 6] += 1e-3
    assert find_period(series).cycles == pytest.approx(100 / 6, rel=0.01)


def test_quiet_series_have_neither_periods_nor_changes():
    alarms = [
        find_period(noise(400, seed)) is not None or find_changes(noise(400, seed)) for seed in range(150)
    ]
    assert sum(map(bool, alarms)) <= 2


@settings(max_examples=some_of(25), deadline=None)
@given(seed=st.integers(0, 10**6), place=st.integers(60, 340), factor=st.sampled_from([0.6, 1.25, 2.0]))
def test_planted_changes_are_found(seed, place, factor):
    series = noise(400, seed)
    series[place:] *= factor
    found = find_changes(series)
    assert min(abs(change.cycle - place) for change in found) <= 20


def test_nothing_is_named_in_quiet_runs():
    named = [
        disturbances(planted_results(planted_cycles(seed=seed), planted_exchanges(ranks=4, seed=seed)))
        for seed in range(10)
    ]
    assert not any(named)


def test_a_millisecond_in_every_hundredth_message_is_named():
    rows = planted_cycles()
    rows["communication"][(rows["rank"] == 2) & (rows["cycle"] % 100 == 37)] += 1e-3
    (found,) = disturbances(planted_results(rows))
    assert str(found) == "rank 2 of `halo`: every 100th cycle takes 1.00 ms more, in 10 of 10 launches"


def test_a_link_with_half_the_rate_is_named():
    rows = planted_exchanges(ranks=6)
    slow = np.isin(rows["rank"], (2, 3))
    rows["seconds"][slow] += rows["size"][slow] * 0.078e-9
    (found,) = disturbances(planted_results(exchanges=rows))
    assert (found.kind, found.ranks) == ("slow link", (2, 3))
    assert str(found).startswith("link 2–3: exchanges above 4 KiB take 1.6")
    assert str(found).endswith(": its rate is 0.51 of theirs")


def test_slow_ranks_are_named():
    rows = planted_cycles()
    rows["communication"][np.isin(rows["rank"], (2, 3))] *= 2
    found = disturbances(planted_results(rows))
    assert [(one.kind, one.where) for one in found] == [
        ("slow rank", "rank 2 of `halo`"),
        ("slow rank", "rank 3 of `halo`"),
    ]
    assert found[0].amount == pytest.approx(2, rel=0.02)


def test_a_change_within_a_launch_is_named_with_its_ranks():
    rows = planted_cycles()
    rows["communication"][(rows["rank"] < 2) & (rows["launch"] == 4) & (rows["cycle"] >= 200)] *= 2
    (found,) = disturbances(planted_results(rows))
    assert (found.launches, found.ranks, found.amount) == ((4,), (0, 1), pytest.approx(2, rel=0.05))
    assert str(found).startswith("ranks 0 and 1 of `halo`: communication rises from 1")
    assert found.cycles == pytest.approx(200, abs=3)


def test_predicted_and_measured_run_times():
    rows = planted_cycles(noise=0, drift=0, spikes=0, load=20)
    (same,) = run_times(planted_results(rows))
    assert same.typical == pytest.approx(20, abs=0.01)
    assert (same.error, same.achieved) == (pytest.approx(0, abs=1e-4), pytest.approx(20, abs=0.01))
    rows["communication"] *= 2
    (slow,) = run_times(planted_results(rows))
    assert (slow.error, slow.achieved) == (pytest.approx(0.2, abs=1e-4), pytest.approx(100 / 3, abs=0.01))
    assert slow.error_interval == (pytest.approx(0.2, abs=1e-4), pytest.approx(0.2, abs=1e-4))


def test_loaded_ratios_at_mean_and_tail():
    alone, together = planted_cycles(), planted_cycles(seed=1)
    together["communication"] *= 1.5
    (found,) = loaded_ratios(planted_results(together), planted_results(alone))
    assert found.mean == pytest.approx(1.5, rel=0.05)
    assert found.mean_interval[0] < found.mean < found.mean_interval[1]
    assert found.tail_interval[0] < found.tail < found.tail_interval[1]
    with pytest.raises(UsageError, match="beside others `noise`, alone `halo`"):
        loaded_ratios(planted_results(together, name="noise"), planted_results(alone))


def test_applications_alone_are_those_that_the_metadata_say():
    together, alone = planted_cycles(cycles=50), planted_cycles(cycles=50, seed=1)
    together["communication"] *= 2
    alone["application"] = 1
    applications = [{"name": "halo"}, {"name": "halo alone", "alone": "halo"}]
    rows = np.concatenate([together, alone])
    (found,) = loaded_ratios(Results(rows, planted_exchanges()[:0], {"applications": applications}))
    assert (found.name, found.mean) == ("halo", pytest.approx(2, rel=0.1))
    with pytest.raises(UsageError, match="alone none"):
        loaded_ratios(planted_results(together))
    with pytest.raises(UsageError, match="alone `noise`"):  # What was given counts for nothing.
        loaded_ratios(
            Results(rows, planted_exchanges()[:0], {"applications": applications}),
            planted_results(planted_cycles(cycles=50), name="noise"),
        )


def test_the_test_agrees_with_scipys_permutation_test():
    source = np.random.default_rng(3)
    for shift in (0, 0.5, 1):
        first, second = source.normal(0, 1, 6), source.normal(shift, 1, 7)
        judged = stats.permutation_test(
            (first, second),
            lambda one, other, axis: np.abs(
                stats.ttest_ind(one, other, equal_var=False, axis=axis).statistic
            ),
            alternative="greater",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert _test(_Pair("", "", first, second), 1, 0.05, 0) == pytest.approx(judged.pvalue, abs=1e-3)


def test_five_percent_are_detected_at_ten_launches():
    detected = 0
    for seed in range(10):
        slow = planted_cycles(seed=1000 + seed, ranks=2, cycles=200)
        slow["communication"] *= 1.05
        plain = planted_cycles(seed=seed, ranks=2, cycles=200)
        found = compare(planted_results(plain), planted_results(slow)).real
        detected += any(one.quantity == "median communication" for one in found)
    assert detected >= 9


def test_undisturbed_comparisons_give_few_alarms():
    alarms = 0
    for seed in range(40):
        sides = [
            planted_results(
                planted_cycles(seed=2 * seed + side, ranks=2, cycles=60),
                planted_exchanges(seed=2 * seed + side, launches=10, repetitions=3, sizes=(64, 1 << 20)),
            )
            for side in range(2)
        ]
        alarms += bool(compare(*sides).real)
    assert alarms <= 2


def test_a_comparison_names_the_rank_and_the_dispersion():
    calm, wild = planted_cycles(seed=1, spikes=0), planted_cycles(seed=2, spikes=0)
    wild["communication"][wild["rank"] == 2] *= 2
    found = compare(planted_results(calm), planted_results(wild))
    named = {(one.where, one.quantity) for one in found.real}
    where = "`halo`, 1 KiB, load 50 %"
    assert (f"rank 2 of {where}", "median communication") in named
    assert not any(one.where.startswith(("rank 0", "rank 1", "rank 3")) for one in found.real)
    assert (where, "standard deviation of communication") in named
    assert "permutation test" in found.test


def test_a_comparison_names_the_link():
    first, second = planted_exchanges(ranks=6, seed=1), planted_exchanges(ranks=6, seed=2)
    slow = np.isin(second["rank"], (2, 3)) & (second["size"] > 4096)
    second["seconds"][slow] += second["size"][slow] * 0.078e-9
    found = compare(planted_results(exchanges=first), planted_results(exchanges=second)).real
    assert {(one.where, one.quantity) for one in found} == {
        ("link from rank 2 to 3", "exchanges above 4 KiB"),
        ("link from rank 3 to 2", "exchanges above 4 KiB"),
    }


def test_equal_results_do_not_differ(quiet):
    found = compare(quiet, quiet)
    assert not found.real
    assert {one.ratio for one in found.differences} == {1.0}


def wrong_times():
    rows = planted_cycles(launches=1, cycles=20)
    rows["barrier"][3] = np.nan
    return planted_results(rows)


def one_launch():
    return planted_results(planted_cycles(launches=1, cycles=20))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summaries(planted_results()), "these results have no cycles"),
        (lambda: disturbances(planted_results()), "these results have no cycles"),
        (lambda: run_times(wrong_times()), "the barrier time of launch 0, rank 0, cycle 3 is nan s"),
        (lambda: summaries(one_launch(), "ranks"), "there is no 'ranks' to summarize"),
        (lambda: summaries(one_launch(), metrics=["comm"]), "there is no 'comm' to summarize"),
        (lambda: compare(one_launch(), one_launch()), "1 launch and 1 are too few"),
        (
            lambda: compare(planted_results(), one_launch()),
            "the two results have nothing in common to compare",
        ),
        (
            lambda: compare(*[planted_results(planted_cycles(launches=2, cycles=20))] * 2),
            "2 launches and 2 are too",
        ),
    ],
)
def test_what_can_not_be_judged_is_named(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_few_launches_among_many_quantities_are_noted():
    sides = [planted_results(planted_cycles(launches=5, cycles=20, ranks=8, seed=seed)) for seed in range(2)]
    assert "too few launches to be significant among so many" in compare(*sides).notes[0]
