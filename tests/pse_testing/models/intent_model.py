"""A model of the core primitives' protocol: lock, intent, its application, recovery, and sleepers.

Two nodes have one variable each.  Writers put, or compare and write, on both nodes and signal an event of
each; one more process sleeps until its event on node 1 is signalled.  Any writer may be killed between any
two steps.
"""

from collections.abc import Iterator
from typing import NamedTuple

FREE, DEAD = "free", "dead"
STEPS = ("copy 0", "copy 1", "raise 0", "raise 1", "mark", "wake", "clear")
ENDS = ("done", "killed")
BUGS = (
    "no recovery",
    "whole before it is staged",
    "clear before the last copy",
    "raise by one again",
    "no wake in recovery",
    "mark before the event is raised",
    "sleep without a second look",
    "compare before the lock",
    "drop a whole intent",
)


class Job(NamedTuple):
    """What a writer does: write `value` if the variables are `expected`, or (None) anyway."""

    value: int
    expected: int | None = None


class Process(NamedTuple):
    """Where a process is; `again`: it applies the intent of one that was killed."""

    at: str
    again: bool = False
    seen: int = 0


class State(NamedTuple):
    """All that steps depend on, and `history`: the values of intents in the order they became whole."""

    lock: int | str
    whole: bool
    staged: int
    raised: tuple[int, int]
    copies: tuple[int, int]
    signalled: tuple[int, int]
    consumed: int
    waiting: bool
    writers: tuple[Process, ...]
    sleeper: Process
    kills: int
    history: tuple[int, ...]


def put_in(values: tuple, at: int, value: object) -> tuple:
    """Replace one entry."""
    return (*values[:at], value, *values[at + 1 :])


