"""The slice protocol in every order of its steps: one outcome, in order, microphases keep step."""

import pytest
from pse_testing.models.slice_model import ANY, BUGS, COLLECTIVE, COMPLETED, WAIT, Model
from pse_testing.models.state_search import Violation, search


def send(rank):
    return ("send", rank)


def receive(rank):
    return ("receive", rank)


def send_long(rank):
    return ("long", rank)


PROGRAMS = {
    "alone": ((send(0), receive(ANY), WAIT, send(0), receive(0), WAIT),),
    "wildcards": (
        (send(2), send(2)),
        (send(2),),
        (receive(ANY), receive(0), receive(ANY), WAIT),
    ),
    "answers": (
        (send(2), send(2)),
        (receive(2), WAIT, send(2)),
        (receive(ANY), WAIT, send(1), receive(ANY), receive(ANY), WAIT),
    ),
    "chunks": ((send_long(1), send(1), WAIT), (receive(0), receive(ANY), WAIT, send(0))),
    "collective": ((COLLECTIVE, WAIT, COLLECTIVE, WAIT), (COLLECTIVE, COLLECTIVE, WAIT)),
    "both": ((send_long(1), COLLECTIVE, WAIT), (receive(ANY), COLLECTIVE, WAIT), (COLLECTIVE, WAIT)),
    "ring": tuple((send((rank + 1) % 3), receive((rank - 1) % 3), WAIT) for rank in range(3)),
}


def outcome(programs, bug=None):
    """Give the number of states and the one outcome."""
    model = Model(programs, bug)
    states = search(model.initial(), model.steps, model.wrong)
    return states, model.outcome


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_of_steps_has_one_outcome(name):
    states, done = outcome(PROGRAMS[name])
    assert 20 < states < 300_000
    assert sum(map(len, done)) == sum(call[0] in COMPLETED for program in PROGRAMS[name] for call in program)


def test_wildcards_take_messages_in_the_order_of_epochs_and_ranks():
    assert outcome(PROGRAMS["wildcards"])[1][2] == ((0, 0, 0), (1, 0, 1), (2, 1, 0))
    assert outcome(PROGRAMS["answers"])[1][2] == ((0, 0, 0), (3, 0, 1), (4, 1, 2))


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    name = "both" if "collective" in bug else "chunks" if "chunk" in bug or "rest" in bug else "wildcards"
    with pytest.raises(Violation):
        outcome(PROGRAMS[name], bug)
