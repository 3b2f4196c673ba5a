"""Level of detail: what fills a pixel is there one by one, the rest by its shares of pixels, exactly."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pse._abi.blocks import BLOCK_DTYPE, KERNEL_SHARE_DTYPE, OPEN, Lane
from pse.trace import EVENT_DTYPE, EventType, Selection, TraceError, WaitReason
from pse.trace.store._chunked_reading import chunks
from pse.views._blocks import Collector
from pse.views.gantt._gantt_lod import blocks

SITE_CATEGORIES = np.array([3, 4, 4], "<u4")
OTHER = 9


def leaves(rows):
    """Records of calls that ended: (begin, end, site, tph)."""
    records = np.zeros(len(rows), EVENT_DTYPE)
    records["type"] = EventType.MODULE_LEAVE
    for name, column in zip(("b", "time", "site", "tph"), zip(*rows, strict=True), strict=True):
        records[name] = column
    return records


def collect(records, edges, narrow, tphs=None, cut=None):
    """What the kernel finds: blocks, and (time, count) by (pixel, lane, category)."""
    tphs = None if tphs is None else np.array(sorted(tphs), "<u8")
    collector = Collector(np.array(edges, "<i8"), narrow, SITE_CATEGORIES, OTHER, tphs, 0)
    for piece in np.split(records, [] if cut is None else [min(cut, len(records))]):
        collector.take(np.ascontiguousarray(piece))
    collector.finish()
    shares = Counter(), Counter()
    for share in np.frombuffer(collector.shares, KERNEL_SHARE_DTYPE):
        key = int(share["pixel"]), int(share["last"]["lane"]), int(share["last"]["category"])
        shares[0][key] += int(share["time"])
        shares[1][key] += int(share["count"])
    return np.frombuffer(collector.blocks, BLOCK_DTYPE), *map(dict, shares)


def define(rows, edges, narrow, tphs=None):
    """What the kernel is to find, in plain Python."""
    kept, times, counts = [], Counter(), Counter()
    for begin, end, site, tph in rows:
        begin = min(begin, end)
        category = SITE_CATEGORIES[site] if site < 3 and (tphs is None or tph in tphs) else OTHER
        if end < edges[0] or begin > edges[-1]:
            continue
        if end - begin >= narrow:
            kept.append((begin, end, site, tph, category))
            continue
        begin, end = max(begin, edges[0]), min(end, edges[-1])
        first = max(pixel for pixel in range(len(edges) - 1) if pixel == 0 or edges[pixel] <= begin)
        counts[first, Lane.CALL, int(category)] += 1
        for pixel in range(first, len(edges) - 1):
            part = min(end, edges[pixel + 1]) - max(begin, edges[pixel])
            if part > 0 or pixel == first:
                times[pixel, Lane.CALL, int(category)] += part
    return kept, times, counts


@st.composite
def pictures(draw):
    """Calls in any order, also overlapping and with ends before their begins, and pixels of uneven widths."""
    widths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    begin = draw(st.integers(0, 50))
    edges = [begin, *(begin + np.cumsum(widths)).tolist()]
    time = st.integers(0, 300)
    rows = draw(st.lists(st.tuples(time, time, st.integers(0, 4), st.integers(1, 4)), max_size=60))
    return rows, edges, draw(st.integers(1, min(widths)))


@settings(deadline=None)
@given(pictures(), st.none() | st.sets(st.integers(1, 4), min_size=1), st.integers(0, 60))
def test_kernel_finds_what_is_defined(picture, tphs, cut):
    rows, edges, narrow = picture
    kept, times, counts = collect(leaves(rows), edges, narrow, tphs, cut) if rows else ([], {}, {})
    wanted = define(rows, edges, narrow, tphs)
    assert [
        tuple(block[name] for name in ("begin", "end", "site", "tph", "category")) for block in kept
    ] == wanted[0]
    assert {key: time for key, time in times.items() if time} == {k: v for k, v in wanted[1].items() if v}
    assert {key: count for key, count in counts.items() if count} == dict(wanted[2])


def test_no_time_is_lost_with_more_categories_and_blocks_than_a_lane_has_room_for(make):
    sites = np.arange(100, dtype="<u4")
    rows = [(10 * index, 10 * index + 3, index % 100, 1) for index in range(20_000)]
    collector = Collector(np.array([0, 200_000], "<i8"), 4, sites, OTHER, None, 0)
    collector.take(leaves(rows))
    collector.take(leaves([(begin, begin + 5, 0, 1) for begin in range(0, 200_000, 10)]))
    collector.finish()
    shares = np.frombuffer(collector.shares, KERNEL_SHARE_DTYPE)
    assert shares["time"].sum() == 60_000
    assert shares["count"].sum() == 20_000
    assert len(np.frombuffer(collector.blocks, BLOCK_DTYPE)) == 20_000


def busy(found, row):
    """Time in calls of each pixel of a row."""
    times = np.zeros(len(found.edges) - 1, "<i8")
    for block in found.rows[row].blocks[found.rows[row].blocks["lane"] == Lane.CALL]:
        overlap = np.minimum(block["end"], found.edges[1:]) - np.maximum(block["begin"], found.edges[:-1])
        times += np.maximum(overlap, 0)
    shares = found.rows[row].shares
    shares = shares[shares["lane"] == Lane.CALL]
    np.add.at(times, shares["pixel"], shares["time"])
    return times


@pytest.mark.parametrize("pixels", [1, 7, 100, 1500])
def test_busy_share_of_every_pixel_is_that_of_the_trace(write_trace, make, pixels):
    ends = np.cumsum(np.random.default_rng(3).integers(1, 2000, 800)).tolist()
    spans = list(zip(ends[::2], ends[1::2], strict=True))
    rows = [row for index, span in enumerate(spans) for row in make.call(index % 3, *span)]
    opened = write_trace([rows], make.definitions(1))
    found = blocks(opened, pixels=pixels)
    calls = opened.module_calls()
    wanted = [
        np.maximum(np.minimum(calls["leave"], end) - np.maximum(calls["enter"], begin), 0).sum()
        for begin, end in zip(found.edges[:-1], found.edges[1:], strict=True)
    ]
    assert busy(found, 0).tolist() == wanted
    in_shares = int(found.rows[0].shares["count"].sum())
    assert in_shares == found.merged
    assert in_shares + len(found.rows[0].blocks) == len(spans)


def test_small_trace_has_all_its_blocks_one_by_one(small_trace):
    found = blocks(small_trace)
    names = [[found.categories[block["category"]].name for block in row.blocks] for row in found.rows]
    assert names == [["load", "load", "save"], ["input", "rows", "rows"], ["credit"]]
    assert found.merged == 0
    assert [row.row.label for row in found.rows] == ["root · thread_A", "p0 · thread_B", "p0 · thread_C"]
    assert found.tph_names == {7: "k = 0", 8: "k = 1"}


def test_what_never_ended_goes_on_to_the_end_of_the_run(small_trace):
    calls = [block for block in blocks(small_trace).rows[1].blocks if block["lane"] == Lane.CALL]
    assert [bool(block["flags"] & OPEN) for block in calls] == [False, True]
    assert int(calls[1]["end"]) == 1_000_000
    assert int(blocks(small_trace).rows[2].blocks[0]["end"]) == 1_000_000


def test_calls_that_are_not_selected_are_there_as_others(small_trace):
    found = blocks(small_trace, Selection(tphs=frozenset({8})))
    kinds = [found.categories[block["category"]].kind for block in found.rows[0].blocks]
    assert kinds == ["other", "module", "other"]
    found = blocks(small_trace, Selection(modules=frozenset({"lib.save"})))
    assert [found.categories[block["category"]].name for block in found.rows[0].blocks][-1] == "save"


def test_selection_without_calls_is_an_error(small_trace):
    with pytest.raises(TraceError, match="leaves no module call"):
        blocks(small_trace, Selection(modules=frozenset({"rows"}), ranks=frozenset({0})))


def test_messages_are_those_between_the_rows(small_trace):
    assert blocks(small_trace).messages["tph"].tolist() == [7, 8]
    assert blocks(small_trace, Selection(tphs=frozenset({8}))).messages["tph"].tolist() == [8]
    assert not len(blocks(small_trace, Selection(ranks=frozenset({1, 2}))).messages)


def test_window_clips_pixels_and_keeps_blocks_whole(small_trace):
    found = blocks(small_trace, Selection(begin=0.0003, end=0.00045), pixels=10)
    assert (found.begin, found.end) == (300_000, 450_000)
    assert found.edges.tolist() == list(range(300_000, 450_001, 15_000))
    load = found.rows[0].blocks[0]
    assert (int(load["begin"]), int(load["end"])) == (100_000, 400_000)


def test_nested_regions_have_lanes_by_depth(write_trace, make):
    inner = make.region(1, 2000, 5000, make.region(2, 3000, 4000))
    opened = write_trace([make.region(0, 1000, 9000, inner)], None, ["main", "solve", "MPI_Send"])
    found = blocks(opened)
    looks = [
        (
            int(block["lane"]) - Lane.REGION,
            found.routines[block["detail"]],
            found.categories[block["category"]].name,
        )
        for block in sorted(found.rows[0].blocks, key=lambda block: block["begin"])
    ]
    assert looks == [(0, "main", "main"), (1, "solve", "solve"), (2, "MPI_Send", "MPI: send")]


def test_block_that_stands_alone_is_not_merged(write_trace, make):
    spans = [(0, 10), (500_000, 500_010), (999_990, 1_000_000)]
    rows = [row for site, span in enumerate(spans) for row in make.call(site, *span)]
    found = blocks(write_trace([rows], make.definitions(1)), pixels=100)
    assert found.merged == 0
    names = [found.categories[block["category"]].name for block in found.rows[0].blocks]
    assert names == ["load", "rows", "save"]


def test_waits_have_the_category_of_their_reason(write_trace, make):
    rows = [*make.wait(0, 100), *make.wait(100, 200, WaitReason.ORDER), *make.wait(200, 300, 77)]
    found = blocks(write_trace([rows], make.definitions(1)))
    names = [found.categories[block["category"]].name for block in found.rows[0].blocks]
    assert names == ["input", "order", "unknown reason"]
    assert set(found.rows[0].blocks["lane"]) == {Lane.WAIT}


def test_pieces_are_the_whole(small_trace, monkeypatch):
    monkeypatch.setattr("pse.trace.store._chunked_reading.CHUNK", 3)
    records = small_trace.events(0)
    parts = list(chunks(records))
    assert len(parts) > 2
    assert np.concatenate(parts).tobytes() == records.tobytes()


def resident_mib():
    """Mapped files that count as this process's memory."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssFile"))


