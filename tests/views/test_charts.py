"""Bar charts, CPU load, memory, message matrix, critical path: numbers in the figures, not their pixels."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text

from pse import trace, views
from pse.analysis import analyze, critical_path, tph_history, wait_chain
from pse.errors import UsageError
from pse.trace import NONE, EventType, MemoryFlag, MessageFlag, Selection, WaitReason, pair
from pse.views.charts._load import loads
from pse.views.core._colours import wait_text
from pse.views.core._time_breakdown import event_bars, module_bars

ALL = Selection()
PROGRAM = Path(__file__).parents[2] / "programs" / "fft2d.coven"
CHARTS = (
    "memory", "load", "durations", "time", "module-total", "event-total", "messages", "critical-path",
    "message-statistics",
)  # fmt: skip


def parts(figure, axes=0):
    """Parts of stacked bars: by name and row their lengths."""
    found = {}
    for one in figure.axes[axes].collections:
        if isinstance(one, PolyCollection) and one.get_gid():
            boxes = [path.get_extents() for path in one.get_paths()]
            found[one.get_gid()] = {round((box.y0 + box.y1) / 2): pytest.approx(box.width) for box in boxes}
    return found


def names_of_rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def totals(figure, axes=0):
    """Horizontal bars: names and lengths."""
    names = [label.get_text() for label in figure.axes[axes].get_yticklabels()]
    return {name: round(bar.get_width()) for name, bar in zip(names, figure.axes[axes].patches, strict=True)}


def words(figure):
    return " ".join(text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text")))


def test_all_time_of_a_processor_is_its_bar(small_trace):
    figure = views.draw(small_trace, "time")
    root, worker = 1_000_000, 990_000  # Rank 2 recorded one event: it has no time.
    assert parts(figure) == {
        "load": {0: 100 * 400_000 / root},
        "rows": {1: 100 * 560_000 / worker},
        "save": {0: 100 * 50_000 / root},
        "waiting for input": {1: 100 * 410_000 / worker},
        "start and end": {0: 100 * 50_000 / root},
        "rest of the engine": {0: 100 * 500_000 / root, 1: 100 * 20_000 / worker},
    }
    assert names_of_rows(figure) == ["root", "p0"]
    assert "51 % of the time of all ranks is spent in modules" in words(figure)
    assert "Busiest is p0: 57 % of its time, 1.11 times the share of all." in words(figure).replace("\n", " ")


def test_bars_are_sorted_and_of_ranks(small_trace):
    assert names_of_rows(views.draw(small_trace, "time", sort="busy")) == ["p0", "root"]
    by_rank = views.draw(small_trace, "time", by="rank", sort="waiting")
    assert names_of_rows(by_rank)[0] == "p0 · thread_B"
    assert len(names_of_rows(by_rank)) == 3
    with pytest.raises(UsageError, match="can't be sorted by 'bussy'") as caught:
        views.draw(small_trace, "time", sort="bussy")
    assert "did you mean `busy`" in (caught.value.help or "")


def test_bars_have_their_module_s_colour(small_trace):
    figure = views.draw(small_trace, "time")
    colours = views.module_colours(small_trace)
    found = {one.get_gid(): to_hex(one.get_facecolor()[0]).upper() for one in figure.axes[0].collections}
    assert {name: found[name] for name in colours if name in found} == {
        name: colour.upper() for name, colour in colours.items()
    }


def test_modules_in_total_are_sorted_by_time(small_trace):
    figure = views.draw(small_trace, "module-total")
    assert list(totals(figure).items()) == [("rows", 560_000), ("load", 400_000), ("save", 50_000)]
    assert "560 µs · 55 % · 2 ×" in words(figure)


def test_what_is_no_module_is_a_wait_or_the_engine(small_trace):
    assert totals(views.draw(small_trace, "event-total")) == {
        "rest of the engine": 520_000, "waiting for input": 410_000, "start and end": 50_000,
    }  # fmt: skip


def test_modules_and_events_together_are_all_of_the_time(small_trace):
    both = [*module_bars(small_trace, ALL).shares, *event_bars(small_trace, ALL).shares]
    spans = {}
    for rank in small_trace.ranks:
        times = small_trace.events(rank)["time"].astype("<i8")
        spans[min(rank, 1)] = spans.get(min(rank, 1), 0) + int(times[-1] - times[0])
    assert np.sum([share.times for share in both], axis=0).tolist() == list(spans.values())


def test_charts_obey_a_selection(small_trace):
    chosen = Selection(processors=frozenset({0}))
    assert parts(views.draw(small_trace, "time", chosen))["rows"] == {0: 100 * 560_000 / 990_000}
    assert totals(views.draw(small_trace, "module-total", Selection(end=0.0002))) == {"load": 100_000}
    assert [one.label for one in loads(small_trace, Selection(modules=frozenset({"load"})))] == [
        "lib.load (line 1) · thread_A"
    ]
    with pytest.raises(trace.TraceError, match="no module calls within the selection"):
        views.draw(small_trace, "module-total", Selection(ranks=frozenset({2})))


def test_hand_overs_and_memory_are_told_from_the_rest(write_trace, make):
    rows = [
        *make.call(0, 100, 200),
        {"time": 230, "type": EventType.SEND, "site": 0, "tph": 1, "a": 64, "b": pair(0, 0), "c": 1},
        {"time": 235, "type": EventType.QUEUE_DEPTH, "a": pair(0, 0), "b": 1, "c": 2},
        {"time": 335, "type": EventType.ALLOCATE, "a": 4096, "b": 64},
        *make.wait(340, 400, WaitReason.CREDIT),
    ]
    bars = event_bars(write_trace([rows], make.definitions(1)), ALL)
    assert {share.label: share.total for share in bars.shown()} == {
        "waiting for a place in a queue": 60, "hand-over": 35, "memory": 100, "rest of the engine": 5,
    }  # fmt: skip


def test_cpu_load_is_cpu_time_over_run_time(write_trace, make):
    rows = [*make.call(0, 0, 100), *make.call(0, 100, 400), *make.call(1, 400, 500)]
    rows[1]["a"], rows[3]["a"], rows[5]["a"] = 100, 60, 90
    opened = write_trace([rows], make.definitions(1))
    first, second = loads(opened, ALL)
    assert (first.label, first.mean, first.loads.tolist()) == (
        "lib.load (line 1) · thread_A",
        0.4,
        [1.0, 0.2],
    )
    assert (second.label, second.mean) == ("lib.rows (line 2) · thread_A", 0.9)
    figure = views.draw(opened, "load")
    lines = {one.get_gid(): one for one in figure.axes[0].lines if one.get_gid()}
    assert lines["limit"].get_xdata() == [0.6, 0.6]
    means = [one.get_xdata()[0] for one in figure.axes[0].lines if one.get_gid() == "mean"]
    assert means == [0.4, 0.9]
    dots = {one.get_gid(): np.asarray(one.get_offsets())[:, 0] for one in figure.axes[0].collections}
    assert sorted(dots["lib.load (line 1) · thread_A"]) == pytest.approx([0.2, 1.0])


def test_durations_are_strips_with_median_and_95th_percentile(write_trace, make):
    ends = np.cumsum([1_000] * 18 + [50_000, 90_000])
    rows = [
        row
        for end, long in zip(ends, np.diff(ends, prepend=0), strict=True)
        for row in make.call(0, end - long, end)
    ]
    rows += make.call(1, ends[-1], ends[-1] + 500)
    figure = views.draw(write_trace([rows], make.definitions(1)), "durations")
    axes = figure.axes[0]
    dots = {one.get_gid(): np.asarray(one.get_offsets())[:, 0] for one in axes.collections if one.get_gid()}
    assert set(dots["lib.load (line 1) · thread_A"].tolist()) == {1_000, 50_000, 90_000}
    assert len(dots["lib.load (line 1) · thread_A"]) >= 15  # Dots of one duration lie side by side.
    assert dots["lib.rows (line 2) · thread_A"] == pytest.approx([500])
    bars = [(one.get_gid(), one.get_xdata()[0]) for one in axes.lines if one.get_gid()]
    high = np.percentile([1_000] * 18 + [50_000, 90_000], 95)
    assert bars == [("p50", 1_000), ("p95", pytest.approx(high)), ("p50", 500)]  # Of one call.
    assert (
        "lib.load (line 1) takes 1.00 µs in the median, but one call of 20 takes 52.0 µs or longer"
        in words(figure)
    )


@pytest.mark.parametrize("cores", [1, 2])
def test_load_tells_sleep_from_lack_of_a_core(write_trace, make, cores):
    preempted = {"type": EventType.MODULE_PREEMPTED, "site": 0, "tph": 1}
    first = make.call(0, 0, 20_000_000)
    first[1]["a"] = 4_000_000
    first.insert(1, preempted | {"time": 20_000_000, "a": 14_000_000, "b": 0})
    second = make.call(1, 0, 20_000_000)
    second[1]["a"] = 4_000_000
    known = dataclasses.replace(make.definitions(2), environment={"cores": cores})
    opened = write_trace([first, second], known)
    found = {one.label.split()[0]: (one.mean, one.preempted, one.asleep) for one in loads(opened, ALL)}
    assert found["lib.load"] == pytest.approx((0.2, 0.7, 0.1))
    assert found["lib.rows"] == pytest.approx((0.2, 0, 0.8))
    figure = views.draw(opened, "load")
    advises = cores == 2
    said = {text.get_text().split(" ")[0]: text.get_color() for text in figure.axes[0].texts}
    assert (said["20"] != said["preempted"]) is advises
    assert [one.get_gid() for one in figure.axes[0].lines].count("limit") == advises
    caption = " ".join(text.get_text() for text in figure.texts)
    assert ("2 ranks share the 1 core" in caption) is not advises


def test_calls_of_one_line_are_told_apart_by_their_threads(write_trace, make):
    known = make.definitions(2, ["tiny", "tiny"])
    sites = tuple(dataclasses.replace(site, place="small.coven:6:1") for site in known.sites)
    both = [make.call(0, 0, 100), make.call(1, 100, 400)]
    found = loads(write_trace(both, dataclasses.replace(known, sites=sites)), ALL)
    assert [(one.label, one.times.tolist()) for one in found] == [
        ("lib.tiny (line 6) · thread_B", [300.0]),
        ("lib.tiny (line 6) · thread_A", [100.0]),
    ]


@pytest.mark.parametrize("name", ["gantt", *CHARTS])
def test_long_names_leave_room_for_the_picture(write_trace, make, name):
    known = make.definitions(2, ["a_name_that_goes_on_" * 6 + str(number) for number in range(3)])
    ranks = tuple(dataclasses.replace(rank, thread="thread_" * 15 + str(rank.rank)) for rank in known.ranks)
    first = [*make.call(0, 0, 100), memory(150, 64, 1), *sends(1, 1, 8, 2)]
    second = [*make.call(1, 100, 500), *receives(900, 0, 8, 2)]
    opened = write_trace([first, second], dataclasses.replace(known, ranks=ranks))
    figure = views.draw(opened, name)
    wide = figure.get_figwidth()
    assert figure.axes[0].get_position().width * wide > (1.4 if name.startswith("message") else 4)
    written = [label for axes in figure.axes for label in axes.get_yticklabels() if label.get_text()]
    assert min(label.get_window_extent().x0 for label in written) >= 0
    assert all(label.get_text().count("…") <= 1 for label in written)


def memory(time, size, handle, owner=None, local=False):
    kind = EventType.ALLOCATE if owner is None else EventType.FREE
    return {"time": time, "type": kind, "a": size, "b": handle, "c": owner or 0,
            "flags": MemoryFlag.LOCAL if local else 0}  # fmt: skip


def test_memory_belongs_to_whoever_allocated_it(write_trace, make):
    first = [memory(0, 1000, 1), memory(100, 500, 2, local=True), memory(1000, 500, 2, 0, local=True)]
    second = [memory(500, 1000, 1, 0), memory(600, 300, 3)]
    opened = write_trace([first, second], make.definitions(2))
    figure = views.draw(opened, "memory")
    arena = [one.get_data() for one in figure.axes[0].patches if one.get_gid() == "arena"]
    values = arena[0].values
    assert values.max() == 1000
    assert values[-1] == 300
    assert values[int(0.55 * len(values))] == 0
    assert "shared memory (arena): at most 1,000 B" in figure.axes[0].get_title(loc="left")
    tops = {one.get_gid(): one.get_paths()[0].get_extents() for one in figure.axes[1].collections
            if isinstance(one, PolyCollection)}  # fmt: skip
    assert tops["row 0"].height == pytest.approx(0.84)
    assert tops["row 1"].height == pytest.approx(0.84 * 300 / 1500)


def test_parts_of_a_shared_block_are_charged_to_who_allocated_them(write_trace, make):
    first = [memory(0, 1000, 1), memory(500, 3000, 1, 1), memory(900, 10, 7, local=True)]
    second = [memory(10, 2000, 1), memory(800, 50, 9, 1)]
    opened = write_trace([first, second], make.definitions(2))
    changes = opened.memory()
    assert [changes["bytes"][changes["rank"] == rank].sum() for rank in (0, 1)] == [10, -50]
    caption = " ".join(text.get_text() for text in views.draw(opened, "memory").texts).replace("\n", " ")
    assert "Warning: 50 B of 1 thread is freed that was not allocated in this trace." in caption
    assert "Warning: 10 B of 1 thread is not freed when the run ends." in caption


def test_without_shared_memory_no_arena_is_drawn_as_empty(write_trace, make):
    first = [memory(0, 1000, 1, local=True), memory(900, 1000, 1, 0, local=True)]
    second = [memory(500, 2000, 1, local=True)]
    figure = views.draw(write_trace([first, second], make.definitions(2)), "memory")
    words = [text.get_text() for text in figure.findobj(Text)]
    told = "Without shared memory, all threads together hold at most 2.93 KiB"
    assert any(word.endswith(told) for word in words)
    assert not any("arena" in word or word == "0 B" for word in words)


def test_a_pixel_shows_the_most_memory_within_it(write_trace, make):
    """A peak that is shorter than a pixel isn't lost."""
    rows = [memory(0, 100, 1), memory(500_000, 10**6, 2), memory(500_001, 10**6, 2, 0), memory(10**6, 1, 3)]
    figure = views.draw(write_trace([rows], make.definitions(1)), "memory")
    arena = next(one.get_data() for one in figure.axes[0].patches if one.get_gid() == "arena")
    assert arena.values.max() == 10**6 + 100


