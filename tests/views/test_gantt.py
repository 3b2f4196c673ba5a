"""The Gantt: what is in the figure, not its pixels."""

import dataclasses
import itertools
import re

import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from pse_testing.planted_waits import PlantedWaits

from pse import trace, views
from pse.errors import UsageError
from pse.trace import EventType, Phase, Selection, TextKind, pair
from pse.trace.query import outside_of_program
from pse.views.gantt._gantt_blocks import HALF
from pse.views.gantt._gantt_overlays import MADE_BY


def drawn(figure):
    """Blocks by the name of what they show: how many, and their colour."""
    return {
        one.get_gid(): (len(one.get_paths()), to_hex(one.get_facecolor()[0]).upper())
        for one in figure.axes[0].collections
        if isinstance(one, PolyCollection | PathCollection) and one.get_gid() not in (None, "failed")
    }


def words(figure):
    """All texts of a figure: title, head, caption; those in the axes; the legend's."""
    legend = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return (
        [text.get_text() for text in figure.texts],
        [text.get_text() for text in figure.axes[0].texts],
        legend,
    )


def lines(figure, name="ways"):
    found = [
        one for one in figure.axes[0].collections if isinstance(one, LineCollection) and one.get_gid() == name
    ]
    return [segment.tolist() for one in found for segment in one.get_segments()]


