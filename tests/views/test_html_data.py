"""What the page embeds: every block with its numbers, and what becomes of too many of them."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pse import trace
from pse.errors import UsageError
from pse.trace import NONE, EventType, Phase, Recorder, TraceError, pair
from pse.trace.query._selection import Selection
from pse.views.page._data import packed, signed
from pse.views.page._html import write_html

Columns = dict[str, Any]


def write_calls(directory: Path, ranks: int, calls: list[tuple[int, int, int]]) -> trace.Trace:
    """A trace without definitions: on each rank calls of a site from a time to a time."""
    directory.mkdir()
    for rank in range(ranks):
        with Recorder(directory, rank) as recorder:
            recorder.record_at(0, EventType.PHASE, a=1)
            for site, enter, leave in calls:
                recorder.record_at(leave, EventType.MODULE_LEAVE, site=site, tph=7, b=enter, c=NONE << 32)
    return trace.open(directory)


def read(path: Path) -> tuple[dict[str, Any], Columns]:
    """Head and columns of a page, read as its script reads them."""
    text = path.read_text(encoding="utf-8")
    part = lambda name: text.split(f'id="{name}">')[1].split("</script>")[0]  # noqa: E731
    head, data, offset = json.loads(part("head")), zlib.decompress(base64.b64decode(part("data"))), 0
    columns = {}
    for column in head["columns"]:
        size = column["count"] * column["planes"]
        planes = np.frombuffer(data, "u1", size, offset).reshape(column["planes"], column["count"])
        shifted = [plane.astype("u8") << np.uint64(8 * n) for n, plane in enumerate(planes)]
        columns[column["name"]] = np.sum([np.zeros(column["count"], "u8"), *shifted], axis=0, dtype="u8")
        offset += size
    assert offset == len(data)
    return head, columns


def of_both_signs(values: Any) -> Any:
    values = values.astype("i8")
    return np.where(values % 2, -(values + 1) // 2, values // 2)


def entries(head: dict[str, Any], columns: Columns) -> list[tuple[Any, Any]]:
    """Starts and ends of each lane's entries."""
    found, at = [], 0
    for lane in head["lanes"]:
        gap = of_both_signs(columns["gap"][at : at + lane["count"]])
        length = columns["length"][at : at + lane["count"]].astype("i8")
        ends = head["begin"] + np.cumsum(gap + length)
        found.append((ends - length, ends))
        at += lane["count"]
    return found


@pytest.mark.parametrize("values", [[], [0], [0, 255], [256, 1], [2**53, 3, 2**40 - 1]])
def test_columns_take_the_bytes_that_they_need(values: list[int]) -> None:
    (described,), text = packed({"x": np.array(values, "<u8")})
    assert described["planes"] == (max(values, default=0).bit_length() + 7) // 8
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), "u1").reshape(-1, len(values) or 1)
    assert [
        sum(int(plane[at]) << 8 * n for n, plane in enumerate(data)) for at in range(len(values))
    ] == values


def test_numbers_of_both_signs_become_numbers_from_0() -> None:
    values = np.array([0, -1, 1, -2, 2, 2**50, -(2**50)])
    assert signed(values)[:5].tolist() == [0, 1, 2, 3, 4]
    assert of_both_signs(signed(values)).tolist() == values.tolist()


def test_every_call_is_there_to_the_nanosecond(tmp_path: Path) -> None:
    calls = [(1, 1003, 2000), (2, 2000, 2001), (1, 5_000_000_007, 90_000_000_011)]
    write_html(write_calls(tmp_path / "t", 2, calls), tmp_path / "t.html")
    head, columns = read(tmp_path / "t.html")
    assert [list(zip(*map(np.ndarray.tolist, lane), strict=True)) for lane in entries(head, columns)] == [
        [(begin, end) for _, begin, end in calls]
    ] * 2
    assert [head["kinds"][kind]["label"] for kind in columns["kind"]] == ["site 1", "site 2", "site 1"] * 2
    assert head["notes"] == list(trace.open(tmp_path / "t").problems)


def test_what_is_nested_lies_in_lanes_below(tmp_path: Path) -> None:
    calls = [(3, 20, 30), (3, 40, 50), (2, 15, 60), (1, 10, 100), (1, 100, 120)]
    write_html(write_calls(tmp_path / "t", 1, calls), tmp_path / "t.html")
    head, columns = read(tmp_path / "t.html")
    assert [lane["nested"] for lane in head["lanes"]] == [False, True, True]
    assert [begin.tolist() for begin, _ in entries(head, columns)] == [[10, 100], [15], [20, 40]]