def test_many_threads_have_shades(write_trace, make):
    ranks = [[memory(0, 100 + rank, 1), {"time": 10, "type": EventType.PHASE}] for rank in range(61)]
    figure = views.draw(write_trace(ranks, make.definitions(61)), "memory")
    shades = figure.axes[1].images[0].get_array()
    assert shades.shape[0] == 61
    assert shades.max(axis=1).tolist() == [100 + rank for rank in range(61)]


def sends(time, to, size, count=1):
    return [
        {"time": time + number, "type": EventType.SEND, "site": 0, "tph": 1, "a": size, "b": pair(to, 0),
         "c": number, "flags": MessageFlag.DESCRIPTOR}
        for number in range(count)
    ]  # fmt: skip


def receives(time, of, size, count=1):
    return [{**row, "type": EventType.RECEIVE} for row in sends(time, of, size, count)]


def squares(figure):
    drawn = [one for axes in figure.axes for one in axes.collections]
    return {one.get_gid(): one.get_array() for one in drawn if one.get_gid()}


def test_the_scale_of_the_message_matrix_has_round_numbers_between_its_ends(write_trace, make):
    """100 KiB and 20 KiB: no power of 1,024 lies between them, so powers of 2 are named."""
    kib = 1 << 10
    received = [receives(5, 0, 100 * kib), receives(20, 0, 20 * kib)]
    rows = [[*sends(0, 1, 100 * kib), *sends(10, 2, 20 * kib)], *received]
    opened = write_trace(rows, make.definitions(3))
    figure = views.draw(opened, "messages")
    figure.draw_without_rendering()
    scale = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert scale == ["16 KiB", "32 KiB", "64 KiB", "100 KiB"]


