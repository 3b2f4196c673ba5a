"""How much a test tries: some examples, sizes and cases each time, more every night."""

from typing import Any

import pytest
from hypothesis import settings

EVERY_NIGHT = "nightly"
"""The profile in which property tests try all their examples: `make nightly`."""

EACH_TIME = "make test"
"""The profile in which they try some."""

FEWEST = 4


def register_profiles() -> None:
    """Say which share of its examples a property test tries, in per cent, as Hypothesis' default number."""
    settings.register_profile(EVERY_NIGHT, deadline=None, max_examples=100)
    settings.register_profile(EACH_TIME, deadline=None, max_examples=33)
    settings.load_profile(EACH_TIME)


def some_of(examples: int) -> int:
    """Give how many of so many examples a property test tries now."""
    return max(examples * settings.default.max_examples // 100, min(examples, FEWEST))


def tried(examples: int) -> pytest.MarkDecorator:
    """Try some of so many random examples, and every night four times as many."""
    return pytest.mark.parametrize(
        "examples", [some_of(examples), pytest.param(4 * examples, marks=pytest.mark.nightly)]
    )


def nightly(*values: Any) -> list[Any]:
    """Give values of a parameter, or tuples of those of several, that only a nightly run tries."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=pytest.mark.nightly) for row in rows]