def test_slices_and_what_was_matched_in_them_are_there(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    kinds = (0, 1, 2)  # A receive, a collective operation and a send.
    for rank in range(2):
        with Recorder(tmp_path / "t", rank) as recorder:
            recorder.record_at(0, EventType.PHASE, a=1)
            for number, kind in enumerate(kinds):
                begin = 100 * number + 10 * rank
                recorder.record_at(
                    begin + 9, EventType.TIME_SLICE, flags=rank, a=pair(number, 1), b=begin, c=pair(4, 2)
                )
                recorder.record_at(
                    begin + 50,
                    EventType.SLICE_MATCH,
                    flags=kind,
                    a=pair(number, 0),
                    b=begin + 5,
                    c=pair(1, 0),
                )
    write_html(trace.open(tmp_path / "t"), tmp_path / "t.html")
    head, columns = read(tmp_path / "t.html")
    for name, first in (("slice", 0), ("match", 5)):
        times = head["begin"] + np.cumsum(columns[f"{name}_gap"]).astype("i8")
        assert times.tolist() == [first + 100 * number + 10 * rank for number in range(3) for rank in (0, 1)]
        assert columns[f"{name}_row"].tolist() == [0, 1] * 3
        assert columns[f"{name}_number"].tolist() == [0, 0, 1, 1, 2, 2]
    assert set(columns["slice_length"].tolist()) == {9}
    assert set(columns["slice_exchange"].tolist()) == {4}
    assert set(columns["slice_operations"].tolist()) == {2}
    assert columns["slice_timed"].tolist() == [0, 1] * 3
    assert set(columns["match_length"].tolist()) == {45}
    assert columns["match_kind"].tolist() == [0, 0, 1, 1, 2, 2]


def test_merging_keeps_number_and_time_of_each_kind(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    lengths, gaps = random.integers(1, 4000, 30_000), random.integers(0, 300, 30_000)
    lengths[::5000] *= 10_000
    ends = np.cumsum(lengths + gaps)
    sites = random.integers(0, 4, len(ends))
    calls = list(zip(sites.tolist(), (ends - lengths).tolist(), ends.tolist(), strict=True))
    write_html(write_calls(tmp_path / "t", 2, calls), tmp_path / "t.html", most=2000)
    head, columns = read(tmp_path / "t.html")
    assert sum(lane["count"] for lane in head["lanes"]) <= 2000
    assert head["blocks"] == 60_000
    assert "60,000 blocks are held as" in head["notes"][0]
    pieces = columns["extra"].astype("i8") + 1
    time = np.repeat(columns["length"].astype("i8"), pieces) - of_both_signs(columns["less"])
    for site in range(4):
        mine = np.array([kind["label"] == f"site {site}" for kind in head["kinds"]])[
            columns["kind"].astype("i8")
        ]
        assert time[mine].sum() == 2 * lengths[sites == site].sum()
        assert (columns["count"][mine] + 1).sum() == 2 * (sites == site).sum()
    for begin, end in entries(head, columns):
        assert (begin[1:] >= end[:-1]).all()
    assert (columns["length"] >= lengths.max()).any()  # The long ones are still themselves.


@pytest.mark.parametrize("most", [100_000, 10])
def test_a_function_that_calls_itself_has_each_moment_once(tmp_path: Path, most: int) -> None:
    """Deeper than there are lanes, with another function between its levels."""
    deep, runs = 40, 300
    calls = [
        (1 + (level == 10), 1000 * run + level, 1000 * run + 900 - level)
        for run in range(runs)
        for level in reversed(range(deep))
    ]
    write_html(write_calls(tmp_path / "t", 1, calls), tmp_path / "t.html", most=most)
    head, columns = read(tmp_path / "t.html")
    pieces = columns["extra"].astype("i8") + 1
    time = np.repeat(columns["length"].astype("i8"), pieces) - of_both_signs(columns["less"])
    once = time - of_both_signs(columns["again"])
    sites = np.array([kind["label"] for kind in head["kinds"]])[columns["kind"].astype("i8")]
    assert {site: once[sites == site].sum() for site in set(sites)} == {
        "site 1": runs * 900,
        "site 2": runs * 880,
    }
    assert head["blocks"] == runs * deep
    lanes = np.repeat(np.arange(len(head["lanes"])), [lane["count"] for lane in head["lanes"]])
    for number, (begin, end) in enumerate(entries(head, columns)):
        assert (begin[1:] >= end[:-1]).all()
        assert time[np.repeat(lanes, pieces) == number].sum() == runs * (900 - 2 * number)


def test_a_selection_is_all_that_the_page_has(tmp_path: Path) -> None:
    opened = write_calls(tmp_path / "t", 3, [(1, 10, 1000), (2, 1000, 3000), (1, 3000, 9000)])
    selection = Selection(ranks=frozenset({1, 2}), begin=1.5e-6, end=2.5e-6)
    write_html(opened, tmp_path / "t.html", selection)
    head, columns = read(tmp_path / "t.html")
    assert [row["rank"] for row in head["rows"]] == [1, 2]
    assert (head["begin"], head["end"]) == (1500, 2500)
    assert "only rank 1, 2" in head["facts"]
    assert [(begin.tolist(), end.tolist()) for begin, end in entries(head, columns)] == [([1000], [3000])] * 2


def test_a_selection_of_nothing_and_a_file_that_cannot_be(tmp_path: Path) -> None:
    opened = write_calls(tmp_path / "t", 1, [(1, 10, 1000)])
    with pytest.raises(TraceError, match="no rank 5"):
        write_html(opened, tmp_path / "t.html", Selection(ranks=frozenset({5})))
    with pytest.raises(UsageError, match=r"cannot write .*no/where\.html"):
        write_html(opened, tmp_path / "no" / "where.html")
    assert not (tmp_path / "t.html").exists()


def test_tphs_are_named_with_those_around_them(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    with Recorder(tmp_path / "t", 0) as recorder:
        for tph, parent, value, loop in ((1 << 40, 1, -4, 0), (1 << 63, 1 << 40, 9, 2), (1 << 50, 1, 5, 0)):
            recorder.record_at(
                0, EventType.CONTEXT_BEGIN, tph=tph, a=parent, b=value & (2**64 - 1), c=trace.pair(loop, NONE)
            )
        recorder.record_at(9, EventType.MODULE_LEAVE, site=1, tph=1 << 63, b=3)
    write_html(trace.open(tmp_path / "t"), tmp_path / "t.html")
    _, columns = read(tmp_path / "t.html")
    numbers = [
        int(high) << 32 | int(low) for high, low in zip(columns["tph_high"], columns["tph_low"], strict=True)
    ]
    assert numbers == [1, 1 << 40, 1 << 63]
    assert columns["tph_parent"].tolist() == [0, 1, 2]
    assert columns["tph_loop"].tolist() == [0, 1, 3]
    assert of_both_signs(columns["tph_counter"]).tolist() == [0, -4, 9]
    assert columns["tph"].tolist() == [3]


def test_too_many_messages_are_summed_up_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").mkdir()
    for rank, kind in enumerate((EventType.SEND, EventType.RECEIVE)):
        with Recorder(tmp_path / "t", rank) as recorder:
            for number in range(6):
                time = 100 * number + 10 * rank
                recorder.record_at(time, kind, tph=1, a=8, b=trace.pair(1 - rank, 0), c=number)
    opened = trace.open(tmp_path / "t")
    monkeypatch.setattr("pse.views.page._messages.MOST_MESSAGES", 5)
    write_html(opened, tmp_path / "all.html")
    head, columns = read(tmp_path / "all.html")
    assert head["notes"][0].startswith("6 messages are summed up in stretches of 126 ns")
    assert head["messages"]["step"] == 126
    assert columns["message_count"].tolist() == [2, 1, 1, 2]
    assert columns["bytes"].tolist() == [16, 8, 8, 16]
    assert of_both_signs(columns["message_lasted"]).tolist() == [20, 10, 10, 20]
    write_html(opened, tmp_path / "part.html", Selection(end=350e-9))
    head, columns = read(tmp_path / "part.html")
    assert of_both_signs(columns["sent"]).cumsum().tolist() == [0, 100, 200, 300]
    assert of_both_signs(columns["took"]).tolist() == [10] * 4
    assert columns["receiver"].tolist() == [1] * 4
    monkeypatch.setattr("pse.views.page._messages.MOST_MATCHED", 5)
    write_html(opened, tmp_path / "none.html")
    head, columns = read(tmp_path / "none.html")
    assert head["notes"][0].startswith("6 messages are too many for one page")
    assert len(columns["sent"]) == 0


def test_a_trace_without_any_block_is_a_page_all_the_same(tmp_path: Path) -> None:
    write_html(write_calls(tmp_path / "t", 1, []), tmp_path / "t.html")
    head, columns = read(tmp_path / "t.html")
    assert (head["blocks"], len(head["rows"]), len(columns["gap"])) == (0, 1, 0)


def test_a_rank_that_is_recorded_later_and_shorter_starts_and_has_ended(tmp_path: Path) -> None:
    """No time before its first event and after its last one is the engine's."""
    (tmp_path / "t").mkdir()
    for rank, (begin, end) in enumerate([(0, 100), (20, 80)]):
        with Recorder(tmp_path / "t", rank) as recorder:
            for time, phase in ((begin, Phase.START), (begin + 10, Phase.READY)):
                recorder.record_at(time, EventType.PHASE, a=phase)
            recorder.record_at(50, EventType.MODULE_LEAVE, site=0, tph=7, b=begin + 10, c=NONE << 32)
            for time, phase in ((55, Phase.DONE), (end, Phase.END)):
                recorder.record_at(time, EventType.PHASE, a=phase)
    write_html(trace.open(tmp_path / "t"), tmp_path / "t.html")
    assert read(tmp_path / "t.html")[0]["outside"] == [[[0, 10], [50, 100]], [[0, 30], [50, 100]]]