def test_the_message_matrix_has_senders_in_rows(write_trace, make):
    opened = write_trace(
        [[*sends(0, 1, 100, 3), *sends(10, 2, 50)], receives(5, 0, 100, 3), receives(20, 0, 50)],
        make.definitions(3),
    )
    found = squares(views.draw(opened, "messages"))
    assert set(found) == {"tags handed over: bytes", "tags handed over: messages"}
    assert found["tags handed over: bytes"].filled(0).tolist() == [[0, 300, 50], [0, 0, 0], [0, 0, 0]]
    assert found["tags handed over: messages"].filled(0).tolist() == [[0, 3, 1], [0, 0, 0], [0, 0, 0]]
    assert found["tags handed over: bytes"].mask.sum() == 7  # What nobody sent is empty, not the smallest.
    only = squares(views.draw(opened, "messages", Selection(ranks=frozenset({0, 2}))))
    assert only["tags handed over: bytes"].filled(0).tolist() == [[0, 50], [0, 0]]


def test_statistics_have_a_square_for_each_number(write_trace, make):
    opened = write_trace(
        [[*sends(0, 1, 100, 3), *sends(10, 2, 50)], receives(5, 0, 100, 3), receives(20, 0, 50)],
        make.definitions(3),
    )
    found = squares(views.draw(opened, "message-statistics"))
    assert found["tags handed over: bytes"].filled(0).tolist() == [[0, 300, 50], [0, 0, 0], [0, 0, 0]]
    assert found["tags handed over: minimum duration"].filled(0).tolist()[0] == [0, 5, 10]
    assert "tags handed over: maximum rate" not in found  # Only descriptors were handed over.


