"""Operations on the graph: each is the smallest edit of the text, and the text then draws that graph."""

import re

import pytest

from pse.errors import UsageError
from pse.language import format_program

from .editing import PROGRAMS, Editing, edited, inverse

HEAT = (PROGRAMS / "heat.coven").read_text()
NBODY = (PROGRAMS / "nbody.coven").read_text()
ALL = sorted(PROGRAMS.glob("*.coven"))


def words(text):
    return re.findall(r"\w+|\s+|[^\w\s]", text)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_moving_a_call_to_another_thread_changes_exactly_one_word(path):
    text = path.read_text()
    for node in [n for n in Editing(text, path).graph["nodes"] if n["labelled"]]:
        program = Editing(text, path)
        program.do({"op": "thread", "node": node["id"], "thread": "thread_Z"})
        before, after = words(text), words(program.text)
        assert len(before) == len(after)
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert changed == [(node["thread"], "thread_Z")]


def changed(operation, text=HEAT, **node):
    """Carry an operation out on a node or a frame by its label; give the lines that are new."""
    program = Editing(text)
    for name, label in node.items():
        found = program.node(label)["id"] if name == "node" else program.frame(label)["id"]
        operation = operation | {name: found}
    edits = program.do(operation)
    assert edited(program.text, inverse(text, edits)) == text
    before = text.split("\n")
    return [line for line in program.text.split("\n") if line not in before]


@pytest.mark.parametrize(
    ("operation", "node", "expected"),
    [
        ({"op": "thread", "thread": None}, {"node": "gather"}, ["  gather(u) -> field @ root"]),
        ({"op": "thread", "thread": "thread_B"}, {"node": "swap"}, ["    thread_B swap(u, v)"]),
        (
            {"op": "argument", "port": "a", "value": "v"},
            {"node": "gather"},
            ["  thread_A gather(v) -> field @ root"],
        ),
        (
            {"op": "argument", "port": "periodic", "value": "0"},
            {"node": "exchange"},
            ["      thread_C exchange(u, periodic = 0)"],
        ),
        (
            {"op": "output", "port": "b", "name": "whole"},
            {"node": "gather"},
            ["  thread_A gather(u) -> whole @ root"],
        ),
        (
            {"op": "distribution", "port": "b", "distribution": None},
            {"node": "gather"},
            ["  thread_A gather(u) -> field"],
        ),
        (
            {"op": "distribution", "port": "b", "distribution": "replicated"},
            {"node": "gather"},
            ["  thread_A gather(u) -> field @ replicated"],
        ),
        (
            {"op": "reduce", "port": "residual", "operation": "sum", "target": "residual"},
            {"node": "step"},
            ["      thread_B step(u) -> v, r reduce residual(sum)"],
        ),
        (
            {"op": "reduce", "port": "residual", "operation": None},
            {"node": "step"},
            ["      thread_B step(u) -> v, r"],
        ),
        (
            {"op": "value", "field": "value", "text": "1.0"},
            {"node": "residual"},
            ["  var f64 residual = 1.0"],
        ),
        ({"op": "value", "field": "value", "text": None}, {"node": "residual"}, ["  var f64 residual"]),
        (
            {"op": "distribution", "distribution": "block(0)"},
            {"node": "u"},
            ["  var f64[NX, NY] @ block(0) u"],
        ),
        ({"op": "distribution", "distribution": None}, {"node": "u"}, ["  var f64[NX, NY] u"]),
        (
            {"op": "loop", "field": "limit", "value": "500"},
            {"frame": "while"},
            ["  while residual > tol max 500 {"],
        ),
        (
            {"op": "loop", "field": "partition", "value": None},
            {"frame": "parallel"},
            ["  PARALLEL { thread_B init() -> u }"],
        ),
        ({"op": "parameter", "name": "NX", "field": "default", "value": "64"}, {}, ["param i64 NX = 64"]),
        (
            {"op": "parameter", "name": "NX", "field": "where", "value": "NX > 2"},
            {},
            ["param i64 NX = 1024 where NX > 2"],
        ),
        ({"op": "parameter", "name": "tol", "field": "where", "value": None}, {}, ["param f64 tol = 1e-6"]),
        ({"op": "partition", "name": "P", "field": "grid", "value": None}, {}, ["partition P = 4 * procs"]),
        ({"op": "option", "name": "queue_depth", "value": "4"}, {}, ["options { queue_depth = 4 }"]),
        (
            {"op": "add-parameter", "type": "i64", "name": "steps", "default": "10", "where": "steps > 0"},
            {},
            ["param i64 steps = 10 where steps > 0"],
        ),
        ({"op": "add-partition", "name": "Q", "count": "procs"}, {}, ["partition Q = procs"]),
        ({"op": "remove", "kind": "parameter", "name": "tol"}, {}, []),
    ],
)
def test_an_operation_changes_its_line_alone(operation, node, expected):
    assert changed(operation, **node) == expected


