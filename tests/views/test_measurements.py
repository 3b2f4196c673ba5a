"""Pictures of measurements: the numbers in the figures, and files that a user gets."""

import numpy as np
import pytest
from pse_testing.planted_measurements import planted_cycles, planted_exchanges, planted_results

from pse import views
from pse.emulate import EXCHANGE, Results, run_times, summaries
from pse.errors import UsageError


@pytest.fixture(scope="module")
def results():
    rows = []
    for number, factor in enumerate((1.0, 1.3)):
        for load in (20, 60):
            own = planted_cycles(launches=4, cycles=30, sizes=(1024, 1 << 20), load=load, seed=number)
            own["communication"] *= factor
            own["application"] = number
            rows.append(own)
    applications = [
        {"name": "first", "pattern": "pairwise", "blocking": True, "nodes": ["a", "b"]},
        {"name": "second", "pattern": "pairwise", "blocking": False, "nodes": ["a", "b", "c", "d"]},
    ]
    metadata = {"applications": applications, "ranks": 4, "hosts": ["a"], "mpi": "MPICH"}
    return Results(np.concatenate(rows), planted_exchanges(launches=4), metadata)


def lines(axes):
    """The data of error bars by their number."""
    return [np.asarray(container[0].get_xydata()) for container in axes.containers]


def test_errors_have_a_panel_for_each_kind_and_size(results):
    figure = views.draw_measurements(results, "error")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "pairwise, blocking, 1 KiB",
        "pairwise, blocking, 1 MiB",
        "pairwise, non-blocking, 1 KiB",
        "pairwise, non-blocking, 1 MiB",
    ]
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels == ["2 nodes", "4 nodes"]
    known = [100 * one.error for one in run_times(results) if one.name == "second" and one.size == 1024]
    (drawn,) = lines(figure.axes[2])
    assert drawn[:, 0].tolist() == [20, 60]
    assert drawn[:, 1] == pytest.approx(known)


def test_applications_share_a_panel(results):
    figure = views.draw_measurements([results], "applications")
    assert [len(lines(axes)) for axes in figure.axes] == [2, 2]


def test_an_application_alone_has_the_colour_of_the_same_one_beside_others(results):
    alone = {"name": "first alone", "alone": "first"}
    listed = [results.metadata["applications"][0], alone]
    both = Results(results.cycles, results.exchanges, {**results.metadata, "applications": listed})
    axes = views.draw_measurements(both, "applications").axes[0]
    drawn = [container[0] for container in axes.containers]
    assert [line.get_linestyle() for line in drawn] == ["-", "--"]
    assert drawn[0].get_color() == drawn[1].get_color()
    assert drawn[0].get_xdata()[0] < 20 < drawn[1].get_xdata()[0]
    assert axes.get_xlim() == (-4, 104)


def test_dispersion_has_a_row_for_each_setting(results):
    figure = views.draw_measurements(results, "dispersion")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[:2] == ["first, 1 KiB, 20 %", "first, 1 KiB, 60 %"]
    assert len(names) == 8
    means = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert sorted(means) == pytest.approx(
        sorted(one.mean for one in summaries(results, metrics=["communication"]))
    )


def test_constant_times_are_drawn():
    rows = planted_cycles(cycles=20)
    rows["barrier"], rows["communication"] = 0.0, 1e-6
    communication, barrier = views.draw_measurements(planted_results(rows), "dispersion").axes
    assert "none" in [text.get_text() for text in barrier.texts]
    assert "none" not in [text.get_text() for text in communication.texts]


def test_costs_show_both_models(results):
    figure = views.draw_measurements(results, "costs")
    left, right = figure.axes
    assert left.get_xscale() == "log"
    errors = [np.abs(line.get_ydata()).max() for line in right.lines[:2]]
    assert errors[0] < 5 < errors[1]
    left.set_ylim(4e-6, 9e-5)  # Less than two decades: matplotlib would name minor ticks in its own way.
    figure.draw_without_rendering()
    names = [label.get_text() for minor in (False, True) for label in left.get_yticklabels(minor=minor)]
    assert {name.partition(" ")[2] for name in names if name} == {"µs"}


