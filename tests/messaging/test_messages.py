"""Matching and collectives among partitions, against NumPy, wherever they live and whatever the order."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pse_testing.partition_strategies import COUNTS, numbers, relaxed, worlds
from pse_testing.partition_world import FAULTS, World


@relaxed
@given(world=worlds(), data=st.data())
def test_random_messages_arrive_in_order_and_complete(world_library, world, data):
    owners, nodes, seed = world
    room, count = World(world_library, owners, nodes, seed), len(owners)
    end = st.integers(0, count - 1)
    sent = data.draw(st.lists(st.tuples(end, end, st.integers(0, 1), COUNTS), max_size=25))
    expected, got = [], []
    posts = [[] for _ in owners]
    for number, (source, target, tag, size) in enumerate(sent):
        array = numbers(source, size, salt=number)
        posts[source].append(("send", target, room.shared(array) if number % 2 else array, tag))
        into = np.zeros(size)
        posts[target].append(("receive", source, into, tag))
        expected.append(array)
        got.append(into)
    # Of one pair and tag the order counts, else none: sends may all come before receives or after.
    kinds = data.draw(st.permutations(["send", "receive"]))
    for partition in data.draw(st.permutations(range(count))):
        room.enter(partition)
        for kind in kinds:
            for what, peer, array, tag in posts[partition]:
                if what == kind:
                    assert getattr(room, kind)(peer, array, tag) > 0
        room.leave(partition)
        room.deliver(data.draw(st.integers(0, 5)))
    room.finish()
    for want, have in zip(expected, got, strict=True):
        assert np.array_equal(want, have)


def run(room, kind, datas, results, **how):
    for partition, (data, result) in enumerate(zip(datas, results, strict=True)):
        room.enter(partition)
        assert room.collective(kind, data, result, **how) > 0
        room.leave(partition)
        room.deliver(partition)
    room.finish()


@relaxed
@given(
    world=worlds(13),
    count=COUNTS,
    op=st.sampled_from(["sum", "prod", "min", "max", "all", "any"]),
    root=st.integers(0, 12),
)
@pytest.mark.parametrize("kind", ["reduce", "allreduce", "scan"])
def test_reductions_among_partitions_give_what_numpy_gives(world_library, kind, world, count, op, root):
    owners, nodes, seed = world
    partitions, root = len(owners), root % len(owners) if kind == "reduce" else 0
    datas = [numbers(p, count, np.int64) for p in range(partitions)]
    function = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}.get(op)
    function = function or {"all": np.logical_and, "any": np.logical_or}[op]
    running = [datas[0] != 0 if op in ("all", "any") and partitions > 1 else datas[0]]
    for data in datas[1:]:
        running.append(function(running[-1], data))
    results = [np.full(count, -1, np.int64) for _ in owners]
    run(World(world_library, owners, nodes, seed), kind, datas, results, op=op, root=root)
    for partition, result in enumerate(results):
        if kind == "scan":
            want = running[partition] if partition else datas[0]
        else:
            want = running[-1] if kind == "allreduce" or partition == root else np.full(count, -1)
        assert np.array_equal(result, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hypot_takes_numbers_whose_squares_are_none(world_library, dtype):
    large = np.array([np.finfo(dtype).max / 4, np.finfo(dtype).tiny * 4, 0, np.nan], dtype)
    datas, results = [large] * 4, [np.empty(4, dtype) for _ in range(4)]
    run(World(world_library, [0, 0, 1, 2], [0, 0, 1], 1), "allreduce", datas, results, op="hypot")
    for result in results:
        np.testing.assert_allclose(result, 2 * large, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 700, 9000])
@pytest.mark.parametrize("kind", ["reduce", "allreduce", "scan"])
@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 8, 11])
def test_sums_of_reals_have_the_same_bits_wherever_partitions_live(world_library, partitions, kind, count):
    datas = [numbers(p, count) * 10.0**p for p in range(partitions)]
    seen = set()
    homes = [[0] * partitions, list(range(partitions)), [p % 3 for p in range(partitions)]]
    homes = [*homes, [min(p, 1) for p in range(partitions)]]
    for seed, owners in enumerate(homes):
        owners = [sorted(set(owners)).index(rank) for rank in owners]
        nodes = [rank % 2 for rank in range(max(owners) + 1)]
        results = [np.zeros(count) for _ in owners]
        run(World(world_library, owners, nodes, seed), kind, datas, results, op="sum")
        seen.add(b"".join(result.tobytes() for result in results))
    assert len(seen) == 1
    if kind == "allreduce":
        assert len({result.tobytes() for result in results}) == 1
        assert np.allclose(results[0], np.sum(datas, axis=0))


@relaxed
@given(world=worlds(13), kind=st.sampled_from(["reduce", "allreduce", "scan"]), root=st.integers(0, 12))
def test_an_operation_need_not_commute(world_library, world, kind, root):
    """Affine maps under composition: order counts, grouping doesn't."""
    owners, nodes, seed = world
    partitions = len(owners)

    def compose(_, left, right, into, count):
        a, b, out = (
            np.frombuffer((np.ctypeslib.ctypes.c_int64 * (2 * count)).from_address(x), np.int64)
            for x in (left, right, into)
        )
        out[:] = (a[0] * b[0] % 10007, (a[1] * b[0] + b[1]) % 10007)

    datas = [np.array([p + 2, 3 * p + 1], np.int64).view(np.complex128) for p in range(partitions)]
    results = [np.zeros(1, np.complex128) for _ in owners]
    root = root % partitions if kind == "reduce" else 0
    run(World(world_library, owners, nodes, seed), kind, datas, results, closure=compose, root=root)
    running = [(2, 1)]
    for p in range(1, partitions):
        a, b = running[-1]
        running.append((a * (p + 2) % 10007, (b * (p + 2) + 3 * p + 1) % 10007))
    for p, result in enumerate(results):
        want = running[p] if kind == "scan" else running[-1]
        if kind != "reduce" or p == root:
            assert tuple(result.view(np.int64)) == want