def test_a_call_is_inserted_with_its_import_and_its_arguments():
    heat = Editing(HEAT)
    heat.do(
        {
            "op": "insert",
            "module": {"file": "gravity.c", "name": "kick"},
            "thread": "thread_B",
            "frame": heat.frame("program")["id"],
            "after": heat.node("gather")["id"],
            "arguments": {"dt": "tol"},
        }
    )
    assert 'import "gravity.c" { kick }\n' in heat.text
    inserted = heat.text.split("\n")[heat.node("kick")["line"] - 1]
    assert re.fullmatch(r"  thread_B kick\(\w+, \w+, tol\)", inserted)
    assert heat.text.replace('import "gravity.c" { kick }\n', "").replace(inserted + "\n", "") == HEAT


def test_a_known_import_gets_one_more_name():
    text = HEAT.replace("{ init, step }", "{ init }")
    heat = Editing(text)
    parallel = heat.frame("parallel")["id"]
    heat.do({"op": "insert", "module": {"file": "heat.c", "name": "step"}, "frame": parallel, "after": None})
    assert 'import "heat.c" { init, step }\n' in heat.text


@pytest.mark.parametrize(
    ("frame", "after", "line"),
    [
        ("while", None, "    let x = 1"),
        ("while", "swap", "    let x = 1"),
        ("program", "save", "  let x = 1"),
        ("parallel", "init", "  PARALLEL over P { thread_B init() -> u  let x = 1 }"),
        ("parallel", None, "  PARALLEL over P { let x = 1 thread_B init() -> u }"),
    ],
)
def test_a_statement_is_put_on_a_line_like_its_neighbours(frame, after, line):
    heat = Editing(HEAT)
    place = heat.node(after)["id"] if after else None
    heat.do({"op": "statement", "text": "let x=1", "frame": heat.frame(frame)["id"], "after": place})
    assert line in heat.text.split("\n") or line.replace("1 thread", "1  thread") in heat.text.split("\n")
    assert heat.graph["parsed"]


def test_a_comment_stays_with_its_statement_when_that_moves():
    nbody = Editing(NBODY)
    segment, shift = nbody.frame("parallel"), nbody.node("shift")
    nbody.do(
        {"op": "move", "items": [shift["id"]], "frame": segment["id"], "after": nbody.node("forces")["id"]}
    )
    assert nbody.graph["parsed"]
    assert "// overlaps the forces of this hop" in nbody.text
    labels = [node["label"] for node in nbody.graph["nodes"] if node["frame"] == segment["id"]]
    assert labels == ["forces", "shift"]


def test_statements_are_wrapped_in_a_block_and_grouped_into_a_segment():
    heat = Editing(HEAT)
    items = [heat.node("gather")["id"], heat.node("save")["id"]]
    heat.do({"op": "wrap", "items": items, "head": "if NX > 2"})
    assert heat.text.endswith(
        "  if NX > 2 {\n    thread_A gather(u) -> field @ root\n"
        '    thread_A save("heat.npy", field)\n  }\n}\n'
    )
    assert heat.errors == []
    fft = Editing((PROGRAMS / "fft2d.coven").read_text())
    scatter = fft.node("scatter")["id"]
    fft.do({"op": "group", "items": [scatter], "name": "spread"})
    assert "segment spread(" in fft.text
    assert fft.errors == []


def test_deleting_and_copying():
    heat = Editing(HEAT)
    heat.do({"op": "delete", "items": [heat.node("save")["id"], heat.frame("while")["id"]]})
    assert heat.text == HEAT[: HEAT.index("  while")] + HEAT[HEAT.index("  thread_A gather") :].replace(
        '  thread_A save("heat.npy", field)\n', ""
    )
    heat = Editing(HEAT)
    parallel = heat.frame("parallel", 1)
    heat.do(
        {"op": "copy", "items": [parallel["id"]], "frame": heat.frame("while")["id"], "after": parallel["id"]}
    )
    assert heat.text.count("    PARALLEL over P {\n      thread_C exchange(u)\n") == 2


