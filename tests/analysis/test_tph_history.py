"""What happened in one TPH, in a run with known numbers."""

import dataclasses

import pytest

from pse import trace
from pse.analysis import (
    CallStep,
    HandoverStep,
    tph_history,
    tph_history_text,
)
from tests.analysis.rows import TPH, begins, call, receive, send


def test_the_life_of_a_tph_is_one_timeline(pipeline):
    life = tph_history(pipeline, "k=7")
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
    steps = [step for step in tph_history(opened, "k=7").steps if isinstance(step, HandoverStep)]
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
    steps = [
        step for step in tph_history(trace.open(tmp_path), "k=7").steps if isinstance(step, HandoverStep)
    ]
    assert tuple(step.read for step in steps) == read


def test_what_never_ended_and_who_kept_it_is_told(written):
    opened = written([*begins(0), *call(0, 10, 20)[:1]], [*begins(5)], [*begins(7)])
    told = "\n".join(tph_history_text(tph_history(opened, "k=7")))
    assert "came into being at 0.000000 s on rank 0, at 0.000000 s on the last of 3\n" in told
    assert "load (line 3): the trace ends in it\n" in told
    assert told.endswith("its end is not in the trace on ranks 0-2")


def test_a_part_of_a_life_can_be_told(pipeline):
    life = tph_history(pipeline, str(TPH), begin=5e-6, limit=2)
    assert [step.time for step in life.steps] == [5100, 5200]
    assert (life.left_out, life.calls) == (2, 3)


@pytest.mark.parametrize(
    ("which", "message", "help"),
    [
        ("3", "the trace has no TPH 3", "65536 (k = 7)"),
        ("k=8", "the trace has no TPH with k=8", "65536 (k = 7)"),
        ("i=7", "the trace has no TPH with i=7", "65536"), ("first", "'first' doesn't name a TPH", "65536"),
        ("0", "the trace has no TPH 0", "65536"),
    ],
)  # fmt: skip
def test_what_tphs_there_are_is_said(pipeline, which, message, help):
    with pytest.raises(trace.TraceError) as caught:
        tph_history(pipeline, which)
    assert message in caught.value.message
    assert help in caught.value.help
