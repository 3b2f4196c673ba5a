"""How many random examples a test tries: some each time, more every night."""

import pytest


def tried(examples: int) -> pytest.MarkDecorator:
    """Try so many random examples, and every night four times as many."""
    return pytest.mark.parametrize(
        "examples", [examples, pytest.param(4 * examples, marks=pytest.mark.nightly)]
    )
