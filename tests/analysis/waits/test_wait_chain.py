"""Who waited for whom at a moment: a run with known numbers, and odd ones."""

import pytest
from pse_testing.traces import region_rows, text_rows, write_trace

from pse import trace
from pse.analysis import (
    parse_time,
    wait_chain,
    wait_chain_text,
)
from pse.trace import NONE, Await, Collective, EventType, MemoryFlag, SendMode, WaitReason, pair
from tests.analysis.rows import LOADER, ROWS, call, ends, phase, receive, send, wait


def states(chain):
    return [(link.rank, link.state) for link in chain.links]


def test_a_wait_leads_to_the_rank_that_computes(pipeline):
    chain = wait_chain(pipeline, 1, 2000)
    assert states(chain) == [(1, "wait"), (0, "call")]
    first, last = chain.links
    assert (first.reason, first.tag, first.source, first.label) == (
        "input",
        "image",
        "load (line 3)",
        "fft.rows",
    )
    assert (first.begin, first.end) == (500, 5150)  # Woken once for something else: it is one wait.
    assert (first.ended_by.rank, first.ended_by.time, first.ended_by.way) == (0, 5100, "by descriptor")
    assert (last.label, last.place, last.begin, last.end) == ("load", "small.coven:3:1", 1000, 5000)
    assert last.meanwhile == (("load (line 3)", 3000), ("engine", 100))


def test_the_chain_is_told_in_sentences(pipeline):
    lines = list(wait_chain_text(wait_chain(pipeline, 0, 7000)))
    assert lines[0] == "at 0.000007 s:"
    assert lines[1] == "rank 0 (root · thread_A) waited for the tag result of fft.rows (line 4), " \
                       "to execute save (line 5), TPH 65536 (k = 7)"  # fmt: skip
    assert lines[4].startswith("rank 1 (p0 · thread_B) executed fft.rows (line 4), TPH 65536 (k = 7)")
    assert lines[-1] == "so rank 0 waited for rank 1, which executed fft.rows (line 4)"


@pytest.mark.parametrize(
    ("time", "state"), [(50, "start"), (400, "engine"), (2000, "call"), (9955, "done"), (9970, "end")]
)
def test_a_rank_that_does_not_wait_is_the_whole_chain(pipeline, time, state):
    assert states(wait_chain(pipeline, 0, time)) == [(0, state)]


def test_a_rank_that_is_done_waits_for_the_last_one(pipeline):
    chain = wait_chain(pipeline, 1, 9500)
    assert states(chain) == [(1, "done"), (0, "call")]
    assert chain.links[0].ended_by.time == 9900


def test_whoever_has_what_it_needs_waits_for_nobody(pipeline):
    chain = wait_chain(pipeline, 1, 5120)
    assert states(chain) == [(1, "wait")]
    assert "was not awake yet" in list(wait_chain_text(chain))[-1]


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (WaitReason.CREDIT, [
            {"time": 100, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 2, "c": 2},
            {"time": 400, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 1, "c": 2},
        ]),
        (WaitReason.SPACE, [{"time": 400, "type": EventType.FREE, "a": 8, "flags": MemoryFlag.RECYCLED}]),
        (WaitReason.ITERATION, ends(400)),
        (WaitReason.EXCLUSIVE, call(1, 50, 400)),
    ],
    ids=lambda value: value.name if isinstance(value, WaitReason) else "",
)  # fmt: skip
def test_other_waits_lead_to_whoever_ended_them(written, reason, ending):
    opened = written(
        [*phase(0, 2), *wait(0, 200, 420, reason=reason)], [*phase(0, 2), *ending, *phase(900, 3)]
    )
    link = wait_chain(opened, 0, 300).links[0]
    assert link.reason == reason.name.lower()
    assert (link.ended_by.rank, link.ended_by.time) == (1, 400)


def test_whoever_gave_a_tag_up_late_is_the_likelier_cause(written):
    """Rank 1 was done with the tag long before; rank 2 had it, too, and looked into its inbox just now."""
    reader = [*phase(0, 2), *receive(60, 0, 0, 0), *call(1, 70, 100_400), *phase(900_000, 3)]
    holder = [*phase(0, 2), *receive(60, 0, 0, 0), *receive(800_000, 0, 1, 1), *phase(900_000, 3)]
    opened = written(
        [*phase(0, 2), *send(50, 0, 0, 1), *send(50, 0, 0, 2),
         *wait(1, 70_000, 800_020, reason=WaitReason.EXCLUSIVE)], reader, holder,
    )  # fmt: skip
    assert wait_chain(opened, 0, 90_000).links[0].ended_by.rank == 2


