"""The parameters of LogGP: medians over launches, their spread over ranks, and models that hold them."""

import numpy as np
import pytest
from pse_testing.planted_measurements import planted_loggp, planted_results

from pse.emulate import Model, Results, loggp_frame, loggp_parameters
from pse.emulate.report._tables import loggp_table


def measured(launches: int) -> Results:
    empty = planted_results()
    facts = {"launches": [planted_loggp(launch) for launch in range(launches)]}
    return Results(empty.cycles, empty.exchanges, facts)


def with_values(name: str, values: list[list[float]]) -> Results:
    """Plant values of a parameter, by rank and launch."""
    facts = [planted_loggp(launch) for launch in range(len(values[0]))]
    for rank, launches in enumerate(values):
        for launch, value in enumerate(launches):
            facts[launch]["loggp"][rank][name] = value
    empty = planted_results()
    return Results(empty.cycles, empty.exchanges, {"launches": facts})


def test_parameters_are_medians_with_their_spread():
    found = {one.symbol: one for one in loggp_parameters(measured(3))}
    assert (found["L"].value, found["L"].least, found["L"].greatest) == (2e-6, 2e-6, 2e-6)
    assert found["L"].interval[0] < 2e-6 < found["L"].interval[1]
    assert (found["G"].unit, found["G"].launches, found["G"].ranks) == ("s/B", 3, 2)


def test_the_value_is_between_the_least_and_the_greatest_rank():
    """As means of two ranks it would not be: each rank is slow in one launch of three, in different ones."""
    launches = [[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]]
    found = loggp_parameters(with_values("send_overhead", launches))[0]
    assert (found.symbol, found.least, found.value, found.greatest) == ("o_s", 1.0, 1.0, 1.0)
    assert found.interval[0] <= 1.0 <= found.interval[1]


def test_a_latency_below_zero_stays_and_is_explained():
    results = with_values("latency", [[-2e-7, -1e-7, -3e-7]] * 2)
    latency = next(one for one in loggp_parameters(results) if one.symbol == "L")
    assert latency.value == latency.least == pytest.approx(-2e-7)
    table = loggp_table(loggp_parameters(results))
    assert "-200 ns" in next(row for row in table.rows if row[0] == "L")
    assert "take as long as half of a round trip, where they overlap" in table.note
    assert not loggp_table(loggp_parameters(measured(3))).note


def test_one_launch_gives_no_interval_and_none_no_parameters():
    assert loggp_parameters(measured(1))[0].interval is None
    assert loggp_parameters(measured(0)) == ()


def test_a_frame_has_a_row_for_each_launch_and_rank():
    frame = loggp_frame(measured(3))
    assert frame.shape == (6, 8)
    assert frame.groupby("launch")["L"].median().tolist() == pytest.approx([1e-6, 2e-6, 3e-6])
    assert frame["partner"].dtype == np.int64


def test_a_model_without_loggp_is_still_read():
    data = Model(1e-6, 1e-9).to_json()
    del data["loggp"]
    assert Model.from_json(data) == Model(1e-6, 1e-9)