@relaxed
@given(
    world=worlds(13), count=COUNTS, root=st.integers(0, 12), dtype=st.sampled_from(["i4", "f8", "u1", "c16"])
)
@pytest.mark.parametrize("kind", ["bcast", "gather", "allgather", "scatter", "alltoall"])
def test_exchanges_among_partitions_move_every_piece_to_its_place(
    world_library, kind, world, count, root, dtype
):
    owners, nodes, seed = world
    partitions, root = len(owners), root % len(owners)
    wide = partitions * count
    pieces = [
        numbers(p, wide if kind in ("scatter", "alltoall") else count, dtype) for p in range(partitions)
    ]
    room = World(world_library, owners, nodes, seed)
    results = [
        np.zeros(wide if kind in ("gather", "allgather", "alltoall") else count, dtype) for _ in owners
    ]
    if kind == "bcast":
        results = [piece.copy() for piece in pieces]
    everyone = kind in ("allgather", "alltoall")
    for p in range(partitions):
        room.enter(p)
        data = results[p] if kind == "bcast" else pieces[p]
        room.collective(kind, data, results[p], count=count, root=0 if everyone else root)
        room.leave(p)
    room.finish()
    grid = np.array(pieces)
    for p, result in enumerate(results):
        if kind == "bcast":
            want = pieces[root]
        elif kind == "scatter":
            want = pieces[root].reshape(partitions, count)[p]
        elif kind == "alltoall":
            want = grid.reshape(partitions, partitions, count)[:, p].ravel()
        else:
            want = grid.ravel() if kind == "allgather" or p == root else np.zeros(wide, dtype)
        assert np.array_equal(result, want)