def test_a_large_error_hides_no_small_one_and_ticks_are_for_all_results():
    long = planted_exchanges(launches=3)
    short = long[long["size"] <= 16384].copy()
    figure = views.draw_measurements([planted_results(exchanges=table) for table in (long, short)], "costs")
    left, right = figure.axes
    assert max(np.abs(line.get_ydata()).max() for line in right.lines) > 100
    assert right.get_yscale() == "symlog"
    assert "logarithmic beyond ±10 %" in " ".join(text.get_text() for text in figure.texts)
    figure.draw_without_rendering()
    for axes in (left, right):
        assert "256 KiB" in [label.get_text() for label in axes.get_xticklabels()]


def test_a_recorded_program_has_its_own_load_and_no_size():
    found = []
    for seed in range(2):
        cycles = planted_cycles(launches=3, cycles=20, load=100, seed=seed)
        cycles["size"], cycles["compute"] = 0, 3 * cycles["communication"]
        facts = {"name": "heat-0", "pattern": "recorded", "blocking": True, "ranks": 4}
        found.append(Results(cycles, np.zeros(0, EXCHANGE), {"applications": [facts]}))
    figure = views.draw_measurements(found, "error")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["heat-0, as recorded"]
    assert [line[0, 0] for line in lines(figure.axes[0])] == pytest.approx([25, 25], abs=1)
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels == ["4 ranks (1)", "4 ranks (2)"]
    assert views.draw_measurements(found, "applications").axes[0].get_title(loc="left") == "as recorded"
    rows = views.draw_measurements(found[0], "dispersion").axes[0].get_yticklabels()
    assert [label.get_text() for label in rows] == ["heat-0, as recorded"]


def test_matrices_of_several_results_are_numbered_and_share_their_colours():
    one = planted_exchanges(launches=3)
    other = one.copy()
    other["seconds"] *= 2
    figure = views.draw_measurements([planted_results(exchanges=table) for table in (one, other)], "matrix")
    squares = [axes for axes in figure.axes if axes.get_title(loc="left")]
    titles = [axes.get_title(loc="left") for axes in squares]
    assert titles == ["(1) 0 B: time", "(1) 1 MiB: rate", "(2) 0 B: time", "(2) 1 MiB: rate"]
    norms = [axes.collections[0].norm for axes in squares]
    assert (norms[0].vmin, norms[0].vmax) == (norms[2].vmin, norms[2].vmax)
    assert squares[2].collections[0].get_array().max() == norms[0].vmax
    assert "(1), (2), … are the results" in " ".join(text.get_text() for text in figure.texts)


def test_a_matrix_has_the_time_and_the_rate_of_each_pair(results):
    exchanges = planted_exchanges(launches=4, ranks=4, sizes=(1, 1 << 20), noise=0, spikes=0)
    exchanges["seconds"][(exchanges["rank"] == 2) & (exchanges["size"] == 1)] = 5e-6
    figure = views.draw_measurements(planted_results(exchanges=exchanges), "matrix")
    small, large = (axes for axes in figure.axes if axes.get_title(loc="left"))
    assert [small.get_title(loc="left"), large.get_title(loc="left")] == ["1 B: time", "1 MiB: rate"]
    times = small.collections[0].get_array()
    assert times[2, 3] == pytest.approx(5e-6)
    assert times[0, 1] == pytest.approx(0.94e-6, rel=1e-3)
    assert times.mask[0, 2]
    assert large.collections[0].get_array()[0, 1] == pytest.approx((1 << 20) / 84.3e-6, rel=1e-2)
    figure.draw_without_rendering()
    scale = figure.axes[figure.axes.index(small) + 1]
    assert {"1 µs", "2 µs"} <= {label.get_text() for label in scale.get_yticklabels()}
    words = " ".join(" ".join(text.get_text() for text in figure.texts).split())
    assert "Only neighbours were measured: matrix = true" in words


