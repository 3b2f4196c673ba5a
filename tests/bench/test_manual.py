"""Tables of figures in the manual, and numbers as people read them."""

from pathlib import Path

import pytest
from benchmarks.__main__ import SUBJECTS as OF_DEVELOPERS

from pse.bench import SUBJECTS, Against, Figure, Result
from pse.bench._figures import LEAST_LAUNCHES
from pse.bench._machine import BUSY_SHARE, STOLEN_SHARE
from pse.bench._manual import marks, update_page
from pse.bench._result_table import busy_warning
from pse.errors import UsageError

MANUAL = Path(__file__).parents[2] / "docs" / "performance.md"
ENVIRONMENT = {
    "cpu": "Example CPU",
    "cores": 2,
    "memory": 1,
    "kernel": "6.1",
    "python": "3.11",
    "numpy": "2.0",
    "mpi4py": "4.1",
    "mpi": "MPICH 5",
    "pse": "0.1",
    "load": 0.1,
    "in_use": 0.02,
    "time": "2025-01-01T00:00:00Z",
}


def result(bench="hop", **environment):
    against = Against("mpi4py | buffers", "µs", (1.7,))
    figures = (Figure("a hop", "µs", "<=", 4.0, (1.6,) * 10, against),)
    return Result(bench, figures, ENVIRONMENT | environment)


def page(tmp_path, *benches):
    path = tmp_path / "page.md"
    path.write_text("# Title\n" + "".join(f"{b}\n" + "\n".join(marks(b)) + "\nafter\n" for b in benches))
    return path


def test_a_table_stands_between_the_marks_of_its_bench(tmp_path):
    path = page(tmp_path, "hop", "idle")
    update_page(path, [result()])
    before, table, rest = path.read_text().partition("| a hop | 1.60 µs | 1.60 – 1.60 | ≤ 4.00 µs | holds |")
    assert table
    assert before.startswith("# Title\nhop\n<!-- figures: hop -->\n")
    assert "mpi4py · buffers | 1.70 µs | 0.94 × |" in rest
    assert "Example CPU, 2 cores" in rest
    assert rest.endswith("after\nidle\n<!-- figures: idle -->\n<!-- end of figures: idle -->\nafter\n")


def test_updating_again_replaces_the_table(tmp_path):
    path = page(tmp_path, "hop")
    update_page(path, [result()])
    once = path.read_text()
    update_page(path, [result()])
    assert path.read_text() == once


def test_a_page_without_a_place_is_refused_and_left_alone(tmp_path):
    path = page(tmp_path, "idle")
    before = path.read_text()
    with pytest.raises(UsageError, match="the page has no place for the figures of bench hop") as refused:
        update_page(path, [result("idle"), result("hop")])
    assert "<!-- figures: hop -->" in refused.value.help
    assert path.read_text() == before


def test_a_page_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.md: No such file or directory"):
        update_page(tmp_path / "gone.md", [result()])


def test_the_manual_has_a_place_for_every_bench():
    text = MANUAL.read_text()
    for subject in (*SUBJECTS, *OF_DEVELOPERS):
        begin, end = marks(subject.name)
        assert text.count(begin) == text.count(end) == 1
        assert text.index(begin) < text.index(end)


def test_the_design_page_has_the_question_that_each_bench_answers():
    text = MANUAL.with_name("design.md").read_text()
    assert not [subject.name for subject in SUBJECTS if f"`{subject.name}`" not in text]


def test_a_busy_machine_is_warned_of():
    assert busy_warning(result()) is None
    assert "52 % of this machine's cores were in use" in busy_warning(result(in_use=0.52))
    assert busy_warning(result(stolen=0.01)) is None
    assert "31 % of the cores' time went to other machines" in busy_warning(result(stolen=0.31))


def test_the_rules_of_the_page_are_those_that_the_bench_keeps():
    rules = MANUAL.read_text().partition("## The rules")[2].partition("\n## ")[0]
    for number in (f"{LEAST_LAUNCHES} launches", f"{BUSY_SHARE:.0%}", f"{STOLEN_SHARE:.0%}"):
        assert number.replace("%", " %") in rules