@relaxed
@given(world=worlds(6), data=st.data())
def test_alltoallv_moves_pieces_of_any_counts_to_their_places(world_library, world, data):
    owners, nodes, seed = world
    n = len(owners)
    counts = np.array(data.draw(st.lists(COUNTS, min_size=n * n, max_size=n * n)), np.uintp).reshape(n, n)
    room, results, pieces = World(world_library, owners, nodes, seed), [], []
    for p in range(n):
        lists = {"counts": counts[p].copy(), "received_counts": counts[:, p].copy()}
        offsets = {"offsets": "counts", "received_offsets": "received_counts"}
        lists |= {
            name: np.concatenate([[0], np.cumsum(lists[of])[:-1]]).astype(np.uintp)
            for name, of in offsets.items()
        }
        pieces.append(numbers(p, int(counts[p].sum())))
        results.append(np.zeros(int(counts[:, p].sum())))
        room.enter(p)
        room.collective("alltoallv", pieces[p], results[p], lists=lists)
        room.leave(p)
    room.finish()
    parts = [np.split(piece, np.cumsum(counts[p])[:-1]) for p, piece in enumerate(pieces)]
    for p, result in enumerate(results):
        assert np.array_equal(result, np.concatenate([parts[q][p] for q in range(n)]))


def test_a_barrier_holds_everybody_until_the_last(world_library):
    room = World(world_library, [0, 1, 1, 2, 0])
    for p in range(4):
        room.enter(p)
        room.collective("barrier")
        assert room.leave(p)
    assert room.deliver() == 4
    room.enter(4)
    room.collective("barrier")
    room.leave(4)
    room.finish()


def test_a_partition_may_wait_for_a_part_of_what_it_posted(world_library):
    room, first, second = World(world_library, [0, 1]), np.zeros(3), np.zeros(3)
    room.enter(0)
    room.receive(1, first, tag=1)
    ticket = room.receive(1, second, tag=2)
    room.wait(ticket)
    assert room.leave(0)
    room.enter(1)
    room.send(0, np.ones(3), tag=2)
    assert not room.leave(1)
    room.deliver()
    assert not room.resting(0)
    assert (second == 1).all()
    room.enter(0)  # It goes on, and ends: now it waits for the rest.
    assert (room.services.complete(ticket), room.services.complete(ticket - 1)) == (1, 0)
    assert room.leave(0)
    room.enter(1)
    room.send(0, np.ones(3), tag=1)
    room.leave(1)
    room.finish()


def test_a_sender_rests_until_an_array_in_the_arena_was_copied(world_library):
    room = World(world_library, [0, 1])
    array, into = room.shared(np.arange(9000.0)), np.zeros(9000)
    room.enter(0)
    room.send(1, array)
    assert room.leave(0)
    assert room.deliver() == 1
    (row,) = [row for row in room.waits() if row["kind"] == 2]
    assert (row["partition"], row["peer"], row["rank"]) == (0, 1, 0)
    room.enter(1)
    room.receive(0, into)
    assert not room.leave(1)
    room.finish()
    assert into[-1] == 8999


def test_a_full_arena_delays_messages_and_keeps_their_order(world_library):
    room = World(world_library, [0, 1])
    handle = world_library.world_take(room.world, np.ctypeslib.ctypes.c_uint64((1 << 24) - (1 << 21)))
    arrays = [numbers(0, size, salt=size) for size in (1 << 20, 1 << 19, 1, 7)]
    into = [np.zeros(array.size) for array in arrays]
    room.enter(0)
    for array in arrays:
        room.send(1, array)
    assert room.leave(0)
    assert room.deliver() == 1
    world_library.world_give(room.world, np.ctypeslib.ctypes.c_uint64(handle))
    assert room.deliver() == 0
    room.enter(1)
    for place in into:
        room.receive(0, place)
    room.leave(1)
    room.finish()
    assert all(np.array_equal(a, b) for a, b in zip(arrays, into, strict=True))


def fault(room):
    room.deliver()
    (found,) = room.faults()
    room.destroy()
    return found


