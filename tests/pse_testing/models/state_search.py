"""Explicit-state search: every state that a model of a protocol can be in, by every order of its steps."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


class Violation(Exception):
    """A state that must not be; `path` has the labels of the shortest sequence of steps that leads there."""

    def __init__(self, what: str, path: list[str]) -> None:
        super().__init__(f"{what} after: {', '.join(path)}")
        self.what, self.path = what, path


def search(
    initial: State,
    steps: Callable[[State], Iterable[tuple[str, State]]],
    wrong: Callable[[State, bool], str | None],
    most: int = 1_000_000,
) -> int:
    """Visit all states, breadth first, and give their number.

    `wrong` says what is wrong in a state, given whether no step leads out of it.
    """
    came_from: dict[State, tuple[State, str] | None] = {initial: None}
    waiting = deque([initial])
    while waiting:
        state = waiting.popleft()
        following = list(steps(state))
        if (what := wrong(state, not following)) is not None:
            raise Violation(what, _path(came_from, state))
        for label, after in following:
            if after not in came_from:
                came_from[after] = (state, label)
                waiting.append(after)
        assert len(came_from) <= most, "the model has more states than it should"
    return len(came_from)


def _path(came_from: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    path = []
    while (origin := came_from[state]) is not None:
        state, label = origin
        path.append(label)
    return path[::-1]
