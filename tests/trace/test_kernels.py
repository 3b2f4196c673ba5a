"""The kernels that read records, against plain definitions of what they do."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import write_rank

from pse import trace
from pse.trace import EventType, MemoryFlag, ModuleFlag, pair
from pse.trace._reading import MOVE_BITS, MOVE_TIME, extract, match, merge, scan
from pse.trace.format._events import EVENT_DTYPE
from pse.trace.query._key_matching import match_keys
from pse.trace.store._rank_file import as_bytes

WORDS = st.integers(0, 2**64 - 1)
TYPES = st.sampled_from([0, 1, 24, 25, 32, 33, 255, 256, 60000])
EVENTS = st.lists(
    st.tuples(WORDS, TYPES, st.integers(0, 65535), st.integers(0, 2**32 - 1), WORDS, WORDS, WORDS, WORDS),
    max_size=40,
)


def array(events):
    return np.array(events, EVENT_DTYPE)


def counted(events):
    """What a scan finds, by its definition."""
    times = [event[0] for event in events]
    back = [before - time for before, time in itertools.pairwise(times) if time < before]
    kinds = [event[1] if event[1] < 256 else 0 for event in events]
    ends = [min(times), max(times), times[-1]] if times else [0, 0, 0]
    return [len(events), *ends, len(back), max(back, default=0), *(kinds.count(kind) for kind in range(256))]


@given(events=EVENTS, certain=st.integers(0, 50), cut=st.integers(0, 40))
@settings(max_examples=some_of(150), deadline=None)
def test_a_scan_counts_in_as_many_pieces_as_it_likes(events, certain, cut):
    types, found = np.zeros(len(events), "u1"), np.zeros(262, "<u8")
    records = array(events)
    first = scan(as_bytes(records[:cut]), certain, types[:cut], found)
    if first == len(records[:cut]):
        scan(as_bytes(records[cut:]), certain, types[cut:], found)
    zero = (place for place in range(certain, len(events)) if events[place][1] == 0)
    complete = events[: next(zero, len(events))]
    assert found.tolist() == counted(complete)
    assert types[: len(complete)].tolist() == [event[1] if event[1] < 256 else 0 for event in complete]


ROW = np.dtype(
    [
        ("rank", "<u4"),
        ("time", "<i8"),
        ("two", "<u2"),
        ("half", "<u4"),
        ("whole", "<u8"),
        ("bit", "?"),
        ("x", "u1"),
    ]
)
MOVES = [(MOVE_TIME, 0, 4, 0), (2, 10, 12, 0), (4, 44, 14, 0), (8, 32, 18, 0), (MOVE_BITS, 10, 26, 5)]


def row_of(event, shift):
    """A row of ROW, by the meaning of MOVES."""
    time, _, flags, _, _, _, b, c = event
    wrapped = (time + shift + 2**63) % 2**64 - 2**63
    return 7, wrapped, flags, c >> 32, b, flags & 5 != 0, 9


@given(
    events=EVENTS,
    wanted=st.sets(st.integers(0, 255)),
    shift=st.integers(-(2**63), 2**63 - 1),
    room=st.none() | st.integers(0, 9),
)
@settings(max_examples=some_of(150), deadline=None)
def test_rows_are_what_their_moves_say(events, wanted, shift, room):
    flags, types = np.zeros(256, "u1"), np.array([event[1] % 256 for event in events], "u1")
    flags[list(wanted)] = 1
    expected = [row_of(event, shift) for event in events if event[1] % 256 in wanted][:room]
    begin = np.array([(7, 0, 0, 0, 0, False, 9)], ROW)
    rows = np.zeros(len(expected) if room is None else room, ROW)
    made = extract(
        as_bytes(array(events)), types, flags, as_bytes(begin), np.array(MOVES, "<u2"), shift, as_bytes(rows)
    )
    assert made == len(expected)
    assert rows[:made].tolist() == expected


def test_many_rows_are_made_in_batches():
    records = np.zeros(10_000, EVENT_DTYPE)
    records["type"], records["b"] = np.arange(10_000) % 3 + 1, np.arange(10_000)
    wanted, rows = np.zeros(256, "u1"), np.zeros(10_000, "<u8")
    wanted[[1, 3]] = 1
    made = extract(as_bytes(records), records["type"].astype("u1"), wanted, np.zeros(8, "u1"),
                   np.array([[8, 32, 0, 0]], "<u2"), 0, as_bytes(rows))  # fmt: skip
    assert rows[:made].tolist() == [number for number in range(10_000) if number % 3 != 1]


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ((8, 44, 0, 0), "move 0 leaves its record or its row"),
        ((4, 0, 6, 0), "move 0 leaves its record or its row"),
        ((MOVE_BITS, 8, 8, 0), "move 0 leaves its record or its row"),
        ((5, 0, 0, 0), "there is no move of kind 5"),
    ],
)
def test_moves_stay_within_record_and_row(move, message):
    empty = np.zeros(0, "u1")
    with pytest.raises(ValueError, match=message):
        extract(empty, empty, np.zeros(256, "u1"), np.zeros(8, "u1"), np.array([move], "<u2"), 0, empty)


KEYS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30)


@given(one=KEYS, other=KEYS)
@settings(max_examples=some_of(150), deadline=None)
def test_sorted_keys_are_matched_one_to_one(one, other):
    one, other = sorted(one), sorted(other)
    columns = [np.array([key[part] for key in keys], "<u8") for keys in (one, other) for part in (0, 1)]
    left, right = np.empty(30, "<i8"), np.empty(30, "<i8")
    found = match(*columns, left, right)
    pairs = list(zip(left[:found].tolist(), right[:found].tolist(), strict=True))
    assert all(one[a] == other[b] for a, b in pairs)
    assert found == sum(min(one.count(key), other.count(key)) for key in set(one))
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == found


WIDE = st.lists(st.tuples(*[st.sampled_from([0, 1, 7, 2**33, 2**64 - 1])] * 4), max_size=25, unique=True)


@given(one=WIDE, other=WIDE, order=st.randoms())
@settings(max_examples=some_of(150), deadline=None)
def test_keys_of_any_width_in_any_order_are_matched(one, other, order):
    order.shuffle(one)
    order.shuffle(other)
    columns = [[np.array([key[part] for key in keys], "<u8") for part in range(4)] for keys in (one, other)]
    left, right = match_keys(*map(tuple, columns))
    assert [one[place] for place in left] == [key for key in one if key in other]
    assert [other[place] for place in right] == [one[place] for place in left]


@given(one=st.lists(st.integers(0, 9)), other=st.lists(st.integers(0, 9)))
@settings(max_examples=some_of(100), deadline=None)
def test_two_writers_records_become_one_order(one, other):
    first, second = np.zeros(len(one), EVENT_DTYPE), np.zeros(len(other), EVENT_DTYPE)
    first["time"], second["time"], second["site"] = sorted(one), sorted(other), 1
    both = np.concatenate([first, second])
    out = np.zeros(len(both), EVENT_DTYPE)
    merge(as_bytes(first), as_bytes(second), as_bytes(out))
    assert out.tolist() == both[np.argsort(both["time"], kind="stable")].tolist()


TABLED = [
    EventType.MODULE_LEAVE,
    EventType.WAIT_END,
    EventType.QUEUE_DEPTH,
    EventType.ALLOCATE,
    EventType.FREE,
]
ROWS = st.lists(
    st.fixed_dictionaries(
        {"time": st.integers(10, 10**6), "type": st.sampled_from(TABLED), "flags": st.integers(0, 65535)}
        | {name: st.integers(0, 2**32 - 1) for name in ("site", "tph")}
        | {"a": st.integers(0, 2**57)}  # as large as an address space
        | {name: st.integers(0, 2**63 - 1) for name in ("b", "c")}
    ),
    max_size=20,
)


def memory_changes(ranks):
    """What `Trace.memory` gives of ranks on one host: who allocated a block is charged until it is freed."""
    kinds = (EventType.ALLOCATE, EventType.FREE)
    found = [(rank, row) for rank, rows in enumerate(ranks) for row in rows if row["type"] in kinds]
    live = {}
    for rank, row in sorted(found, key=lambda item: item[1]["time"]):
        local = bool(row["flags"] & MemoryFlag.LOCAL)
        of = live.setdefault((rank if local else None, row["b"]), [])
        if row["type"] == EventType.ALLOCATE:
            of.append((rank, row["a"]))
            changes = of[-1:]
        else:
            rest = row["a"] - sum(size for _, size in of)
            changes = [(owner, -size) for owner, size in [*of, *([(row["c"] % 2**32, rest)] if rest else [])]]
            of.clear()
        for owner, size in changes:
            yield row["time"], owner, row["site"], row["tph"], row["b"], size, local


@given(ranks=st.lists(ROWS, min_size=1, max_size=3))
@settings(max_examples=some_of(60), deadline=None)
def test_tables_are_what_their_records_say(tmp_path_factory, ranks):
    directory = tmp_path_factory.mktemp("tables")
    for rank, rows in enumerate(ranks):
        write_rank(directory, rank, [{"time": 0, "type": EventType.PHASE}, *rows])
    read = trace.open(directory)

    def of(kind):
        return [(rank, row) for rank, rows in enumerate(ranks) for row in rows if row["type"] == kind]

    assert read.module_calls().tolist() == [
        (rank, row["site"], row["tph"], row["c"] >> 32, row["b"], row["time"], row["a"], 0,
         (row["c"] + 2**31) % 2**32 - 2**31, bool(row["flags"] & ModuleFlag.FAILED), True)
        for rank, row in of(EventType.MODULE_LEAVE)
    ]  # fmt: skip
    assert read.waits().tolist() == [
        (
            rank,
            row["site"],
            row["tph"],
            row["flags"],
            row["a"] % 2**32,
            row["a"] >> 32,
            row["b"],
            row["time"],
            True,
        )
        for rank, row in of(EventType.WAIT_END)
    ]
    assert read.queue_depths().tolist() == [
        (row["time"], rank, row["a"] % 2**32, row["a"] >> 32, row["b"], row["c"])
        for rank, row in of(EventType.QUEUE_DEPTH)
    ]
    assert sorted(read.memory().tolist()) == sorted(memory_changes(ranks))


@pytest.mark.parametrize("sizes", [(2**53, 1), (2**54 + 1, 2**53 + 1)])
def test_sizes_that_no_float_has_are_exact(tmp_path, sizes):
    made = [{"time": 10, "type": EventType.ALLOCATE, "a": size, "b": 7} for size in sizes]
    write_rank(tmp_path, 0, [*made, {"time": 20, "type": EventType.FREE, "a": sum(sizes), "b": 7}])
    changes = trace.open(tmp_path).memory()
    assert changes["bytes"].tolist() == [*sizes, *(-size for size in sizes)]


def test_a_call_that_each_rank_broke_off_lies_behind_its_others(tmp_path):
    for rank in range(3):
        done = {"time": 20, "type": EventType.MODULE_LEAVE, "site": rank, "b": 10, "c": pair(0, 1)}
        begun = {"time": 30, "type": EventType.MODULE_ENTER, "site": 5}
        write_rank(tmp_path, rank, [done, *[begun] * (rank != 1)])
    calls = trace.open(tmp_path).module_calls()
    assert calls[["rank", "site", "complete"]].tolist() == [
        (0, 0, True), (0, 5, False), (1, 1, True), (2, 2, True), (2, 5, False)
    ]  # fmt: skip
