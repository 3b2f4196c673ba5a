"""The parameters of LogGP: medians over launches, their spread over ranks, and models that hold them."""

import numpy as np
import pytest
from pse_testing.planted_measurements import planted_loggp, planted_results

from pse.emulate import Model, Results, loggp_frame, loggp_parameters


def measured(launches: int) -> Results:
    empty = planted_results()
    facts = {"launches": [planted_loggp(launch) for launch in range(launches)]}
    return Results(empty.cycles, empty.exchanges, facts)


def test_parameters_are_medians_with_their_spread():
    found = {one.symbol: one for one in loggp_parameters(measured(3))}
    assert (found["L"].value, found["L"].least, found["L"].greatest) == (2e-6, 2e-6, 2e-6)
    assert found["L"].interval[0] < 2e-6 < found["L"].interval[1]
    assert (found["G"].unit, found["G"].launches, found["G"].ranks) == ("s/B", 3, 2)


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
