"""A model of slices of several nodes that begin by strobes of node 0 (cext/coschedule/nodes).

Nodes are a tree; messages go between a node and its parent, which is the node without its lowest bit, and
come in the order in which they were sent. Each node posts what it wants at any time. A node that has posted
asks for a strobe, and so do those above it. Node 0 begins a slice when a strobe is due; a strobe from above
has a node begin, what it and all below it say goes up, what all have said comes down, and when a node and
all below it have ended the slice that goes up as well.
"""

from collections.abc import Iterator
from typing import NamedTuple

STROBE, UP, DOWN, OVER, WANT = "strobe", "up", "down", "over", "want"
BUGS = (
    "a strobe doesn't wait for all nodes",
    "a node asks only when it posts",
    "a node that has asked never asks again",
    "the end of a slice forgets who has asked",
    "what is over is told before those below have said so",
    "a node keeps to itself what others ask for",
)


def put_in(values: tuple, at: int, value: object) -> tuple:
    """Replace one entry."""
    return (*values[:at], value, *values[at + 1 :])


class State(NamedTuple):
    """Of each node: what it has yet to post, and has posted; its slices; messages on the way to it.

    `ways[to][sender]` has the messages between two nodes; `called`: a strobe has come from above; `came`: how
    many nodes below have said all; `done`: of a node and those below it, how many have ended the slice.
    """

    later: tuple[int, ...]
    posted: tuple[int, ...]
    is_wanted: tuple[bool, ...]
    asked: tuple[bool, ...]
    begun: tuple[int, ...]
    ended: tuple[int, ...]
    called: tuple[bool, ...]
    came: tuple[int, ...]
    told: tuple[bool, ...]
    done: tuple[int, ...]
    ways: tuple[tuple[tuple[str, ...], ...], ...]
    is_armed: bool = False
    is_due: bool = False
    is_under_way: bool = False
    is_early: bool = False


class Model:
    """The steps of nodes, with one of BUGS or none; `posts`: how often each node posts something."""

    def __init__(self, posts: tuple[int, ...], bug: str | None = None) -> None:
        self.posts, self.bug, self.nodes = posts, bug, range(len(posts))
        self.below = [[one for one in self.nodes if one and one & (one - 1) == node] for node in self.nodes]

    def initial(self) -> State:
        """Give the state in which nobody has posted anything."""
        zero, no = (0,) * len(self.nodes), (False,) * len(self.nodes)
        ways = (((),) * len(zero),) * len(zero)
        return State(self.posts, zero, no, no, zero, zero, no, zero, no, zero, ways)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Give each step that is possible, and the state after it."""
        for node in self.nodes:
            if state.later[node]:
                yield f"node {node} posts", self._post(state, node)
            if state.is_wanted[node] and state.begun[node] == state.ended[node]:
                yield f"node {node} asks", self._want(state, node)
            if state.begun[node] == state.ended[node] and (
                state.called[node] or (node == 0 and state.is_due)
            ):
                yield f"node {node} begins", self._begin(state, node)
            if state.told[node]:
                yield f"node {node} ends", self._end(state, node)
            for sender in self.nodes:
                if state.ways[node][sender]:
                    yield f"node {node} hears node {sender}", self._hear(state, node, sender)
        waits = state.is_under_way and self.bug != "a strobe doesn't wait for all nodes"
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

    def _want(self, state: State, node: int) -> State:
        return self._ask(state._replace(is_wanted=put_in(state.is_wanted, node, False)), node)

    def _ask(self, state: State, node: int) -> State:
        if node == 0:
            return state._replace(is_armed=True)
        if state.asked[node]:
            return state
        return self._send_up(state._replace(asked=put_in(state.asked, node, True)), node, WANT)

    def _send(self, state: State, sender: int, to: int, what: str) -> State:
        ways = put_in(state.ways[to], sender, (*state.ways[to][sender], what))
        return state._replace(ways=put_in(state.ways, to, ways))

    def _send_up(self, state: State, node: int, what: str) -> State:
        return self._send(state, node, node & (node - 1), what)

    def _send_down(self, state: State, node: int, what: str) -> State:
        for to in self.below[node]:
            state = self._send(state, node, to, what)
        return state

    def _forget(self, state: State, node: int) -> State:
        asked = state.asked[node] and self.bug == "a node that has asked never asks again"
        return state._replace(asked=put_in(state.asked, node, asked))

    def _begin(self, state: State, node: int) -> State:
        if node == 0:
            early = min(state.ended) < state.begun[0]
            state = state._replace(is_due=False, is_under_way=True, is_early=early)
        state = self._forget(state, node)._replace(
            posted=put_in(state.posted, node, 0),
            is_wanted=put_in(state.is_wanted, node, False),
            called=put_in(state.called, node, False),
            begun=put_in(state.begun, node, state.begun[node] + 1),
        )
        return self._say(self._send_down(state, node, STROBE), node)

    def _say(self, state: State, node: int) -> State:
        if state.begun[node] == state.ended[node] or state.came[node] < len(self.below[node]):
            return state
        state = state._replace(came=put_in(state.came, node, 0))
        return self._send_up(state, node, UP) if node else self._tell(state, node)

    def _tell(self, state: State, node: int) -> State:
        state = self._send_down(state, node, DOWN)
        return state._replace(told=put_in(state.told, node, True))

    def _end(self, state: State, node: int) -> State:
        state = self._forget(state, node)._replace(
            told=put_in(state.told, node, False), ended=put_in(state.ended, node, state.ended[node] + 1)
        )
        forgets = node == 0 and self.bug == "the end of a slice forgets who has asked"
        state = state._replace(is_armed=state.is_armed and not forgets)
        return self._count_over(state, node)

    def _count_over(self, state: State, node: int) -> State:
        done = state.done[node] + 1
        alone = self.bug == "what is over is told before those below have said so"
        if done <= len(self.below[node]) and not (alone and node == 0):
            return state._replace(done=put_in(state.done, node, done))
        state = state._replace(done=put_in(state.done, node, 0))
        return self._send_up(state, node, OVER) if node else state._replace(is_under_way=False)

    def _hear(self, state: State, node: int, sender: int) -> State:
        what, *rest = state.ways[node][sender]
        state = state._replace(ways=put_in(state.ways, node, put_in(state.ways[node], sender, tuple(rest))))
        if what == STROBE:
            return state._replace(called=put_in(state.called, node, True))
        if what == UP:
            return self._say(state._replace(came=put_in(state.came, node, state.came[node] + 1)), node)
        if what == DOWN:
            return self._tell(state, node)
        if what == OVER:
            return self._count_over(state, node)
        keeps = node and self.bug == "a node keeps to itself what others ask for"
        return state if keeps else self._ask(state, node)

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
