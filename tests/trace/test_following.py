"""Who waited for whom, the life of a TPH, the critical path: a run with known numbers, and odd ones."""

import dataclasses
import json

import numpy as np
import pytest

from pse import trace
from pse.analysis._critical_path import Step, critical_path, shares
from pse.analysis._tph_history import CallStep, HandoverStep, follow
from pse.analysis._tph_history_text import tell as tell_life
from pse.analysis._why import moment, why
from pse.analysis._why_text import tell
from pse.trace import NONE, EventType, MemoryFlag, MessageFlag, Phase, SendMode, TextKind, WaitReason, pair

TPH = 1 << 16


def call(site, begin, end, tph=TPH):
    head = {"site": site, "tph": tph}
    return [
        {"time": begin, "type": EventType.MODULE_ENTER, "a": NONE, **head},
        {"time": end, "type": EventType.MODULE_LEAVE, "a": (end - begin) // 2, "b": begin,
         "c": pair(0, NONE), **head},
    ]  # fmt: skip


def wait(site, begin, end, edge=NONE, reason=WaitReason.INPUT, peer=NONE, tph=TPH):
    head = {"site": site, "tph": tph, "flags": reason, "a": pair(peer, edge)}
    rows = [{"time": begin, "type": EventType.WAIT_BEGIN, **head}]
    return rows if end is None else [*rows, {"time": end, "type": EventType.WAIT_END, "b": begin, **head}]


def send(time, site, edge, to, sequence=1, tph=TPH):
    return [{"time": time, "type": EventType.SEND, "site": site, "tph": tph, "a": 4096, "b": pair(to, edge),
             "c": sequence, "flags": MessageFlag.DESCRIPTOR}]  # fmt: skip


def receive(time, site, edge, of, sequence=1, tph=TPH):
    return [{"time": time, "type": EventType.RECEIVE, "site": site, "tph": tph, "a": 4096,
             "b": pair(of, edge), "c": sequence, "flags": MessageFlag.DESCRIPTOR}]  # fmt: skip


def phase(time, number):
    return [{"time": time, "type": EventType.PHASE, "a": number}]


def begins(time):
    return [{"time": time, "type": EventType.CONTEXT_BEGIN, "tph": TPH, "a": 1, "b": 7, "c": pair(0, NONE)}]


def ends(time):
    return [{"time": time, "type": EventType.CONTEXT_END, "tph": TPH}]


LOADER = [
    *phase(0, Phase.START), *phase(100, Phase.READY), *begins(200), *call(0, 1000, 5000),
    *send(5100, 0, 0, 1), *wait(2, 5200, 9300, edge=1), *receive(9310, 1, 1, 1), *call(2, 9400, 9900),
    *ends(9950), *phase(9960, Phase.DONE), *phase(10000, Phase.END),
]  # fmt: skip
ROWS = [
    *phase(0, Phase.START), *phase(100, Phase.READY), *begins(300), *wait(1, 500, 3000, edge=0),
    *wait(1, 3100, 5150, edge=0), *receive(5160, 0, 0, 0), *call(1, 5200, 9100), *send(9200, 1, 1, 0),
    *ends(9210), *phase(9960, Phase.DONE), *phase(10000, Phase.END),
]  # fmt: skip


@pytest.fixture
def written(tmp_path, write_rank, definitions):
    """Write a run of these ranks' rows; rank 0 is the root's, the others are a processor each."""

    def write(*ranks, known=True):
        site, edge = trace.SiteDefinition, trace.EdgeDefinition
        if known:
            trace.write_definitions(tmp_path, definitions(
                processors=len(ranks) - 1,
                sites=(site(0, "load", "load", "small.coven:3:1", "thread_A"),
                       site(1, "fft.rows", "rows", "small.coven:4:1", "thread_B", True),
                       site(2, "save", "save", "small.coven:5:1", "thread_A")),
                edges=(edge(0, "image", 0, (1,)), edge(1, "result", 1, (2,))),
            ))  # fmt: skip
        for rank, rows in enumerate(ranks):
            if rows is not None:
                write_rank(tmp_path, rank, rows)
        return trace.open(tmp_path)

    return write


@pytest.fixture
def pipeline(written):
    """Rank 0 loads, rank 1 transforms, rank 0 saves."""
    return written(LOADER, ROWS)