class Model:
    """The steps of all processes, with one of BUGS or none."""

    def __init__(self, jobs: tuple[Job, ...], kills: int, bug: str | None = None) -> None:
        self.jobs, self.kills, self.bug = jobs, kills, bug
        self.order = list(STEPS)
        if bug == "clear before the last copy":
            self.order = ["copy 0", "clear", "copy 1", "raise 0", "raise 1", "mark", "wake"]
        if bug == "mark before the event is raised":
            self.order = ["copy 0", "copy 1", "mark", "raise 0", "raise 1", "wake", "clear"]

    def initial(self) -> State:
        """Give the state in which nobody has begun."""
        first = "compare" if self.bug == "compare before the lock" else "lock"
        writers = tuple(Process(first) for _ in self.jobs)
        return State(
            FREE, False, 0, (0, 0), (0, 0), (0, 0), 0, False, writers, Process("look"), self.kills, ()
        )

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Give each step that some process may make, and the state after it."""
        for number, writer in enumerate(state.writers):
            if writer.at in ENDS:
                continue
            after = self._written(state, number, writer)
            if after is not None:
                yield f"writer {number}: {writer.at}", after
            if state.kills:
                yield f"writer {number} is killed", self._killed(state, number)
        after = self._slept(state)
        if after is not None:
            yield f"sleeper: {state.sleeper.at}", after

    def _killed(self, state: State, number: int) -> State:
        lock = DEAD if state.lock == number else state.lock
        writers = put_in(state.writers, number, Process("killed"))
        return state._replace(lock=lock, writers=writers, kills=state.kills - 1)

    def _written(self, state: State, number: int, one: Process) -> State | None:
        job, late = self.jobs[number], self.bug == "whole before it is staged"

        def go(at: str, changed: State = state, **fields: object) -> State:
            return changed._replace(writers=put_in(changed.writers, number, one._replace(at=at, **fields)))

        compared = "stage" if not late else "note"
        match one.at:
            case "lock":
                return self._locked(state, number, go)
            case "compare":
                if job.expected is not None and any(here != job.expected for here in state.copies):
                    return go("unlock" if state.lock == number else "done")
                return go("lock" if self.bug == "compare before the lock" else compared)
            case "stage":
                return go("copy 0" if late else "note", state._replace(staged=job.value))
            case "note":
                raised = (state.signalled[0] + 1, state.signalled[1] + 1)
                return go("whole", state._replace(raised=raised))
            case "whole":
                whole = state._replace(whole=True, history=(*state.history, job.value))
                return go("stage" if late else self.order[0], whole)
            case "unlock":
                return go("done", state._replace(lock=FREE))
        return self._applied(state, one, go, "compare" if one.again else "unlock")

    def _locked(self, state: State, number: int, go) -> State | None:
        compares = "stage" if self.bug == "compare before the lock" else "compare"
        if state.lock == FREE:
            return go(compares, state._replace(lock=number))
        if state.lock != DEAD:
            return None
        mine = state._replace(lock=number)
        if self.bug == "no recovery":
            return go(compares, mine)
        if not state.whole or self.bug == "drop a whole intent":
            return go(compares, mine._replace(whole=False))
        return go(self.order[0], mine, again=True)

    def _applied(self, state: State, one: Process, go, end: str) -> State:
        """One step of the application of an intent, by a writer or whoever recovers."""
        place = self.order.index(one.at)
        following = self.order[place + 1] if place + 1 < len(self.order) else end
        fields = {} if following != end else {"again": False}
        if one.at.startswith("copy"):
            copies = put_in(state.copies, int(one.at[-1]), state.staged)
            return go(following, state._replace(copies=copies), **fields)
        if one.at.startswith("raise"):
            node = int(one.at[-1])
            by_one = self.bug == "raise by one again"
            value = state.signalled[node] + 1 if by_one else max(state.signalled[node], state.raised[node])
            return go(following, state._replace(signalled=put_in(state.signalled, node, value)), **fields)
        if one.at == "mark":
            wakes = state.waiting or (one.again and self.bug != "no wake in recovery")
            return go(following, state._replace(waiting=False), seen=int(wakes), **fields)
        if one.at == "wake":
            wakes = one.seen and state.sleeper.at == "asleep"
            woken = state._replace(sleeper=Process("look")) if wakes else state
            return go(following, woken, seen=0, **fields)
        return go(following, state._replace(whole=False), **fields)

    def _slept(self, state: State) -> State | None:
        one, there = state.sleeper, state.signalled[1] - state.consumed > 0

        def go(at: str, changed: State = state, **fields: object) -> State:
            return changed._replace(sleeper=one._replace(at=at, **fields))

        match one.at:
            case "done":
                return None
            case "look":
                return go("done", state._replace(consumed=state.consumed + 1)) if there else go("mark it")
            case "mark it":
                return go("read", state._replace(waiting=True))
            case "read":
                return go("sleep", seen=state.signalled[1])
            case "sleep":
                awake = (
                    state.signalled[1] != one.seen or there
                ) and self.bug != "sleep without a second look"
                return go("look" if awake else "asleep", seen=0)
            case "asleep":
                return self._mended(state, go)
            case "unlock":
                return go("look", state._replace(lock=FREE))
        return self._applied(state, one, go, "unlock")

    def _mended(self, state: State, go) -> State | None:
        """Look, as a sleeper does from time to time, whether whoever has the lock was killed."""
        if state.lock != DEAD or self.bug == "no recovery":
            return None
        if not state.whole or self.bug == "drop a whole intent":
            return go("look", state._replace(lock=FREE, whole=False))
        return go(self.order[0], state._replace(lock=len(state.writers)), again=True)

    def wrong(self, state: State, is_last: bool) -> str | None:
        """Say what must not be in a state."""
        if state.lock == FREE:
            value = state.history[-1] if state.history else 0
            if state.copies != (value, value):
                return f"copies are {state.copies} and the last intent wrote {value}"
            if state.signalled != (len(state.history),) * 2:
                return f"events were signalled {state.signalled} times by {len(state.history)} intents"
        if not self._is_explained(state.history):
            return f"no order has a comparison before the writes {state.history}"
        if not is_last:
            return None
        if any(one.at not in ENDS for one in state.writers):
            return "a writer waits for ever"
        if state.sleeper.at != "done" and state.signalled[1] > state.consumed:
            return "the sleeper sleeps through a signal"
        return None

    def _is_explained(self, history: tuple[int, ...]) -> bool:
        expected = {job.value: job.expected for job in self.jobs}
        return all(
            expected[value] in (None, before) for before, value in zip((0, *history), history, strict=False)
        )
