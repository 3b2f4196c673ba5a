"""Waits for messages among partitions: by whom they ended, in runs with known numbers and in real ones."""

import functools

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import (
    call_rows,
    collective_rows,
    partition_rows,
    small_definitions,
    wait_rows,
    write_rank,
)

from pse import trace
from pse.analysis import critical_path, tph_history, tph_history_text, wait_chain, wait_chain_text
from pse.trace import EventType, MessageFlag, Phase, WaitReason, pair

TPH = 1 << 16
KEPT = MessageFlag.COPIED | MessageFlag.RENDEZVOUS
FAR = KEPT | MessageFlag.REMOTE
PART = MessageFlag.SCALAR | MessageFlag.COLLECTIVE


def call(site, begin, end):
    return call_rows(site, begin, end, TPH, cpu=0)


def wait(begin, end, reason=WaitReason.PARTITIONS):
    return wait_rows(begin, end, reason, TPH, site=1)


post = functools.partial(partition_rows, tph=TPH)
together = functools.partial(collective_rows, tph=TPH)


def run_of(*rows):
    first = [{"time": 0, "type": EventType.PHASE, "a": phase} for phase in (Phase.START, Phase.READY)]
    return [*first, *rows, {"time": 10000, "type": EventType.PHASE, "a": Phase.END}]


@pytest.fixture
def written(tmp_path):
    def write(*ranks):
        trace.write_definitions(tmp_path, small_definitions(processors=len(ranks) - 1))
        for rank, rows in enumerate(ranks):
            if rows is not None:
                write_rank(tmp_path, rank, sorted(run_of(*rows), key=lambda row: row["time"]))
        return trace.open(tmp_path)

    return write


def links(chain):
    return [(link.rank, link.state) for link in chain.links]


def test_a_wait_for_a_late_sender_leads_to_the_call_that_sent(written):
    opened = written(
        [],
        [*call(1, 100, 200), *wait(210, 5100), *post("RECEIVE", 5110, 2, (4, 3)), *call(1, 5200, 5300)],
        [*call(0, 300, 5000), *post("SEND", 4900, 1, (4, 3))],
    )
    chain = wait_chain(opened, 1, 1000)
    assert links(chain) == [(1, "wait"), (2, "call")]
    end = chain.links[0].ended_by
    assert (end.rank, end.time, end.bytes, end.was_late_receiver) == (2, 4900, 800, False)
    assert (end.message.source, end.message.target, end.message.tag) == (4, 3, 5)
    told = list(wait_chain_text(chain))
    assert told[1] == (
        "rank 1 (p0 · thread_B) waited for a message with tag 5 from partition 4 to 3, "
        "in fft.rows (line 12), TPH 65536"
    )
    assert told[3] == "  until rank 2 sent it at 0.000005 s (800 B copied)"


def late_receiver(flags, taken):
    message = {"partitions": (0, 1), "flags": flags, "size": 10**6}
    sender = [*call(1, 100, 200), *post("SEND", 150, 2, **message), *wait(210, 6100)]
    sender += [*post("SEND_COMPLETE", 6110, 2, **message), *call(1, 6200, 6300)]
    receiver = [*call(0, 50, 5900), *post("RECEIVE", taken[0], 1, **message)]
    for time in taken[1:]:
        receiver += post("TAKE", time, 1, **message)
    return [], sender, receiver


@pytest.mark.parametrize(
    ("flags", "taken", "time"), [(KEPT, (400, 6000), 6000), (FAR, (6050,), 6050), (FAR, (6500,), 6110)]
)
def test_a_wait_for_a_late_receiver_leads_to_the_call_that_received(written, flags, taken, time):
    """Near, it took the message; far, its rank had no time for it, and may say so later than the sender."""
    chain = wait_chain(written(*late_receiver(flags, taken)), 1, 1000)
    assert links(chain) == [(1, "wait"), (2, "call")]
    end = chain.links[0].ended_by
    assert (end.rank, end.time, end.was_late_receiver) == (2, time, True)
    assert any(
        "until its message with tag 5 from partition 0 to 1 was taken" in line
        for line in wait_chain_text(chain)
    )


def allreduce(last):
    """Partition 2 on rank 2 comes last to what partitions 0, 1 and 3 wait in; rank 1 has two of them."""
    early = [*call(1, 100, 200), *together(150, 0), *together(160, 1), *wait(210, last + 300)]
    early += [*post("RECEIVE", last + 310, 2, (2, 0), tag=1, flags=PART, size=8)]
    early += [*together(last + 320, 0, begin=150), *together(last + 330, 1, begin=160)]
    late = [*call(0, 50, last - 10), *call(1, last, last + 90), *together(last + 10, 2)]
    late += [*post("SEND", last + 50, 1, (2, 0), tag=1, flags=PART, size=8)]
    other = [*call(1, 90, 300), *together(170, 3), *wait(310, None)]
    return [], [*early, *call(1, last + 400, last + 500)], late, other


def test_the_last_to_come_to_a_collective_operation(written):
    chain = wait_chain(written(*allreduce(4000)), 1, 1000)
    assert links(chain) == [(1, "wait"), (2, "call")]
    message = chain.links[0].ended_by.message
    assert (message.collective, message.last.partition, message.last.rank) == ("allreduce", 2, 2)
    assert message.last.time == 4010
    told = "\n".join(wait_chain_text(chain))
    assert "waited for the allreduce of partition 0, in fft.rows (line 12)" in told
    assert "; partition 2 on rank 2 came to it last, at 0.000004 s" in told