def labels(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_blocks_have_their_module_s_colour(small_trace):
    found = drawn(views.draw(small_trace, "gantt"))
    colours = views.module_colours(small_trace)
    assert found["module load"] == (2, colours["load"].upper())
    assert found["module rows"] == (1, colours["rows"].upper())
    assert found["wait input"] == (1, views.wait_colours()["input"])


def test_what_never_ended_is_hatched_and_what_failed_is_outlined(small_trace):
    figure = views.draw(small_trace, "gantt")
    found = {one.get_gid(): one for one in figure.axes[0].collections}
    assert found["open module rows"].get_hatch()
    assert found["open wait credit"].get_hatch()
    assert not found["module load"].get_hatch()
    assert len(found["failed"].get_paths()) == 1
    assert {"never ended", "failed call"} <= set(words(figure)[2])


def test_rows_have_labels_from_the_root_on(small_trace):
    assert labels(views.draw(small_trace, "gantt")) == ["root · thread_A", "p0 · thread_B", "p0 · thread_C"]


def test_head_says_program_parameters_and_ranks(small_trace):
    head = words(views.draw(small_trace, "gantt"))[0]
    assert head[0] == "small — calls and waits of each thread"
    assert head[1] == "N = 8 · 1 processor · 3 ranks · 1 ms · 2025-01-31 12:00"


def test_head_says_what_was_selected(small_trace):
    head = words(views.draw(small_trace, "gantt", Selection.parse(thread=["B"], tph=["7"])))[0]
    assert head[1].endswith("only thread_B; TPH 7")


def test_blocks_have_labels_where_they_fit(small_trace):
    inside = words(views.draw(small_trace, "gantt"))[1]
    assert "lib.load · k = 0" in inside
    assert {"input", "waiting for input"} & set(inside)


def test_lines_lead_from_block_to_block(small_trace):
    first, second = sorted(lines(views.draw(small_trace, "gantt")))
    assert [round(x) for x, _ in first] == [400_000, 420_000]
    assert [round(x) for x, _ in second] == [500_000, 710_000]
    assert [round(y) for _, y in first] == [0, 1]


def test_legend_names_tphs_by_their_loop_while_they_are_few(small_trace):
    assert {"k = 0 (TPH 7)", "k = 1 (TPH 8)"} <= set(words(views.draw(small_trace, "gantt"))[2])


def test_lines_can_be_left_out(small_trace):
    assert not lines(views.draw(small_trace, "gantt", lines=False))


def test_selected_tph_stands_out(small_trace):
    figure = views.draw(small_trace, "gantt", Selection(tphs=frozenset({7})))
    assert drawn(figure)["module load"][0] == 1
    assert drawn(figure)["other not selected"][0] == 1
    assert [[round(x) for x, _ in line] for line in lines(figure, "rests")] == [[400_000, 900_000]]


def test_legend_lies_below_the_axes(small_trace):
    figure = views.draw(small_trace, "gantt")
    figure.draw_without_rendering()
    axis = figure.axes[0].get_tightbbox()
    assert figure.legends
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert box.y1 < axis.y0
        assert box.x1 < figure.bbox.x1
        assert box.y0 > max(text.get_window_extent().y1 for text in figure.texts[-1:])


def many_calls(make, count, step, width):
    return [row for index in range(count) for row in make.call(index % 2, step * index, step * index + width)]


def test_caption_says_how_many_blocks_are_merged(write_trace, make):
    opened = write_trace([many_calls(make, 5000, 100, 50)], make.definitions(1))
    figure = views.draw(opened, "gantt")
    assert re.search("Of 5,000 blocks 5,000 are narrower than a pixel .* merged", words(figure)[0][-1])
    found = drawn(figure)
    assert {"merged load", "merged rows"} <= set(found)
    assert found["merged load"][1] != found["merged rows"][1]
    assert found["merged load"][1] != views.module_colours(opened)["load"]


def test_columns_are_as_high_as_shares(write_trace, make):
    figure = views.draw(write_trace([many_calls(make, 5000, 100, 50)], make.definitions(1)), "gantt")
    merged = [one for one in figure.axes[0].collections if str(one.get_gid()).startswith("merged")]
    areas = [abs(area(shape)) for one in merged for path in one.get_paths() for shape in path.to_polygons()]
    row = 0.78 * (figure.axes[0].get_xlim()[1] - figure.axes[0].get_xlim()[0])
    assert sum(areas) / row == pytest.approx(0.5, abs=0.01)


def area(points):
    x, y = points.T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2


def test_of_many_messages_some_are_drawn_and_the_caption_says_so(write_trace, make):
    sender, receiver = [], []
    for index in range(3000):
        time = 1000 * index
        sender += [
            {"time": time, "type": EventType.SEND, "site": 0, "tph": index, "b": pair(1, 0), "c": index}
        ]
        receiver += [{"time": time + 400, "type": EventType.RECEIVE, "site": 0, "tph": index, "b": pair(0, 0),
                      "c": index}]  # fmt: skip
    figure = views.draw(write_trace([sender, receiver], make.definitions(2)), "gantt")
    shown = len(lines(figure))
    assert 10 < shown < 100
    assert f"Lines: {shown} of 3,000 messages" in words(figure)[0][-1]


@pytest.mark.parametrize(("ranks", "expected"), [(1, 1), (9, 9), (41, 41), (400, 40)])
def test_labels_are_thinned_where_rows_are_low(write_trace, make, ranks, expected):
    opened = write_trace([make.call(0, 0, 1000)] * ranks, make.definitions(ranks))
    figure = views.draw(opened, "gantt")
    shown = labels(figure)
    assert len(shown) == pytest.approx(expected, rel=0.6)
    assert shown[0].startswith("root")
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert all(upper.y0 > lower.y1 - 1 for upper, lower in itertools.pairwise(boxes))


def test_a_gantt_of_a_thousand_rows_stays_of_a_readable_height(write_trace, make):
    opened = write_trace([make.call(0, 0, 1000)] * 1001, make.definitions(1001))
    figure = views.draw(opened, "gantt")
    assert drawn(figure)["module load"][0] == 1001
    assert figure.get_size_inches()[1] < 20


def test_trace_of_mpi_alone_shows_routines_and_messages(write_trace, make):
    head = {"time": 0, "type": EventType.MPI_COMMUNICATOR, "a": pair(1, 0), "b": pair(0, 1)}
    ranks = [
        {
            "time": 0,
            "type": EventType.MPI_COMMUNICATOR_RANKS,
            "a": pair(1, 0),
            "b": pair(0, 1),
            "c": 2**64 - 1,
        }
    ]
    sent = {"time": 250, "type": EventType.MPI_SEND, "a": 8, "b": pair(1, 5), "c": pair(1, 0)}
    taken = {"time": 600, "type": EventType.MPI_RECEIVE, "a": 8, "b": pair(0, 5), "c": pair(1, 0)}
    opened = write_trace(
        [[head | {"c": pair(2, 0)}, *ranks, *make.region(0, 100, 400, [sent])],
         [head | {"c": pair(2, 1)}, *make.region(1, 100, 700, [taken])]],
        None, ["MPI_Send", "MPI_Recv"],
    )  # fmt: skip
    figure = views.draw(opened, "gantt")
    assert set(drawn(figure)) == {"routine MPI: send", "routine MPI: receive"}
    assert labels(figure) == ["rank 0", "rank 1"]
    assert [[round(x) for x, _ in line] for line in lines(figure)] == [[250, 600]]
    assert {"MPI_Send", "MPI_Recv"} <= set(words(figure)[1])
    assert words(figure)[0][0] == "trace — routines of each rank"


def test_call_sites_without_definitions_are_numbers(write_trace, make):
    opened = write_trace([make.call(0, 0, 500) + make.call(3, 500, 900)], make.definitions(1))
    (opened.path / "definitions.json").write_text("{")
    figure = views.draw(trace.open(opened.path), "gantt")
    assert {"module site 0", "module site 3"} <= set(drawn(figure))
    assert "definitions.json" in words(figure)[0][-1]


@pytest.mark.parametrize("rows", [[], [{"time": 5, "type": EventType.PHASE, "a": 1}]])
def test_a_gantt_of_a_trace_without_activity_says_so(write_trace, make, rows):
    figure = views.draw(write_trace([rows], make.definitions(1)), "gantt")
    assert "Nothing happened here" in words(figure)[0][-1]
    figure.draw_without_rendering()


def test_pictures_have_one_time_axis(write_trace, make):
    memory = {"time": 0, "type": EventType.ALLOCATE, "a": 8, "b": 64}
    rows = [memory, *make.call(0, 0, 1000), {"time": 2000, "type": EventType.PHASE, "a": 4}]
    opened = write_trace([rows], make.definitions(1))
    for name in ("gantt", "memory", "critical-path"):
        assert views.draw(opened, name).axes[0].get_xlim() == (0, 2000)
    assert views.draw(opened, "gantt", Selection(end=1.5e-6)).axes[0].get_xlim() == (0, 1500)


def test_start_and_end_of_a_rank_are_drawn(write_trace, make):
    phases = [(0, Phase.START), (300, Phase.READY), (1700, Phase.DONE), (2000, Phase.END)]
    first, second, *rest = [{"time": time, "type": EventType.PHASE, "a": number} for time, number in phases]
    rows = [first, second, *make.call(0, 400, 1000), *make.wait(1000, 1200), *rest]
    opened = write_trace([rows, make.call(1, 500, 900)], make.definitions(2))
    assert outside_of_program(opened, 0) == [(0, 300), (1200, 2000)]
    assert outside_of_program(opened, 1) == []
    (bands,) = [one for one in views.draw(opened, "gantt").axes[0].collections
                if one.get_gid() == "start and end"]  # fmt: skip
    assert [path.get_extents().intervalx.tolist() for path in bands.get_paths()] == [[0, 300], [1200, 2000]]


def test_one_call_of_no_length(write_trace, make):
    figure = views.draw(write_trace([make.call(0, 5, 5)], make.definitions(1)), "gantt")
    assert drawn(figure)["module load"][0] == 1
    assert words(figure)[2][0] == "load"


def test_marks_have_their_texts(write_trace, make):
    mark = {"time": 300, "type": EventType.MARKER, "a": 9}
    rows = [*make.text(9, "half-time of the run", TextKind.MARKER), *make.call(0, 0, 500), mark]
    figure = views.draw(write_trace([rows], make.definitions(1)), "gantt")
    assert "mark" in words(figure)[2]
    assert "half-time of the run" in words(figure)[1]


@pytest.mark.parametrize(
    ("overlay", "legend"),
    [
        ("queues", "longest queue of the rank (row's height: 1)"),
        ("memory", "memory held by the rank (row's height: 4 KiB)"),
        ("events", "tag received"),
    ],
)
def test_an_overlay_is_drawn_with_its_legend(small_trace, overlay, legend):
    figure = views.draw(small_trace, "gantt", overlays=[overlay])
    assert legend in words(figure)[2]
    figure.draw_without_rendering()


def test_waits_in_mpi_lie_over_the_calls_that_waited(tmp_path):
    planted = PlantedWaits(2, [[0, 1]])
    planted.enter(1, "solve")
    planted.late_sender(0, 0, 1, wait=500_000, tag=1, wildcard=False)
    planted.leave(1)
    opened = planted.write(tmp_path / "run")
    figure = views.draw(opened, "gantt", overlays=["wait-states"])
    assert "wait: Late sender" in words(figure)[2]
    colours = [handle.get_facecolor() for legend in figure.legends for handle in legend.get_patches()]
    assert len(set(colours)) == len(colours) > 3
    (bars,) = (one for one in figure.axes[0].collections if one.get_gid() == "wait state")
    (bar,) = bars.get_paths()
    calls, names = opened.routine_calls()
    call = calls[calls["routine"] == names.index("MPI_Recv")][0]
    assert (bar.get_extents().x0, bar.get_extents().width) == (call["enter"], 500_000)
    assert bar.get_extents().y1 == pytest.approx(1 + HALF)
    (label,) = (text for text in figure.axes[0].texts if text.get_text() in ("MPI_Recv", "Recv"))
    assert label.get_bbox_patch()  # Else its colour would be that for the call, on the colour of the wait.


def test_curves_of_two_overlays_are_told_apart(small_trace):
    figure = views.draw(small_trace, "gantt", overlays=["queues", "memory"])
    legend = [handle for legend in figure.legends for handle in legend.get_lines()]
    curves = [
        line
        for line in legend
        if line.get_label().startswith(("longest queue", "memory held", "the program"))
    ]
    assert len(curves) >= 2
    assert len({(line.get_color(), line.get_linestyle()) for line in curves}) == len(curves)


def test_every_overlay_that_is_offered_can_be_drawn():
    assert list(views.OVERLAYS) == list(MADE_BY)


def test_an_unknown_overlay_is_refused(small_trace):
    with pytest.raises(UsageError, match="there is no overlay 'lines'"):
        views.draw(small_trace, "gantt", overlays=["lines"])


def test_more_modules_than_colours_have_hatches(write_trace, make):
    modules = [f"m{number}" for number in range(50)]
    rows = [row for number in range(50) for row in make.call(number, 1000 * number, 1000 * number + 900)]
    opened = write_trace([rows], make.definitions(1, modules))
    styles = views.module_styles(opened)
    assert len(set(styles.values())) == 50
    figure = views.draw(opened, "gantt")
    assert "and 22 more" in words(figure)[2]
    hatched = [
        one
        for one in figure.axes[0].collections
        if str(one.get_gid()).startswith("module") and one.get_hatch()
    ]
    assert len(hatched) == 29


def test_times_have_the_unit_that_suits(write_trace, make):
    for span, unit in ((900, "ns"), (900_000, "µs"), (9_000_000, "ms"), (9_000_000_000, "s")):
        opened = write_trace([make.call(0, 0, span)], make.definitions(1), name=unit)
        assert views.draw(opened, "gantt").axes[0].get_xlabel().endswith(f"({unit})")


def test_times_of_a_short_window_are_counted_from_its_begin(write_trace, make):
    opened = write_trace([make.call(0, 0, 9_000_000_000)], make.definitions(1))
    axes = views.draw(opened, "gantt", Selection(begin=8.5, end=8.502)).axes[0]
    assert axes.get_xlabel() == "time since the start of the run, after 8.500000 s (ms)"
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["0", "0.25", "0.5"]


@pytest.mark.parametrize("is_selected", [False, True])
def test_of_a_sampled_trace_the_messages_of_a_selected_tph_are_all_there(
    write_trace, make, monkeypatch, is_selected
):
    sends, receives = [], []
    for index in range(400):
        head = {"site": 0, "tph": 2 + index // 40, "c": index}
        sends.append({"time": 1000 * index, "type": EventType.SEND, "b": pair(1, 0), **head})
        receives.append({"time": 1000 * index + 9, "type": EventType.RECEIVE, "b": pair(0, 0), **head})
    sends += make.call(0, 400_000, 401_000, 3)
    opened = write_trace([sends, receives], make.definitions(2))
    monkeypatch.setattr("pse.views.gantt._gantt_lod.MOST_ENDS", 100)
    selection = Selection(tphs=frozenset({3})) if is_selected else None
    figure = views.draw(opened, "gantt", selection)
    assert len(lines(figure)) == 40 if is_selected else 10 < len(lines(figure)) < 60
    assert ("of 400 messages" in words(figure)[0][-1]) != is_selected


def test_merged_routines_lie_over_the_one_that_calls_them(write_trace, make):
    inner = [row for index in range(5000) for row in make.region(1, 100 * index, 100 * index + 50)]
    opened = write_trace([make.region(0, 0, 500_000, inner)], None, ["main", "MPI_Send"])
    found = {one.get_gid(): one for one in views.draw(opened, "gantt").axes[0].collections}
    assert found["merged MPI: send"].get_zorder() > found["routine main"].get_zorder()


def test_hosts_are_named_if_there_are_several(write_trace, make):
    ranks = [make.call(0, 0, 1000)] * 3
    one = views.draw(write_trace(ranks, make.definitions(3)), "gantt")
    hosts = ["a.example", "a.example", "b.example"]
    several = views.draw(write_trace(ranks, make.definitions(3), hosts=hosts, name="hosts"), "gantt")
    assert [text for text in words(several)[1] if text.endswith("example")] == ["a.example", "b.example"]
    assert " on 2 hosts" in words(several)[0][1]
    assert not [text for text in words(one)[1] if text.endswith("example")]


def test_damaged_times_don_t_end_the_drawing(write_trace, make):
    rows = [*make.call(0, 5, 900), *make.call(1, 2**63 + 5, 2**64 - 2), *make.wait(2**40, 3)]
    figure = views.draw(
        write_trace([rows], make.definitions(1)), "gantt", overlays=["queues", "memory", "events"]
    )
    figure.draw_without_rendering()
    assert words(figure)[0][0].startswith("small")


def test_imported_threads_have_definitions_without_call_sites(write_trace, make):
    known = dataclasses.replace(make.definitions(2), sites=(), edges=())
    opened = write_trace([make.region(0, 0, 900), make.region(0, 100, 800)], known, ["solve"])
    figure = views.draw(opened, "gantt")
    assert words(figure)[0][0] == "small — routines of each rank"
    assert drawn(figure)["routine solve"][0] == 2
