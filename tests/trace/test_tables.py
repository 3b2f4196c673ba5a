"""Tables from events: by hand for a small run, against plain Python for random ones."""

from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import write_rank

from pse import trace
from pse.trace import EventType, MessageFlag, WaitReason, pair
from pse.trace.query._tables import MODULE_CALL_DTYPE


def rows(table, *names):
    return [tuple(row) for row in table[list(names)].tolist()]


def test_module_calls_are_whole(small_trace):
    calls = trace.open(small_trace).module_calls()
    assert rows(calls, "rank", "site", "tph", "enter", "leave", "cpu") == [
        (0, 0, 1, 0, 400, 300),
        (0, 0, 2, 500, 700, 200),
        (1, 1, 1, 600, 900, 0),  # Interrupted: it lasts until the rank's last event.
    ]
    assert rows(calls, "partition", "status", "failed", "complete") == [
        (trace.NONE, 0, False, True),
        (trace.NONE, 7, True, True),
        (0, 0, False, False),
    ]


def test_a_negative_status_stays_negative(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        recorder.record(EventType.MODULE_LEAVE, 0, 1, 5, 6, pair(-3 & 0xFFFFFFFF, 4))
    calls = trace.open(tmp_path).module_calls()
    assert rows(calls, "status", "partition", "cpu") == [(-3, 4, 5)]


def test_waits_are_whole(small_trace):
    waits = trace.open(small_trace).waits()
    assert rows(waits, "rank", "site", "reason", "peer", "edge", "begin", "end", "complete") == [
        (1, 1, WaitReason.INPUT, 0, 0, 0, 600, True),
        (2, 1, WaitReason.INPUT, 0, 0, 0, 900, False),
    ]


def test_messages_have_both_ends(small_trace):
    read = trace.open(small_trace)
    assert rows(
        read.messages(), "sender", "receiver", "edge", "sequence", "bytes", "flags", "sent", "received"
    ) == [(0, 1, 0, 1, 2048, MessageFlag.DESCRIPTOR, 450, 500)]
    sends, receives = read.unmatched_messages()
    assert rows(sends, "rank", "time") == [(0, 460)]
    assert len(receives) == 0


def test_memory_belongs_to_the_rank_that_allocated_it(small_trace):
    memory = trace.open(small_trace).memory()
    assert rows(memory, "time", "rank", "handle", "bytes", "local") == [
        (400, 0, 64, 4096, False),
        (900, 0, 64, -4096, False),
    ]


def test_the_table_of_queue_depths_has_a_row_for_each_change(small_trace):
    depths = trace.open(small_trace).queue_depths()
    assert rows(depths, "time", "rank", "edge", "sender", "depth", "limit") == [
        (500, 1, 0, 0, 1, 2),
        (900, 2, 0, 0, 0, 2),
    ]


def test_tables_of_a_trace_without_events_are_empty(tmp_path):
    trace.Recorder(tmp_path, 0).close()
    read = trace.open(tmp_path)
    assert read.module_calls().dtype == MODULE_CALL_DTYPE
    for table in (read.module_calls(), read.waits(), read.messages(), read.memory(), read.queue_depths()):
        assert len(table) == 0


RANKS = st.integers(0, 3)
MESSAGES = st.lists(st.tuples(RANKS, RANKS, st.integers(0, 2**64 - 1)), unique=True, max_size=40)


@given(messages=MESSAGES, lost=st.integers(0, 2**40), unsent=st.integers(0, 2**40), order=st.randoms())
@settings(max_examples=some_of(60), deadline=None)
def test_messages_are_matched_as_a_dictionary_would(tmp_path_factory, messages, lost, unsent, order):
    directory = tmp_path_factory.mktemp("messages")
    out = [message for bit, message in enumerate(messages) if not lost >> bit & 1]
    back = [message for bit, message in enumerate(messages) if not unsent >> bit & 1]
    order.shuffle(back)
    for rank in range(4):
        sends = [{"b": pair(to, 9), "c": number} for sender, to, number in out if sender == rank]
        receives = [{"b": pair(sender, 9), "c": number} for sender, to, number in back if to == rank]
        events = [{"type": EventType.SEND, **row} for row in sends]
        events += [{"type": EventType.RECEIVE, **row} for row in receives]
        order.shuffle(events)
        write_rank(directory, rank, [{"time": time, **event} for time, event in enumerate(events)])
    read = trace.open(directory)
    matched = set(rows(read.messages(), "sender", "receiver", "sequence"))
    assert len(read.messages()) == len(matched)
    assert matched == set(out) & set(back)
    sends, receives = read.unmatched_messages()
    assert len(sends) == len(set(out) - set(back))
    assert len(receives) == len(set(back) - set(out))
