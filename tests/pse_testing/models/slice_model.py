"""A model of slices: strobes, microphases, descriptor exchange, matching, wildcards decided at quiescence.

Every rank is a node.  Ranks post sends, receives and collective operations at any time; a slice takes all
nodes through exchange, scheduling and transfer, each begun by a microstrobe when all nodes have finished the
one before.  A long message has chunks, of which one is moved in a slice; in a collective operation every rank
reads what all others have, so nobody's buffer is free before all have done their part.
"""

from collections.abc import Iterator
from typing import NamedTuple

ANY = -1
ALL = -2
"""Instead of a sender: a collective operation was done."""
WAIT = ("wait", 0)
COLLECTIVE = ("collective", 0)
CHUNKS = 2
"""Of a long message."""
COMPLETED = ("receive", "collective")
"""Calls that a rank waits for."""
Program = tuple[tuple[str, int], ...]
BUGS = (
    "wildcards are decided at once",
    "a microstrobe doesn't wait for all nodes",
    "messages are taken as they arrive",
    "an earlier receive holds no message",
    "wildcards are decided while ranks compute",
    "wildcards are decided while descriptors are posted",
    "a message ends with its first chunk",
    "the rest of a message is forgotten",
    "a collective operation begins before all ranks have come",
    "a collective operation ends for a rank with its own part",
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
    """Of each rank: its next call, what it has posted, what has arrived, open receives, matches.

    `ready` has the receive, its sender, the send and the chunks that are left.  `joined`, `scheduled` and
    `performed` count collective operations: that the rank has come to, that it is to do, that it has done.
    """

    calls: tuple[int, ...]
    posted: tuple[tuple[Posted, ...], ...]
    arrivals: tuple[tuple[Posted, ...], ...]
    receives: tuple[tuple[Posted, ...], ...]
    ready: tuple[tuple[tuple[int, int, int, int], ...], ...]
    done: tuple[tuple[tuple[int, int, int], ...], ...]
    finished: tuple[int, ...]
    joined: tuple[int, ...]
    scheduled: tuple[int, ...]
    performed: tuple[int, ...]
    strobe: int = 0
    epoch: int = 0
    is_deadlock: bool = False
    is_torn: bool = False


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
        return State(zero, none, none, none, none, none, zero, zero, zero, zero)

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
        awaited = sum(kind in COMPLETED for kind, _ in program[:call])
        return program[call] == WAIT and len(state.done[rank]) < awaited

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
            return self._schedule(self._match(state, node, self.bug == "wildcards are decided at once"), node)
        return self._perform(self._move(state, node), node)

    def _schedule(self, state: State, node: int) -> State:
        """Find the collective operations to which all ranks have come."""
        all_come = self.bug != "a collective operation begins before all ranks have come"
        found = min(state.joined) if all_come else state.joined[node]
        return state._replace(scheduled=put_in(state.scheduled, node, found))

    def _move(self, state: State, node: int) -> State:
        """Move a chunk of each message."""
        moved = [(*one[:3], one[3] - 1) for one in state.ready[node]]
        early = self.bug == "a message ends with its first chunk"
        ended = [one for one in moved if early or not one[3]]
        rest = () if self.bug == "the rest of a message is forgotten" else [one for one in moved if one[3]]
        done = tuple(sorted((*state.done[node], *(one[:3] for one in ended))))
        return state._replace(
            done=put_in(state.done, node, done),
            ready=put_in(state.ready, node, () if early else tuple(rest)),
            is_torn=state.is_torn or any(one[3] for one in ended),
        )

    def _perform(self, state: State, node: int) -> State:
        """Do this rank's part of collective operations; who is last ends them for all."""
        state = state._replace(performed=put_in(state.performed, node, state.scheduled[node]))
        alone = self.bug == "a collective operation ends for a rank with its own part"
        for rank in self.ranks:
            calls = [at for at, call in enumerate(self.programs[rank]) if call == COLLECTIVE]
            ended = state.performed[rank] if alone else min(state.performed)
            kept = [one for one in state.done[rank] if one[1] != ALL]
            done = tuple(sorted([*kept, *((calls[number], ALL, number) for number in range(ended))]))
            state = state._replace(done=put_in(state.done, rank, done))
        return state

    def _exchange(self, state: State, node: int) -> State:
        arrivals, receives, joined = state.arrivals, state.receives, state.joined[node]
        for one in state.posted[node]:
            if one.kind == "collective":
                joined += 1
            elif one.kind != "receive":
                arrivals = put_in(arrivals, one.peer, (*arrivals[one.peer], one))
            else:
                receives = put_in(receives, node, (*receives[node], one))
        return state._replace(
            posted=put_in(state.posted, node, ()),
            arrivals=arrivals,
            receives=receives,
            joined=put_in(state.joined, node, joined),
        )

    def _match(self, state: State, node: int, decide: bool) -> State:
        sends, still, found = list(state.arrivals[node]), list[Posted](), list(state.ready[node])
        for receive in state.receives[node]:
            send = None if receive.peer == ANY and not decide else self._find(receive, sends, still, decide)
            if send is None:
                still.append(receive)
            else:
                sends.remove(send)
                chunks = CHUNKS if send.kind == "long" else 1
                found.append((receive.sequence, send.owner, send.sequence, chunks))
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

    def _wrong_transfer(self, state: State) -> str | None:
        if state.is_torn:
            return "a message is complete before its last chunk"
        if max(state.performed) > min(state.joined):
            return "a rank does its part before another has come"
        ended = max(sum(owner == ALL for _, owner, _ in done) for done in state.done)
        return "a buffer is free while another rank reads it" if ended > min(state.performed) else None

    def wrong(self, state: State, is_last: bool) -> str | None:
        """Say what must not be in a state."""
        if max(state.finished) - min(state.finished) > 1:
            return "a node is two microphases ahead of another"
        if state.is_deadlock:
            return "a deadlock is reported"
        if (what := self._wrong_transfer(state)) is not None:
            return what
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
