"""What varies in a program whose messages vary: the planted variance, at the call sites that send."""

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest

from pse import trace
from pse.advise import AdviceError, advise, sensitivity, sensitivity_text
from pse.emulate import Dispersion, Model

RELAY = """\
coven 1
import "stages.py" { compute, transfer }
param i64 units = 8
program relay {
  thread_A compute(0) -> x
  for k in 0 .. units {
    thread_B transfer(x) -> y
    thread_A transfer(y) -> x
  }
}
"""
ALPHA = 0.01
QUANTILES = tuple(np.linspace(0.5, 1.5, 11))
"""A message takes half to one and a half of its usual time, all equally probable: σ is 1/√12 of it."""


def network(launches=(1.0,)):
    return Model(ALPHA, 1e-9, dispersion=Dispersion(launches, ((0, QUANTILES),)))


@pytest.fixture
def relay(recorded):
    """Eight rounds in which a tag goes to another node and back, with a trace that has no waits."""
    path = recorded(RELAY, [(0, 0.001, 0.0)] + [(site, 0.001, 0.0) for _ in range(8) for site in (1, 2)])
    known = trace.open(path).definitions
    hosts = {"thread_A": "one", "thread_B": "two"}
    ranks = tuple(dataclasses.replace(rank, host=hosts[rank.thread]) for rank in known.ranks)
    trace.write_definitions(path, dataclasses.replace(known, ranks=ranks, options={"shared_memory": False}))
    return path


def test_the_planted_variance_is_found(relay):
    found = sensitivity(relay, network(), draws=200)
    expected = ALPHA * np.sqrt(16 / 12) / (17 * 0.001 + 16 * ALPHA)
    assert found.sigma / found.steady == pytest.approx(expected, rel=0.15)
    assert found.median == pytest.approx(found.steady, rel=0.02)
    assert found.low < found.median < found.high
    assert {one.site: one.messages for one in found.sites} == {
        "compute (line 5)": 1,
        "transfer (line 7)": 8,
        "transfer (line 8)": 7,
    }


def test_shares_are_those_of_the_sites_messages(relay):
    found = sensitivity(relay, network(), draws=200)
    shares = {one.site: one.share for one in found.sites}
    assert shares["transfer (line 7)"] == pytest.approx(8 / 16, abs=0.12)
    assert shares["transfer (line 8)"] == pytest.approx(7 / 16, abs=0.12)
    assert sum(shares.values()) + found.launches == pytest.approx(1, abs=0.02)


def test_launches_have_a_share_of_their_own(relay):
    found = sensitivity(relay, network((0.5, 1.0, 1.5)), draws=100)
    assert found.launches > 0.8
    text = "\n".join(sensitivity_text(found))
    assert "launches in which all messages are slower or faster" in text
    assert "transfer (line 7): 8 messages, 80.0 ms" in text
    assert "note: simulating the run as it was gives 177 ms, not 9.00 ms: the model misses something" in text
    assert json.loads(json.dumps(found.to_json()))["draws"] == 100
    assert "carries by itself" not in text
    less = replace(found, launches=0.5, sites=(replace(found.sites[0], share=0.25),))
    assert [*sensitivity_text(less)][-1] == " 25 %  what none of these carries by itself"


def test_the_same_seed_gives_the_same(relay):
    assert sensitivity(relay, network(), draws=10, seed=3) == sensitivity(relay, network(), draws=10, seed=3)


def test_advice_takes_costs_from_a_model(relay):
    none, cheap, costly = (
        advise(relay, network=network) for network in (None, Model(1e-6, 1e-9), Model(ALPHA, 1e-9))
    )
    assert none.simulated == cheap.simulated == costly.simulated
    more = costly.present.seconds - cheap.present.seconds
    assert more == pytest.approx(16 * ALPHA * none.measured / none.simulated, rel=0.01)
    assert cheap.supposed == "messages that cost what the network's model says"


def test_what_can_not_vary_is_named(relay, pipeline):
    with pytest.raises(AdviceError, match="its parameters were given, not measured"):
        sensitivity(relay, Model(ALPHA, 1e-9))
    with pytest.raises(AdviceError, match="no message goes from node to node in this run"):
        sensitivity(pipeline, network())