def test_connecting_passes_the_tag_and_is_refused_with_the_checkers_words():
    heat = Editing(HEAT.replace('save("heat.npy", field)', 'save("heat.npy", tol)'))
    start = {"id": heat.node("gather")["id"], "port": "b"}
    heat.do({"op": "connect", "from": start, "to": {"id": heat.node("save")["id"], "port": "a"}})
    assert heat.text == HEAT
    residual = {"id": heat.node("residual")["id"], "port": "residual"}
    with pytest.raises(UsageError, match="residual"):
        heat.do({"op": "connect", "from": residual, "to": {"id": heat.node("step")["id"], "port": "u"}})
    assert heat.text == HEAT


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "argument", "port": "a", "value": "u +"}, "expected an expression"),
        ({"op": "argument", "port": "z", "value": "u"}, "`gather` has no port z"),
        ({"op": "thread", "thread": "my thread"}, "my thread"),
        ({"op": "output", "port": "b", "name": "for"}, "for"),
        ({"op": "argument", "port": "a", "value": 3}, "value of `argument` is not a text"),
        ({"op": "conjure"}, "there is no operation conjure"),
    ],
)
def test_what_makes_no_program_is_refused_and_nothing_changes(operation, message):
    heat = Editing(HEAT)
    with pytest.raises(UsageError) as refused:
        heat.do(operation | {"node": heat.node("gather")["id"]})
    assert message in refused.value.message
    assert refused.value.help
    assert heat.text == HEAT


def test_the_heat_program_is_built_from_an_empty_file_by_operations_only():
    """As the palette, the forms and the ports of the page do it; the text is that of programs/heat.coven."""
    heat = Editing("", PROGRAMS / "heat.coven")
    heat.do({"op": "program", "name": "heat"})
    for name, kind, default, where in (
        ("NX", "i64", "1024", None),
        ("NY", "i64", "1024", None),
        ("tol", "f64", "1e-6", "tol > 0"),
    ):
        heat.do({"op": "add-parameter", "type": kind, "name": name, "default": default, "where": where})
    heat.do({"op": "add-partition", "name": "P", "count": "4 * procs", "grid": "2 * procs, 2"})
    program = heat.frame("program")["id"]
    after = None
    for text in (
        "var f64[NX, NY] @ block(0, 1) halo(1) u",
        "var f64[NX, NY] @ block(0, 1) halo(1) v",
        "var f64 residual = 1e30",
    ):
        heat.do({"op": "statement", "frame": program, "after": after, "text": text})
        after = heat.graph["nodes"][-1]["id"]
    heat.do({"op": "statement", "frame": program, "after": after, "text": "PARALLEL over P { }"})
    first = heat.frame("parallel")["id"]
    heat.do(_insert(heat, "heat.c", "init", first, None, "thread_B", outputs={"u": "u"}))
    heat.do(
        {"op": "statement", "frame": program, "after": first, "text": "while residual > tol max 100000 { }"}
    )
    loop = heat.frame("while")["id"]
    heat.do({"op": "statement", "frame": loop, "after": None, "text": "PARALLEL over P { }"})
    second = heat.frame("parallel", 1)["id"]
    heat.do(_insert(heat, None, "exchange", second, None, "thread_C", arguments={"a": "u"}))
    exchange = heat.node("exchange")["id"]
    outputs = {"v": "v", "residual": "r"}
    heat.do(_insert(heat, "heat.c", "step", second, exchange, "thread_B", {"u": "u"}, outputs))
    step = heat.node("step")["id"]
    heat.do({"op": "reduce", "node": step, "port": "residual", "target": "residual", "operation": "max"})
    heat.do(_insert(heat, None, "swap", loop, second, None, arguments={"a": "u", "b": "v"}))
    heat.do(_insert(heat, None, "gather", program, loop, "thread_A", {"a": "u"}, {"b": "field"}))
    gather = heat.node("gather")["id"]
    heat.do({"op": "distribution", "node": gather, "port": "b", "distribution": "root"})
    heat.do(_insert(heat, None, "save", program, gather, "thread_A", {"file": '"heat.npy"', "a": "field"}))
    assert heat.errors == []
    assert heat.text == format_program(heat.text, "heat.coven")
    assert (
        format_program(
            heat.text.replace("P {\n    thread_B init() -> u\n  }", "P { thread_B init() -> u }"), ""
        )
        == HEAT
    )