@pytest.mark.parametrize("view", sorted(views.MEASUREMENT_VIEWS))
@pytest.mark.parametrize("size", [{}, {"width": 4, "height": 3}])
def test_pictures_are_saved_wide_and_narrow(results, view, size, tmp_path):
    views.save(views.draw_measurements(results, view, **size), tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")


def test_what_can_not_be_drawn_is_named(results):
    with pytest.raises(UsageError, match="there is no view 'errors' of measurements") as raised:
        views.draw_measurements(results, "errors")
    assert raised.value.help == "did you mean `error`?"
    with pytest.raises(UsageError, match="these results have no exchanges"):
        views.draw_measurements(planted_results(planted_cycles(cycles=20)), "costs")
    with pytest.raises(UsageError, match="these results have no exchanges"):
        views.draw_measurements(planted_results(planted_cycles(cycles=20)), "matrix")
    with pytest.raises(UsageError, match="these results have no cycles"):
        views.draw_measurements(planted_results(exchanges=planted_exchanges()), "error")


def test_applications_of_several_results_are_told_apart(results):
    def names(*several):
        axes = views.draw_measurements(several, "dispersion").axes[0]
        return {label.get_text().partition(", 1 KiB")[0] for label in axes.get_yticklabels()}

    first = {"name": "first", "ranks": 2, "blocking": True}
    own = [
        Results(planted_cycles(cycles=20, launches=3), results.exchanges, {"applications": [first | more]})
        for more in ({}, {"ranks": 4}, {"blocking": False})
    ]
    assert names(own[0]) == {"first"}
    assert names(*own[:2]) == {"first, 2 ranks", "first, 4 ranks"}
    assert names(own[0], own[2]) == {"first, blocking", "first, non-blocking"}
    assert names(own[0], own[0]) == {"first (1)", "first (2)"}


def test_runs_of_one_kind_have_errors_of_their_own(results):
    figure = views.draw_measurements([results, results], "error")
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels == ["2 nodes (1)", "2 nodes (2)", "4 nodes (1)", "4 nodes (2)"]
    colours = {container[0].get_color() for axes in figure.axes[:3:2] for container in axes.containers}
    assert len(colours) == len(labels)
    assert "(1), (2), … are the results" in " ".join(text.get_text() for text in figure.texts)


def test_the_costs_of_several_results_are_curves_of_their_own():
    one, other = (planted_exchanges(launches=4, seed=seed) for seed in range(2))
    other["seconds"] *= 3
    figure = views.draw_measurements([planted_results(exchanges=table) for table in (one, other)], "costs")
    times = [line[:, 1] for line in lines(figure.axes[0])]
    assert np.median(times[1] / times[0]) == pytest.approx(3, rel=0.1)
    first, second = (container[0].get_color() for container in figure.axes[0].containers)
    assert first != second
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels[:2] == ["(1)", "(2)"]
    assert "(1), (2), … are the results" in " ".join(text.get_text() for text in figure.texts)


def test_no_mark_is_cut_by_the_edge_of_its_panel():
    cycles = planted_cycles(launches=3, cycles=20, load=1)
    (axes,) = views.draw_measurements([planted_results(cycles)], "error").axes
    assert axes.get_xlim()[0] <= 1 - 2.5  # Lines beside each other.
    figure = views.draw_measurements([planted_results(exchanges=planted_exchanges(launches=3))], "costs")
    right = figure.axes[1]
    drawn = np.concatenate([right.transData.transform(line.get_xydata()) for line in right.lines])
    assert right.get_window_extent().y1 - drawn[:, 1].max() > 5


def test_rates_in_cells_of_six_ranks_have_their_unit_below():
    exchanges = planted_exchanges(launches=1, ranks=6, repetitions=2)
    figure = views.draw_measurements([planted_results(exchanges=exchanges)], "matrix")
    texts = [text.get_text() for axes in figure.axes for text in axes.texts if "iB/s" in text.get_text()]
    assert texts
    assert all("\n" in text for text in texts)
