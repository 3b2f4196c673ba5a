"""Modules in Python that exchange messages; `kept` is what reached the root."""

import numpy as np

from pse import partition

kept = {}


# @ coven module make(in i64 seed, in i64 n, out f64 x[n])
def make(seed, n):
    return np.random.default_rng(seed).random(n) * 10.0 ** (np.arange(n) % 20)


# @ coven module keep(in string name, in f64 x[n])
def keep(name, x):
    kept[name] = x.copy()


# @ coven module keep_number(in string name, in f64 x)
def keep_number(name, x):
    kept[name] = x


def pattern(seed, count):
    """Who sends how much to whom, with which tag: the same for everybody."""
    random = np.random.default_rng(seed)
    sizes = [0, 1, 2, 5, 300, 3000]
    return [
        (
            int(random.integers(count)),
            int(random.integers(count)),
            int(random.integers(2)),
            sizes[random.integers(6)],
        )
        for _ in range(random.integers(30))
    ]


def content(number, size):
    return np.arange(size, dtype=float) * 0.5 + number


# @ coven module random_messages(in i64 seed, in f64 x[n], out f64 y[n])
def random_messages(seed, x):
    places = []
    for number, (source, target, tag, size) in enumerate(pattern(seed, partition.count)):
        if source == partition.index:
            partition.send(target, content(number, size), tag)
        if target == partition.index:
            places.append((number, partition.receive(source, shape=size, tag=tag)))
    yield
    for number, request in places:
        assert np.array_equal(request.data, content(number, request.data.size)), (
            number,
            request.data.size,
            request.data[:5],
        )
    return x + len(places)


# @ coven module conversation(in f64 x[n], out f64 y[n])
def conversation(x):
    right, left = (partition.index + 1) % partition.count, (partition.index - 1) % partition.count
    late = partition.receive(left, like=0, tag=2)
    partition.send(right, x, tag=1)
    got = yield partition.receive(left, like=x, tag=1)
    partition.send(
        right, partition.index, tag=2
    )  # What `late` waits for, and nobody else has waited for yet.
    number = yield late
    assert number == left
    assert isinstance(number, np.int64)
    sums, biggest = yield [
        partition.allreduce(got),
        partition.reduce(x.max(), "max", root=partition.count - 1),
    ]
    assert (biggest is None) == (partition.index < partition.count - 1)
    everybody = yield partition.allgather(np.int64(partition.index))
    assert everybody.tolist() == list(range(partition.count))
    yield partition.barrier()
    return sums + (yield partition.scan(1.0))


# @ coven module plain(in f64 x[n], out f64 y[n])
def plain(x, y):
    """Posts and returns; the second column of a matrix is not contiguous."""
    matrix = np.zeros((x.size, 2))
    partition.alltoall(np.full(partition.count, float(partition.index)), into=np.empty(partition.count))
    partition.send((partition.index + 1) % partition.count, x)
    partition.receive((partition.index - 1) % partition.count, into=matrix[:, 1])
    yield
    y[...] = matrix[:, 1] - matrix[:, 0]


# @ coven module returned(in f64 x[n], out f64 y[n])
def returned(x):
    """What is returned may still be on its way."""
    place = np.empty_like(x)
    partition.send((partition.index + 1) % partition.count, x)
    partition.receive((partition.index - 1) % partition.count, into=place)
    return place


# @ coven module exchanges(in f64 x[n], out f64 y[n])
def exchanges(x):
    count, me = partition.count, partition.index
    pieces = [np.full(to + 1, 10.0 * me + to) for to in range(count)]
    got = yield partition.alltoallv(pieces, [me + 1] * count)
    for source, piece in enumerate(got):
        assert piece.tolist() == [10.0 * source + me] * (me + 1)
    table = yield partition.gather(x, root=0)
    back = yield partition.scatter(table, root=0, like=x)
    assert np.array_equal(back, x)
    word = yield partition.bcast(np.array([7, me]) if me == 0 else np.empty(2, int))
    assert word.tolist() == [7, 0]
    swapped = yield partition.alltoall(np.arange(count) + 100 * me)
    assert swapped.tolist() == [100 * source + me for source in range(count)]
    low = yield partition.allreduce(x, np.minimum)
    everybody = yield partition.allgather(x)
    assert np.array_equal(low, everybody.min(axis=0))
    return back


# @ coven module refused(in i64 what, in f64 x[n], out f64 y[n])
def refused(what, x):
    if what in (0, 9):
        partition.send(0.5 if what else partition.count, x)
    elif what == 1:
        partition.receive(0, dtype="datetime64[s]")
    elif what == 2:
        partition.allreduce(x, "median")
    elif what == 3:
        yield partition.allreduce(x, lambda left, right: 1 / 0)
    elif what == 4:
        yield "a word"
    elif what == 5:
        partition.send(0, x, tag=-3)
    elif what == 6:
        partition.alltoall(np.zeros(partition.count + 1))
    elif what > 6:
        yield partition.allreduce(x[:2], forgetful if what == 7 else lambda left, right: left[:1])
    return x


def forgetful(left, right):
    """Forgets to return what it makes."""


# @ coven module early(in i64 seed, in i64 k, in f64 x[n])
def early(seed, k, x):
    """Sends what `late` receives in a later call; partition 0 is late for a sum too."""
    for number, (source, target, tag, size) in enumerate(pattern(seed + k, partition.count)):
        if source == partition.index:
            partition.send(target, x[0] + content(number, min(size, 300)), tag)
    partition.send(partition.index, np.int64(k), tag=9)
    if partition.index:
        partition.reduce(x, "sum")


# @ coven module late(in i64 seed, in i64 k, inout f64 x[n])
def late(seed, k, x):
    places = []
    for number, (source, target, tag, size) in enumerate(pattern(seed + k, partition.count)):
        if target == partition.index:
            places.append((number, partition.receive(source, shape=min(size, 300), tag=tag)))
    turn = yield partition.receive(partition.index, dtype=np.int64, tag=9)
    assert turn == k
    for number, request in places:
        x += np.sin(request.data.sum() * number)
    if partition.index == 0:
        x += np.cos((yield partition.reduce(x, "sum")))