def test_a_free_place_in_a_queue_may_wake_a_rank_that_waits_for_a_tag(written):
    """Its oldest TPH waits for the tag, and a younger one can go on."""
    taken = [{"time": time, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": depth, "c": 2}
             for time, depth in ((100, 2), (400, 1))]  # fmt: skip
    opened = written([*phase(0, 2), *wait(2, 200, 420, edge=1)], [*phase(0, 2), *taken, *phase(900, 3)])
    link = wait_chain(opened, 0, 300).links[0]
    assert (link.tag, link.ended_by.rank, link.ended_by.time) == ("result", 1, 400)


def test_a_message_among_partitions_comes_from_the_same_call_site(written):
    """Such messages aren't in the trace; they are posted in calls."""
    idle = [*phase(0, 2), *phase(900, 3)]
    opened = written(
        idle, [*phase(0, 2), *wait(1, 200, 420)], [*phase(0, 2), *call(1, 50, 400), *phase(900, 3)]
    )
    assert states(wait_chain(opened, 1, 300)) == [(1, "wait"), (2, "call")]


def test_a_turn_in_the_common_order_comes_with_the_last_of_the_thread(written):
    idle = [*phase(0, 2), *phase(900, 3)]
    opened = written(idle, [*phase(0, 2), *wait(1, 200, 420, reason=WaitReason.ORDER)],
                     [*phase(0, 2), *call(1, 50, 400), *phase(900, 3)])  # fmt: skip
    assert states(wait_chain(opened, 1, 300)) == [(1, "wait"), (2, "call")]


def test_ranks_that_wait_for_each_other_are_a_circle(written):
    opened = written([*phase(0, 2), *wait(2, 200, None, edge=1, peer=1)],
                     [*phase(0, 2), *wait(1, 300, None, edge=0, peer=0)])  # fmt: skip
    chain = wait_chain(opened, 0, 300)
    assert states(chain) == [(0, "wait"), (1, "wait")]
    assert chain.circle
    assert list(wait_chain_text(chain))[-1] == "this closes a circle: rank 0 is named above"


def test_of_a_wait_without_end_the_definer_of_the_tag_is_next(written):
    opened = written([*phase(0, 2), *call(0, 100, 900)], [*phase(0, 2), *wait(1, 200, None, edge=0)])
    chain = wait_chain(opened, 1, 500)
    assert states(chain) == [(1, "wait"), (0, "call")]
    assert not chain.links[0].complete
    assert not chain.links[0].ended_by.certain


def test_a_missing_rank_ends_the_chain(written):
    opened = written(None, ROWS)
    chain = wait_chain(opened, 1, 2000)
    assert states(chain) == [(1, "wait"), (0, "lost")]
    with pytest.raises(trace.TraceError, match="has no events of rank 0"):
        wait_chain(opened, 0, 2000)


def test_a_rank_without_events_is_said_not_to_be_shown(written):
    assert states(wait_chain(written(LOADER, []), 1, 2000)) == [(1, "lost")]


def mpi_rank(rank, rows, size=2):
    names = enumerate(("MPI_Recv", "MPI_Send", "MPI_Barrier"), 1)
    texts = [row for number, name in names for row in text_rows(number, name)]
    world = {"time": 0, "type": EventType.MPI_COMMUNICATOR, "a": 1, "b": pair(0, 1), "c": pair(size, rank)}
    members = {"time": 0, "type": EventType.MPI_COMMUNICATOR_RANKS, "a": 1, "b": pair(0, 1),
               "c": pair(2 if size == 3 else NONE, NONE)}  # fmt: skip
    return [*texts, world, *([members] if rank == 0 else []), *rows, {"time": 2000, "type": EventType.PHASE}]


def routine(number, begin, end, *inner):
    return region_rows(number, begin, end, inner)


def late_sender():
    sent = {"time": 510, "type": EventType.MPI_SEND, "a": 80, "b": pair(0, 5), "c": 1,
            "flags": SendMode.STANDARD}  # fmt: skip
    got = {"time": 600, "type": EventType.MPI_RECEIVE, "a": 80, "b": pair(1, 5), "c": 1}
    barrier = {"type": EventType.MPI_COLLECTIVE_BEGIN, "a": NONE, "c": 1, "flags": 1}
    return (
        mpi_rank(0, [*routine(1, 100, 620, got), *routine(3, 1500, 1600, {"time": 1500, **barrier})]),
        mpi_rank(1, [*routine(2, 500, 520, sent), *routine(3, 800, 1610, {"time": 800, **barrier})]),
    )


@pytest.mark.parametrize(
    ("rank", "time", "expected"),
    [
        (0, 300, [(0, "mpi"), (1, "program")]),
        (1, 1000, [(1, "mpi"), (0, "program")]),
        (1, 1550, [(1, "mpi")]),
    ],
)
def test_waits_within_mpi_lead_to_late_ranks(written, rank, time, expected):
    opened = written(*late_sender(), known=False)
    assert states(wait_chain(opened, rank, time)) == expected


def late_receiver(mode, *, is_request=False, size=10**6, kept=None):
    """Rank 0 sends from 100 on, rank 1 receives from 900 on; MPI has kept one of `kept` bytes for it."""
    head = {
        "type": EventType.MPI_SEND,
        "a": size,
        "b": pair(1, 5),
        "c": pair(1, 9 * is_request),
        "flags": mode,
    }
    sent = [{"time": 95 if is_request else 105, **head}]
    done = [{"time": 990, "type": EventType.MPI_SEND_COMPLETE, "c": pair(1, 9)}] if is_request else []
    got = {"time": 985, "type": EventType.MPI_RECEIVE, "a": size, "b": pair(0, 5), "c": 1}
    sender = [*(sent if is_request else []), *routine(2, 100, 1000, *([] if is_request else sent), *done)]
    receiver = routine(1, 900, 990, got)
    if kept is not None:
        other = {"a": kept, "b": pair(1, 6), "c": 1}
        sender = [*routine(2, 10, 20, {"time": 11, "type": EventType.MPI_SEND, **other}), *sender]
        other = {"a": kept, "b": pair(0, 6), "c": 1}
        last = {"time": 999_985, "type": EventType.MPI_RECEIVE, **other}
        receiver += routine(1, 999_900, 999_990, last)
    return mpi_rank(0, sender), mpi_rank(1, receiver)


@pytest.mark.parametrize(
    ("how", "is_late"),
    [
        ({"mode": SendMode.STANDARD}, True),
        ({"mode": SendMode.SYNCHRONOUS, "size": 8, "kept": 10**6}, True),
        ({"mode": SendMode.STANDARD, "is_request": True}, True),
        ({"mode": SendMode.STANDARD, "kept": 10**6 - 1}, True),
        ({"mode": SendMode.STANDARD, "kept": 10**6}, False),
        ({"mode": SendMode.BUFFERED}, False),
    ],
)
def test_a_send_that_waits_for_its_receive_leads_to_the_receiver(written, how, is_late):
    """What was complete before its receive was posted, MPI had kept; it keeps smaller messages, too."""
    chain = wait_chain(written(*late_receiver(**how), known=False), 0, 500)
    assert states(chain) == ([(0, "mpi"), (1, "program")] if is_late else [(0, "mpi")])
    if is_late:
        end = chain.links[0].ended_by
        assert (end.rank, end.time, end.was_late_receiver, end.message.tag) == (1, 900, True, 5)
        assert any("posted the receive for its message with tag 5" in line for line in wait_chain_text(chain))


@pytest.mark.parametrize("time", [900, 2000])
def test_calls_of_mpi_that_never_ended_are_followed_as_far_as_the_trace_tells(written, time):
    barrier = {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": 800, "a": NONE, "c": 1, "flags": 1}
    opened = written(
        mpi_rank(0, [*routine(2, 50, 60), *routine(1, 100, 1900)[:1]]),
        mpi_rank(1, [*routine(2, 500, 520), *routine(3, 800, 1900, barrier)[:2]]),
        known=False,
    )
    chain = wait_chain(opened, 1, time)
    assert [(link.rank, link.state, link.routine, link.begin, link.complete) for link in chain.links] == [
        (1, "mpi", "MPI_Barrier", 800, False),
        (0, "mpi", "MPI_Recv", 100, False),
    ]
    lines = [*wait_chain_text(chain)]
    assert "  it never ended; rank 0 should have ended it" in lines
    assert lines[-1] == "the trace doesn't show which rank should have ended this MPI_Recv"


def unended(rank, number, *inner):
    """A rank that never left a call of a routine, which begins at 100."""
    return mpi_rank(rank, routine(number, 100, 1900, *inner)[:-1])


def awaits(partner, tag, **fields):
    return {
        "time": 100,
        "type": EventType.MPI_AWAIT,
        "b": pair(partner, tag),
        "c": pair(1, 0),
        **fields,
    }


def message(kind, time, partner, tag, request=0):
    return {"time": time, "type": kind, "a": 8, "b": pair(partner, tag), "c": pair(1, request)}


@pytest.mark.parametrize(
    ("inner", "awaited", "is_deadlock"),
    [
        ([awaits(1, 7)], "a message with tag 7 from rank 1", True),
        ([awaits(1, NONE)], "a message with any tag from rank 1", False),  # It was sent.
        ([awaits(NONE, 7)], "a message with tag 7 from any rank", True),  # There is only one.
        ([message(EventType.MPI_SEND, 100, 1, 7)], "rank 1 to receive its message with tag 7", True),
        (  # As in MPI_Sendrecv: the message of rank 1 is there.
            [message(EventType.MPI_SEND, 100, 1, 7), awaits(1, 9)],
            "rank 1 to receive its message with tag 7",
            True,
        ),
        (
            [
                message(EventType.MPI_RECEIVE_POST, 90, 1, 9, 3),
                message(EventType.MPI_RECEIVE_POST, 91, 1, 8, 4),
                message(EventType.MPI_RECEIVE_POST, 92, 1, 7, 5),  # No request of the wait.
                awaits(3, 4, a=2, flags=Await.ANY, c=0),
            ],
            "any of 2 requests, among them a message with tag 8 from rank 1",
            True,
        ),
        (
            [
                {"time": 90, "type": EventType.MPI_COLLECTIVE_BEGIN, "a": NONE, "c": pair(1, 3), "flags": 1},
                awaits(3, 3, a=1, flags=Await.ALL, c=0),
            ],
            "the collective operation barrier",
            True,
        ),
        ([awaits(1, 9)], "a message with tag 9 from rank 1", False),  # It was sent.
    ],
)
def test_what_calls_that_never_ended_waited_for_is_told(written, inner, awaited, is_deadlock):
    """Rank 1 has sent a message with tag 9, and waits for another one of rank 0."""
    sent = routine(2, 50, 60, message(EventType.MPI_SEND, 50, 0, 9))
    opened = written(
        unended(0, 1, *inner),
        mpi_rank(1, [*sent, *routine(1, 100, 1900, awaits(0, 5))[:-1]]),
        known=False,
    )
    chain = wait_chain(opened, 0, 900)
    assert chain.links[0].awaited == awaited
    assert chain.circle == is_deadlock
    lines = [*wait_chain_text(chain)]
    assert f"  it waited for {awaited}" in lines
    if is_deadlock:
        assert lines[-1] == "this closes a circle, a deadlock: rank 0 is named above"
    else:
        assert lines[-1] == "the trace doesn't show which rank should have ended this MPI_Recv"


def test_ranks_that_came_to_different_collective_operations_wait_for_each_other(written):
    def within(operation):
        begin = {"time": 100, "type": EventType.MPI_COLLECTIVE_BEGIN, "a": NONE, "c": pair(1, 0)}
        return begin | {"flags": operation}

    operations = Collective.BARRIER, Collective.ALLREDUCE
    opened = written(*(unended(rank, 3, within(one)) for rank, one in enumerate(operations)), known=False)
    chain = wait_chain(opened, 0, 900)
    assert [link.awaited for link in chain.links] == [
        "the collective operation barrier, but rank 1 came to allreduce",
        "the collective operation allreduce, but rank 0 came to barrier",
    ]
    assert chain.circle


def test_a_receive_from_any_of_several_ranks_ends_the_chain(written):
    idle = [mpi_rank(rank, routine(2, 50, 60), size=3) for rank in (1, 2)]
    opened = written(mpi_rank(0, routine(1, 100, 1900, awaits(NONE, 7))[:-1], size=3), *idle, known=False)
    chain = wait_chain(opened, 0, 900)
    assert [(link.awaited, link.ended_by) for link in chain.links] == [
        ("a message with tag 7 from any rank", None)
    ]


def test_a_module_that_waits_in_mpi_is_named_with_the_routine(written):
    first, second = late_sender()
    inside = [*call(2, 90, 630)[:1], *first[5:8], *call(2, 90, 630)[1:]]
    opened = written([*first[:5], *inside], [*second, *call(1, 1700, 1800)])
    link = wait_chain(opened, 0, 300).links[0]
    assert (link.state, link.routine, link.label, link.ended_by.rank) == ("mpi", "MPI_Recv", "save", 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("0.000002", 2000), ("2us", 2000), ("50%", 5000), ("end", 10000), ("0", 0)]
)
def test_moments_are_told_as_people_do(pipeline, text, expected):
    assert parse_time(pipeline, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "'soon' is not a time"),
        ("-1", "'-1' is not a time"),
        ("3", "3 is after the end of the run, which took 0.000010 s"),
    ],
)
def test_a_text_that_is_not_a_moment_of_the_run_is_refused(pipeline, text, message):
    with pytest.raises(trace.TraceError, match=message) as raised:
        parse_time(pipeline, text)
    assert raised.value.help.startswith(("write seconds since", "write a time up to 0.000010 s, a share"))
    assert parse_time(pipeline, "0.000010 s") == 10000


