"""The core primitives' protocol in every order of steps and kills: all or none, nobody sleeps for ever."""

import pytest
from pse_testing.models.intent_model import BUGS, Job, Model
from pse_testing.models.state_search import Violation, search

JOBS = (Job(1), Job(2, expected=0), Job(3, expected=1))


def test_every_order_of_steps_and_kills_keeps_the_promises():
    model = Model(JOBS, kills=2)
    assert 5_000 < search(model.initial(), model.steps, model.wrong) < 300_000


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    model = Model(JOBS, kills=2, bug=bug)
    with pytest.raises(Violation):
        search(model.initial(), model.steps, model.wrong)
