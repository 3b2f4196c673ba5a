"""Pictures: nothing overlaps, nothing runs through anything, and the files are what they should be."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch
from PIL import Image

from pse.errors import UsageError
from pse.files import write_file
from pse.program import build_graph
from pse.views.core import check_writable
from pse.views.core._palette import PALETTE, ink
from pse.views.graph import choose_graph_format, export_graph
from pse.views.graph._paint import Painter
from pse.views.graph._scene import compose


@pytest.fixture(
    scope="module",
    params=["fft2d", "heat", "nbody", "random-12-0", "random-40-1", "random-40-7"],
)
def figure(request, samples, random_program):
    """The picture of a program."""
    name, *numbers = request.param.split("-")
    program = random_program(*map(int, numbers)) if numbers else samples[name]
    return Painter(compose(build_graph(program))).run()


def frames(figure) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of calls and tag labels; the axes count in points, y downwards."""
    found = [p for p in figure.axes[0].patches if isinstance(p, FancyBboxPatch) and p.get_zorder() == 4]
    return [(p.get_x(), p.get_y(), p.get_x() + p.get_width(), p.get_y() + p.get_height()) for p in found]


def words(figure) -> list[tuple[float, float, float, float]]:
    """Where texts are, in the units of the axes."""
    axes = figure.axes[0]
    figure.canvas.draw()
    boxes = [text.get_window_extent().transformed(axes.transData.inverted()) for text in axes.texts]
    return [(b.x0, min(b.y0, b.y1), b.x1, max(b.y0, b.y1)) for b in boxes]


def overlap(one, other, slack: float = 0.5) -> bool:
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > slack
        and min(one[3], other[3]) - max(one[1], other[1]) > slack
    )


def test_calls_and_labels_do_not_overlap(figure):
    assert not [pair for pair in combinations(frames(figure), 2) if overlap(*pair)]


def test_texts_do_not_overlap_and_are_inside_the_picture(figure):
    texts = words(figure)
    assert not [pair for pair in combinations(texts, 2) if overlap(*pair, slack=1.0)]
    axes = figure.axes[0]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert all(left <= t[0] and t[2] <= right and top <= t[1] and t[3] <= bottom for t in texts)


def test_no_edge_runs_through_a_call_a_label_or_a_heading(figure):
    solid = np.array(frames(figure) + words(figure))
    edges = [patch.get_path() for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    assert edges
    for path in edges:
        points = np.concatenate(path.to_polygons(closed_only=False))
        steps = [np.linspace(a, b, 12) for a, b in pairwise(points)]
        x, y = np.concatenate(steps).T
        inside = (
            (x[:, None] > solid[:, 0] + 1)
            & (x[:, None] < solid[:, 2] - 1)
            & (y[:, None] > solid[:, 1] + 1)
            & (y[:, None] < solid[:, 3] - 1)
        )
        assert not inside.any(), solid[inside.any(axis=0)]


def test_threads_keep_their_colours_in_every_format(samples):
    graph = build_graph(samples["nbody"])
    svg, dot, mermaid = (export_graph(graph, form).decode().lower() for form in ("svg", "dot", "mermaid"))
    for shade in PALETTE[:3]:
        assert shade.lower() in svg
        assert shade.lower() in dot
        assert shade.lower() in mermaid
    assert PALETTE[3].lower() not in dot


def test_texts_are_legible_on_every_colour():
    assert {ink(shade) for shade in PALETTE[:6]} == {"#000000"}


def test_the_same_program_gives_the_same_bytes(samples):
    graph = build_graph(samples["heat"])
    for form in ("svg", "png", "dot", "mermaid"):
        assert export_graph(graph, form) == export_graph(build_graph(samples["heat"]), form)


def test_a_png_is_a_picture(samples, tmp_path):
    path = tmp_path / "heat.png"
    write_file(export_graph(build_graph(samples["heat"]), "png"), str(path))
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert min(image.size) > 500


def test_dot_has_boxes_threads_distributions_and_freed_tags(samples):
    text = export_graph(build_graph(samples["fft2d"]), "dot").decode()
    assert 'label="for k in 0 .. frames inflight 3"' in text
    assert 'label="PARALLEL over P"' in text
    assert 'frees image", fillcolor="#E69F00"' in text
    assert 'n5 -> n6 [label="result @ block(0)"' in text
    assert text.count("{") == text.count("}")


def test_mermaid_balances_its_boxes_and_escapes_its_own_signs(samples):
    text = export_graph(build_graph(samples["heat"]), "mermaid").decode()
    lines = [line.strip() for line in text.splitlines()]
    assert sum(line.startswith("subgraph") for line in lines) == lines.count("end")
    assert 'step3["while residual #62; tol max 100000"]' in text
    assert 'n2 -.->|"residual"| c3' in text


@pytest.mark.parametrize(
    ("output", "asked", "expected"),
    [
        (None, None, "dot"),
        (None, "mermaid", "mermaid"),
        ("a.SVG", None, "svg"),
        ("a.png", "png", "png"),
        ("a.gv", None, "dot"),
        ("a.mmd", None, "mermaid"),
        ("graph", "svg", "svg"),
    ],
)
def test_format_by_name_or_by_option(output, asked, expected):
    assert choose_graph_format(output, asked) == expected


@pytest.mark.parametrize(
    ("output", "asked", "message"),
    [
        ("a.pdf", None, "the format can't be told from the name a.pdf"),
        ("graph", None, "the format can't be told from the name graph"),
        ("a.png", "svg", "'a.png' is the name of a file in format png, but --format says svg"),
    ],
)
def test_names_that_say_no_format_are_refused(output, asked, message):
    with pytest.raises(UsageError) as caught:
        choose_graph_format(output, asked)
    assert message in caught.value.message


def test_outputs_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(UsageError, match="it is a directory"):
        check_writable(str(tmp_path))
    with pytest.raises(UsageError, match="there is no directory"):
        check_writable(str(tmp_path / "nowhere" / "a.svg"))
    with pytest.raises(UsageError, match="No space left on device"):
        write_file(b"x" * 10, "/dev/full")


def test_a_program_too_large_for_a_picture_still_has_its_text(random_program):
    graph = build_graph(random_program(401, 1))
    with pytest.raises(UsageError, match="too large for a picture: it has 401 calls, at most 400 fit"):
        export_graph(graph, "svg")
    assert export_graph(graph, "dot").count(b"work_") == 401


def test_the_deepest_nesting_that_the_language_allows_has_a_picture(nested):
    assert export_graph(build_graph(nested(100)), "svg").startswith(b"<?xml")


def test_a_program_without_calls_has_a_picture(random_program):
    assert export_graph(build_graph(random_program(0, 1)), "svg").startswith(b"<?xml")