def threads_in_mpi(directory):
    """Rank 0's thread 0 computes between calls, threads 1 and 2 wait for rank 1 and for nobody known."""
    rows = [
        [*text_rows(1, "MPI_Recv"), *text_rows(2, "MPI_Send"), *text_rows(3, "MPI_Barrier")] for _ in "ab"
    ]
    for rank, own in enumerate(rows):
        own.append(
            {
                "type": EventType.MPI_COMMUNICATOR,
                "time": 10,
                "a": pair(1, 0),
                "b": pair(0, 1),
                "c": pair(2, rank),
            }
        )
    members = {"type": EventType.MPI_COMMUNICATOR_RANKS, "time": 10, "a": pair(1, 0), "b": pair(0, 1)}
    rows[0].append(members | {"c": pair(NONE, NONE)})

    def turn(time, thread, *events):
        return [{"type": EventType.THREAD, "time": time, "a": thread}, *events]

    enter, leave = (
        lambda number, time, begin=0, kind=kind: {"type": kind, "time": time, "a": number, "b": begin}
        for kind in (EventType.REGION_ENTER, EventType.REGION_LEAVE)
    )
    received = {"type": EventType.MPI_RECEIVE, "time": 5000, "a": 8, "b": pair(1, 7), "c": pair(1, 0)}
    rows[0] += [*turn(100, 0, enter(3, 100), leave(3, 900, 100)), *turn(1000, 2, enter(3, 1000))]
    rows[0] += [*turn(1100, 1, enter(1, 1100), received, leave(1, 5010, 1100))]
    rows[0] += [*turn(6000, 2, leave(3, 6000, 1000)), *turn(7000, 0, enter(3, 7000), leave(3, 7100, 7000))]
    sent = {"type": EventType.MPI_SEND, "time": 4800, "a": 8, "b": pair(0, 7), "c": pair(1, 0)}
    rows[1] += [enter(3, 100), leave(3, 900, 100), enter(2, 4790), sent, leave(2, 4900, 4790)]
    return write_trace(directory, rows, None)


