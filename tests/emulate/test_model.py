"""The cost model finds what was planted, agrees with scipy's optimizers, and is the same after a file."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.planted_measurements import SIZES, eager_then_rendezvous, planted_exchanges
from scipy.optimize import least_squares

from pse.emulate import EXCHANGE, Model, ModelError, Segment, fit
from pse.emulate.model._piecewise import SCALE, fit_lines

LINES = st.tuples(st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-8))


@pytest.fixture(scope="module")
def exchanges():
    return planted_exchanges()


@pytest.fixture(scope="module")
def model(exchanges):
    return fit(exchanges, pairs=True)


def test_the_switch_of_protocols_is_found(model):
    assert model.switches == ((8192, 16384),)
    first, second = model.segments
    assert (first.alpha, second.alpha) == (pytest.approx(0.94e-6, rel=0.03), pytest.approx(2.5e-6, rel=0.1))
    assert (first.beta, second.beta) == (pytest.approx(0.12e-9, rel=0.05), pytest.approx(0.078e-9, rel=0.03))


@pytest.mark.parametrize("drift", [0.02, 0.3])
def test_a_single_line_stays_one_segment(drift):
    for seed in range(3):
        table = planted_exchanges(lambda size: 1e-6 + 1e-10 * size, drift=drift, seed=seed)
        assert len(fit(table).segments) == 1


@pytest.mark.parametrize("drift", [0.15, 0.3])
def test_the_switch_is_found_whatever_all_messages_of_a_launch_have_in_common(drift):
    for seed in range(2):
        found = fit(planted_exchanges(ranks=4, launches=10, noise=0.05, drift=drift, seed=seed))
        assert found.switches == ((8192, 16384),)


def test_the_switch_is_found_where_half_the_launches_are_slower():
    table = planted_exchanges(ranks=4, launches=10, noise=0.05)
    table["seconds"][table["launch"] % 2 == 1] *= 1.5
    assert fit(table).switches == ((8192, 16384),)
    cut = table[(table["launch"] % 2 == 0) | (table["size"] < 1 << 16)]
    assert (8192, 16384) in fit(cut).switches


def test_intervals_hold_what_launches_differ_by():
    steady, varied = (fit(planted_exchanges(drift=drift)).segments[0].alpha_interval for drift in (0.02, 0.3))
    assert varied[1] - varied[0] > 5 * (steady[1] - steady[0])


def test_intervals_hold_the_truth_in_most_launches():
    truth = [(0.94e-6, 0.12e-9), (2.5e-6, 0.078e-9)]
    held = []
    for seed in range(12):
        found = fit(planted_exchanges(launches=10, repetitions=4, spikes=0, seed=seed))
        assert len(found.segments) == len(truth)
        for one, (alpha, beta) in zip(found.segments, truth, strict=True):
            held += [one.alpha_interval[0] <= alpha <= one.alpha_interval[1]]
            held += [one.beta_interval[0] <= beta <= one.beta_interval[1]]
    assert np.mean(held) >= 0.85


def test_a_measured_size_costs_what_was_measured_and_others_are_on_the_line(exchanges, model):
    rows = exchanges[exchanges["size"] == 1024]["seconds"]
    assert model.seconds(1024) == pytest.approx(np.median(rows), rel=0.02)
    assert model.seconds(1024) == {one.size: one.seconds for one in model.table}[1024]
    assert model.seconds(3000) == model.segments[0].alpha + 3000 * model.segments[0].beta
    sizes = np.array([[1024, 3000]])
    assert model.seconds(sizes).tolist() == [[model.seconds(1024), model.seconds(3000)]]


def test_relative_errors_are_small_where_one_line_is_wrong(exchanges, model):
    truth = eager_then_rendezvous(np.array(SIZES))
    missed = np.abs(model.line(SIZES) / truth - 1)
    assert np.median(missed) < 0.02
    paper = np.abs(fit(exchanges, "paper").seconds(SIZES) / truth - 1)
    assert np.median(paper) > 0.2


def test_paper_mode_is_ordinary_least_squares_for_each_rank_averaged(exchanges):
    lines = []
    for rank in range(2):
        rows = exchanges[exchanges["rank"] == rank]
        lines.append(np.polynomial.Polynomial.fit(rows["size"], rows["seconds"], 1).convert().coef)
    found = fit(exchanges, "paper")
    assert (found.alpha, found.beta) == pytest.approx(np.mean(lines, axis=0), rel=1e-6)
    assert [(one.alpha, one.beta) for one in found.ranks] == [pytest.approx(line, rel=1e-6) for line in lines]
    assert found.seconds(1024) == found.alpha + 1024 * found.beta


@settings(max_examples=some_of(30), deadline=None)
@given(line=LINES, seed=st.integers(0, 2**32 - 1), noise=st.floats(0, 0.3))
def test_lines_are_those_of_scipys_soft_l1(line, seed, noise):
    sizes = np.array(SIZES, float)
    source = np.random.default_rng(seed)
    seconds = (line[0] + line[1] * sizes) * np.exp(source.normal(0, noise, len(sizes)))
    alpha, beta, loss = fit_lines(sizes, seconds[None], np.ones((1, len(sizes)), bool))

    def residuals(scaled):
        return (scaled[0] * line[0] + scaled[1] * line[1] * sizes) / seconds - 1

    judged = least_squares(
        residuals, [1, 1], loss="soft_l1", f_scale=SCALE, bounds=(0, np.inf), xtol=1e-12, ftol=1e-12
    )
    assert loss[0, 0] / 2 <= judged.cost * (1 + 1e-6) + 1e-12
    assert np.isfinite([alpha[0, 0], beta[0, 0]]).all()


@settings(max_examples=some_of(20), deadline=None)
@given(lines=st.tuples(LINES, LINES), place=st.integers(4, 18))
def test_planted_segments_are_found_without_noise(lines, place):
    sizes = np.array(SIZES)
    first, second = (alpha + beta * sizes for alpha, beta in lines)
    truth = np.where(np.arange(len(sizes)) < place, first, second)
    found = fit(planted_exchanges(lambda size: truth[np.searchsorted(sizes, size)], launches=1, repetitions=1,
                                  noise=0, spikes=0))  # fmt: skip
    assert np.abs(found.line(sizes) / truth - 1).max() < 0.02


def test_a_slow_pair_is_seen_by_its_factor():
    table = planted_exchanges(ranks=6)
    table["seconds"][np.isin(table["rank"], (2, 3))] *= 2
    found = fit(table, pairs=True)
    slow = {(one.rank, one.partner): one.factor for one in found.pairs if one.factor > 1.3}
    assert slow == {(2, 3): pytest.approx(1.5, rel=0.05), (3, 2): pytest.approx(1.5, rel=0.05)}
    assert [one.rank for one in found.ranks if one.factor > 1.3] == [2, 3]


def test_dispersion_holds_the_spread_of_messages_and_launches():
    found = fit(planted_exchanges(noise=0.1, spikes=0, repetitions=100)).dispersion
    assert np.std(np.log(found.launches), ddof=1) == pytest.approx(0.1, rel=0.5)
    factors = np.log(found.quantiles(1000))
    assert np.interp(0.84, np.linspace(0, 1, len(factors)), factors) == pytest.approx(0.1, rel=0.1)


def test_a_file_holds_the_same_model(model, tmp_path):
    path = model.save(tmp_path / "model.json")
    assert Model.load(path) == model
    assert Model.from_json(json.loads(json.dumps(Model(1e-6, 2e-9).to_json()))) == Model(1e-6, 2e-9)


def test_one_launch_gives_no_intervals():
    found = fit(planted_exchanges(launches=1))
    assert {one.alpha_interval for one in found.segments} == {None}
    assert {one.interval for one in found.table} == {None}


def test_a_launch_that_lacks_a_size_counts_for_the_others():
    table = planted_exchanges(launches=4)
    table = table[~((table["launch"] == 2) & (table["size"] > 1000))]
    assert fit(table).switches == ((8192, 16384),)


@pytest.mark.parametrize("mode", ["piecewise", "paper"])
@pytest.mark.parametrize("sizes", [(64,), (64, 1 << 20)])
def test_few_sizes_are_enough_for_a_line(mode, sizes):
    found = fit(planted_exchanges(sizes=sizes, noise=0, spikes=0), mode)
    assert found.seconds(sizes) == pytest.approx(eager_then_rendezvous(np.array(sizes)), rel=1e-6)


def broken(value, column="seconds"):
    table = planted_exchanges(launches=1, ranks=1, repetitions=1)
    table[column][7] = value
    return table


@pytest.mark.parametrize(
    ("table", "mode", "message"),
    [
        (np.zeros(0, EXCHANGE), "piecewise", "there are no measured exchanges to fit a model to"),
        (broken(0.0), "piecewise", "an exchange of 64 B took 0.0 s"),
        (
            broken(np.nan),
            "paper",
            "took nan s .launch 0, rank 0, repetition 0.: a time is finite and above zero",
        ),
        (broken(-5, "size"), "piecewise", "an exchange has a size of -5 B: a size is zero or more bytes"),
        (broken(1.0), "papre", "there is no mode 'papre'"),
    ],
)
def test_what_allows_no_model_is_named(table, mode, message):
    with pytest.raises(ModelError, match=message):
        fit(table, mode)


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (-1e-6, 1e-9, "alpha is -1e-06: it must be a finite number"),
        (1e-6, float("nan"), "beta is nan"),
        (0.0, 0.0, "alpha and beta are both 0"),
    ],
)
def test_parameters_that_are_no_costs_are_refused(alpha, beta, message):
    with pytest.raises(ModelError, match=message):
        Model(alpha, beta)


def damage(**fields):
    return json.dumps(Model(1e-6, 1e-9).to_json() | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a communication model"),
        ("[1]", "is not a communication model"),
        ('{"format": "other"}', "is not a communication model"),
        (damage(version=99), "has version 99; this pse reads version 1"),
        (damage(mode="cubic"), "is damaged: .*cubic"),
        (damage(segments=[]), "is damaged"),
        (damage(segments=[{"begin": 0, "alpha": "x", "beta": 1}]), "is damaged"),
        (damage(table=[{"size": 1}]), "is damaged: a value in it is of another kind than expected"),
        (damage(alpha=None), "is damaged: a value in it"),
        (damage().replace('"alpha"', '"alfa"'), "is damaged: 'alpha' is missing"),
        (damage()[:80], "is not a communication model"),
    ],
)
def test_files_that_hold_no_model_are_named(tmp_path, text, message):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelError, match=message):
        Model.load(tmp_path / "model.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"cannot read the model .*none\.json: No such file"):
        Model.load(tmp_path / "none.json")


def test_segments_need_no_model():
    assert Model(1e-6, 1e-9).segments == (Segment(0, 1e-6, 1e-9),)