def states(chain):
    return [(link.rank, link.state) for link in chain.links]


def test_a_wait_leads_to_the_rank_that_computes(pipeline):
    chain = why(pipeline, 1, 2000)
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
    lines = list(tell(why(pipeline, 0, 7000)))
    assert lines[0] == "at 0.000007 s:"
    assert lines[1] == "rank 0 (root · thread_A) waited for the tag result of fft.rows (line 4), " \
                       "to execute save (line 5), TPH 65536 (k = 7)"  # fmt: skip
    assert lines[4].startswith("rank 1 (p0 · thread_B) executed fft.rows (line 4), TPH 65536 (k = 7)")
    assert lines[-1] == "so rank 0 waited for rank 1, which executed fft.rows (line 4)"


@pytest.mark.parametrize(
    ("time", "state"), [(50, "start"), (400, "engine"), (2000, "call"), (9955, "done"), (9970, "end")]
)
def test_a_rank_that_does_not_wait_is_the_whole_chain(pipeline, time, state):
    assert states(why(pipeline, 0, time)) == [(0, state)]


def test_a_rank_that_is_done_waits_for_the_last_one(pipeline):
    chain = why(pipeline, 1, 9500)
    assert states(chain) == [(1, "done"), (0, "call")]
    assert chain.links[0].ended_by.time == 9900


def test_whoever_has_what_it_needs_waits_for_nobody(pipeline):
    chain = why(pipeline, 1, 5120)
    assert states(chain) == [(1, "wait")]
    assert "was not awake yet" in list(tell(chain))[-1]