def _insert(editing, file, name, frame, after, thread, arguments=None, outputs=None):
    module = {"file": file, "name": name} if file else {"std": name}
    place = {"frame": frame, "after": after, "thread": thread}
    return {"op": "insert", "module": module, **place, "arguments": arguments or {}, "outputs": outputs or {}}


def test_what_is_put_between_two_statements_of_a_line_comes_behind_their_semicolon():
    program = Editing("coven 1\nprogram p {\n  print(1) ; print(2) # x\n  let y = 3\n}\n")
    first, _, copied = program.graph["nodes"]
    program.do({"op": "copy", "items": [copied["id"]], "frame": first["frame"], "after": first["id"]})
    assert program.text.split("\n")[2:5] == ["  print(1) ;", "  let y = 3", "  print(2) # x"]


def test_segments_bundles_and_records_of_libraries_are_added_by_palette(tmp_path):
    (tmp_path / "lib.coven").write_text(LIBRARY)
    (tmp_path / "bodies.c").write_text(BODIES)
    program = Editing("coven 1\nprogram p {\n}\n", tmp_path / "p.coven")
    frame, after = program.frame("program")["id"], None
    for name in ("Fluid", "Cell", "Body", "twice", "begin"):
        (entry,) = [e for e in program.offered(tmp_path, "In this directory") if e["name"] == name]
        program.do({"op": "insert", "module": entry["module"], "frame": frame, "after": after})
        after = program.graph["nodes"][-1]["id"]
    assert program.text == (
        'coven 1\nimport "lib.coven" { Fluid, Cell, twice, begin }\nimport "bodies.c" { Body }\nprogram p {\n'
        "  var Fluid fluid\n  var Cell cell\n  var Body body\n  twice(x) -> y\n  begin() -> a\n}\n"
    )
    assert [e["name"] for e in program.offered(tmp_path, "Segments")] == ["twice", "begin"]
    assert [e["name"] for e in program.offered(tmp_path, "Types")] == ["Fluid", "Cell", "Body"]
    program.do({"op": "insert", "module": {"type": "Fluid"}, "frame": frame, "after": after})
    assert "  var Fluid fluid2\n" in program.text


def test_files_that_import_the_program_are_not_offered_to_it(tmp_path):
    (tmp_path / "lib.coven").write_text(LIBRARY)
    (tmp_path / "next.coven").write_text(
        'coven 1\nimport "p.coven" { own }\nsegment after() -> () { own() }\n'
    )
    (tmp_path / "last.coven").write_text('coven 1\nimport "next.coven" { to }\nrecord Cell { f64 a }\n')
    program = Editing("coven 1\nsegment own() -> () { print(1) }\n", tmp_path / "p.coven")
    offered = [(e["module"]["file"], e["name"]) for e in program.offered(tmp_path, "In this directory")]
    assert offered == [("lib.coven", name) for name in ("Fluid", "Cell", "twice", "begin")]


BODIES = "//@ coven record Body { f64 x   i32 kind }\n//@ coven module one()\nint one(void) { return 0; }\n"
LIBRARY = """coven 1
bundle Fluid { f64[4] rho, u }
record Cell { f64 a, b }
segment twice(f64[4] x) -> (f64[4] y) { copy(x) -> y }
segment begin() -> (Fluid a) { zero() -> a.rho  zero() -> a.u }
"""


def test_a_group_that_is_taken_apart_leaves_the_same_text():
    heat = Editing(HEAT)
    items = [heat.node("gather")["id"], heat.node("save")["id"]]
    heat.do({"op": "group", "items": items, "name": "last"})
    assert "segment last(" in heat.text
    with pytest.raises(UsageError, match="is no segment of this file"):
        heat.do({"op": "ungroup", "node": heat.node("exchange")["id"]})
    heat.do({"op": "ungroup", "node": heat.node("last")["id"]})
    assert heat.text == HEAT