def test_threads_of_one_processor_are_named_in_the_matrix(write_trace, make):
    ranks = [[{"time": 0, "type": EventType.PHASE}] for _ in range(30)]
    ranks[0] += sends(1, 29, 7, 5)
    ranks[29] += receives(9, 0, 7, 5)
    known = make.definitions(30)
    root = tuple(
        trace.RankDefinition(rank.rank, "root", f"thread_{rank.rank}", None, "a") for rank in known.ranks
    )
    figure = views.draw(write_trace(ranks, dataclasses.replace(known, ranks=root)), "messages")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[:2] == ["root · thread_0", "root · thread_2"]
    assert len(set(names)) == len(names)


def among(kind, time, other, size, partitions=(0, 1)):
    """One end of a message among partitions."""
    return {"time": time, "type": EventType[f"PARTITION_{kind}"], "site": 1, "tph": 1, "a": size,
            "b": pair(other, 5), "c": pair(*partitions)}  # fmt: skip


def test_messages_among_partitions_have_squares_and_lines_of_their_own(write_trace, make):
    ranks = [
        [*make.call(1, 0, 90), among("SEND", 50, 1, 800), among("SEND", 60, 0, 80, (0, 2)),
         among("RECEIVE", 60, 0, 80, (0, 2))],
        [among("RECEIVE", 500, 0, 800), *make.call(1, 600, 900)],
    ]  # fmt: skip
    opened = write_trace([sorted(rows, key=lambda row: row["time"]) for rows in ranks], make.definitions(2))
    found = squares(views.draw(opened, "messages"))
    assert found["among partitions: bytes"].filled(0).tolist() == [[80, 800], [0, 0]]
    assert found["among partitions: messages"].filled(0).tolist() == [[1, 1], [0, 0]]
    (lines,) = [one for one in views.draw(opened, "gantt").axes[0].collections if one.get_gid() == "ways"]
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [[50, 500]]


