"""``pse view``: files, formats and words for what can't be drawn."""

import builtins
import dataclasses
import os
import re
import resource

import pytest
from click.testing import CliRunner
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from pse import views
from pse.cli import main
from pse.errors import UsageError
from pse.views.core._figure import FONT, text_width


def view(*arguments):
    return CliRunner().invoke(main, ["view", *map(str, arguments)])


BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("form", BEGINS)
def test_a_view_is_written_in_the_format_of_its_name(small_trace, tmp_path, form):
    output = tmp_path / f"run.{form}"
    result = view(small_trace.path, "-o", output)
    assert result.exit_code == 0, result.output
    assert output.read_bytes().startswith(BEGINS[form])


def test_svg_has_texts_as_texts(small_trace, tmp_path):
    assert view(small_trace.path, "--view", "gantt", "-o", tmp_path / "run.SVG").exit_code == 0
    text = (tmp_path / "run.SVG").read_text()
    for word in (
        "small — calls and waits of each thread",
        "root · thread_A",
        "lib.load · k = 0",
        "waiting for input",
        "never ended",
    ):
        assert f">{word}<" in text


def test_a_picture_drawn_twice_has_the_same_bytes(small_trace, tmp_path):
    for form in BEGINS:
        for name in "ab":
            assert view(small_trace.path, "-o", tmp_path / f"{name}.{form}").exit_code == 0
        assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()


def test_several_views_are_pages_or_files(small_trace, tmp_path, monkeypatch):
    monkeypatch.setitem(views.VIEWS, "again", views.VIEWS["gantt"])
    both = ("--view", "gantt", "--view", "again", "--view", "gantt")
    assert view(small_trace.path, *both, "-o", tmp_path / "run.pdf").exit_code == 0
    assert (tmp_path / "run.pdf").read_bytes().count(b"/Type /Page ") == 2
    assert view(small_trace.path, *both, "-o", tmp_path / "run.png").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["run-again.png", "run-gantt.png"]


def test_a_view_with_nothing_to_show_leaves_the_others(write_trace, make, tmp_path):
    path = write_trace([make.call(0, 0, 100)], make.definitions(1)).path
    several = ("--view", "memory", "--view", "load", "--view", "messages")
    result = view(path, *several, "-o", tmp_path / "run.png")
    assert result.exit_code == 0, result.output
    assert "warning: view memory is left out: nothing to show: no memory for tags" in result.output
    assert (
        "warning: view messages is left out: nothing to show: the selected ranks sent nothing"
        in result.output
    )
    assert [file.name for file in tmp_path.glob("*.png")] == ["run-load.png"]
    result = view(path, "--view", "memory", "--view", "messages", "-o", tmp_path / "run.pdf")
    assert result.exit_code == 2
    assert "error: nothing to show: no memory for tags was allocated" in result.output
    assert not (tmp_path / "run.pdf").exists()


def test_a_view_shows_the_selection_in_the_size_that_is_asked_for(small_trace, tmp_path):
    output = tmp_path / "run.svg"
    chosen = ("--thread", "B", "--tph", "7", "--from", "0.0001", "--until", "0.0009")
    assert view(small_trace.path, *chosen, "--width", "5", "--height", "4", "-o", output).exit_code == 0
    text = output.read_text()
    assert 'width="360pt" height="288pt"' in text
    assert ">p0 · thread_B<" in text
    assert ">root · thread_A<" not in text