def test_the_thread_that_waits_is_asked_or_the_one_that_is_chosen(tmp_path, pse):
    run = threads_in_mpi(tmp_path / "run")
    lines = [*wait_chain_text(wait_chain(run, 0, 3000))]
    assert lines[1] == "rank 0 · thread 1 was in MPI_Recv"
    assert lines[-1] == "so rank 0 · thread 1 waited for rank 1, which was outside of MPI, in the program"
    both = wait_chain(run, 0, 5500).links
    assert [(link.thread, link.routine, link.others) for link in both] == [(2, "MPI_Barrier", ())]
    chosen = wait_chain(run, 0, 3000, thread=2)
    assert chosen.links[0].routine == "MPI_Barrier"
    done = pse("trace", "why", run.path, "--rank", "0", "--at", "3us", "--thread", "0")
    assert "rank 0 · thread 0 was outside of MPI, in the program" in done.out
    assert "for 6.10 µs" in done.out
    with pytest.raises(trace.TraceError, match="rank 0 has no thread 5 that calls MPI"):
        wait_chain(run, 0, 3000, thread=5)


def test_several_threads_that_are_in_mpi_are_told(tmp_path):
    chain = wait_chain(threads_in_mpi(tmp_path / "run"), 0, 5005)
    assert [(link.thread, link.routine, link.others) for link in chain.links] == [(1, "MPI_Recv", (2,))]
    assert [*wait_chain_text(chain)][-1] == "of rank 0 thread 2 was in MPI, too: --thread chooses one"
