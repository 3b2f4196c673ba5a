"""A model of slices: strobes, microphases, descriptor exchange, matching, wildcards decided at quiescence.

Every rank is a node.  Ranks post sends and receives at any time; a slice takes all nodes through exchange,
scheduling and transfer, each begun by a microstrobe when all nodes have finished the one before.
"""

from collections.abc import Iterator
from typing import NamedTuple

ANY = -1
WAIT = ("wait", 0)
Program = tuple[tuple[str, int], ...]
BUGS = (
    "wildcards are decided at once",
    "a microstrobe doesn't wait for all nodes",
    "messages are taken as they arrive",
    "an earlier receive holds no message",
    "wildcards are decided while ranks compute",
    "wildcards are decided while descriptors are posted",
)


class Posted(NamedTuple):
    """A descriptor; `peer` is the rank to send to, or to receive from."""

    kind: str
    peer: int
    epoch: int
    owner: int
    sequence: int

    @property
    def place(self) -> tuple[int, int, int]:
        """What orders messages among which a receive may choose."""
        return self.epoch, self.owner, self.sequence


class State(NamedTuple):
    """Of each rank: its next call, what it has posted, what has arrived, open receives, matches."""

    calls: tuple[int, ...]
    posted: tuple[tuple[Posted, ...], ...]
    arrivals: tuple[tuple[Posted, ...], ...]
    receives: tuple[tuple[Posted, ...], ...]
    ready: tuple[tuple[tuple[int, int, int], ...], ...]
    done: tuple[tuple[tuple[int, int, int], ...], ...]
    finished: tuple[int, ...]
    strobe: int = 0
    epoch: int = 0
    is_deadlock: bool = False


def put_in(values: tuple, at: int, value: object) -> tuple:
    """Replace one entry."""
    return (*values[:at], value, *values[at + 1 :])


def matches(receive: Posted, send: Posted) -> bool:
    """Say whether a receive may get a message."""
    return receive.peer in (ANY, send.owner)


