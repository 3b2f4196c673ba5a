"""What messages among partitions leave in a trace, against what was sent; and in whole programs."""

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pse_testing.partition_strategies import COUNTS, numbers, relaxed, worlds
from pse_testing.partition_world import World

from pse import trace
from pse._abi.coven import CollectiveKind
from pse.trace import Collective, MessageFlag

KEEPS = 16384
"""Bytes up to which a node's ranks copy arrays when they are sent."""
INSIDE = 16
"""Bytes that travel within the message."""


@pytest.fixture
def recorded():
    """Give a new directory for a trace, also for each example of a property."""
    with tempfile.TemporaryDirectory() as home:
        numbers = iter(range(10**6))

        def new():
            directory = Path(home) / str(next(numbers))
            directory.mkdir()
            return directory

        yield new


@relaxed
@given(world=worlds(), data=st.data())
def test_every_message_is_recorded_as_it_went(world_library, recorded, world, data):
    owners, nodes, seed = world
    directory = recorded()
    room, count = World(world_library, owners, nodes, seed, directory), len(owners)
    end = st.integers(0, count - 1)
    sent = data.draw(st.lists(st.tuples(end, end, st.integers(0, 2), COUNTS, st.booleans()), max_size=25))
    late = data.draw(st.booleans())
    for partition in data.draw(st.permutations(range(count))):
        room.enter(partition, site=partition)
        for number, (source, target, tag, size, is_shared) in enumerate(sent):
            array = numbers(source, size, salt=number)
            if source == partition:
                room.send(target, room.shared(array) if is_shared else array, tag)
            if target == partition and not late:
                room.receive(source, np.zeros(size), tag)
        if not late:  # Else its module is still at it.
            room.leave(partition)
        room.deliver(data.draw(st.integers(0, 5)))
    for partition in range(count) if late else ():
        room.enter(partition, site=partition)
        for source, target, tag, size, _ in sent:
            if target == partition:
                room.receive(source, np.zeros(size), tag)
        room.leave(partition)
    remote = room.remote.reshape(room.ranks, room.ranks)
    room.finish()
    check_messages(trace.open(directory).partition_messages(), owners, remote, sent)


def check_messages(messages, owners, remote, sent):
    """All that was sent is there, in the order of each kind, with the times that its way has."""
    found, expected = defaultdict(list), defaultdict(list)
    for row in messages[np.argsort(messages["sent"], kind="stable")]:
        found[row["source"], row["target"], row["tag"]].append(row["bytes"])
        assert (owners[row["source"]], owners[row["target"]]) == (row["sender"], row["receiver"])
        assert (row["site"], row["tph"], row["collective"]) == (row["source"], 7, False)
        assert bool(row["flags"] & MessageFlag.REMOTE) == bool(remote[row["sender"], row["receiver"]])
        assert bool(row["flags"] & MessageFlag.SCALAR) == (
            row["sender"] != row["receiver"] and row["bytes"] <= INSIDE
        )
        kept = bool(row["flags"] & MessageFlag.RENDEZVOUS)
        assert 0 <= row["sent"] <= row["received"]
        assert (row["done"] >= row["received"]) == kept
        assert (row["taken"] >= row["received"]) == (kept and not row["flags"] & MessageFlag.REMOTE)
    for source, target, tag, size, is_shared in sent:
        expected[source, target, tag].append(8 * size)
        pair = owners[source], owners[target]
        near = is_shared and 8 * size > KEEPS
        if pair[0] != pair[1] and 8 * size > INSIDE and (remote[pair] or near):
            expected["kept"].append(8 * size)
    kept = messages["flags"] & MessageFlag.RENDEZVOUS != 0
    assert sorted(messages["bytes"][kept].tolist()) == sorted(expected.pop("kept", []))
    assert found == expected


@relaxed
@given(world=worlds(13), rounds=st.integers(1, 3), kind=st.sampled_from(["allreduce", "reduce", "scan"]))
def test_every_collective_is_recorded_for_each_partition(world_library, recorded, world, rounds, kind):
    owners, nodes, seed = world
    directory = recorded()
    room, count = World(world_library, owners, nodes, seed, directory), len(owners)
    for number in range(rounds):
        for partition in np.random.default_rng(seed).permutation(count).tolist():
            room.enter(partition, site=number)
            room.collective(kind, np.ones(3), np.zeros(3), op="sum", root=count - 1)
            room.leave(partition)
        assert room.deliver() == 0
    room.finish()
    opened = trace.open(directory)
    rows = opened.partition_collectives()
    assert Counter(rows["instance"].tolist()) == dict.fromkeys(range(rounds), count)
    for row in rows:
        assert row["operation"] == Collective[kind.upper()]
        assert (row["rank"], row["bytes"], row["site"]) == (owners[row["partition"]], 24, row["number"] - 1)
        assert row["root"] == (count - 1 if kind == "reduce" else trace.NONE)
        assert 0 <= row["begin"] <= row["end"]
    for one in range(rounds):
        together = rows[rows["instance"] == one]
        assert len(set(together["number"].tolist())) == 1
        if kind == "allreduce":
            assert together["end"].min() >= together["begin"].max()
    messages = opened.partition_messages()
    assert messages["collective"].all()
    assert (messages["received"] >= messages["sent"]).all()
    assert len(messages) == 0 if count == 1 else len(messages) >= rounds * (count - 1)


def test_every_kind_of_collective_has_a_number():
    assert [kind for kind in CollectiveKind if kind.name not in Collective.__members__] == []
