"""A model of slices of several nodes that begin by strobes of node 0 (cext/coschedule/nodes).

Each node posts what it wants at any time.  A node that has posted asks node 0 for a strobe; node 0 sends its
message of a slice when a strobe is due, and that is the strobe for the others, which then send theirs; who
has those of all nodes ends the slice and tells node 0.  Messages between two nodes come in the order in which
they were sent.
"""

from collections.abc import Iterator
from typing import NamedTuple

SLICE, WANT, OVER = "slice", "want", "over"
BUGS = (
    "a strobe doesn't wait for all nodes",
    "a node asks only when it posts",
    "a node that has asked never asks again",
    "the end of a slice forgets who has asked",
)


def put_in(values: tuple, at: int, value: object) -> tuple:
    """Replace one entry."""
    return (*values[:at], value, *values[at + 1 :])


class State(NamedTuple):
    """Of each node: what it has yet to post, and has posted; its slices; messages on the way to it.

    `ways[to][sender]` has the messages between two nodes, `came[to][sender]` how many of slices have arrived.
    """

    later: tuple[int, ...]
    posted: tuple[int, ...]
    is_wanted: tuple[bool, ...]
    asked: tuple[bool, ...]
    begun: tuple[int, ...]
    ended: tuple[int, ...]
    ways: tuple[tuple[tuple[str, ...], ...], ...]
    came: tuple[tuple[int, ...], ...]
    is_armed: bool = False
    is_due: bool = False
    under_way: int = 0
    is_early: bool = False


class Model:
    """The steps of nodes, with one of BUGS or none; `posts`: how often each node posts something."""

    def __init__(self, posts: tuple[int, ...], bug: str | None = None) -> None:
        self.posts, self.bug, self.nodes = posts, bug, range(len(posts))

    def initial(self) -> State:
        """Give the state in which nobody has posted anything."""
        zero, no = (0,) * len(self.nodes), (False,) * len(self.nodes)
        return State(
            self.posts, zero, no, no, zero, zero, (((),) * len(zero),) * len(zero), (zero,) * len(zero)
        )

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Give each step that is possible, and the state after it."""
        for node in self.nodes:
            if state.later[node]:
                yield f"node {node} posts", self._post(state, node)
            if state.is_wanted[node] and not state.asked[node] and state.begun[node] == state.ended[node]:
                yield f"node {node} asks", self._ask(state, node)
            if self._may_begin(state, node):
                yield f"node {node} begins", self._begin(state, node)
            if state.begun[node] > state.ended[node] and self._has_all(state, node):
                yield f"node {node} ends", self._end(state, node)
            for sender in self.nodes:
                if state.ways[node][sender]:
                    yield f"node {node} hears node {sender}", self._hear(state, node, sender)
        waits = state.under_way > 0 and self.bug != "a strobe doesn't wait for all nodes"
        if state.is_armed and not state.is_due and not waits:
            yield "strobe", state._replace(is_armed=False, is_due=True)

    def _post(self, state: State, node: int) -> State:
        in_slice = state.begun[node] > state.ended[node]
        wanted = not (in_slice and self.bug == "a node asks only when it posts")
        return state._replace(
            later=put_in(state.later, node, state.later[node] - 1),
            posted=put_in(state.posted, node, state.posted[node] + 1),
            is_wanted=put_in(state.is_wanted, node, wanted or state.is_wanted[node]),
        )

    def _ask(self, state: State, node: int) -> State:
        state = state._replace(is_wanted=put_in(state.is_wanted, node, False))
        if node == 0:
            return state._replace(is_armed=True)
        return self._send(state._replace(asked=put_in(state.asked, node, True)), node, 0, WANT)

    def _send(self, state: State, sender: int, to: int, what: str) -> State:
        ways = put_in(state.ways[to], sender, (*state.ways[to][sender], what))
        return state._replace(ways=put_in(state.ways, to, ways))

    def _may_begin(self, state: State, node: int) -> bool:
        if state.begun[node] > state.ended[node]:
            return False
        return state.is_due if node == 0 else state.came[node][0] > 0

    def _begin(self, state: State, node: int) -> State:
        if node == 0:
            early = min(state.ended) < state.begun[0]
            state = state._replace(is_due=False, under_way=len(self.nodes), is_early=early)
        asked = state.asked[node] and self.bug == "a node that has asked never asks again"
        state = state._replace(
            posted=put_in(state.posted, node, 0),
            is_wanted=put_in(state.is_wanted, node, False),
            asked=put_in(state.asked, node, asked),
            begun=put_in(state.begun, node, state.begun[node] + 1),
        )
        for to in self.nodes:
            state = self._send(state, node, to, SLICE) if to != node else state
        return state

    def _has_all(self, state: State, node: int) -> bool:
        return all(state.came[node][sender] for sender in self.nodes if sender != node)

    def _end(self, state: State, node: int) -> State:
        came = tuple(max(count - 1, 0) for count in state.came[node])
        state = state._replace(
            came=put_in(state.came, node, came), ended=put_in(state.ended, node, state.ended[node] + 1)
        )
        if node:
            return self._send(state, node, 0, OVER)
        armed = state.is_armed and self.bug != "the end of a slice forgets who has asked"
        return state._replace(is_armed=armed, under_way=state.under_way - 1)

    def _hear(self, state: State, node: int, sender: int) -> State:
        what, *rest = state.ways[node][sender]
        ways = put_in(state.ways, node, put_in(state.ways[node], sender, tuple(rest)))
        state = state._replace(ways=ways)
        if what == WANT:
            return state._replace(is_armed=True)
        if what == OVER:
            return state._replace(under_way=state.under_way - 1)
        came = put_in(state.came[node], sender, state.came[node][sender] + 1)
        return state._replace(came=put_in(state.came, node, came))

    def wrong(self, state: State, is_last: bool) -> str | None:
        """Say what must not be in a state."""
        if state.is_early:
            return "a slice begins before all nodes have ended the one before"
        if max(state.begun) > min(state.ended) + 1:
            return "a node is a slice ahead of another"
        if not is_last:
            return None
        if any(state.posted):
            return "what was posted has no slice"
        return None if state.begun == state.ended and len(set(state.ended)) == 1 else "a slice has no end"
