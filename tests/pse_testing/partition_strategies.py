"""Random worlds of partitions and arrays for property tests of messages among them."""

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st

from pse_testing.example_counts import some_of

COUNTS = st.sampled_from([0, 1, 2, 3, 40, 5000])  # inside the message, as a block, by reference
relaxed = settings(
    max_examples=some_of(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@st.composite
def worlds(draw, most=9):
    """Owners, nodes and a seed."""
    partitions = draw(st.integers(1, most))
    ranks = draw(st.integers(1, min(partitions, 4)))
    owners = draw(st.lists(st.integers(0, ranks - 1), min_size=partitions, max_size=partitions))
    nodes = draw(st.lists(st.integers(0, 1), min_size=ranks, max_size=ranks))
    return [*owners[:-1], ranks - 1], nodes, draw(st.integers(0, 1000))


def numbers(partition, count, dtype=float, salt=0):
    random = np.random.default_rng([partition, salt])
    return (random.random(count) * 200 - 100).astype(dtype)