def test_many_ranks_share_cells_of_the_matrix(write_trace, make):
    ranks = [[{"time": 0, "type": EventType.PHASE}] for _ in range(481)]
    ranks[0] += sends(1, 480, 7, 5)
    ranks[480] += receives(9, 0, 7, 5)
    figure = views.draw(write_trace(ranks, make.definitions(481)), "messages")
    cells = squares(figure)["tags handed over: messages"]
    assert cells.shape == (161, 161)
    assert cells[0, 160] == 5
    assert "Each cell sums up 3 × 3 of the 481 ranks." in words(figure)


def mpi_run(write_trace, make):
    """Two ranks; rank 0 sends one message, and rank 1 was there before."""

    def world(rank):
        return {"time": 1, "type": EventType.MPI_COMMUNICATOR, "a": 1, "b": pair(0, 1), "c": pair(2, rank)}

    members = {"time": 2, "type": EventType.MPI_COMMUNICATOR_RANKS, "a": 1, "b": pair(0, 1),
               "c": pair(NONE, NONE)}  # fmt: skip
    sent = {"time": 400, "type": EventType.MPI_SEND, "a": 80, "b": pair(1, 5), "c": 1}
    got = {"time": 450, "type": EventType.MPI_RECEIVE, "a": 80, "b": pair(0, 5), "c": 1}
    return write_trace(
        [[world(0), members, *make.region(0, 10, 600, make.region(1, 400, 410, [sent]))],
         [world(1), *make.region(2, 100, 460, [got]), {"time": 601, "type": EventType.PHASE}]],
        None, ("main", "MPI_Send", "MPI_Recv"),
    )  # fmt: skip