@pytest.mark.parametrize("owners", [[0, 0], [0, 1]])
@pytest.mark.parametrize("first", ["send", "receive"])
@pytest.mark.parametrize("count", [2, 90, 9000])
def test_sizes_that_differ_are_a_fault(world_library, owners, first, count):
    room = World(world_library, owners)
    for kind in (first, "receive" if first == "send" else "send"):
        room.enter(kind == "receive", site=5 + (kind == "receive"))
        if kind == "send":
            room.send(1, np.zeros(count), tag=3)
        else:
            room.receive(0, np.zeros(count + 1), tag=3)
        room.leave(kind == "receive")
    found = fault(room)
    assert (FAULTS[found.kind], found.tag) == ("mismatch", 3)
    assert (found.here.partition, found.here.site, found.here.bytes) == (1, 6, 8 * count + 8)
    assert (found.there.partition, found.there.site, found.there.bytes) == (0, 5, 8 * count)


def test_types_that_differ_are_a_fault(world_library):
    room = World(world_library, [0, 1])
    room.enter(0)
    room.send(1, np.zeros(2))
    room.leave(0)
    room.enter(1)
    room.receive(0, np.zeros(2, np.int64))
    room.leave(1)
    found = fault(room)
    assert (FAULTS[found.kind], found.here.type, found.there.type) == ("mismatch", 2, 4)


@pytest.mark.parametrize("peer", [-1, 2, 1 << 40])
@pytest.mark.parametrize("kind", ["send", "receive"])
def test_a_partition_that_does_not_exist_is_a_fault_of_who_asks(world_library, kind, peer):
    room = World(world_library, [0, 1])
    room.enter(1, site=9)
    assert getattr(room, kind)(peer, np.zeros(1)) == -2
    room.leave(1)
    found = fault(room)
    assert (FAULTS[found.kind], found.peer, found.here.partition, found.here.site) == (
        "no partition",
        peer,
        1,
        9,
    )


def test_a_negative_tag_is_a_fault(world_library):
    room = World(world_library, [0])
    room.enter(0)
    assert room.send(0, np.zeros(1), tag=-4) == -2
    found = fault(room)
    assert (FAULTS[found.kind], found.tag) == ("tag", -4)


def test_different_collectives_are_a_fault(world_library):
    room = World(world_library, [0, 1])
    for p, kind in enumerate(("allgather", "allreduce")):
        room.enter(p, site=p)
        room.collective(kind, np.zeros(2), np.zeros(4), count=2, op="sum" if p else None)
        room.leave(p)
    room.deliver()
    found = room.faults()[0]
    assert FAULTS[found.kind] == "confused"
    assert {found.here.kind, found.there.kind} == {4, 7}
    room.destroy()


def test_different_operations_are_a_fault(world_library):
    room = World(world_library, [0, 1])
    for p, op in enumerate(("sum", "max")):
        room.enter(p)
        room.collective("allreduce", np.zeros(2), np.zeros(2), op=op)
        room.leave(p)
    room.deliver()
    assert {FAULTS[found.kind] for found in room.faults()} == {"confused"}
    room.destroy()


def test_what_nobody_received_is_a_fault_of_the_receiver(world_library):
    room = World(world_library, [0, 1])
    room.enter(0, site=8)
    room.send(1, np.zeros(50), tag=4)
    room.leave(0)
    room.deliver()
    world_library.world_close(room.world, 1)
    found = fault(room)
    assert (FAULTS[found.kind], found.tag, found.here.partition) == ("left", 4, 1)
    assert (found.there.partition, found.there.site, found.there.bytes) == (0, 8, 400)


def test_waits_tell_who_has_come_to_which_collective(world_library):
    room = World(world_library, [0, 1, 0])
    for p in (0, 2):
        room.enter(p, site=p)
        room.collective("barrier")
        room.leave(p)
    room.enter(1)
    room.receive(2, np.zeros(1), tag=6)
    room.leave(1)
    room.deliver()
    rows = room.waits()
    assert sorted((r["partition"], r["sequence"]) for r in rows if r["kind"] == 4) == [(0, 1), (1, 0), (2, 1)]
    assert sorted((r["partition"], r["site"]) for r in rows if r["kind"] == 3) == [(0, 0), (2, 2)]
    assert [(r["partition"], r["peer"], r["tag"]) for r in rows if r["kind"] == 1] == [(1, 2, 6)]
    room.destroy()
