"""Slices of nodes that begin by strobes, in every order of steps: none is early, nothing waits for ever."""

import pytest
from pse_testing.models.state_search import Violation, search
from pse_testing.models.strobe_model import BUGS, Model


def states(posts, bug=None):
    model = Model(posts, bug)
    return search(model.initial(), model.steps, model.wrong)


@pytest.mark.parametrize("posts", [(2, 0), (0, 2), (2, 2), (0, 1, 1), (1, 0, 2), (0, 0, 0, 2), (0, 0, 1, 1)])
def test_every_order_of_steps_ends_with_all_posted_in_a_slice(posts):
    assert 20 < states(posts) < 300_000


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    with pytest.raises(Violation):
        states((0, 0, 1, 1) if bug in (BUGS[0], *BUGS[-2:]) else (2, 2), bug)