@pytest.mark.parametrize(
    ("reason", "deed"),
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
def test_other_waits_lead_to_whoever_ended_them(written, reason, deed):
    opened = written([*phase(0, 2), *wait(0, 200, 420, reason=reason)], [*phase(0, 2), *deed, *phase(900, 3)])
    link = why(opened, 0, 300).links[0]
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
    assert why(opened, 0, 90_000).links[0].ended_by.rank == 2


def test_a_free_place_in_a_queue_may_wake_a_rank_that_waits_for_a_tag(written):
    """Its oldest TPH waits for the tag, and a younger one can go on."""
    taken = [{"time": time, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": depth, "c": 2}
             for time, depth in ((100, 2), (400, 1))]  # fmt: skip
    opened = written([*phase(0, 2), *wait(2, 200, 420, edge=1)], [*phase(0, 2), *taken, *phase(900, 3)])
    link = why(opened, 0, 300).links[0]
    assert (link.tag, link.ended_by.rank, link.ended_by.time) == ("result", 1, 400)


def test_a_message_among_partitions_comes_from_the_same_call_site(written):
    """Such messages aren't in the trace; they are posted in calls."""
    idle = [*phase(0, 2), *phase(900, 3)]
    opened = written(
        idle, [*phase(0, 2), *wait(1, 200, 420)], [*phase(0, 2), *call(1, 50, 400), *phase(900, 3)]
    )
    assert states(why(opened, 1, 300)) == [(1, "wait"), (2, "call")]


def test_a_turn_in_the_common_order_comes_with_the_last_of_the_thread(written):
    idle = [*phase(0, 2), *phase(900, 3)]
    opened = written(idle, [*phase(0, 2), *wait(1, 200, 420, reason=WaitReason.ORDER)],
                     [*phase(0, 2), *call(1, 50, 400), *phase(900, 3)])  # fmt: skip
    assert states(why(opened, 1, 300)) == [(1, "wait"), (2, "call")]


def test_ranks_that_wait_for_each_other_are_a_circle(written):
    opened = written([*phase(0, 2), *wait(2, 200, None, edge=1, peer=1)],
                     [*phase(0, 2), *wait(1, 300, None, edge=0, peer=0)])  # fmt: skip
    chain = why(opened, 0, 300)
    assert states(chain) == [(0, "wait"), (1, "wait")]
    assert chain.circle
    assert list(tell(chain))[-1] == "this closes a circle: rank 0 is named above"


def test_of_a_wait_without_end_the_definer_of_the_tag_is_next(written):
    opened = written([*phase(0, 2), *call(0, 100, 900)], [*phase(0, 2), *wait(1, 200, None, edge=0)])
    chain = why(opened, 1, 500)
    assert states(chain) == [(1, "wait"), (0, "call")]
    assert not chain.links[0].complete
    assert not chain.links[0].ended_by.certain


def test_a_missing_rank_ends_the_chain(written):
    opened = written(None, ROWS)
    chain = why(opened, 1, 2000)
    assert states(chain) == [(1, "wait"), (0, "lost")]
    with pytest.raises(trace.TraceError, match="has no events of rank 0"):
        why(opened, 0, 2000)


def test_a_rank_without_events_is_said_not_to_be_shown(written):
    assert states(why(written(LOADER, []), 1, 2000)) == [(1, "lost")]


def mpi_rank(rank, rows):
    texts = []
    for number, name in enumerate((b"MPI_Recv", b"MPI_Send", b"MPI_Barrier"), 1):
        words = [int.from_bytes(name.ljust(16, b"\0")[at : at + 8], "little") for at in (0, 8)]
        texts.append({"time": 0, "type": EventType.TEXT, "flags": TextKind.REGION, "a": number, "b": words[0],
                      "c": words[1]})  # fmt: skip
    world = {"time": 0, "type": EventType.MPI_COMMUNICATOR, "a": 1, "b": pair(0, 1), "c": pair(2, rank)}
    members = {"time": 0, "type": EventType.MPI_COMMUNICATOR_RANKS, "a": 1, "b": pair(0, 1),
               "c": pair(NONE, NONE)}  # fmt: skip
    return [*texts, world, *([members] if rank == 0 else []), *rows, {"time": 2000, "type": EventType.PHASE}]


def routine(number, begin, end, *inner):
    return [
        {"time": begin, "type": EventType.REGION_ENTER, "a": number},
        *inner,
        {"time": end, "type": EventType.REGION_LEAVE, "a": number, "b": begin},
    ]


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
    assert states(why(opened, rank, time)) == expected


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
    chain = why(written(*late_receiver(**how), known=False), 0, 500)
    assert states(chain) == ([(0, "mpi"), (1, "program")] if is_late else [(0, "mpi")])
    if is_late:
        end = chain.links[0].ended_by
        assert (end.rank, end.time, end.was_late_receiver, end.message.tag) == (1, 900, True, 5)
        assert any("posted the receive for its message with tag 5" in line for line in tell(chain))


def test_a_module_that_waits_in_mpi_is_named_with_the_routine(written):
    first, second = late_sender()
    inside = [*call(2, 90, 630)[:1], *first[5:8], *call(2, 90, 630)[1:]]
    opened = written([*first[:5], *inside], [*second, *call(1, 1700, 1800)])
    link = why(opened, 0, 300).links[0]
    assert (link.state, link.routine, link.label, link.ended_by.rank) == ("mpi", "MPI_Recv", "save", 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("0.000002", 2000), ("2us", 2000), ("50%", 5000), ("end", 10000), ("0", 0)]
)
def test_moments_are_told_as_people_do(pipeline, text, expected):
    assert moment(pipeline, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("soon", "'soon' is no time"), ("-1", "'-1' is no time"), ("3", "at 3 the run was over")],
)
def test_moments_that_are_none(pipeline, text, message):
    with pytest.raises(trace.TraceError, match=message):
        moment(pipeline, text)


def test_the_life_of_a_tph_is_one_timeline(pipeline):
    life = follow(pipeline, "k=7")
    assert (life.tph.number, life.name, life.parent) == (TPH, "TPH 65536 (k = 7)", "the program")
    assert life.ranks == ((0, 200, 9950), (1, 300, 9210))
    assert (life.calls, life.handovers, life.module_time, life.shared, life.moved) == (3, 2, 8400, 8192, 0)
    told = [(s.kind, s.time, s.label if isinstance(s, CallStep) else s.tag) for s in life.steps]
    assert told == [
        ("call", 1000, "load"), ("hand-over", 5100, "image"), ("call", 5200, "fft.rows"),
        ("hand-over", 9200, "result"), ("call", 9400, "save"),
    ]  # fmt: skip
    assert [(w.reason, w.tag, w.time) for w in life.steps[2].waited] == [("input", "image", 4650)]
    handover = life.steps[1]
    assert isinstance(handover, HandoverStep)
    assert (handover.arrived, handover.read, handover.reader) == (5160, 5200, "fft.rows (line 4)")