def test_of_a_wait_that_never_ended_someone_is_suspected(written):
    early, *others = allreduce(4000)[1:]
    opened = written([], early, [*call(0, 50, 300)], others[-1])
    assert [link.rank for link in wait_chain(opened, 3, 5000).links] == [3]  # Nobody is known to be missing.
    kept = [*call(1, 100, 200), *post("SEND", 150, 2, (0, 1), flags=KEPT), *wait(210, None)]
    chain = wait_chain(written([], kept, [*call(0, 50, 9000)]), 1, 5000)
    assert links(chain) == [(1, "wait"), (2, "call")]
    assert not chain.links[0].ended_by.certain


def test_a_message_that_waits_for_memory_leads_to_whoever_freed_some(written):
    freed = {"time": 5050, "type": EventType.FREE, "site": 0, "tph": TPH, "a": 4096, "b": 7, "c": 2}
    opened = written([], [*call(1, 100, 200), *wait(210, 5100)], [*call(0, 300, 5060), freed])
    chain = wait_chain(opened, 1, 1000)
    assert links(chain) == [(1, "wait"), (2, "call")]
    assert chain.links[0].ended_by.message is None
    assert any("until rank 2 woke it" in line for line in wait_chain_text(chain))


def test_a_lost_sender_is_named_all_the_same(written):
    opened = written([], [*wait(210, 5100), *post("RECEIVE", 5110, 2, (4, 3)), *call(1, 5200, 5300)], None)
    assert links(wait_chain(opened, 1, 1000)) == [(1, "wait"), (2, "lost")]
    assert opened.partition_messages()["sent"].tolist() == [-1]


def test_the_critical_path_goes_through_partitions(written):
    opened = written(*late_receiver(KEPT, (400, 6000)))
    found = {name: time for name, _, time, _ in critical_path(opened).shares()}
    assert found["late receiver"] == 100
    assert "waits" not in found
    assert found["load_frame (line 9) · thread_B"] == 5850


def test_the_life_of_a_tph_has_messages_and_collective_operations(written):
    life = tph_history(written(*allreduce(4000)), str(TPH))
    assert (life.messages, life.collectives) == (0, 1)  # A part of the latter is no message by itself.
    (one,) = [step for step in life.steps if step.kind == "collective"]
    assert (one.time, one.operation, one.partitions, one.last, one.last_came) == (
        150,
        "allreduce",
        4,
        2,
        4010,
    )
    assert one.done is None
    assert "1 collective operation among partitions" in list(tph_history_text(life))


def test_a_message_of_a_tph_says_when_it_was_taken(written):
    life = tph_history(written(*late_receiver(KEPT, (400, 6000))), str(TPH))
    (one,) = [step for step in life.steps if step.kind == "message"]
    assert (one.time, one.arrived, one.taken, one.source, one.target) == (150, 400, 6000, 0, 1)
    told = next(line for line in tph_history_text(life) if "message with tag 5" in line)
    assert "rank 1 → 2" in told
    assert told.endswith("977 KiB copied, arrived after 250 ns, taken 5.60 µs later")


MESSAGES = st.lists(
    st.tuples(*[st.integers(0, 2)] * 3, st.booleans(), st.booleans()), max_size=20
)  # Site, partitions; whether it is a part of a collective operation; whether its sender keeps it.


def mixed(queues, order):
    """What comes out of queues that are emptied in an order of chance."""
    queues = [list(queue) for queue in queues if queue]
    while queues:
        queue = order.choice(queues)
        yield queue.pop(0)
        queues = [queue for queue in queues if queue]


@given(sent=MESSAGES, lost=st.integers(0, 2**20), order=st.randoms(use_true_random=False))
@settings(max_examples=some_of(60), deadline=None)
def test_messages_are_matched_as_queues_would(tmp_path_factory, sent, lost, order):
    """Messages of one kind keep their order; the last of some never come."""
    home = tmp_path_factory.mktemp("any")
    queues, ends, times = {}, {0: [], 1: []}, {}
    for number, (site, source, target, is_part, is_kept) in enumerate(sent):
        flags = (KEPT if is_kept else MessageFlag.COPIED) | (MessageFlag.COLLECTIVE if is_part else 0)
        row = {"site": site, "tph": TPH, "flags": flags, "a": number, "c": pair(source, target)}
        queues.setdefault((site, source, target, is_part), []).append(row)
    came = [rows[: len(rows) - lost % (len(rows) + 1)] for rows in queues.values()]
    kept = [[row for row in rows if row["flags"] & MessageFlag.RENDEZVOUS] for rows in came]
    for rank, kind, rows in (
        (0, EventType.PARTITION_SEND, queues.values()),
        (1, EventType.PARTITION_RECEIVE, came),
        (1, EventType.PARTITION_TAKE, kept),
        (0, EventType.PARTITION_SEND_COMPLETE, kept),
    ):
        for row in mixed(rows, order):
            times[kind, row["a"]] = len(times)
            ends[rank].append({"type": kind, "time": len(times) - 1, "b": pair(1 - rank, 5), **row})
    for rank, rows in ends.items():
        write_rank(home, rank, rows)
    found = trace.open(home).partition_messages()
    assert sorted(found["bytes"].tolist()) == list(range(len(sent)))
    for name, kind in (
        ("sent", EventType.PARTITION_SEND),
        ("received", EventType.PARTITION_RECEIVE),
        ("taken", EventType.PARTITION_TAKE),
        ("done", EventType.PARTITION_SEND_COMPLETE),
    ):
        assert found[name].tolist() == [times.get((kind, number), -1) for number in found["bytes"].tolist()]
