"""What is drawn of a text."""

import contextlib
import cProfile
import json
import pstats
import shutil

import pytest

from pse.desk.model import palette
from pse.errors import UsageError

from .editing import PROGRAMS, Editing

HEAT = (PROGRAMS / "heat.coven").read_text()
ALL = sorted(PROGRAMS.glob("*.coven"))
MALFORMED = sorted((PROGRAMS.parent / "tests" / "language" / "programs").rglob("*.coven"))


def test_calls_are_nodes_with_threads_ports_and_types_in_frames():
    heat = Editing(HEAT)
    step = heat.node("step")
    assert (step["thread"], step["labelled"], step["line"]) == ("thread_B", True, 15)
    assert [(p["name"], p["direction"], p["tag"], p["tagDistribution"]) for p in step["inputs"]] == [
        ("u", "in", "u", "@ block(0, 1) halo(1)")
    ]
    assert step["outputs"][1]["reduce"] == {"target": "residual", "operation": "max"}
    frames = {frame["id"]: frame for frame in heat.graph["frames"]}
    around = frames[step["frame"]]
    assert (around["label"], frames[around["parent"]]["label"]) == (
        "PARALLEL over P",
        "while residual > tol max 100000",
    )
    assert heat.graph["correct"]
    assert (heat.node("swap")["thread"], heat.node("swap")["call"]) == (None, False)
    assert heat.graph["threads"] == ["thread_A", "thread_B", "thread_C"]


def test_edges_follow_tags_also_through_the_next_iteration_of_a_loop():
    heat = Editing(HEAT)
    edges = heat.edges()
    assert ("init", "u", "exchange", "a") in edges
    assert ("exchange", "a", "step", "u") in edges
    assert ("swap", "a", "exchange", "a") in edges
    assert ("swap", "a", "gather", "a") in edges
    assert ("step", "residual", "while residual > tol max 100000", "condition") in edges
    assert ("residual", "residual", "while residual > tol max 100000", "condition") in edges
    carried = [edge for edge in heat.graph["edges"] if edge["loop"]]
    assert {edge["loop"] for edge in carried} == {heat.frame("while")["id"]}


def test_a_branch_joins_with_what_was_before():
    text = "coven 1\nparam i64 n = 1\nprogram p {\n  var i64 x = 0\n  if n > 0 { x = 1 } else { x = 2 }\n"
    program = Editing(text + "  if n > 1 { x = 3 }\n  print(x)\n}\n")
    sources = [edge for edge in program.edges() if edge[2] == "print"]
    assert len(sources) == 3
    drawn = {
        (e["from"]["id"]) for e in program.graph["edges"] if e["to"]["id"] == program.node("print")["id"]
    }
    assert len(drawn) == 3


def test_who_writes_one_tag_of_an_array_leaves_what_others_wrote():
    text = "coven 1\nprogram p {\n  var f64[4] u[l in 0 .. 2]\n  fill(1) -> u[0]\n  fill(2) -> u[0 + 1]\n"
    program = Editing(text + "  copy(u[0]) -> x\n  print(x)\n}\n")
    sources = [edge["from"]["id"] for edge in program.graph["edges"]]
    fills = [node for node in program.graph["nodes"] if node["text"].startswith("fill")]
    assert [node["outputs"][0]["text"] for node in fills] == ["u[0]", "u[0 + 1]"]
    assert program.node("copy")["inputs"][0]["text"] == "u[0]"
    assert {node["id"] for node in fills} <= set(sources)


