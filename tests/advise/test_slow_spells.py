"""A machine that was slower for a while: found in the trace, said, and the interval is wider for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pse.advise import advise
from tests.advise.conftest import PIPELINE, Call


def calls(factors: list[float]) -> list[Call]:
    """Calls of a pipeline, each unit so many times as long as usual."""
    return [call for factor in factors for call in ((0, 0.1 * factor, 0.0), (1, 0.0, 0.1 * factor))]


def told(notes: tuple[str, ...]) -> list[str]:
    return [note for note in notes if "something else slowed the machine" in note]


def test_a_slow_spell_is_said_with_its_time_and_widens_the_interval(recorded: Callable[..., Path]) -> None:
    usual = [1.0] * 40
    even = advise(recorded(PIPELINE, calls(usual), parameters={"units": 40}))
    usual[10:16] = [1.5] * 6
    slowed = advise(recorded(PIPELINE, calls(usual), parameters={"units": 40}))
    (note,) = told(slowed.notes)
    assert note.startswith("from 2.15 s to 3.87 s calls on here took 47 % longer")
    assert not told(even.notes)
    widths = [(one.present.high - one.present.low) / one.present.seconds for one in (even, slowed)]
    assert widths[1] > widths[0] + 0.1


@pytest.mark.parametrize(
    "factors",
    [[1.0, 1.4] * 20, [0.9 + 0.02 * (k % 10) for k in range(40)], [1.0 + k / 20 for k in range(40)]],
)
def test_calls_that_differ_all_the_time_are_no_slow_spell(
    recorded: Callable[..., Path], factors: list[float]
) -> None:
    assert not told(advise(recorded(PIPELINE, calls(factors), parameters={"units": 40})).notes)
