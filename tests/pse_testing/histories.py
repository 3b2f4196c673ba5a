"""Whether recorded operations on a global memory are sequentially consistent: one order explains all."""

import operator
from collections.abc import Sequence
from typing import NamedTuple

RELATIONS = {">=": operator.ge, "<": operator.lt, "==": operator.eq, "!=": operator.ne}
Words = tuple[tuple[int, ...], ...]
"""The variables of each node."""


class Put(NamedTuple):
    """An Xfer-And-Signal of whole variables."""

    word: int
    values: tuple[int, ...]
    nodes: tuple[int, ...]


class Compare(NamedTuple):
    """A Compare-And-Write, `written` being the variable and value or empty, and what it answered."""

    word: int
    relation: str
    value: int
    nodes: tuple[int, ...]
    written: tuple[int, ...]
    answer: bool


class Read(NamedTuple):
    """What a rank saw in all variables of its own node."""

    node: int
    values: tuple[int, ...]


Operation = Put | Compare | Read


def operation_of(kind: str, fields: Sequence[object]) -> Operation:
    """Make an operation from its form in JSON."""
    made = {"Put": Put, "Compare": Compare, "Read": Read}[kind]
    return made(*(tuple(one) if isinstance(one, list) else one for one in fields))


def after(words: Words, one: Operation) -> Words | None:
    """Give the memory after an operation; None if it could not have had its result."""
    if isinstance(one, Read):
        return words if words[one.node] == one.values else None
    if isinstance(one, Put):
        return _written(words, one.word, one.values, one.nodes)
    holds = all(RELATIONS[one.relation](words[node][one.word], one.value) for node in one.nodes)
    if holds != one.answer:
        return None
    if not holds or not one.written:
        return words
    return _written(words, one.written[0], one.written[1:], one.nodes)


def _written(words: Words, at: int, values: tuple[int, ...], nodes: tuple[int, ...]) -> Words:
    return tuple(
        (*here[:at], *values, *here[at + len(values) :]) if node in nodes else here
        for node, here in enumerate(words)
    )


def legal_order(histories: Sequence[Sequence[Operation]], words: Words) -> list[int] | None:
    """Find an order, as the ranks whose turn it is, that explains all results; None if there is none."""
    start = ((0,) * len(histories), words)
    came_from: dict[tuple[tuple[int, ...], Words], tuple[object, int] | None] = {start: None}
    open_ends = [start]
    while open_ends:
        places, here = state = open_ends.pop()
        if all(place == len(history) for place, history in zip(places, histories, strict=True)):
            return _turns(came_from, state)
        for rank, history in enumerate(histories):
            if places[rank] == len(history) or (then := after(here, history[places[rank]])) is None:
                continue
            following = ((*places[:rank], places[rank] + 1, *places[rank + 1 :]), then)
            if following not in came_from:
                came_from[following] = (state, rank)
                open_ends.append(following)
    return None


def _turns(came_from, state) -> list[int]:
    turns = []
    while (origin := came_from[state]) is not None:
        state, rank = origin
        turns.append(rank)
    return turns[::-1]