FLOW = """coven 1
import "flow.py" { begin, advance }
param i64 N = 4
partition P = 2
bundle Fluid {
  f64[N] @ block(0) rho, u
}
program flow {
  let most = 3.0
  var Fluid now
  var Fluid next
  var f64 rest = most
  PARALLEL over P { thread_B begin() -> now }
  for k in 0 .. 3 {
    PARALLEL over P { thread_B advance(now) -> next }
    swap(now, next)
    rest = rest / 3
  }
  sum(now.rho) -> mass
  print(mass, rest)
}
"""
FLOW_MODULES = """#@ coven module begin(out f64 rho[n], out f64 u[n])
def begin(rho, u):
    rho[:], u[:] = 1, 2

#@ coven module advance(in f64 rho[n], in f64 u[n], out f64 rho2[n], out f64 u2[n])
def advance(rho, u):
    return rho * u, u / 2
"""
LEVELS = """coven 1
param i64 N = 8
param i64 L = 3 where L > 1
program levels {
  var f64[N / 2 ** l] u[l in 0 .. L]
  var f64 sizes[l in 0 .. L] = 0.0
  for l in 0 .. L {
    fill(1.0) -> u[l]
    norm(u[l]) -> sizes[l]
  }
  print(sizes[0])
}
"""


def at_line(editing, number):
    """Give the outermost statement that begins on a line."""
    there = [e for k in ("nodes", "frames") for e in editing.graph[k] if e["line"] == number]
    return min(there, key=lambda element: element["column"])["id"]


@pytest.fixture
def flow(tmp_path):
    (tmp_path / "flow.py").write_text(FLOW_MODULES)
    return lambda: Editing(FLOW, tmp_path / "flow.coven")


@pytest.mark.parametrize(
    ("lines", "head", "call"),
    [
        ((13,), "() -> (Fluid now)", "part() -> now"),
        ((14,), "() -> (Fluid now, Fluid next, f64 rest)", "part() -> now, next, rest"),
        ((16,), "() -> (Fluid now, Fluid next)", "part() -> now, next"),
        ((19,), "(Fluid now) -> (f64 mass)", "part(now) -> mass"),
        ((10, 11, 12, 13), "() -> (Fluid now)", "var f64 rest = most\n  part() -> now"),
    ],
)
def test_a_group_takes_bundles_and_what_it_changes_and_comes_apart_again(flow, lines, head, call):
    flow = flow()
    edits = flow.do({"op": "group", "items": [at_line(flow, line) for line in lines], "name": "part"})
    assert f"segment part{head} {{\n" in flow.text
    assert f"{call}\n" in flow.text
    assert flow.errors == []
    assert edited(flow.text, inverse(FLOW, edits)) == FLOW
    flow.do({"op": "ungroup", "node": flow.node("part")["id"]})
    assert "".join(flow.text.split()) == "".join(FLOW.split())


@pytest.mark.parametrize(
    ("line", "head"),
    [
        (7, "() -> (f64[N / 2 ** l] @ root u[l in 0 .. L], f64 sizes[l in 0 .. L])"),
        (9, "(f64[N / 2 ** l2] @ root u[l2 in 0 .. L], i64 l) -> (f64 sizes[l2 in 0 .. L])"),
    ],
)
def test_a_group_takes_whole_arrays_of_tags_and_comes_apart_again(tmp_path, line, head):
    levels = Editing(LEVELS, tmp_path / "levels.coven")
    levels.do({"op": "group", "items": [at_line(levels, line)], "name": "part"})
    assert f"segment part{head} {{\n" in levels.text
    assert levels.errors == []
    levels.do({"op": "ungroup", "node": levels.node("part")["id"]})
    assert "".join(levels.text.split()) == "".join(LEVELS.split())


def test_a_let_that_is_needed_behind_a_group_is_its_output(flow):
    flow = flow()
    flow.do({"op": "group", "items": [at_line(flow, 9)], "name": "part"})
    assert "segment part() -> (f64 most) {\n  most = 3.0\n}\n" in flow.text
    assert flow.errors == []


def test_a_group_of_declarations_that_are_needed_behind_it_is_refused(flow):
    flow = flow()
    with pytest.raises(UsageError, match="only declare what statements behind them need"):
        flow.do({"op": "group", "items": [at_line(flow, 10)], "name": "part"})