@pytest.mark.parametrize(
    ("received", "calls", "read"),
    [
        ((10, 20, 30), (40,), (None, None, 40)),  # A loop's condition read the first two.
        ((10, 50, 60), (40, 70, 80), (40, 70, 80)),  # Two came during the first call.
        ((10, 50), (20, 30, 60, 70), (20, 60)),  # Each is read twice, by two partitions say.
        ((10,), (20, 30, 40), (20,)),  # What doesn't change is read again and again.
        ((10, 20, 50), (30, 60), (None, 30, 60)),
        ((10,), (), (None,)),
    ],
)
def test_a_call_reads_what_came_for_it(written, received, calls, read):
    sender = [row for number, time in enumerate(received) for row in send(time - 5, 0, 0, 1, number)]
    reader = [row for number, time in enumerate(received) for row in receive(time, 0, 0, 0, number)]
    reader += [row for time in calls for row in call(1, time, time + 8)]
    opened = written([*begins(0), *sender], [*begins(0), *sorted(reader, key=lambda row: row["time"])])
    steps = [step for step in follow(opened, "k=7").steps if isinstance(step, HandoverStep)]
    assert tuple(step.read for step in steps) == read


@pytest.mark.parametrize(
    ("received", "calls", "read"),
    [
        ((10, 20), (40,), (40, 40)),  # Two partitions' pieces are put together.
        ((10, 20, 50, 60), (40, 70), (40, 40, 70, 70)),
        ((10, 20, 30, 35), (40, 70), (40, 40, 70, 70)),  # The later ones came early.
        ((10, 20, 50), (40, 70), (40, 40, 70)),
        ((10,), (20, 30), (20,)),
        ((50,), (20,), (None,)),
    ],
)
def test_a_call_may_read_several_pieces_of_a_distributed_tag(tmp_path, written, received, calls, read):
    sender = [row for number, time in enumerate(received) for row in send(time - 5, 0, 0, 1, number)]
    reader = [row for number, time in enumerate(received) for row in receive(time, 0, 0, 0, number)]
    reader += [row for time in calls for row in call(1, time, time + 8)]
    opened = written([*begins(0), *sender], [*begins(0), *sorted(reader, key=lambda row: row["time"])])
    known = opened.definitions
    edges = (dataclasses.replace(known.edges[0], type="f64[N] @ block(0)"), *known.edges[1:])
    trace.write_definitions(tmp_path, dataclasses.replace(known, edges=edges))
    steps = [step for step in follow(trace.open(tmp_path), "k=7").steps if isinstance(step, HandoverStep)]
    assert tuple(step.read for step in steps) == read


def test_what_never_ended_and_who_kept_it_is_told(written):
    opened = written([*begins(0), *call(0, 10, 20)[:1]], [*begins(5)], [*begins(7)])
    told = "\n".join(tell_life(follow(opened, "k=7")))
    assert "came into being at 0.000000 s on rank 0, at 0.000000 s on the last of 3\n" in told
    assert "load (line 3): the trace ends in it\n" in told
    assert told.endswith("its end is not in the trace on ranks 0-2")


def test_a_part_of_a_life_can_be_told(pipeline):
    life = follow(pipeline, str(TPH), begin=5e-6, limit=2)
    assert [step.time for step in life.steps] == [5100, 5200]
    assert (life.left_out, life.calls) == (2, 3)


@pytest.mark.parametrize(
    ("which", "message", "help"),
    [
        ("3", "there is no TPH 3", "65536 (k = 7)"), ("k=8", "there is no TPH of k=8", "65536 (k = 7)"),
        ("i=7", "there is no TPH of i=7", "65536"), ("first", "'first': a TPH is named by", "65536"),
        ("0", "there is no TPH 0", "65536"),
    ],
)  # fmt: skip
def test_what_tphs_there_are_is_said(pipeline, which, message, help):
    with pytest.raises(trace.TraceError) as caught:
        follow(pipeline, which)
    assert message in caught.value.message
    assert help in caught.value.help