def test_what_was_read_is_given_back(tmp_path):
    path = tmp_path / "records"
    path.touch()
    os.truncate(path, 64 << 20)
    records = np.memmap(path, EVENT_DTYPE, mode="r", shape=(64 << 20) // EVENT_DTYPE.itemsize)
    before = resident_mib()
    most = max(resident_mib() for piece in chunks(records) if not piece["type"].any())
    assert 4 < most - before < 40
    assert resident_mib() - before < 4


def test_clocks_of_hosts_are_corrected(write_trace, make):
    """The second host's clock goes 1 % too fast and is an hour ahead."""
    other = [int(3.6e12 + 1.01 * time) for time in (0, 4_000_000, 6_000_000, 10_000_000)]
    offsets = [(time - back) & (2**64 - 1) for time, back in ((0, other[0]), (10_000_000, other[3]))]
    syncs = [
        {"time": other[end], "type": EventType.CLOCK_SYNC, "a": offsets[index], "c": 0}
        for index, end in enumerate((0, 3))
    ]
    ranks = [make.call(0, 0, 10_000_000), [syncs[0], *make.call(1, other[1], other[2]), syncs[1]]]
    opened = write_trace(ranks, make.definitions(2), hosts=["here", "there"])
    found = blocks(opened)
    block = found.rows[1].blocks[0]
    calls = opened.module_calls()
    assert (int(block["begin"]), int(block["end"])) == (int(calls[1]["enter"]), int(calls[1]["leave"]))
    assert int(block["begin"]) - int(found.rows[0].blocks[0]["begin"]) == pytest.approx(4_000_000, abs=2)
    merged = blocks(opened, pixels=1)
    assert merged.rows[1].blocks["end"].tolist() == [] or merged.rows[1].blocks["end"][0] == block["end"]