class Model:
    """The steps of ranks, nodes and the strobe sender, with one of BUGS or none."""

    def __init__(self, programs: tuple[Program, ...], bug: str | None = None) -> None:
        self.programs, self.bug, self.ranks = programs, bug, range(len(programs))
        self.outcome: object = None

    def initial(self) -> State:
        """Give the state in which nobody has called anything."""
        none = tuple(() for _ in self.ranks)
        zero = (0,) * len(self.ranks)
        return State(zero, none, none, none, none, none, zero)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Give each step that is possible, and the state after it."""
        if state.is_deadlock:
            return
        for rank in self.ranks:
            if not self._is_blocked(state, rank):
                yield f"rank {rank} calls", self._call(state, rank)
            if state.finished[rank] < state.strobe:
                yield f"node {rank} microphase {state.finished[rank] + 1}", self._microphase(state, rank)
        if state.strobe == 0:
            if any(state.posted) or any(state.ready):
                yield "strobe", state._replace(strobe=1)
            if self._may_settle(state):
                yield "settle", self._settle(state)
        elif self._may_strobe(state):
            if state.strobe == 3:
                yield "end of slice", state._replace(strobe=0, finished=(0,) * len(self.ranks))
            else:
                yield "microstrobe", state._replace(strobe=state.strobe + 1)

    def _may_strobe(self, state: State) -> bool:
        if self.bug == "a microstrobe doesn't wait for all nodes" and state.strobe < 3:
            return max(state.finished) == state.strobe
        return min(state.finished) == state.strobe

    def _is_blocked(self, state: State, rank: int) -> bool:
        program, call = self.programs[rank], state.calls[rank]
        if call == len(program):
            return True
        receives = sum(kind == "receive" for kind, _ in program[:call])
        return program[call] == WAIT and len(state.done[rank]) < receives

    def _call(self, state: State, rank: int) -> State:
        call = state.calls[rank]
        kind, peer = self.programs[rank][call]
        state = state._replace(calls=put_in(state.calls, rank, call + 1))
        if (kind, peer) == WAIT:
            return state
        one = Posted(kind, peer, state.epoch, rank, call)
        return state._replace(posted=put_in(state.posted, rank, (*state.posted[rank], one)))

    def _microphase(self, state: State, node: int) -> State:
        phase = state.finished[node] + 1
        state = state._replace(finished=put_in(state.finished, node, phase))
        if phase == 1:
            return self._exchange(state, node)
        if phase == 2:
            return self._match(state, node, self.bug == "wildcards are decided at once")
        done = tuple(sorted((*state.done[node], *state.ready[node])))
        return state._replace(done=put_in(state.done, node, done), ready=put_in(state.ready, node, ()))

    def _exchange(self, state: State, node: int) -> State:
        arrivals, receives = state.arrivals, state.receives
        for one in state.posted[node]:
            if one.kind == "send":
                arrivals = put_in(arrivals, one.peer, (*arrivals[one.peer], one))
            else:
                receives = put_in(receives, node, (*receives[node], one))
        return state._replace(posted=put_in(state.posted, node, ()), arrivals=arrivals, receives=receives)

    def _match(self, state: State, node: int, decide: bool) -> State:
        sends, still, found = list(state.arrivals[node]), list[Posted](), list(state.ready[node])
        for receive in state.receives[node]:
            send = None if receive.peer == ANY and not decide else self._find(receive, sends, still, decide)
            if send is None:
                still.append(receive)
            else:
                sends.remove(send)
                found.append((receive.sequence, send.owner, send.sequence))
        return state._replace(
            arrivals=put_in(state.arrivals, node, tuple(sends)),
            receives=put_in(state.receives, node, tuple(still)),
            ready=put_in(state.ready, node, tuple(found)),
        )

    def _find(self, receive: Posted, sends: list[Posted], still: list[Posted], decide: bool) -> Posted | None:
        """Choose a message that no earlier wildcard, still undecided, may get."""
        held = [one for one in still if one.peer == ANY and not decide]
        if self.bug == "an earlier receive holds no message":
            held = []
        fitting = [
            send for send in sends if matches(receive, send) and not any(matches(one, send) for one in held)
        ]
        if self.bug == "messages are taken as they arrive":
            return fitting[0] if fitting else None
        return min(fitting, key=lambda send: send.place, default=None)

    def _may_settle(self, state: State) -> bool:
        blocked = [self._is_blocked(state, rank) for rank in self.ranks]
        ended = [state.calls[rank] == len(self.programs[rank]) for rank in self.ranks]
        posted = any(state.posted) and self.bug != "wildcards are decided while descriptors are posted"
        if all(ended) or posted or any(state.ready):
            return False
        if self.bug == "wildcards are decided while ranks compute":
            return any(state.arrivals) and any(state.receives)
        return all(blocked)

    def _settle(self, state: State) -> State:
        settled = state._replace(epoch=state.epoch + 1)
        for node in self.ranks:
            settled = self._match(settled, node, True)
        return settled._replace(is_deadlock=settled.ready == state.ready)

    def wrong(self, state: State, is_last: bool) -> str | None:
        """Say what must not be in a state."""
        if max(state.finished) - min(state.finished) > 1:
            return "a node is two microphases ahead of another"
        if state.is_deadlock:
            return "a deadlock is reported"
        for done in state.done:
            for source in self.ranks:
                taken = [sequence for _, owner, sequence in done if owner == source]
                if is_last and taken != sorted(taken):
                    return f"messages of rank {source} overtake each other"
        if not is_last:
            return None
        if any(call < len(program) for call, program in zip(state.calls, self.programs, strict=True)):
            return "a rank waits for ever"
        self.outcome = self.outcome or state.done
        return None if state.done == self.outcome else f"matches are {state.done} and were {self.outcome}"