def test_the_help_lists_each_view_with_its_description():
    text = view("--help").output
    assert len(views.VIEWS) > 1
    assert all(
        f" {name}  {view.description[:20]}" in re.sub(" {2,}", "  ", text)
        for name, view in views.VIEWS.items()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--view", "gant", "-o", "run.png"], "there is no view 'gant'\nhelp: did you mean `gantt`?"),
        (["-o", "run.jpg"], "it must end in .png, .svg, .pdf or .html"),
        (["-o", "run"], "it must end in"),
        (["-o", "no/where/run.png"], "there is no directory no/where"),
        (["-o", "folder.png"], "it is a directory"),
        (["--overlay", "lines", "-o", "run.png"], "'lines' is not one of"),
        (["--tph", "99", "-o", "run.png"], "the trace has no TPH 99"),
        (["--module", "nix", "-o", "run.png"], "the trace has no module nix"),
        (["--from", "5", "-o", "run.png"], "the time window lies outside of the run, which lasts from 0 to"),
        (["--module", "save", "--thread", "B", "-o", "run.png"], "the selection leaves no module call"),
        (["--view", "gantt", "-o", "run.html"], "don't apply to a .html page, which has its own"),
        (["--no-lines", "-o", "run.html"], "don't apply to a .html page, which has its own"),
        (["--view", "load", "--overlay", "queues", "-o", "run.png"], "exist only in the view gantt"),
    ],
)  # fmt: skip
def test_what_can_t_be_drawn(small_trace, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    result = view(small_trace.path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.glob("run*"))


def test_viewing_a_trace_that_does_not_exist_is_refused(tmp_path):
    result = view(tmp_path / "nix", "-o", tmp_path / "run.png")
    assert result.exit_code == 2
    assert "there is no trace" in result.output


def test_damaged_trace_is_drawn_with_warnings(small_trace, tmp_path):
    (small_trace.path / "rank-00001.events").write_bytes(b"nonsense")
    result = view(small_trace.path, "-o", tmp_path / "run.svg")
    assert result.exit_code == 0
    assert "warning: rank 1:" in result.output
    assert ">root · thread_A<" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize("form", ["png", "html"])
def test_a_file_is_there_whole_or_not_at_all(small_trace, tmp_path, form):
    output = tmp_path / f"run.{form}"
    output.write_bytes(b"before")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        result = view(small_trace.path, "-o", output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert result.exit_code == 2
    assert f"error: cannot write {output}: File too large" in result.output
    assert output.read_bytes() == b"before"
    assert [path.name for path in tmp_path.glob("*run*")] == [output.name]
    assert view(small_trace.path, "-o", output).exit_code == 0
    assert output.stat().st_size > 1000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named_when_a_view_is_written(small_trace, tmp_path):
    (tmp_path / "run.png").symlink_to("/dev/full")
    with pytest.raises(UsageError, match=r"cannot write .*: No space left on device"):
        views.save(views.draw(small_trace, "gantt"), tmp_path / "run.png")


def test_several_figures_need_a_pdf(small_trace, tmp_path):
    figure = views.draw(small_trace, "gantt")
    with pytest.raises(UsageError, match="a png file holds one picture, not 2"):
        views.save([figure, figure], tmp_path / "run.png")


def test_missing_matplotlib_names_the_extra(small_trace, monkeypatch):
    import sys

    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(name, *rest)

    for name in [name for name in sys.modules if name.startswith(("matplotlib", "pse.views."))]:
        if name not in ("pse.views._registry", "pse.views._blocks"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match="pictures need matplotlib") as caught:
        views.draw(small_trace, "gantt")
    assert "pse[views]" in caught.value.help


def test_the_width_of_a_text_is_that_of_its_outline():
    for word in (*filter(str.isprintable, map(chr, range(33, 0x100))), "模块", "n…", "µs · 39 %"):
        outline = TextPath((0, 0), word.replace("$", r"\$"), size=9, prop=FontProperties(family=FONT))
        exact = outline.get_extents().x1 / 72
        assert 0.999999 * exact <= text_width(word, 9) <= 1.002 * exact, word
    assert text_width("bold", 9, "bold") > text_width("bold", 9)
    assert text_width(" ", 9) == 0


def test_a_program_whose_name_is_no_text_can_be_drawn(write_trace, make, tmp_path):
    known = dataclasses.replace(
        make.definitions(1, ["one", "other"]), parameters={"where": "b\udcff"}, program="b\udcff.coven"
    )
    opened = write_trace([make.call(0, 0, 1000)], known)
    for form in BEGINS:
        result = view(opened.path, "-o", tmp_path / f"run.{form}")
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["模块", "a$b", "$x_{$", "_hidden", "x" * 300, "<&>", "%s{}"])
def test_any_name_can_be_drawn(write_trace, make, tmp_path, name):
    rows = [*make.call(0, 0, 1000), *make.call(1, 1000, 1400), *make.wait(1500, 1600)]
    known = dataclasses.replace(
        make.definitions(1, [name, "other"]), parameters={"where": name}, program=name
    )
    opened = write_trace([rows], known)
    for form in BEGINS:
        result = view(opened.path, "-o", tmp_path / f"run.{form}")
        assert result.exit_code == 0, result.output
        assert "Warning" not in result.output
    legends = [
        text.get_text() for legend in views.draw(opened, "gantt").legends for text in legend.get_texts()
    ]
    assert legends[0].startswith(name[:12])