def test_a_trace_of_mpi_shows_what_it_has(write_trace, make):
    opened = mpi_run(write_trace, make)
    assert squares(views.draw(opened, "messages"))["MPI: bytes"].filled(0).tolist() == [[0, 80], [0, 0]]
    assert parts(views.draw(opened, "time")) == {
        "main": {0: 100 * 580 / 590}, "MPI: send": {0: 100 * 10 / 590}, "MPI: receive": {1: 100},
    }  # fmt: skip
    for name, message in (("load", "CPU load is measured in module calls"), ("memory", "")):
        with pytest.raises(trace.TraceError, match="nothing to show") as caught:
            views.draw(opened, name)
        assert message in (caught.value.help or "")


def test_the_critical_path_of_mpi_comes_from_the_late_sender(write_trace, make):
    figure = views.draw(mpi_run(write_trace, make), "critical-path")
    found = totals(figure, 1)
    assert found["message"] == 60
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["rank 0", "rank 1"]
    lines = next(one for one in figure.axes[0].collections if one.get_gid() == "hand-overs")
    assert [segment.tolist() for segment in lines.get_segments()] == [[[400, 0], [460, 1]]]


def test_the_critical_path_is_drawn_in_modules_colours(small_trace):
    figure = views.draw(small_trace, "critical-path")
    blocks = {one.get_gid(): one for one in figure.axes[0].collections if isinstance(one, PolyCollection)}
    colours = views.module_colours(small_trace)
    assert to_hex(blocks["rows"].get_facecolor()[0]).upper() == colours["rows"].upper()
    assert sum(totals(figure, 1).values()) == critical_path(small_trace).length == 990_000
    with pytest.raises(trace.TraceError, match="does not pass through"):
        views.draw(small_trace, "critical-path", Selection(ranks=frozenset({2})))


@pytest.mark.parametrize("name", CHARTS)
def test_a_trace_without_events_says_so(write_trace, make, name):
    with pytest.raises(trace.TraceError, match=r"nothing to show|no time in modules"):
        views.draw(write_trace([[], []], make.definitions(2)), name)


