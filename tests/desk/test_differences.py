"""The page makes each graph of the one before and of what differs: that is the graph of the text alone."""

import json
import random

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pse_testing.example_counts import tried
from pygls.workspace import PositionCodec

from pse.desk.model import Drawing, Names, ProgramModel
from pse.lsp import Analysis, OpenFiles

from .editing import PROGRAMS, Editing, shape
from .test_sequences import TEXTS, typed

SEGMENTS = """coven 1
param i64 n = 8
partition P = 4
segment grow(f64[n] x) -> (f64[n] y) {
  copy(x) -> y
  axpy(1.0, x, y)
}
program p {
  var f64[n] @ block(0) over P u
  zero() -> u
  sum(u) -> s
  for k in 0 .. 4 {
    var f64[k + 1] b
    fill(1.0) -> b
    thread_B copy(b) -> c
    thread_B print(c, k)
  }
  var f64[n] v
  fill(2.0) -> v
  grow(v) -> w
  if s > 1.0 { print(w) } else { thread_C print(u) }
}
"""
BUNDLES = """coven 1
bundle Fluid { f64[4] rho, u }
bundle Three { f64[4] rho, u, v }
segment start() -> (Fluid a) { zero() -> a.rho
  zero() -> a.u
}
program p {
  var Fluid now
  var Three more
  start() -> now
  axpy(2.0, now)
  copy(now) -> v
  print(now.u)
}
"""
PROGRAMS_EDITED = {**TEXTS, "segments": SEGMENTS, "bundles": BUNDLES}
LARGE = "coven 1\nprogram p {\n  var f64[8] a\n  zero() -> a\n" + "".join(
    f"  copy(a) -> b{k}\n  sum(b{k}) -> s{k}\n" for k in range(50)
)
PATH = PROGRAMS / "edited.coven"


class Drawn:
    """A program whose graph is given whole once, and by its differences from then on."""

    def __init__(self, text):
        self.names, self.finder, self.before = Names(), OpenFiles({}), None
        self.analysis = Analysis(text, str(PATH), PositionCodec(), self.finder)
        self.graph, self.sent = None, []
        self.take(self.analysis)

    def type(self, text):
        self.take(self.analysis.remade(text))

    def take(self, analysis):
        self.analysis, before = analysis, self.before
        model = ProgramModel(analysis, self.names, self.finder, before.model if before else None)
        drawing = Drawing(model, None, str(PROGRAMS), before)
        answer = drawing.since(before) if before else drawing.whole()
        self.sent.append(answer)
        self.before, self.graph = drawing, patched(self.graph, json.loads(json.dumps(answer)))


def patched(graph, answer):
    """Do what the page does in page/src/difference.ts."""
    if "since" not in answer:
        return answer
    assert answer["since"] == graph["number"]
    moved = answer.pop("moved")
    made = {name: value for name, value in answer.items() if name != "since"}
    for name in ("frames", "nodes", "edges", "diagnostics"):
        dropped = answer[name]["dropped"]
        made[name] = [behind(one, moved) for n, one in enumerate(graph[name]) if n not in dropped]
        for number, one in answer[name]["put"]:
            made[name].insert(number, one)
    return made


def behind(one, moved):
    at, by, lines = moved["at"], moved["by"], moved["lines"]
    span = one.get("span")
    if span is None or span["end"] < at:
        return one
    if span["start"] < at:
        return {**one, "span": {"start": span["start"], "end": span["end"] + by}}
    made = {**shifted(one, by), "line": one["line"] + lines}
    for related in made.get("related", ()):
        related["line"] += lines if related["path"] == one["path"] else 0
    return made


def shifted(part, by):
    match part:
        case {"start": start, "end": end}:
            return {"start": start + by, "end": end + by}
        case dict():
            return {name: shifted(value, by) for name, value in part.items()}
        case list():
            return [shifted(one, by) for one in part]
    return part


def numbered(graph):
    """Give a graph as `shape` does; how many were given before does not count."""
    return shape({name: value for name, value in graph.items() if name != "number"})


@tried(60)
def test_a_graph_made_of_differences_is_that_of_the_text_alone(examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(sorted(PROGRAMS_EDITED)), st.integers(0, 2**32))
    @example("segments", 0)
    def check(start, seed):
        choose = random.Random(seed)
        text = PROGRAMS_EDITED[start]
        drawn = Drawn(text)
        for _ in range(choose.randrange(1, 7)):
            text = choose.choice([typed, line_twice, line_gone])(choose, text)
            drawn.type(text)
            assert drawn.graph == drawn.before.whole()
            assert numbered(drawn.graph) == numbered(Editing(text, PATH).graph)

    check()


def line_twice(choose, text):
    lines = text.split("\n")
    lines.insert(choose.randrange(len(lines) + 1), choose.choice(lines))
    return "\n".join(lines)


def line_gone(choose, text):
    lines = text.split("\n")
    del lines[choose.randrange(len(lines))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "change",
    [("var Fluid now", "var Three now"), ("{ f64[4] rho, u }", "{ f64[4] rho }"), ("(Fluid a)", "(Three a)")],
)
def test_calls_are_drawn_anew_when_a_name_becomes_another_bundle(change):
    drawn = Drawn(BUNDLES)
    for text in (BUNDLES.replace(*change), BUNDLES):
        drawn.type(text)
        assert drawn.graph == drawn.before.whole()
        assert numbered(drawn.graph) == numbered(Editing(text, PATH).graph)


def test_only_what_an_edit_changes_is_sent():
    text = LARGE + "}\n"
    drawn = Drawn(text)
    drawn.type(text.replace("b20)", "a)"))
    drawn.type("// first\n" + text.replace("b20)", "a)"))
    whole, edited, moved = drawn.sent
    assert [number for number, _ in edited["nodes"]["put"]] == [43]
    assert [edited[name]["put"] for name in ("frames",)] == [[]]
    assert moved["moved"] == {"at": 0, "by": 9, "lines": 1}
    assert not any(moved[name]["put"] for name in ("frames", "nodes", "edges", "diagnostics"))
    assert len(json.dumps(edited)) < len(json.dumps(whole)) / 20


def test_of_a_text_with_a_mistake_only_what_changes_is_sent():
    broken = LARGE.replace("copy(a) -> b20", "copy(a) -> b20 b )") + "}\n"
    drawn = Drawn(LARGE + "}\n")
    for text in (broken, broken.replace("b20 b", "b20 b z"), LARGE + "}\n"):
        drawn.type(text)
        assert drawn.graph == drawn.before.whole()
    whole, *sent = drawn.sent
    for answer in sent:
        assert len(answer["nodes"]["put"]) <= 3
        assert len(json.dumps(answer)) < len(json.dumps(whole)) / 5