def test_segments_have_ports_and_calls_of_them_are_nodes():
    nbody = Editing((PROGRAMS / "nbody.coven").read_text())
    ring = nbody.frame("segment")
    assert [port["name"] for port in ring["inputs"] + ring["outputs"]] == ["xm", "acc"]
    assert nbody.node("ring")["kind"] == "segment"
    assert nbody.node("ring")["thread"] is None
    assert (ring["label"], "xm", "visiting", "a") in nbody.edges()
    assert ("forces", "acc", ring["label"], "acc") in nbody.edges()


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_program_is_drawn_whole_and_without_errors(path):
    program = Editing(path.read_text(), path)
    assert program.graph["correct"]
    assert program.errors == []
    for node in program.graph["nodes"]:
        assert node["text"] == program.text[node["span"]["start"] : node["span"]["end"]]
        for port in [*node["inputs"], *node["outputs"]]:
            if port["span"]:
                assert port["text"] in program.text[port["span"]["start"] : port["span"]["end"]]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_prefix_of_a_program_is_drawn(path):
    text = path.read_text()
    program = Editing("", path)
    for end in range(0, len(text), max(13, len(text) // 150)):
        program.type(text[:end])
        assert isinstance(program.graph["nodes"], list)


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_every_malformed_program_is_drawn_and_its_operations_are_answered(path):
    program = Editing(path.read_text(), PROGRAMS / path.name)
    graph = program.graph
    assert json.loads(json.dumps(graph)) == graph
    for number, node in enumerate(graph["nodes"][:3]):
        program.type(path.read_text())
        operation = {"op": ("delete", "copy", "wrap")[number], "items": [node["id"]], "head": "PARALLEL"}
        with contextlib.suppress(UsageError):
            program.do(operation | {"frame": node["frame"], "after": node["id"]})


def test_a_text_that_is_too_long_says_so():
    long = Editing("coven 1\n" + "// x\n" * (1 << 18))
    assert long.graph["nodes"] == []
    assert "at most 1,048,576 are read" in long.errors[0]


def test_a_program_with_errors_is_drawn_and_the_error_is_at_its_node():
    wrong = Editing(HEAT.replace("step(u) -> v", "step(w) -> v"))
    graph = wrong.graph
    assert not graph["correct"]
    assert graph["parsed"]
    assert len(graph["nodes"]) == len(Editing(HEAT).graph["nodes"])
    told = next(d for d in graph["diagnostics"] if d["node"] == wrong.node("step")["id"])
    assert told["message"] == "unknown name `w`"


def test_a_text_that_cannot_be_read_is_drawn_as_far_as_it_can():
    broken = Editing(HEAT.replace("swap(u, v)", "swap(u, }"))
    assert not broken.graph["parsed"]
    assert {"init", "step", "exchange"} <= {node["label"] for node in broken.graph["nodes"]}


def test_ids_stay_where_nothing_changed():
    heat = Editing(HEAT)
    before = {node["label"]: node["id"] for node in heat.graph["nodes"]}
    frames = {frame["label"]: frame["id"] for frame in heat.graph["frames"]}
    heat.type(HEAT.replace("  PARALLEL over P { thread_B", "  let x = 1\n  PARALLEL over P { thread_B"))
    after = {node["label"]: node["id"] for node in heat.graph["nodes"]}
    assert {label: id for label, id in after.items() if label != "x"} == before
    assert after["x"] not in before.values()
    assert {frame["label"]: frame["id"] for frame in heat.graph["frames"]} == frames
    heat.do({"op": "rename", "at": heat.text.index("residual"), "to": "rest"})
    assert {node["id"] for node in heat.graph["nodes"]} == set(after.values())


def test_offsets_are_those_of_the_browser():
    """JavaScript counts a character beyond the basic plane as two."""
    text = HEAT.replace("coven 1\n", "coven 1\n// 𝄞 music\n")
    heat = Editing(text)
    label = heat.node("init")
    start = label["span"]["start"]
    shown = text.encode("utf-16-le")[2 * start :].decode("utf-16-le")
    assert shown.startswith("thread_B init()")


LOOP = """coven 1
param i64 n = 9
program p {
  var i64 x = 0
  for k in 0 .. n step 2 {
    x = 1
    if k > 3 { break }
    x = 2
  }
  print(x)
}
"""


def test_what_a_break_takes_out_of_a_loop_reaches_what_follows():
    loop = Editing(LOOP)
    assert loop.errors == []
    assert loop.node("break")["kind"] == "break"
    assert loop.frame("for")["fields"]["step"]["text"] == "2"
    before = {node["id"]: node["text"] for node in loop.graph["nodes"]}
    target = loop.node("print")["id"]
    sources = {before[e["from"]["id"]] for e in loop.graph["edges"] if e["to"]["id"] == target}
    assert sources == {"var i64 x = 0", "x = 1", "x = 2"}
    loop.do({"op": "delete", "items": [loop.node("break")["id"]]})
    assert "x = 1" not in {before[e["from"]["id"]] for e in loop.graph["edges"] if e["to"]["id"] == target}


def test_a_segment_of_another_file_has_its_ports(tmp_path):
    (tmp_path / "lib.coven").write_text(
        "coven 1\nparam i64 m = 4\nsegment twice(f64[m] @ root x) -> (f64[m] @ root y) { copy(x) -> y }\n"
    )
    text = 'coven 1\nimport "lib.coven" { twice, m }\nprogram p {\n  var f64[m] a\n  zero() -> a\n'
    text += "  twice(a) -> b\n  print(b)\n}\n"
    program = Editing(text, tmp_path / "p.coven")
    node = program.node("twice")
    assert (node["kind"], node["thread"]) == ("segment", None)
    assert [port["name"] for port in node["inputs"] + node["outputs"]] == ["x", "y"]
    assert ("zero", "a", "twice", "x") in program.edges()
    assert program.graph["imported_parameters"] == [{"name": "m", "type": "i64", "default": "4"}]


def calls_during(act):
    """How often functions are called while something is done."""
    profile = cProfile.Profile()
    profile.runcall(act)
    return pstats.Stats(profile).total_calls


def test_the_palette_reads_again_only_what_has_changed(tmp_path):
    folder = shutil.copytree(PROGRAMS, tmp_path / "programs", ignore=shutil.ignore_patterns("__pycache__"))
    model = Editing(HEAT, folder / "heat.coven").model

    def offered():
        groups = palette(model, str(folder))["groups"]
        return {module["name"]: module["doc"] for group in groups for module in group["modules"]}

    def write(name, doc):
        text = f"//@ coven module {name}(in f64 x)\nvoid {name}(double x);\n"
        (folder / "own.c").write_text(text)
        (folder / "own.py").write_text(f'#@ coven module third(in f64 x)\ndef third(x):\n    """{doc}"""\n')

    write("first", "Old.")
    first = calls_during(offered)
    assert calls_during(offered) < first / 3
    assert (offered().keys() & {"first", "second"}, offered()["third"]) == ({"first"}, "Old.")
    write("second", "New.")
    assert (offered().keys() & {"first", "second"}, offered()["third"]) == ({"second"}, "New.")