@pytest.mark.parametrize("name", CHARTS)
def test_a_missing_rank_leaves_the_rest(write_trace, make, small_trace, name):
    (small_trace.path / "rank-00000.events").unlink()
    opened = trace.open(small_trace.path)
    if name.startswith("message"):
        with pytest.raises(trace.TraceError, match="sent nothing to each other"):
            views.draw(opened, name)
    else:
        assert views.draw(opened, name).axes


@pytest.mark.parametrize("width", [3.0, 6.0, 16.0])
@pytest.mark.parametrize("name", CHARTS)
def test_charts_have_the_width_that_is_asked_for(small_trace, tmp_path, name, width):
    figure = views.draw(small_trace, name, width=width, height=4.0)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    views.save(figure, tmp_path / "chart.svg")


@pytest.mark.mpi
def test_charts_of_a_run_agree_with_its_summary(pse, tmp_path):
    """A real run, with MPI's events beside the runtime's: every chart is drawn, and sums are the same."""
    (tmp_path / "trace.conf").write_text("module trace\n")
    done = pse("run", PROGRAM, "-p", 1, "-D", "N=32", "-D", f"results={tmp_path}",
               "--trace", tmp_path / "run", "--tools", tmp_path / "trace.conf")  # fmt: skip
    assert done.code == 0, done.err
    opened = trace.open(tmp_path / "run")
    rows = trace.summarize(opened)
    modules = module_bars(opened, ALL)
    assert sum(one.total for one in modules.shares) == sum(row.total for row in rows.calls)
    waits = {one.label: one.total for one in event_bars(opened, ALL).shown() if "waiting" in one.label}
    expected = {}
    for row in rows.waits:
        expected[wait_text(row.reason)] = expected.get(wait_text(row.reason), 0) + row.total
    assert waits == expected
    for name in CHARTS:
        views.save(views.draw(opened, name), tmp_path / f"{name}.png")
    tags = squares(views.draw(opened, "messages"))["tags handed over: bytes"]
    assert tags.sum() == sum(row.sent_descriptor + row.sent_copied for row in rows.traffic)
    path = critical_path(opened)
    assert path.length == analyze(opened).total("critical_path") < opened.span
    waits = opened.waits()
    longest = waits[
        np.argmax(np.where(waits["reason"] == WaitReason.INPUT, waits["end"] - waits["begin"], 0))
    ]
    chain = wait_chain(opened, int(longest["rank"]), int(longest["begin"]) + 1)
    assert chain.links[0].ended_by is not None
    assert chain.links[-1].state != "wait"
    life = tph_history(opened, "k=1")
    assert life.calls == len([row for row in opened.module_calls() if row["tph"] == life.tph.number]) == 10
    assert life.handovers == len([row for row in opened.messages() if row["tph"] == life.tph.number])
    assert [rank for rank, *_ in sorted(life.ranks)] == [0, 1, 2]


@pytest.mark.parametrize("width", [4, 6, 11])
def test_squares_of_the_matrix_stay_within_the_picture(small_trace, width):
    figure = views.draw(small_trace, "messages", width=width)
    boxes = [axes.get_position() for axes in figure.axes]
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 < 1 and box.y1 < 1 for box in boxes)
    sides = [
        box.width * width for box, axes in zip(boxes, figure.axes, strict=True) if axes.get_title("left")
    ]
    assert len(sides) == 2
    assert min(sides) >= 0.8


@pytest.mark.parametrize("name", ["event-total", "module-total", "critical-path", "gantt", "memory"])
def test_ticks_of_narrow_axes_are_few_enough_to_be_read(small_trace, name):
    figure = views.draw(small_trace, name, width=4)
    figure.draw_without_rendering()
    compared = 0
    for axes in figure.axes:
        shown = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        inside = [box for box in shown if axes.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= axes.bbox.x1 + 1]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(inside))
        compared += max(0, len(inside) - 1)
    assert compared