def test_the_critical_path_covers_the_run_without_gaps(pipeline):
    steps = critical_path(pipeline).steps
    assert (steps["begin"][0], steps["end"][-1]) == (0, pipeline.span)
    assert (steps["begin"][1:] == steps["end"][:-1]).all()
    assert [(Step(s["kind"]).name, int(s["rank"]), int(s["end"] - s["begin"])) for s in steps] == [
        ("START", 0, 1000), ("CALL", 0, 4000), ("ENGINE", 0, 100), ("HANDOVER", 1, 50), ("ENGINE", 1, 50),
        ("CALL", 1, 3900), ("ENGINE", 1, 100), ("HANDOVER", 0, 100), ("ENGINE", 0, 100), ("CALL", 0, 500),
        ("END", 0, 100),
    ]  # fmt: skip


def test_shares_of_the_critical_path_add_up(pipeline):
    counted = shares(pipeline, critical_path(pipeline))
    assert counted[0] == ("load (line 3) · thread_A", "load", 4000, 1)
    assert ("hand-over", "hand-over", 150, 2) in counted
    assert sum(time for *_, time, _ in counted) == pipeline.span


def test_what_runs_beside_the_critical_path_is_not_on_it(written):
    """Where nothing else ran the path is all of it; a rank that nobody waits for changes nothing."""
    beside = [*phase(0, 1), *call(1, 100, 7000), *phase(9000, 4)]
    path = critical_path(written(LOADER, ROWS, beside))
    assert set(np.unique(path.steps["rank"])) == {0, 1}
    alone = critical_path(written([*phase(0, 1), *call(0, 0, 5000)]))
    assert [Step(s["kind"]).name for s in alone.steps] == ["CALL"]
    assert int((alone.steps["end"] - alone.steps["begin"]).sum()) == alone.activity.trace.span


def test_clocks_that_disagree_do_not_make_the_path_run_in_circles(written):
    """Each rank seems to have sent within the other's wait, before its own had ended."""
    opened = written(
        [
            *phase(0, 2),
            *wait(2, 100, 200, edge=1),
            *receive(205, 1, 1, 1),
            *call(2, 210, 300),
            *send(150, 0, 0, 1),
        ],
        [
            *phase(0, 2),
            *wait(1, 100, 190, edge=0),
            *receive(195, 0, 0, 0),
            *call(1, 205, 299),
            *send(160, 1, 1, 0),
        ],
    )
    steps = critical_path(opened).steps
    assert (steps["begin"][1:] == steps["end"][:-1]).all()
    assert int((steps["end"] - steps["begin"]).sum()) == opened.span


def test_an_empty_trace_has_no_path(written):
    assert not len(critical_path(written(phase(0, 1), phase(5, 1))).steps)


def test_the_commands_print_text_and_json(pse, pipeline):
    done = pse("trace", "why", pipeline.path, "--rank", 1, "--at", "20%")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "so rank 1 waited for rank 0, which executed load (line 3)"
    done = pse("trace", "why", pipeline.path, "--rank", 1, "--at", "20%", "--format", "json")
    assert [link["state"] for link in json.loads(done.out)["links"]] == ["wait", "call"]
    done = pse("trace", "follow", pipeline.path, "--tph", "k=7")
    assert done.out.splitlines()[0] == "TPH 65536 (k = 7), an iteration of the loop at line 8 of " \
                                       "programs/small.coven, in the program"  # fmt: skip
    assert "waited for image 4.65 µs" in done.out
    done = pse("trace", "follow", pipeline.path, "--tph", "k=7", "--format", "json")
    assert json.loads(done.out)["calls"] == 3
    done = pse("trace", "critical", pipeline.path)
    assert done.out.splitlines()[0] == "critical path of 10.0 µs: 2 hand-overs, 2 of 2 ranks"
    done = pse("trace", "critical", pipeline.path, "--format", "json")
    assert json.loads(done.out)["length"] == pipeline.span


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("why", "--rank", 9, "--at", 0), "has no events of rank 9; there are ranks 0, 1"),
        (("why", "--rank", 0, "--at", "soon"), "'soon' is no time"),
        (("follow", "--tph", 3), "there is no TPH 3"),
    ],
)
def test_the_commands_say_what_is_wrong(pse, pipeline, options, message):
    name, *rest = options
    done = pse("trace", name, pipeline.path, *rest)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
